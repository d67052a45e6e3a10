"""Finds the ``async`` function that does not let the event loop go on. It cannot be stopped, but it can be named.

A thread looks now and then at what the loop's thread is doing, from outside: a call costs nothing, and an idle server
is not woken.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Self

from toolwright.tools.library import LocalLibrary
from toolwright.tools.local import LocalToolset
from toolwright.wording import sentence

__all__ = ["Watchdog"]

_log = logging.getLogger("toolwright")

# the function of ours that calls an author's → how that is called, from its variables
_CALLERS: Mapping[CodeType, Callable[[Mapping[str, Any]], str]] = {
    LocalToolset.call_tool.__code__: lambda said: f"the tool {said['call'].name}",
    LocalLibrary.read_resource.__code__: lambda said: f"the resource {said['read'].uri}",
    LocalLibrary.get_prompt.__code__: lambda said: f"the prompt {said['get'].name}",
    LocalLibrary.complete.__code__: lambda said: f"a completion of {said['get'].name}",
}


class Watchdog:
    """``async with Watchdog(seconds)``: what blocks the running loop for so long is reported, once each time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._over = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        threading.Thread(target=self._watch, name="toolwright-watchdog", daemon=True).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(self._seconds / 2):
            if self._running() is not None:
                with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                    self._ask()

    def _ask(self) -> None:
        """Does the loop come round within the time? If not, say who is at it, and wait until it does."""
        assert self._loop is not None
        came_round = threading.Event()
        self._loop.call_soon_threadsafe(came_round.set)
        if came_round.wait(self._seconds) or (found := self._running()) is None:
            return
        what, place = found
        facts = {"what": what, "seconds": self._seconds, "place": place}
        _log.warning("%s [TW4104]", sentence("TW4104", "en", facts))
        while not (came_round.wait(self._seconds) or self._over.is_set()):
            pass

    def _running(self) -> tuple[str, str] | None:
        """Whose function the loop's thread is in, and on which line; ``None`` when it is in none."""
        top = frame = sys._current_frames().get(self._thread)  # pyright: ignore[reportPrivateUsage]
        while frame is not None:
            if frame.f_code in _CALLERS:
                return _CALLERS[frame.f_code](frame.f_locals), _place(top)
            frame = frame.f_back
        return None


def _place(frame: FrameType | None) -> str:
    if frame is None:
        return "?"
    return f"{Path(frame.f_code.co_filename).name}, line {frame.f_lineno}, in {frame.f_code.co_name}"
