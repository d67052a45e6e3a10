"""The process of ``tooltrue dev`` that runs the author's program: it is loaded once, and ended at the next change.

Its parent (:mod:`tooltrue.cli.dev_supervisor`) sends the job on standard input, and later one byte that lets it serve.
The end of the input ends the process, so that it outlives no parent. It answers with one line of JSON for each stage:
``loaded``, then ``serving``; or ``failed``.
"""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tooltrue._internal.platform.descriptors import open_empty_input
from tooltrue._internal.platform.inherited_sockets import SocketHandle, inherited
from tooltrue._internal.platform.stop_signals import stop_this_process
from tooltrue.app import Server
from tooltrue.cli.live_contract import fetch_lock
from tooltrue.cli.printing import escape_logs
from tooltrue.cli.targets import Spec, load_server
from tooltrue.contract import lock as locks
from tooltrue.errors import TooltrueError
from tooltrue.server.auth_settings import AuthSettings
from tooltrue.server.http_worker import Worker, WorkerSettings
from tooltrue.transport import http_runner

__all__ = ["DevJob", "main"]

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class DevJob:
    """The job of a process: the program that it serves. ``listener`` and ``report`` are sockets that it
    inherits; ``folder`` holds the modules that are watched; ``state`` and ``keys`` outlive the process, so that
    clients keep their sessions."""

    spec: Spec
    folder: Path
    hosts: tuple[str, ...]
    state: str
    keys: tuple[str, ...]
    language: str
    listener: SocketHandle = -1
    report: SocketHandle = -1


def main() -> None:
    """Serve until SIGTERM, or until the parent has ended."""
    job: DevJob = pickle.load(sys.stdin.buffer)
    orders = _Orders()
    escape_logs()
    listener = inherited(job.listener)
    with inherited(job.report) as connection, connection.makefile("w", encoding="utf-8", newline="\n") as lines:
        report = _Report(lines, job)
        try:
            server = load_server(job.spec)
            asyncio.run(server.check_rules())
            callers = server.auth_settings.with_secrets()
        except TooltrueError as error:
            report.failed(error)
            sys.exit(1)
        report.say("loaded")
        orders.wait()
        try:
            _serve(job, listener, server, callers, report)
        except TooltrueError as error:  # of its lifespan, or of a list of tools
            report.failed(error)
            sys.exit(1)


class _Orders:
    """The lines of the parent on standard input from now on. No part of it reaches the author's program."""

    def __init__(self) -> None:
        self._pipe = os.dup(0)
        nowhere = open_empty_input()
        os.dup2(nowhere, 0)
        os.close(nowhere)
        self._may_serve = threading.Event()
        threading.Thread(target=self._listen, name="orders", daemon=True).start()

    def wait(self) -> None:
        """Return once this process may serve."""
        self._may_serve.wait()

    def _listen(self) -> None:
        while self._said():
            self._may_serve.set()
        stop_this_process()

    def _said(self) -> bytes:
        try:
            return os.read(self._pipe, 1)
        except OSError:  # as on Windows, when the parent was killed
            return b""


def _serve(job: DevJob, listener: socket.socket, server: Server, callers: AuthSettings, report: _Report) -> None:
    settings = WorkerSettings(
        lambda: server, callers, (*job.hosts, *callers.hosts), job.state, job.keys, has_new_keys=True
    )
    worker = _DevWorker(settings, server, report)
    http_runner.run(lambda: worker, listener, workers=1)


class _DevWorker(Worker):
    """Reports the contract of its server as soon as it serves."""

    def __init__(self, job: WorkerSettings, server: Server, report: _Report) -> None:
        super().__init__(job)
        self._server = server
        self._report = report

    async def _started(self) -> None:
        self._report.say("serving", lock=locks.text(await fetch_lock(self._server, _SECONDS)))


class _Report:
    def __init__(self, lines: TextIO, job: DevJob) -> None:
        self._lines = lines
        self._job = job

    def failed(self, error: TooltrueError) -> None:
        self.say("failed", error=error.say(self._job.language))

    def say(self, stage: str, **facts: str) -> None:
        line: dict[str, Any] = {"stage": stage, "files": sorted(_modules(self._job.folder)), **facts}
        self._lines.write(f"{json.dumps(line)}\n")
        self._lines.flush()


def _modules(folder: Path) -> Iterator[str]:
    """The files of the modules that were loaded from below ``folder``, without those of installed packages."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and file.startswith(f"{folder}{os.sep}") and "site-packages" not in Path(file).parts:
            yield file
