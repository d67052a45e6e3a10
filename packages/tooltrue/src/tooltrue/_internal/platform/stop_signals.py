"""The signals that ask a process to stop, and Ctrl-C: handlers that work beside every event loop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Generator
from types import FrameType
from typing import Final, TypeAlias

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["NUMBERS", "SignalHandler", "handle", "interrupting"]

SignalHandler: TypeAlias = Callable[[int, FrameType | None], object]

_NAMES = ("SIGINT", "SIGTERM", "SIGBREAK")

NUMBERS: Final = tuple(signal.Signals(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))
"""SIGINT and SIGTERM; on Windows also SIGBREAK, by which a parent ends its children in order."""


def handle(handler: SignalHandler) -> None:
    """Have the handler called for each stop signal, and on Windows when the console closes, until the process ends.

    For the main thread. The handler runs there between two instructions; where the console closes, on a thread, and
    the process has some five seconds from then on.
    """
    for number in NUMBERS:
        signal.signal(number, handler)
    if not HAS_POSIX:
        from tooltrue._internal.platform.windows_console import on_close  # noqa: PLC0415 - of one system

        on_close(lambda: handler(signal.SIGTERM, None))


@contextlib.contextmanager
def interrupting(callback: Callable[[], object]) -> Generator[None]:
    """While the block runs, Ctrl-C calls ``callback`` on the running event loop. For the main thread."""
    loop = asyncio.get_running_loop()

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(callback)

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
