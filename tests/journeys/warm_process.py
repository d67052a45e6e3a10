"""The process that :mod:`journeys.warm` starts: it has imported every verb, and forks a command for each connection.

It is run by ``python -c``, as the commands themselves are, so that ``sys.path`` is the same. ``sys.argv[1]`` is the
path of the socket. The process ends with its input.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import threading
import time
import traceback

import toolwright.cli
from toolwright.cli.main import main


def load() -> None:
    """Import what commands take the longest to import. Nothing of it starts a thread, which a fork would not have."""
    for module in pkgutil.iter_modules(toolwright.cli.__path__):
        importlib.import_module(f"toolwright.cli.{module.name}")
    for name in ("Server", "Client", "Host"):
        getattr(toolwright, name)
    for module in ("tools.local", "policy.config", "policy.pipeline", "client.stdio", "toolbox.files"):
        try:
            importlib.import_module(f"toolwright.{module}")
        except ModuleNotFoundError:
            continue
    gc.collect()
    gc.freeze()
    assert os.listdir("/proc/self/task") == [str(os.getpid())]


def serve(address: str) -> None:
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
                    be_command(connection)


def be_command(connection: socket.socket) -> None:
    """Run the command as a process of its own would, send its exit code, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 1
    try:
        begin(connection)
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        threading._shutdown()
        atexit._run_exitfuncs()
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
    text, handed, _, _ = socket.recv_fds(connection, 1 << 16, 3)
    while data := connection.recv(1 << 16):
        text += data
    for number, descriptor in enumerate(handed):
        os.dup2(descriptor, number)
        os.close(descriptor)
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
serve(sys.argv[1])
