"""An event loop on a thread of its own, for a package that blocks its loop, or replaces parts of it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ["LoopThread"]

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for other loops. It begins with its creation, and ends with :meth:`stop`."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._is_stopped = False
        self._thread = threading.Thread(target=self._main, name=name, daemon=True)
        self._thread.start()

    def _main(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self.loop) as runner:  # which cancels the tasks that are left
            runner.get_loop().run_forever()

    async def run(self, work: Coroutine[Any, Any, T], context: contextvars.Context | None = None) -> T:
        """Run a coroutine there, in ``context``, and wait for it here. If this is cancelled, it is. After the
        end of the thread nothing runs, and this is cancelled: a plain function may outlive its engine."""
        if self._is_stopped:
            work.close()
            raise asyncio.CancelledError
        inner = _within(context, work) if context is not None else work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(inner, self.loop))

    async def stop(self) -> None:
        """Cancel what runs there, and wait for the end of the thread."""
        self._is_stopped = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        await asyncio.to_thread(self._thread.join)


async def _within(context: contextvars.Context, work: Coroutine[Any, Any, T]) -> T:
    return await asyncio.get_running_loop().create_task(work, context=context)
