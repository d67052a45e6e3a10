"""Servers of the transcripts over stdio, each a process of its own that is forked from one that has loaded everything.

``python warm.py SOCKET`` is that one. It forks a server for each connection to ``SOCKET``, and ends with its input. The
command of a link is a few lines that hand their own three descriptors on, so that nothing stands between the client and
the server, and that end when the server does.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from wire import servers

__all__ = ["Warm", "running_warm"]

_HANDING_ON = """
import _socket, sys
with_server = _socket.socket(_socket.AF_UNIX)
with_server.connect(sys.argv[1])
handed = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
with_server.sendmsg([sys.argv[2].encode()], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handed)])
with_server.recv(1)
"""


class Warm:
    """The commands of servers that are there at once."""

    def __init__(self, address: str) -> None:
        self._address = address

    def command(self, server: str) -> list[str]:
        return [sys.executable, "-I", "-S", "-c", _HANDING_ON, self._address, server]


@pytest.fixture(scope="session", name="warm")
def running_warm() -> Iterator[Warm]:
    with tempfile.TemporaryDirectory(prefix="toolwright-") as folder:  # a socket's path has to be short
        address = str(Path(folder) / "warm")
        command = [sys.executable, __file__, address]
        here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        with subprocess.Popen(command, env=here, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            yield Warm(address)


def _serve(connection: socket.socket) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    name, handed, _, _ = socket.recv_fds(connection, 100, 3)
    for number, descriptor in enumerate(handed):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.argv = ["servers.py", name.decode()]
    servers.make(name.decode()).run()


def _run(address: str) -> None:
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
                    _be(connection)


def _be(connection: socket.socket) -> None:
    """A server and nothing else: what is the parent's is not ended here."""
    code = 1
    try:
        with contextlib.suppress(SystemExit):
            _serve(connection)
            code = 0
    except BaseException:  # noqa: BLE001 - nobody is there to catch it
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _run(sys.argv[1])
