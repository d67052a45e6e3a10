"""A process that has loaded everything, and forks another one for each connection to a socket."""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

__all__ = ["fork_for_each", "take_descriptors"]


def fork_for_each(address: str, become: Callable[[socket.socket], NoReturn]) -> None:
    """Listen on the socket at the path ``address``, say ``ready`` on standard output, and call ``become`` in a fork of
    this process for each connection. ``become`` ends the fork. Returns at the end of standard input."""
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while 0 not in select.select([listening, 0], [], [])[0]:
            connection, _ = listening.accept()
            with connection:
                if os.fork() == 0:
                    listening.close()
                    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                    become(connection)


def take_descriptors(connection: socket.socket) -> bytes:
    """Replace the three standard descriptors by those that the client sent, and return the text that it sent first."""
    text, received, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    for number, descriptor in enumerate(received):
        os.dup2(descriptor, number)
        os.close(descriptor)
    return text
