"""Named pipes, made of sockets of Linux without a path: each instance is one that listens, until its client connects.

An instance takes one client, because nothing else waits in its queue. A name is in use as long as the system lists a
socket of that name. The connection takes the descriptor of its instance.
"""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import warnings
from typing import Any

from support.windows import function, set_last_error
from support.windows.rights import pipes, text_at

PREFIX = "\\\\.\\pipe\\"

_INVALID_HANDLE = (1 << 64) - 1
_FILE_NOT_FOUND, _ACCESS_DENIED, _PIPE_BUSY, _PIPE_NOT_CONNECTED = 2, 5, 231, 233
_OVERLAPPED, _FIRST_INSTANCE, _REJECT_REMOTE_CLIENTS = 0x4000_0000, 0x0008_0000, 0x8


def _instances(name: str) -> list[str]:
    """The addresses of all sockets that are instances of this name, without the first byte."""
    with open("/proc/net/unix") as table:
        found = [line.split()[-1] for line in table if f"@{name}/" in line]
    return [address.removeprefix("@") for address in found]


def _socket(handle: int) -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=os.dup(handle))


@function("kernel32", "CreateNamedPipeW")
def create_named_pipe(name: str, mode: int, kind: int, *more: Any) -> int:
    assert mode & _OVERLAPPED, "for the event loop"
    assert kind == _REJECT_REMOTE_CLIENTS, "bytes, from this machine"
    if mode & _FIRST_INSTANCE and _instances(name):
        set_last_error(_ACCESS_DENIED)
        return _INVALID_HANDLE
    instance = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    instance.bind(f"\0{name}/{os.getpid()}-{os.urandom(8).hex()}")
    instance.listen(0)
    pipes[instance.fileno()] = text_at(more[-1]._obj.descriptor)
    return instance.detach()


def open_client(name: str) -> int:
    """``CreateFileW`` for the path of a pipe."""
    instances = _instances(name)
    for address in dict.fromkeys(instances):
        client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        client.setblocking(False)
        try:
            client.connect(f"\0{address}")
        except (BlockingIOError, ConnectionRefusedError):  # it has its client
            client.close()
        else:
            return client.detach()
    set_last_error(_PIPE_BUSY if instances else _FILE_NOT_FOUND)
    return _INVALID_HANDLE


@function("kernel32", "GetNamedPipeClientProcessId")
def client_process(handle: int, out: Any) -> bool:
    return _peer(handle, out)


@function("kernel32", "GetNamedPipeServerProcessId")
def server_process(handle: int, out: Any) -> bool:
    return _peer(handle, out)


def _peer(handle: int, out: Any) -> bool:
    with _socket(handle) as end:
        try:
            out._obj.value, _, _ = struct.unpack("iII", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        except OSError:
            set_last_error(_PIPE_NOT_CONNECTED)
            return False
    return True


class PipeHandle:
    """As of ``asyncio.windows_utils``."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle

    def fileno(self) -> int:
        if self._handle is None:
            raise ValueError("I/O operation on closed pipe")
        return self._handle

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __del__(self) -> None:
        if self._handle is not None:
            warnings.warn(f"unclosed pipe {self._handle}", ResourceWarning, stacklevel=2, source=self)
            self.close()


class Proactor:
    """The pipes of an event loop of Windows, for one of Linux."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    async def accept_pipe(self, pipe: Any) -> Any:
        """Wait for the client of an instance."""
        loop = self._loop
        arrived: asyncio.Future[None] = loop.create_future()
        instance = _socket(pipe.fileno())

        def accept() -> None:
            loop.remove_reader(instance)
            instance.shutdown(socket.SHUT_RD)  # it takes no other client from here on
            with instance.accept()[0] as connection:
                os.dup2(connection.fileno(), pipe.fileno(), inheritable=False)
            if not arrived.done():
                arrived.set_result(None)

        loop.add_reader(instance, accept)
        try:
            await arrived
        finally:
            loop.remove_reader(instance)
            instance.close()
        return pipe


def duplex_transport(loop: Any, pipe: Any, protocol: asyncio.Protocol, waiter: Any = None) -> Any:
    """``_make_duplex_pipe_transport`` of the loop."""
    end = _socket(pipe.fileno())
    end.setblocking(False)
    pipe.close()
    return loop._make_socket_transport(end, protocol, waiter)
