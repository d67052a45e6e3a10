"""The log of what people decide: in the console, and about pins in a terminal. It has a chain and a seal as every audit
log."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from tooltrue.state.log import Log
from tooltrue.state.places import beside, sqlite_url, state_folder
from tooltrue.state.seal import name_of, sealing
from tooltrue.state.urls import open_log

__all__ = ["acts_url", "open_acts"]


def acts_url() -> str:
    """The URL of the log of this user."""
    return sqlite_url(state_folder() / "console" / "acts.db")


@asynccontextmanager
async def open_acts(url: str) -> AsyncGenerator[Log]:
    """Open the log of acts at ``url``, to write to it."""
    async with open_log(url) as log:
        if place := beside(url, ".seal"):
            async with sealing(log, place, of=name_of(url)):
                yield log
        else:
            yield log
