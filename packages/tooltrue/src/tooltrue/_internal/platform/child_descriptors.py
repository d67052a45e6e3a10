"""The descriptors that a child process inherits: none but those that it is given."""

from __future__ import annotations

import asyncio
import contextlib
import os

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["keep_descriptors"]


def keep_descriptors() -> None:
    """Mark the open descriptors of this process as not inheritable, before the running event loop starts a program.

    The loops of asyncio close them in the child. uvloop's leaves them open, and so a program would get descriptors that
    this process itself has inherited, and the socket on which an HTTP server listens. On Windows a program inherits
    only what it is given.
    """
    if not HAS_POSIX or isinstance(asyncio.get_running_loop(), asyncio.BaseEventLoop):
        return
    for name in os.listdir("/dev/fd"):
        descriptor = int(name)
        if descriptor > 2:
            with contextlib.suppress(OSError):  # the one of the listing itself
                os.set_inheritable(descriptor, False)
