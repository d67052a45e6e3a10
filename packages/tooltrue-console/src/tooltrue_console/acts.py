"""The audit records of what people do in the console.

The record of an act is written before the act, and again with its outcome after it, as for a destructive call: an act
that cannot be recorded is not done. The log is one like that of a server, with the same chain and the same seal.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tooltrue.errors import ConfigurationError, StateError, TooltrueError
from tooltrue.policy.audit.acts import open_acts
from tooltrue.policy.audit.log_queries import record_of, search_back
from tooltrue.state.log import Log, timestamp
from tooltrue.state.urls import open_log
from tooltrue_console.sessions import Person
from tooltrue_console.wording import CONSOLE_NOT_RECORDED

__all__ = ["Acts"]


class Acts:
    """The log of acts at ``url``."""

    def __init__(self, url: str, *, clock: Callable[[], float]) -> None:
        self.url = url
        self._clock = clock

    @asynccontextmanager
    async def recorded(
        self,
        act: str,
        subject: str,
        person: Person,
        origin: Mapping[str, str],
        display: Mapping[str, Any],
        **facts: Any,
    ) -> AsyncGenerator[None]:
        """Do the act within: ``origin`` is where the person is, ``display`` is what the page had shown to
        them. Raises
        ``ConfigurationError`` if it cannot be recorded, before anything is done. An error of the act is its outcome."""
        body = {
            "arguments": dict(display),
            "decision": act,
            "id": secrets.token_hex(8),
            "scopes": sorted(person.scopes),
            "subject": subject,
            "who": person.id,
            **origin,
            **facts,
        }
        async with open_acts(self.url) as log:
            await self._append(log, {**body, "kind": "intent"})
            try:
                yield
            except TooltrueError as error:
                await self._append(log, {**body, "kind": "act", "outcome": "refused", "code": error.code})
                raise
            await self._append(log, {**body, "kind": "act", "outcome": "ok"})

    async def recent(self, most: int) -> list[dict[str, Any]]:
        """Return the records of the last acts, the newest first."""
        async with open_log(self.url) as log:
            head = await log.head()
            entries = await log.read(head.position - 3 * most, 3 * most)
        acts = [record for record in map(record_of, entries) if record.get("kind") == "act"]
        return acts[::-1][:most]

    async def about(self, member: str, value: str, most: int) -> list[dict[str, Any]]:
        """Return the records of the last acts that have this value, which holds no pattern, as ``member``."""
        async with open_log(self.url) as log:
            page = await search_back(log, {"kind": "act", member: value}, most=most)
        return [record_of(entry) for entry in page.entries]

    async def _append(self, log: Log, record: Mapping[str, Any]) -> None:
        try:
            await log.append({**record, "at": timestamp(self._clock())})
        except StateError as error:
            raise ConfigurationError.of(CONSOLE_NOT_RECORDED, problem=error.say()) from error
