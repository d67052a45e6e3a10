"""Connections between the processes of one user, which no other user reaches: sockets, or named pipes on Windows.

A listener is a context manager, and ``multiprocessing`` takes it to other processes: each may accept from it.
"""

from __future__ import annotations

from tooltrue._internal.platform.system import HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_private_sockets import (
        PrivateConnection,
        PrivateListener,
        accept_private,
        attach_private,
        bind_private,
        connect_private,
        private_address,
    )
else:
    from tooltrue._internal.platform.windows_private_pipes import (
        PrivateConnection,
        PrivateListener,
        accept_private,
        attach_private,
        bind_private,
        connect_private,
        private_address,
    )

__all__ = [
    "PrivateConnection",
    "PrivateListener",
    "accept_private",
    "attach_private",
    "bind_private",
    "connect_private",
    "private_address",
]
