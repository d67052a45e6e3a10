"""The signals that end a server in order, between its processes and within one."""

from __future__ import annotations

import os
import signal
from typing import Final

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["HANG_UP_SIGNALS", "STOP_SIGNALS", "leave_console_to_parent", "stop_this_process"]

if HAS_POSIX:
    STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
    HANG_UP_SIGNALS: Final = (signal.SIGTERM, signal.SIGHUP)
else:
    # A process gets SIGBREAK for Ctrl-Break, the closing of its console, and the end of the user's session.
    STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
    HANG_UP_SIGNALS: Final = (signal.SIGTERM, signal.SIGBREAK)

if HAS_POSIX:

    def stop_this_process() -> None:
        """Send SIGTERM to this process, from any thread. Its handler runs in the main thread."""
        os.kill(os.getpid(), signal.SIGTERM)  # raised in this thread, it would not wake up the main one

    def leave_console_to_parent() -> None:
        """No-op: a signal is sent to one process, or to those that the sender has chosen."""

else:

    def stop_this_process() -> None:
        """Send SIGTERM to this process, from any thread. Its handler runs in the main thread."""
        signal.raise_signal(signal.SIGTERM)  # os.kill would end the process at once

    def leave_console_to_parent() -> None:
        """Ignore the signals of the console. Each process of the console gets them, and a parent that tells its
        children to end would be the second one to tell it."""
        for number in STOP_SIGNALS:
            if number != signal.SIGTERM:
                signal.signal(number, signal.SIG_IGN)
