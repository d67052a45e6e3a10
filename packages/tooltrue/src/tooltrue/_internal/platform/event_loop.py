"""The event loop of a server on standard input and output. Owns uvloop."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from importlib.util import find_spec
from typing import Any

__all__ = ["is_running", "run"]


def is_running() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run ``main`` as ``asyncio.run`` does: on uvloop where the extra ``speed`` is installed, otherwise on a loop of
    asyncio. An author's own policy of event loops comes first."""
    with asyncio.Runner(loop_factory=_new_loop) as runner:
        runner.run(main)


def _new_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    if type(loop) is not asyncio.SelectorEventLoop:  # on Windows, or by the author's choice
        return loop
    loop.close()
    if find_spec("uvloop") is not None:
        import uvloop  # noqa: PLC0415 - only where it is installed

        return uvloop.new_event_loop()
    return asyncio.SelectorEventLoop(_Selector())


class _Selector(selectors.DefaultSelector):
    """Skips every second look at the descriptors while callbacks are ready to run.

    A call arrives in one turn of the loop, and its task takes its first step in the next: to look for input in between
    costs a system call for each call, and finds nothing most of the time.
    """

    _has_skipped = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is not None and timeout <= 0 and not self._has_skipped:
            self._has_skipped = True
            return []
        self._has_skipped = False
        return super().select(timeout)
