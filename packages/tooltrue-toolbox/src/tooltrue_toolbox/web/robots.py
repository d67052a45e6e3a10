"""The rules of a site for crawlers: ``robots.txt`` (RFC 9309), fetched once an hour. Owner of protego."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import urlsplit

from protego import Protego

from tooltrue.transport.fetch import Fetcher, NotFetched

__all__ = ["Robots"]

_SECONDS = 3600.0
_SECONDS_OUT_OF_REACH = 30.0
"""A failure is often ours, or soon over; it must not close a site for an hour."""
_SITES = 256
_BYTES = 500 << 10
"""Limit of ``robots.txt``; the rest is not read (RFC 9309, section 2.5)."""


class Robots:
    """The cached rules of sites for one program."""

    def __init__(self, fetcher: Fetcher, program: str, *, now: Callable[[], float] = time.monotonic) -> None:
        self._fetcher = fetcher
        self._program = program
        self._now = now
        self._cache: OrderedDict[str, tuple[float, Protego | None]] = OrderedDict()

    async def allow(self, url: str) -> bool:
        """Whether the site lets the program fetch ``url``. It does not while its rules are unreachable (RFC 9309,
        section 2.3.1.4)."""
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        until, rules = self._cache.get(site, (0.0, None))
        if until <= self._now():
            rules = await self._fetch_rules(f"{site}/robots.txt")
            seconds = _SECONDS_OUT_OF_REACH if rules is None else _SECONDS
            self._cache[site] = (self._now() + seconds, rules)
            while len(self._cache) > _SITES:
                self._cache.popitem(last=False)
        return rules is not None and rules.can_fetch(url, self._program)

    async def _fetch_rules(self, url: str) -> Protego | None:
        try:
            answer = await self._fetcher.request("GET", url)
        except NotFetched:
            return None
        if answer.status >= 500:
            return None
        rules = answer.body[:_BYTES].decode(errors="replace") if answer.status == 200 else ""
        return await asyncio.to_thread(Protego.parse, rules)
