"""A listening socket in the file system that only this user can reach, and its connections. For Linux and macOS."""

from __future__ import annotations

import asyncio
import ctypes
import os
import socket
import struct
import sys

assert sys.platform != "win32"

__all__ = ["accept_private", "bind_private", "connect_private"]

_BACKLOG = 512

if sys.platform == "linux":

    def _peer(connection: socket.socket) -> int:
        """The user of the process at the other end, as the system knows it (unix(7))."""
        _, user, _ = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return user

else:

    def _peer(connection: socket.socket) -> int:
        """The user of the process at the other end, as the system knows it (getpeereid(3))."""
        user, group = ctypes.c_uint32(), ctypes.c_uint32()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.getpeereid(connection.fileno(), ctypes.byref(user), ctypes.byref(group)):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return user.value


def bind_private(path: str) -> socket.socket:
    """Listen at ``path``, in a folder that is this user's alone. ``OSError`` where that fails."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        os.chmod(path, 0o600)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


async def accept_private(listener: socket.socket) -> socket.socket:
    """The next connection of a process of this user. Those of others are closed."""
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    while True:
        connection, _ = await loop.sock_accept(listener)
        if _is_own(connection):
            return connection
        connection.close()


async def connect_private(path: str) -> socket.socket:
    """A connection to the process of this user that listens at ``path``. ``OSError`` where there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, path)
        if not _is_own(connection):
            raise PermissionError(path)
    except BaseException:
        connection.close()
        raise
    return connection


def _is_own(connection: socket.socket) -> bool:
    """Whether the process at the other end is one of this user. One that has ended already is not known."""
    try:
        return _peer(connection) == os.geteuid()
    except OSError:
        return False
