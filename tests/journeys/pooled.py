"""A server with a lifespan, whose faults the environment chooses: FAULT=start, hanging-start or hanging-end."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from tooltrue import Lifespan, Server

FAULT = os.environ.get("FAULT", "")


def tell(text: str) -> None:
    print(text, os.getpid(), file=sys.stderr, flush=True)


class Pool:
    is_open = True


@asynccontextmanager
async def lifespan(server: Server) -> AsyncIterator[Pool]:
    print("a line that is no message", flush=True)
    tell("opening")
    if FAULT == "start":
        raise ValueError("no database")
    try:
        if FAULT == "hanging-start":
            await asyncio.Event().wait()
        tell("opened")
        yield Pool()
        if FAULT == "hanging-end":
            await asyncio.Event().wait()
    finally:
        tell("closed")


server = Server("pooled", lifespan=lifespan)


@server.tool(effect="read")
async def is_open(pool: Annotated[Pool, Lifespan]) -> bool:
    """Tell whether the pool is open."""
    return pool.is_open


@server.tool(effect="read")
async def wait_forever() -> str:
    """Wait, and pay no heed to being cancelled."""
    tell("waiting")
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue


if __name__ == "__main__":
    server.run()
