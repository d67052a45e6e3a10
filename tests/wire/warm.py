"""Servers for the transcripts over stdio, each in its own process, forked from a parent that has loaded all modules.

``python warm.py SOCKET`` is the parent. It forks a server for each connection to ``SOCKET``, and ends with its input.
The command of a link is a short program that passes its three standard descriptors on, so that the client and the
server are connected directly, and that ends when the server does.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from support.fork_server import fork_for_each, take_descriptors
from support.wire import servers

__all__ = ["Warm", "running_warm"]

_HANDING_ON = """
import _socket, sys
with_server = _socket.socket(_socket.AF_UNIX)
with_server.connect(sys.argv[1])
handed = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
with_server.sendmsg([sys.argv[2].encode()], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handed)])
with_server.recv(1)
"""

_STARTING = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from support.wire import servers
servers.make(sys.argv[1]).run()
"""


class Warm:
    """The commands of servers that are there at once; without an address, of servers that each load all modules."""

    def __init__(self, address: str | None) -> None:
        self._address = address

    def command(self, server: str) -> list[str]:
        if self._address is None:
            return [sys.executable, "-c", _STARTING, str(Path(__file__).parents[1]), server]
        return [sys.executable, "-I", "-S", "-c", _HANDING_ON, self._address, server]


@pytest.fixture(scope="session", name="warm")
def running_warm() -> Iterator[Warm]:
    if not hasattr(os, "fork"):
        yield Warm(None)
        return
    with tempfile.TemporaryDirectory(prefix="tooltrue-") as folder:  # a socket's path has to be short
        address = str(Path(folder) / "warm")
        command = [sys.executable, __file__, address]
        here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        with subprocess.Popen(command, env=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield Warm(address)


def _become_server(connection: socket.socket) -> NoReturn:
    """Run a server and exit, without the parent's cleanup handlers."""
    code = 1
    try:
        with contextlib.suppress(SystemExit):
            name = take_descriptors(connection).decode()
            sys.argv = ["servers.py", name]
            servers.make(name).run()
            code = 0
    except BaseException:  # noqa: BLE001 - there is no caller
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    fork_for_each(sys.argv[1], _become_server)
