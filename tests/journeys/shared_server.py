"""A server whose copies, on several machines, share a file besides their store: ``SHARED_FOLDER``."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from tooltrue import Context, Form, Rate, Server
from tooltrue.tools.vocabulary import Principal

server = Server("shared", version="1.0")
SWITCH = Path(os.environ["SHARED_FOLDER"]) / "switch"


def is_on(_: Principal) -> bool:
    return SWITCH.exists()


@server.tool(effect="read")
def process() -> int:
    """The number of this process."""
    return os.getpid()


@server.tool
def switch(on: bool) -> bool:
    """Show the lamp on every machine, or hide it."""
    SWITCH.touch() if on else SWITCH.unlink(missing_ok=True)
    server.tools_changed()
    return on


@server.tool(effect="read", visible=is_on)
def lamp() -> str:
    """There while the switch is on."""
    return "lit"


@server.tool(effect="read", rate=Rate(0.0001, 10))
def rare() -> str:
    """Ten times, and then hardly ever."""
    return "granted"


@server.tool
async def sure(context: Context) -> str:
    """Ask, and say in which process the answer was heard."""
    context.progress(1)
    answer = context.ask(Form("Sure?"), key="sure")
    return f"{answer.action} {os.getpid()}"


@server.tool
async def count(to: int, context: Context) -> str:
    """Count, and tell how far it is."""
    for number in range(1, to + 1):
        context.progress(number, to)
    return f"{to} of {to}"


@server.tool
async def wait_forever() -> str:
    """Wait."""
    print("waiting", file=sys.stderr, flush=True)
    await asyncio.Event().wait()
    return ""
