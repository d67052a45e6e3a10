"""The end of a process with the one that has started it, however that one ends."""

from __future__ import annotations

import threading
from multiprocessing import parent_process

from tooltrue._internal.platform.stop_signals import stop_this_process

__all__ = ["stop_with_parent"]


def stop_with_parent() -> None:
    """Have this process, which ``multiprocessing`` has started, stopped by SIGTERM when its parent has ended.

    The parent holds the other end of a pipe, or on Windows is waited for itself: no system needs a way of its own.
    """
    if (parent := parent_process()) is not None:

        def watch() -> None:
            parent.join()
            stop_this_process()

        threading.Thread(target=watch, name="parent", daemon=True).start()
