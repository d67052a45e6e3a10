"""Sockets between the processes of one user, which no other user reaches. Windows has none that an event loop takes."""

from __future__ import annotations

import socket
from typing import Final

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["HAS_PRIVATE_SOCKETS", "accept_private", "bind_private", "connect_private"]

HAS_PRIVATE_SOCKETS: Final = HAS_POSIX

if HAS_POSIX:
    from tooltrue._internal.platform.posix_private_sockets import accept_private, bind_private, connect_private
else:

    def bind_private(path: str) -> socket.socket:
        """Never called: callers ask for ``HAS_PRIVATE_SOCKETS`` first. So it is with the other two."""
        raise NotImplementedError

    async def accept_private(listener: socket.socket) -> socket.socket:
        raise NotImplementedError

    async def connect_private(path: str) -> socket.socket:
        raise NotImplementedError
