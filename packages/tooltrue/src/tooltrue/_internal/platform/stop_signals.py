"""The signals that ask a process to stop, between the processes of a server and within one, and Ctrl-C: handlers that
work beside every event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Generator
from types import FrameType
from typing import Final, TypeAlias

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = [
    "HANG_UP_SIGNALS",
    "STOP_SIGNALS",
    "SignalHandler",
    "handle",
    "interrupting",
    "leave_console_to_parent",
    "stop_this_process",
    "watch",
]

SignalHandler: TypeAlias = Callable[[int, FrameType | None], object]

if HAS_POSIX:
    STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
    HANG_UP_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
else:
    # A process gets SIGBREAK for Ctrl-Break, the closing of its console, and the end of the user's session.
    STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
    HANG_UP_SIGNALS: Final = (signal.SIGTERM, signal.SIGBREAK)


def handle(handler: SignalHandler) -> None:
    """Have the handler called for each stop signal, and on Windows when the console closes, until the process ends.

    For the main thread. The handler runs there between two instructions; where the console closes, on a thread, and
    the process has some five seconds from then on.
    """
    for number in STOP_SIGNALS:
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


if HAS_POSIX:

    def watch(callback: Callable[[], object]) -> None:
        """Call ``callback`` on a thread for each stop signal that has a handler, also while the main thread runs C code
        and so can run no handler. For the main thread, until the process ends.

        An event loop that asks for the bytes of signals later takes them over.
        """
        source, target = os.pipe()
        os.set_blocking(target, False)
        before = signal.set_wakeup_fd(target, warn_on_full_buffer=False)

        def follow() -> None:
            while True:
                numbers = os.read(source, 64)
                if before >= 0:
                    with contextlib.suppress(OSError):  # that loop has ended, or has enough bytes to wake up
                        os.write(before, numbers)
                if not set(STOP_SIGNALS).isdisjoint(numbers):
                    callback()

        threading.Thread(target=follow, name="tooltrue-signals", daemon=True).start()

    def stop_this_process() -> None:
        """Send SIGTERM to this process, from any thread. Its handler runs in the main thread."""
        os.kill(os.getpid(), signal.SIGTERM)  # raised in this thread, it would not wake up the main one

    def leave_console_to_parent() -> None:
        """No-op: a signal is sent to one process, or to those that the sender has chosen."""

else:

    def watch(callback: Callable[[], object]) -> None:
        """No-op: a handler runs where the main thread runs Python code, and the console ends a process that is late."""

    def stop_this_process() -> None:
        """Send SIGTERM to this process, from any thread. Its handler runs in the main thread."""
        signal.raise_signal(signal.SIGTERM)  # os.kill would end the process at once

    def leave_console_to_parent() -> None:
        """Ignore the signals of the console. Each process of the console gets them, and a parent that tells its
        children to end would be the second one to tell it."""
        for number in STOP_SIGNALS:
            if number != signal.SIGTERM:
                signal.signal(number, signal.SIG_IGN)
