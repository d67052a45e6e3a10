"""Finds the ``async`` function that blocks the event loop. It cannot be stopped, but it can be named.

A thread looks now and then at the stack of the loop's thread, from outside: it costs a call no time, and does not wake
an idle server. While an author's function runs, the loop is sent a heartbeat; one that is not answered in time is
reported.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, Self

from tooltrue.crashes import place_of
from tooltrue.server.wording import EVENT_LOOP_BLOCKED
from tooltrue.tools.library import LocalLibrary
from tooltrue.tools.local import LocalToolset
from tooltrue.wording import coded_sentence

__all__ = ["Watchdog"]

_log = logging.getLogger("tooltrue")

# our function that calls an author's → the name of the latter, from the variables of the former
_CALLERS: Mapping[CodeType, Callable[[Mapping[str, Any]], str]] = {
    LocalToolset.call_tool.__code__: lambda names: f"the tool {names['call'].name}",
    LocalLibrary.read_resource.__code__: lambda names: f"the resource {names['request'].uri}",
    LocalLibrary.get_prompt.__code__: lambda names: f"the prompt {names['get'].name}",
    LocalLibrary.complete.__code__: lambda names: f"a completion of {names['get'].name}",
}

_LOOKS = 4
"""How often it looks within the time that a function may take."""


class _Heartbeat:
    """A callback sent to the loop, which answers once it runs."""

    def __init__(self, sent: float) -> None:
        self.sent = sent
        self.is_answered = False
        self.reported = False

    def answer(self) -> None:
        self.is_answered = True


class Watchdog:
    """``async with Watchdog(seconds)``: reports each function that blocks the running loop for so long, once each time.

    ``clock`` gives the time in seconds. The thread has ended when the block is left.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._over = threading.Event()
        self._beat: _Heartbeat | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._own = threading.Thread(target=self._watch, name="tooltrue-watchdog", daemon=True)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._own.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over.set()
        self._own.join()  # it waits for this event only

    def _watch(self) -> None:
        while not self._over.wait(self._seconds / _LOOKS):
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                self.check()

    def check(self) -> None:
        """Send a heartbeat while an author's function runs, and report a late one. Call from any other thread."""
        now, running = self._clock(), self._running()
        if self._beat is None or self._beat.is_answered:
            self._beat = None if running is None else self._send(now)
        elif running is not None and not self._beat.reported and now - self._beat.sent >= self._seconds:
            self._beat.reported = True
            self._report(*running)

    def _send(self, now: float) -> _Heartbeat:
        assert self._loop is not None
        beat = _Heartbeat(now)
        self._loop.call_soon_threadsafe(beat.answer)
        return beat

    def _report(self, what: str, place: str) -> None:
        facts = {"what": what, "seconds": self._seconds, "place": place}
        _log.warning("%s", coded_sentence(EVENT_LOOP_BLOCKED, "en", facts))

    def _running(self) -> tuple[str, str] | None:
        """The author's function that the loop's thread runs, and the current line; ``None`` outside of such
        functions.
        """
        top = frame = _stacks().get(self._loop_thread)
        while frame is not None and top is not None:
            if frame.f_code in _CALLERS:
                return _CALLERS[frame.f_code](frame.f_locals), place_of(top)
            frame = frame.f_back
        return None


def _stacks() -> dict[int, FrameType]:
    """The stacks of all threads, without a collection of garbage meanwhile.

    CPython 3.11 may collect while it holds the lock of all threads. A finalizer that lets another thread run, which
    starts or ends, would then stop the process for ever (gh-106883).
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()  # pyright: ignore[reportPrivateUsage]
    finally:
        if collects:
            gc.enable()
