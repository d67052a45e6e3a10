"""The process that :mod:`support.warm_command` starts. It has imported every verb, and forks a command for each
connection.

It is run by ``python -c``, as the commands themselves are, so that ``sys.path`` is the same. ``sys.argv`` holds the
path of the socket and the folder of the tests. The process ends with its input.
"""

from __future__ import annotations

import atexit
import fcntl
import importlib
import json
import os
import pkgutil
import socket
import sys
import threading
import time
import traceback
from typing import NoReturn

import psutil

import tooltrue.cli
import tooltrue_check.cli
import tooltrue_console.cli
from tooltrue.cli.main import main

sys.path.insert(0, sys.argv[2])
from support.fork_server import fork_for_each, take_descriptors

sys.path.remove(sys.argv[2])


def load() -> None:
    """Import the modules that commands take the longest to import. They start no thread, which a fork would lack."""
    for package in (tooltrue.cli, tooltrue_check.cli, tooltrue_console.cli):
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"{package.__name__}.{module.name}")
    for name in ("Server", "Client", "Host"):
        getattr(tooltrue, name)
    for name in (
        "tooltrue.tools.local",
        "tooltrue.policy.config",
        "tooltrue.policy.pipeline",
        "tooltrue_toolbox.files",
    ):
        importlib.import_module(name)
    assert psutil.Process().num_threads() == 1


def become_command(connection: socket.socket) -> NoReturn:
    """Run the command as a process of its own would, send its exit code, and end."""
    code = 1
    try:
        begin(connection)
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue] - the stubs leave it out
        atexit._run_exitfuncs()  # pyright: ignore[reportPrivateUsage] - as the interpreter does
    except BaseException:  # noqa: BLE001 - there is no caller
        traceback.print_exc()
    finally:
        for file in (sys.stdout, sys.stderr):
            try:
                file.flush()
            except OSError:
                code = code or 120
        connection.send(bytes([code]))
        os._exit(code)


def begin(connection: socket.socket) -> None:
    """Take over the descriptors, the folder, the environment and the arguments of the program that asks."""
    text = take_descriptors(connection)
    while data := connection.recv(1 << 16):
        text += data
    asked = json.loads(text)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    sys.argv[1:] = asked["arguments"]
    # The command is ended with the program that asked for it, whose end of the connection is closed then.
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, os.O_ASYNC)


load()
fork_for_each(sys.argv[1], become_command)
