"""The log of what people decide: in the console, and about contracts in a terminal. It has a chain and a seal as every
audit log.

The record of an act is written before the act, and again with its outcome after it, as for a destructive call: an act
that cannot be recorded is not done.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from tooltrue.errors import StateError, TooltrueError, fact_of
from tooltrue.policy.wording import ACT_NOT_RECORDED, ACT_OUTCOME_NOT_RECORDED
from tooltrue.state.log import Log, timestamp
from tooltrue.state.places import beside, sqlite_url, state_folder
from tooltrue.state.seal import name_of, sealing
from tooltrue.state.urls import open_log

__all__ = ["acts_url", "record_done", "recorded"]

_log = logging.getLogger("tooltrue.policy")


def acts_url() -> str:
    """The URL of the log of this user."""
    return sqlite_url(state_folder() / "console" / "acts.db")


@asynccontextmanager
async def recorded(
    url: str, acts: Sequence[Mapping[str, Any]], clock: Callable[[], float] = time.time
) -> AsyncGenerator[None]:
    """Do within what a person has decided, and record it in the log at ``url``: one record before and one after it for
    each of ``acts``. An error is their outcome. ``StateError`` if they cannot be recorded: before anything is done
    (ACT_NOT_RECORDED), or when it is done already (ACT_OUTCOME_NOT_RECORDED)."""
    async with AsyncExitStack() as stack:
        try:
            append = _Appending(await stack.enter_async_context(_opened(url)), acts, clock)
            await append(kind="intent")
        except TooltrueError as error:
            raise StateError.of(ACT_NOT_RECORDED, problem=fact_of(error, is_clause=False)) from error
        try:
            yield
        except TooltrueError as error:
            try:
                await append(kind="act", outcome="refused", code=error.code)
            except StateError as unrecorded:  # the person reads why the act has failed
                _log.error("The outcome of an act is not recorded: %s", unrecorded)
            raise
        try:
            await append(kind="act", outcome="ok")
        except StateError as error:
            raise StateError.of(ACT_OUTCOME_NOT_RECORDED, problem=fact_of(error, is_clause=False)) from error


async def record_done(url: str, act: Mapping[str, Any], clock: Callable[[], float] = time.time) -> None:
    """Record an act that is done already. ``StateError`` or ``ConfigurationError`` if that fails."""
    async with _opened(url) as log:
        await _Appending(log, [act], clock)(kind="act", outcome="ok")


class _Appending:
    """Appends a record for each act, with the members of its stage."""

    def __init__(self, log: Log, acts: Sequence[Mapping[str, Any]], clock: Callable[[], float]) -> None:
        self._log = log
        self._acts = acts
        self._clock = clock

    async def __call__(self, **stage: str) -> None:
        for act in self._acts:
            await self._log.append({**act, **stage, "at": timestamp(self._clock())})


@asynccontextmanager
async def _opened(url: str) -> AsyncGenerator[Log]:
    async with open_log(url) as log:
        if place := beside(url, ".seal"):
            async with sealing(log, place, of=name_of(url)):
                yield log
        else:
            yield log
