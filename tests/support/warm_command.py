"""``tooltrue`` as a command that begins at once, forked from a process that has imported every verb.

Most of the time of a short command is the import of its modules. Tests of the start itself, of signals and of processes
use :func:`support.serving.command`, and so does a system without forks.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from support.serving import command

__all__ = ["warm_command"]

_PROCESS = Path(__file__).with_name("warm_process.py")
_FLAGS = ("-W", "error", "-W", "ignore::ResourceWarning")  # as those of serving.command
_ASKING = """
import _socket, json, os, sys
process = _socket.socket(_socket.AF_UNIX)
process.connect(sys.argv[1])
handed = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
asked = {"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}
text = json.dumps(asked).encode()
sent = process.sendmsg([text], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handed)])
process.sendall(text[sent:])
process.shutdown(_socket.SHUT_WR)
code = process.recv(1)
os._exit(code[0] if code else 255)
"""


def warm_command(*arguments: str) -> list[str]:
    """``tooltrue`` with these arguments. Its standard streams, folder and environment are those it is started with,
    its parent process is another one."""
    if not hasattr(os, "fork"):
        return command(*arguments)
    return [sys.executable, "-I", "-S", "-c", _ASKING, _address(), *arguments]


@functools.cache
def _address() -> str:
    """The socket of the process that forks commands, which lives as long as this one."""
    folder = tempfile.mkdtemp(prefix="tooltrue-")  # a socket's path has to be short
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    address = str(Path(folder) / "warm")
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    process = subprocess.Popen(
        [sys.executable, *_FLAGS, "-c", _PROCESS.read_text("utf-8"), address, str(_PROCESS.parents[1])],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    atexit.register(_end, process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return address


def _end(process: subprocess.Popen[bytes]) -> None:
    with process:
        assert process.stdin is not None
        process.stdin.close()
