"""SIGINT and SIGTERM under an HTTP server that is not ours: open streams end before that server waits for them.

The server's own handler is chained: it runs after ours, and is put back at the end. All applications of a process share
one handler.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import TypeAlias

__all__ = ["ends_on_signal"]

_NUMBERS = (signal.SIGINT, signal.SIGTERM)

_Handler: TypeAlias = Callable[[int, FrameType | None], object]

# Applications that serve, by what ends their streams. The main thread alone reads and writes it.
_closings: dict[Callable[[], None], asyncio.AbstractEventLoop] = {}


@contextlib.contextmanager
def ends_on_signal(closing: Callable[[], None]) -> Generator[None]:
    """While the block runs, SIGINT and SIGTERM call ``closing`` on the running event loop, and then the handler that
    the server had installed before.

    Installs nothing outside the main thread, and nothing for a signal that has no handler of the server's: there it
    ends the process at once, or is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _closings[closing] = asyncio.get_running_loop()
    for number in _NUMBERS:
        _install(number)
    try:
        yield
    finally:
        del _closings[closing]
        if not _closings:
            for number in _NUMBERS:
                _put_back(number)


class _Chained:
    """Our handler in front of another one."""

    def __init__(self, before: _Handler) -> None:
        self.before = before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        for closing, loop in tuple(_closings.items()):
            if not loop.is_closed():
                loop.call_soon_threadsafe(closing)
        self.before(number, frame)


def _install(number: int) -> None:
    current = signal.getsignal(number)
    if callable(current) and not isinstance(current, _Chained | signal.Handlers):
        signal.signal(number, _Chained(current))


def _put_back(number: int) -> None:
    """Only where the handler is still ours: a server may have changed it since."""
    current = signal.getsignal(number)
    if isinstance(current, _Chained):
        signal.signal(number, current.before)
