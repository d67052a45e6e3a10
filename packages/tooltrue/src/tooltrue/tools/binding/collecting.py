"""Collects what an iterator gives, within bounds: its items are the array that a tool returns."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import AsyncIterable, Callable, Generator, Iterable
from typing import Any, Final

from pydantic_core import to_json

from tooltrue.errors import ToolError
from tooltrue.tools.wording import ITERATOR_TOO_LONG

__all__ = ["MAX_ITEMS", "collected", "collected_async", "collecting"]

MAX_ITEMS: Final = 100_000
MAX_BYTES: Final = 33_554_432


class _Basket:
    """The items so far, and their size."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._size = 0

    def add(self, item: Any) -> None:
        if len(self.items) >= MAX_ITEMS or self._size > MAX_BYTES:
            raise ToolError.of(ITERATOR_TOO_LONG, items=MAX_ITEMS, size=MAX_BYTES)
        self._size += _size(item)
        self.items.append(item)


def _size(item: Any) -> int:
    if isinstance(item, str | bytes):
        return len(item)
    with contextlib.suppress(Exception):  # what has no JSON form is refused with its own sentence, later
        return len(to_json(item, bytes_mode="base64", fallback=_unknown))
    return 0


def _unknown(value: Any) -> Any:
    return None


def collected(items: Iterable[Any]) -> list[Any]:
    """Return the items. Raises ``ToolError`` for too many. A generator is closed in any case."""
    basket = _Basket()
    with contextlib.ExitStack() as closing:
        if isinstance(items, Generator):
            closing.callback(items.close)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        for item in items:
            basket.add(item)
    return basket.items


async def collected_async(items: AsyncIterable[Any]) -> list[Any]:
    """Return the items. Raises ``ToolError`` for too many. An asynchronous generator is closed in any case."""
    basket = _Basket()
    async with contextlib.AsyncExitStack() as closing:
        if (close := getattr(items, "aclose", None)) is not None:
            closing.push_async_callback(close)
        async for item in items:
            basket.add(item)
    return basket.items


def collecting(function: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    """Wrap a function whose return type is an iterator: it returns the items, and collects them where it runs."""
    if not is_async:
        return lambda *args, **named: _list_of(function(*args, **named))

    @functools.wraps(function)
    async def call(*args: Any, **named: Any) -> Any:
        value: Any = function(*args, **named)
        if inspect.isawaitable(value):
            value = await value
        return await collected_async(value) if hasattr(value, "__aiter__") else _list_of(value)

    return call


def _list_of(value: Any) -> Any:
    """Return the items of anything that has some; text, bytes, objects and ready results stay as they are."""
    if isinstance(value, _READ) or not hasattr(value, "__iter__"):
        return value  # pyright: ignore[reportUnknownVariableType]
    return collected(value)


_READ = (str, bytes, dict, list)
