"""Live views: one look at the state at a time for all viewers of a page together, and one page for them.

A person reads no thousand records a second: after a change, the next look is some seconds later, however much is
written meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from typing import Final, Generic, TypeVar
from weakref import WeakValueDictionary

from tooltrue.errors import StateError

__all__ = ["SharedView", "SharedViews"]

T = TypeVar("T")

_EVERY_SECONDS: Final = 1.0
_REST_SECONDS: Final = 5.0
_ALIVE_SECONDS: Final = 15.0
"""A viewer that is gone is noticed when something is sent to it."""
_WHOLE_SECONDS: Final = 300.0
"""A stream ends after this time, and the browser asks again: by then its session may be over."""


class SharedView(Generic[T]):
    """The newest value of ``look``, for as many viewers as there are. While there are none, nobody looks. There are
    ``every`` seconds between two looks, and ``rest`` seconds after one that has found a change."""

    def __init__(
        self, look: Callable[[], Awaitable[T]], *, every: float = _EVERY_SECONDS, rest: float = _EVERY_SECONDS
    ) -> None:
        self._look = look
        self._every = every
        self._rest = rest
        self._value: T | None = None
        self._version = 0
        self._viewers = 0
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def values(self) -> AsyncGenerator[T | None]:
        """Yield the value now, and each time that it is another one; ``None`` now and then in between."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + _WHOLE_SECONDS
        self._viewers += 1
        if self._task is None:
            self._task = asyncio.create_task(self._keep_looking())
        try:
            version = 0
            while loop.time() < ends_at:
                if version != self._version:
                    version = self._version
                    yield self._value
                    continue
                try:
                    async with asyncio.timeout(_ALIVE_SECONDS):
                        await self._changed.wait()
                except TimeoutError:
                    yield None
        finally:
            self._viewers -= 1

    async def _keep_looking(self) -> None:
        try:
            while self._viewers:
                pause = self._every
                with contextlib.suppress(StateError):  # the store may come back; the pages say that it is gone
                    value = await self._look()
                    if value != self._value or not self._version:
                        pause = self._rest if self._version else self._every  # the first value is no change
                        self._value, self._version = value, self._version + 1
                        self._changed.set()
                        self._changed = asyncio.Event()
                await asyncio.sleep(pause)
        finally:
            self._task, self._version = None, 0


class SharedViews(Generic[T]):
    """Shared views by key, for as long as they have viewers."""

    def __init__(self) -> None:
        self._views: WeakValueDictionary[Hashable, SharedView[T]] = WeakValueDictionary()

    def of(self, key: Hashable, look: Callable[[], Awaitable[T]], *, every: float = _EVERY_SECONDS) -> SharedView[T]:
        """The view with this key; a new one, with this ``look``, if nobody has it."""
        view = self._views.get(key)
        if view is None:
            view = self._views[key] = SharedView(look, every=every, rest=_REST_SECONDS)
        return view
