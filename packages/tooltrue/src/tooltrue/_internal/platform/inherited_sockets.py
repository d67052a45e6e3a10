"""Python processes that inherit sockets of this one, by a handle that a message to them carries."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from typing import TypeAlias

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["SocketHandle", "ask_to_end", "inherited", "inherited_by", "start_heir"]

SocketHandle: TypeAlias = int | bytes
"""Stands for a socket in a message: its descriptor, or on Windows what describes it to one other process."""

if HAS_POSIX:

    def start_heir(command: Sequence[str], *sockets: socket.socket) -> subprocess.Popen[bytes]:
        """Start a program that inherits the sockets, with a pipe as its standard input. Ctrl-C does not reach it."""
        descriptors = [each.fileno() for each in sockets]
        return subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=descriptors, start_new_session=True)

    def inherited_by(heir: subprocess.Popen[bytes], inheritance: socket.socket) -> SocketHandle:
        """The handle by which the program knows the socket."""
        return inheritance.fileno()

    def inherited(handle: SocketHandle) -> socket.socket:
        """In the program: the socket of this handle. What the program starts does not inherit it."""
        assert isinstance(handle, int)
        inheritance = socket.socket(fileno=handle)
        inheritance.set_inheritable(False)
        return inheritance

    def ask_to_end(heir: subprocess.Popen[bytes]) -> None:
        """Have the program end in order."""
        heir.terminate()

else:
    from tooltrue._internal.platform.processes import start_program

    def start_heir(command: Sequence[str], *sockets: socket.socket) -> subprocess.Popen[bytes]:
        """Start a program, with a pipe as its standard input. Ctrl-C does not reach it."""
        return start_program(command, stdin=subprocess.PIPE)

    def inherited_by(heir: subprocess.Popen[bytes], inheritance: socket.socket) -> SocketHandle:
        """The handle by which the program knows the socket. This process may close the socket then."""
        return inheritance.share(heir.pid)

    def inherited(handle: SocketHandle) -> socket.socket:
        """In the program: the socket of this handle. What the program starts does not inherit it."""
        assert isinstance(handle, bytes)
        return socket.fromshare(handle)

    def ask_to_end(heir: subprocess.Popen[bytes]) -> None:
        """Have the program end in order, as it does at the end of its input."""
        assert heir.stdin is not None
        heir.stdin.close()
