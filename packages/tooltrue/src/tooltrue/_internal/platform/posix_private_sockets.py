"""A listening socket in the file system that only this user can reach, and its connections. For Linux and macOS."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket
import struct
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TypeAlias

assert sys.platform != "win32"

__all__ = [
    "PrivateConnection",
    "PrivateListener",
    "accept_private",
    "attach_private",
    "bind_private",
    "connect_private",
    "private_address",
]

PrivateConnection: TypeAlias = socket.socket
PrivateListener: TypeAlias = socket.socket

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


@contextlib.contextmanager
def private_address() -> Generator[str]:
    """An address to listen at: a path in a folder that is this user's alone, and is removed after the block."""
    with tempfile.TemporaryDirectory(prefix="tooltrue-", ignore_cleanup_errors=True) as folder:
        yield str(Path(folder) / "socket")


def bind_private(address: str) -> PrivateListener:
    """Listen at ``address``. ``OSError`` where that fails, and where any process listens there."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(address)
        os.chmod(address, 0o600)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


async def accept_private(listener: PrivateListener) -> PrivateConnection:
    """The next connection of a process of this user. Those of others are closed."""
    loop = asyncio.get_running_loop()
    listener.setblocking(False)
    while True:
        connection, _ = await loop.sock_accept(listener)
        if _is_own(connection):
            return connection
        connection.close()


async def connect_private(address: str) -> PrivateConnection:
    """A connection to the process of this user that listens at ``address``. ``OSError`` where there is none."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, address)
        if not _is_own(connection):
            raise PermissionError(address)
    except BaseException:
        connection.close()
        raise
    return connection


async def attach_private(connection: PrivateConnection, protocol: asyncio.Protocol) -> None:
    """Give the connection to ``protocol``. Its transport closes the connection."""
    await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, connection)


def _is_own(connection: socket.socket) -> bool:
    """Whether the process at the other end is one of this user. One that has ended already is not known."""
    try:
        return _peer(connection) == os.geteuid()
    except OSError:
        return False
