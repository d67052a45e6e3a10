"""Who wants to hear that the tools have changed.

Changes of one turn of the loop are told once. They may come from any thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

__all__ = ["Hub"]


class Hub:
    """Listeners and the events that end them. ``changed`` may be called from any thread."""

    def __init__(self) -> None:
        self._listeners: dict[object, tuple[asyncio.AbstractEventLoop, Callable[[], None]]] = {}
        self._told: set[object] = set()
        self._waiting: dict[asyncio.Future[None], asyncio.AbstractEventLoop] = {}
        self._closed = False

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back on this loop after changes; what comes back ends it."""
        key = object()
        self._listeners[key] = (asyncio.get_running_loop(), callback)

        def end() -> None:
            self._listeners.pop(key, None)

        return end

    def changed(self) -> None:
        for key, (loop, _) in tuple(self._listeners.items()):
            if key not in self._told and not loop.is_closed():
                self._told.add(key)
                loop.call_soon_threadsafe(self._tell, key)

    def _tell(self, key: object) -> None:
        self._told.discard(key)
        if key in self._listeners:
            self._listeners[key][1]()

    async def until_closed(self) -> None:
        """Return when the server is about to end. Any number may wait, on any event loop."""
        if self._closed:
            return
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting[future] = loop
        try:
            await future
        finally:
            del self._waiting[future]

    def close(self) -> None:
        """End what listens for as long as the server lives."""
        self._closed = True
        for future, loop in tuple(self._waiting.items()):
            if not loop.is_closed():
                loop.call_soon_threadsafe(_end, future)


def _end(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
