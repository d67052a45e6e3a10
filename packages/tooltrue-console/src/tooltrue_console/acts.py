"""The audit records of what people do in the console, and of what they decide about contracts in a terminal."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tooltrue.policy.audit.acts import recorded
from tooltrue.policy.audit.log_queries import record_of, search_back
from tooltrue.state.urls import open_log
from tooltrue_console.sessions import Person

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
        """Do the act within, as :func:`tooltrue.policy.audit.acts.recorded` says: ``origin`` is where the person is,
        ``display`` is what the page had shown to them."""
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
        async with recorded(self.url, [body], self._clock):
            yield

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
