"""Lists of a server: every page of them, cached while they are fresh (server/utilities/caching).

A list is fresh for the server's TTL (``ttlMs``), and until the server reports a change. Clients share no lists, so that
``cacheScope`` matters when one client changes its user, and to a gateway, whose callers may share those of a client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from tooltrue.client.wording import (
    REASON_CURSOR_NOT_TEXT,
    REASON_CURSOR_REPEATED,
    REASON_MEMBER_NOT_ARRAY,
    REASON_PAGES_ENDLESS,
    REASON_PAGES_TOO_LARGE,
)
from tooltrue.errors import InvalidAnswer, InvalidParams
from tooltrue.jsonrpc.messages import Json, encode, is_array
from tooltrue.jsonrpc.wording import SERVER_RESPONSE_INVALID
from tooltrue.wording import Worded

__all__ = ["ListHints", "Lists"]

T = TypeVar("T")
Ask = Callable[[str, dict[str, Json]], Awaitable[dict[str, Json]]]

_log = logging.getLogger("tooltrue")

_MAX_PAGES = 1_000
_MAX_ITEMS = 10_000
_MAX_BYTES = 16 * 1024 * 1024
_MAX_TTL_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class _CachedList:
    items: list[Any]
    until: float
    is_private: bool


@dataclass(frozen=True, slots=True)
class ListHints:
    """How long lists are fresh, from when they were read, and whether they are for one authorization alone."""

    seconds: float = 0.0
    is_private: bool = True


class Lists:
    """The lists that one client has read."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._cache: dict[str, _CachedList] = {}
        self._hints: dict[str, ListHints] = {}
        self._changes = 0

    @property
    def hints(self) -> ListHints:
        """The strictest hints of the lists that were read last."""
        every = self._hints.values()
        if not every:
            return ListHints()
        return ListHints(min(one.seconds for one in every), any(one.is_private for one in every))

    async def read(self, method: str, member: str, shape: type[T], *, refresh: bool = False) -> list[T]:
        """Return all items. An invalid item is left out, the rest stays.

        Raises ``TransportError`` for a server that repeats a cursor, or sends pages without end.
        """
        now = asyncio.get_running_loop().time()
        cached = self._cache.get(method)
        if cached is not None and now < cached.until and not refresh:
            return list(cached.items)
        changes = self._changes
        items, ttl, is_private = await self._all(method, member, shape)
        self._hints[method] = ListHints(min(ttl, _MAX_TTL_SECONDS), is_private)
        if ttl > 0 and changes == self._changes:  # else it has changed while it was read
            self._cache[method] = _CachedList(items, now + min(ttl, _MAX_TTL_SECONDS), is_private)
        return list(items)

    def forget(self, *methods: str) -> None:
        """Drop these lists, because they have changed."""
        self._changes += 1
        for method in methods:
            self._cache.pop(method, None)

    def forget_private(self) -> None:
        """Drop private lists, because the user may change."""
        self.forget(*(method for method, cached in self._cache.items() if cached.is_private))

    async def _all(self, method: str, member: str, shape: type[T]) -> tuple[list[T], float, bool]:
        try:
            return await self._pages(method, member, shape)
        except _Expired:
            return await self._pages(method, member, shape)

    async def _pages(self, method: str, member: str, shape: type[T]) -> tuple[list[T], float, bool]:
        items: list[T] = []
        ttl, is_private = _MAX_TTL_SECONDS, False
        cursor, cursors, size = None, set[str](), 0
        for _ in range(_MAX_PAGES):
            page = await self._page(method, cursor)
            size += len(encode(page))
            if size > _MAX_BYTES:
                raise InvalidAnswer.of(
                    SERVER_RESPONSE_INVALID,
                    method=method,
                    problem=Worded(REASON_PAGES_TOO_LARGE, {"limit": _MAX_BYTES}),
                )
            items += _items(page, method, member, shape)
            ttl = min(ttl, _ttl(page))
            is_private = is_private or page.get("cacheScope") != "public"
            cursor = page.get("nextCursor")
            if cursor is not None and not isinstance(cursor, str):
                raise InvalidAnswer.of(
                    SERVER_RESPONSE_INVALID, method=method, problem=Worded(REASON_CURSOR_NOT_TEXT, {})
                )
            if cursor is None:
                return items, ttl, is_private
            if cursor in cursors:
                problem = Worded(REASON_CURSOR_REPEATED, {"cursor": cursor[:40]})
                raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=problem)
            if len(items) > _MAX_ITEMS:
                break
            cursors.add(cursor)
        raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=Worded(REASON_PAGES_ENDLESS, {}))

    async def _page(self, method: str, cursor: str | None) -> dict[str, Json]:
        if cursor is None:
            return await self._ask(method, {})
        try:
            return await self._ask(method, {"cursor": cursor})
        except InvalidParams as error:
            raise _Expired(*error.args, code=error.code, facts=error.facts) from error


class _Expired(InvalidParams):
    """A cursor has expired: the pages are read again from the first one (server/utilities/pagination)."""


def _ttl(page: Mapping[str, Json]) -> float:
    ttl = page.get("ttlMs")
    return ttl / 1000 if type(ttl) is int and ttl > 0 else 0.0


def _items(page: Mapping[str, Json], method: str, member: str, shape: type[T]) -> list[T]:
    items: list[T] = []
    listed = page.get(member)
    if not is_array(listed):
        raise InvalidAnswer.of(
            SERVER_RESPONSE_INVALID, method=method, problem=Worded(REASON_MEMBER_NOT_ARRAY, {"name": member})
        )
    for item in listed:
        try:
            items.append(msgspec.convert(item, shape))
        except msgspec.ValidationError as error:
            _log.warning("%s of the server: one is left out: %s", member, error)
    return items
