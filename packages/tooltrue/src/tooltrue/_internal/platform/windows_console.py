"""The end of a console window on Windows, and of the session of its user."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from tooltrue._internal.platform.system import HAS_POSIX

assert not HAS_POSIX

__all__ = ["on_close"]

_ENDS = {2: "CTRL_CLOSE_EVENT", 5: "CTRL_LOGOFF_EVENT", 6: "CTRL_SHUTDOWN_EVENT"}
_FOREVER = threading.Event()

_kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
_Handler = ctypes.WINFUNCTYPE(ctypes.c_int, ctypes.c_uint32)
_handlers: list[object] = []  # the system calls them until the process ends


def on_close(callback: Callable[[], object]) -> None:
    """Have ``callback`` called by a thread of the system once the console closes, or its user logs off.

    The system ends the process as soon as that thread returns, and after some seconds in any case. So the thread waits
    until the process has ended in its own way.
    """

    def handle(event: int) -> int:
        if event not in _ENDS:
            return False
        callback()
        _FOREVER.wait()
        return True

    handler = _Handler(handle)
    _handlers.append(handler)
    _kernel32.SetConsoleCtrlHandler(handler, True)
