"""*Log*: all records of an audit log, the verification of its chain, and its export."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Final

from tooltrue.errors import StateError
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.audit.log_queries import entries
from tooltrue.policy.audit.verification import Verification, verified
from tooltrue.state.log import exported
from tooltrue.state.places import signing_key_file
from tooltrue.state.retention import signing_key
from tooltrue.state.urls import open_log
from tooltrue_console.desk import Desk
from tooltrue_console.pages.calls import record_table
from tooltrue_console.visits import Answer, Download, Endpoint, Html, PageVisit

__all__ = ["ENDPOINTS"]

_log = logging.getLogger("tooltrue.console")


async def show(desk: Desk, visit: PageVisit) -> Answer:
    return Html("log.html", await record_table(desk, visit, "/log", {}), title="log")


async def verify(desk: Desk, visit: PageVisit) -> Answer:
    """The verdict on the whole chain. It reads all records, on a thread of its own."""
    place = desk.logs.url(visit.query.get("log", ""))
    result = await desk.long_reads.run(_verified, place)
    sentences = [one.say(visit.language) for one in result.sentences]
    return Html("_verified.html", {"is_sound": result.is_sound, "sentences": sentences})


def _verified(place: str) -> Verification:
    async def run() -> Verification:
        async with open_log(place) as log:
            return await verified(log, place, signing_key(signing_key_file(), make=False))

    return asyncio.run(run())


async def export(desk: Desk, visit: PageVisit) -> Answer:
    lines = _lines(desk.logs.url(visit.query.get("log", "")))
    first = await anext(lines, None)  # a log that cannot be opened is a page, and no file
    return Download("audit.jsonl", _exported(first, lines, visit.language))


async def _exported(first: str | None, lines: AsyncIterator[str], language: str) -> AsyncIterator[str]:
    """The file. If the rest of the log cannot be read, its last line says so, and is no record."""
    if first is None:
        return
    yield first
    try:
        async for line in lines:
            yield line
    except StateError as error:
        _log.warning("an export has broken off: %s", error)
        yield f"{encode({'problem': error.say(language)}).decode()}\n"


async def _lines(place: str) -> AsyncGenerator[str]:
    async with open_log(place) as log:
        async for entry in entries(log):
            yield f"{exported(entry)}\n"


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("GET", "/log", show),
    Endpoint("GET", "/log/verify", verify),
    Endpoint("GET", "/log/export", export),
)
