"""SIGINT and SIGTERM under a foreign HTTP server: ends open streams before that server waits for them.

The server's own handler is chained: it runs after ours and is restored at the end. A process has one handler for all
its applications.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType

from tooltrue._internal.platform import stop_signals
from tooltrue._internal.platform.stop_signals import SignalHandler

__all__ = ["ends_on_signal"]

# Serving applications, by the function that ends their streams. Accessed by the main thread only.
_closings: dict[Callable[[], None], asyncio.AbstractEventLoop] = {}


@contextlib.contextmanager
def ends_on_signal(closing: Callable[[], None]) -> Generator[None]:
    """While the block runs, SIGINT and SIGTERM call ``closing`` on the running event loop, and then the handler that
    the server had installed before.

    Installs no handler outside the main thread, nor for a signal for which the server has none: such a signal ends the
    process at once, or is ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _closings[closing] = asyncio.get_running_loop()
    for number in stop_signals.STOP_SIGNALS:
        _install(number)
    try:
        yield
    finally:
        del _closings[closing]
        if not _closings:
            for number in stop_signals.STOP_SIGNALS:
                _put_back(number)


class _Chained:
    """Our handler, chained before another one."""

    def __init__(self, before: SignalHandler) -> None:
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
    """Restore the previous handler if ours is still installed: a server may have replaced it."""
    current = signal.getsignal(number)
    if isinstance(current, _Chained):
        signal.signal(number, current.before)
