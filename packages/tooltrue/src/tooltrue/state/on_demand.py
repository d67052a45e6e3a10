"""A store that is opened on first use; most servers never use it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Self

from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.facts import Values

__all__ = ["OnDemand"]


class OnDemand:
    """``Values`` of the store that ``make`` opens while at least one ``async with`` is active, else of ``otherwise``.

    If the store cannot be opened, each access raises ``StateError``.
    """

    def __init__(self, make: Callable[[], AbstractAsyncContextManager[Values]], otherwise: Values) -> None:
        self._make = make
        self._otherwise = otherwise
        self._stack: AsyncExitStack | None = None
        self._opened: Values | None = None
        self._lock = asyncio.Lock()
        self._users = 0

    async def __aenter__(self) -> Self:
        self._users += 1
        if self._stack is None:
            # With a new lock: a lock that was waited for belongs to its event loop.
            self._stack, self._lock = AsyncExitStack(), asyncio.Lock()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._users -= 1
        if self._users:
            return
        async with self._lock:  # a store that is being opened right now is closed as well
            if self._users:  # a new user has entered meanwhile
                return
            stack, self._stack, self._opened = self._stack, None, None
        if stack is not None:
            await stack.aclose()

    async def _values(self) -> Values:
        if self._opened is not None:
            return self._opened
        async with self._lock:
            if self._stack is None:
                return self._otherwise
            self._opened = self._opened or await self._open(self._stack)
            return self._opened

    async def _open(self, stack: AsyncExitStack) -> Values:
        try:
            return await stack.enter_async_context(self._make())
        except ConfigurationError as error:
            raise StateError(str(error), code=error.code, facts=error.facts) from error

    async def get(self, key: str) -> bytes | None:
        return await (await self._values()).get(key)

    async def put(self, key: str, value: bytes, seconds: float) -> None:
        await (await self._values()).put(key, value, seconds)

    async def put_if_absent(self, key: str, value: bytes, seconds: float) -> bool:
        return await (await self._values()).put_if_absent(key, value, seconds)

    async def replace(self, key: str, old: bytes, value: bytes, seconds: float) -> bool:
        return await (await self._values()).replace(key, old, value, seconds)

    async def remove(self, key: str) -> bytes | None:
        return await (await self._values()).remove(key)
