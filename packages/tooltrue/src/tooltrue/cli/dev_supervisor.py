"""The loop of ``tooltrue dev``: one process serves, and another takes its place after a change of its files.

The new process loads the author's program while the old one still serves, so that a program that cannot be loaded
changes nothing. Both have the same listening socket: a client that connects in between waits for a moment.
"""

from __future__ import annotations

import json
import pickle
import select
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from tooltrue._internal.platform.inherited_sockets import ask_to_end, inherited_by, start_heir
from tooltrue._internal.platform.processes import kill_tree
from tooltrue._internal.watched_files import WatchedFiles
from tooltrue.cli.dev_worker import DevJob
from tooltrue.contract import lock as locks
from tooltrue.contract.lock import Lock

__all__ = ["DevScreen", "Supervisor"]

_PROGRAM = "from tooltrue.cli.dev_worker import main; main()"
_LOOK_SECONDS = 0.2
_END_SECONDS = 3.0


class DevScreen(Protocol):
    """Shows the author the course of things. ``before`` is the contract that was served before, if any; a failure is an
    error in words, or the exit code of a program that has ended by itself."""

    def serving(self, lock: Lock, before: Lock | None) -> None: ...

    def changed(self, files: list[Path]) -> None: ...

    def failed(self, error: str | int, *, still_serves: bool) -> None: ...


class Supervisor:
    """Keeps one process serving at ``listener``. ``look`` is the time between two looks at the files, in seconds."""

    def __init__(self, job: DevJob, listener: socket.socket, screen: DevScreen, look: float = _LOOK_SECONDS) -> None:
        self._job = job
        self._listener = listener
        self._screen = screen
        self._look = look
        self._files = WatchedFiles(job.folder)
        self._serving: _Process | None = None
        self._starting: _Process | None = None
        self._lock: Lock | None = None

    def run(self, when_served: Callable[[], None], is_over: Callable[[], bool]) -> None:
        """Serve until an exception, such as KeyboardInterrupt, or until it ``is_over``. ``when_served`` is called once,
        after the first start. No process is left behind."""
        try:
            self._starting = _Process(self._job, self._listener)
            while not is_over():
                self._wait()
                if self._lock is not None and self._serving is not None:
                    when_served()
                    when_served = _nothing
                if changed := self._files.changes():
                    self._screen.changed(changed)
                    self._restart()
        finally:
            for process in (self._starting, self._serving):
                if process is not None:
                    process.end()

    def _restart(self) -> None:
        if self._starting is not None:
            self._starting.end()
        self._starting = _Process(self._job, self._listener)

    def _wait(self) -> None:
        """Let time pass until the next look, or until a process has something to tell."""
        processes = [process for process in (self._starting, self._serving) if process is not None]
        ready, _, _ = select.select(processes, [], [], self._look)
        for process in processes:
            if process not in (self._starting, self._serving):  # it was replaced a moment ago
                continue
            if process in ready:
                self._hear(process)
            elif process.has_exited():  # a process that it has started may hold the connection
                self._lose(process)

    def _hear(self, process: _Process) -> None:
        for report in process.reports():
            self._files.add(map(Path, report["files"]))
            match report["stage"]:
                case "loaded":
                    self._take_turns(process)
                case "serving":
                    lock = locks.parse(report["lock"].encode(), "")
                    self._screen.serving(lock, self._lock)
                    self._lock = lock
                case _:
                    process.error = report["error"]
        if process.is_silent:
            self._lose(process)

    def _take_turns(self, process: _Process) -> None:
        """End the process that served, and let the new one serve."""
        if self._serving is not None:
            self._serving.end()
        self._serving, self._starting = process, None
        process.go()

    def _lose(self, process: _Process) -> None:
        status = process.end(of_itself=True)
        if process is self._starting:
            self._starting = None
        else:
            self._serving = None
        self._screen.failed(process.error or status, still_serves=self._serving is not None)


def _nothing() -> None:
    pass


class _Process:
    """A process of the author's program, and the connection on which it reports."""

    def __init__(self, job: DevJob, listener: socket.socket) -> None:
        self.error = ""
        self.is_silent = False
        self._rest = b""
        self._reading, writing = socket.socketpair()
        with writing:
            # Compiled files are compared by the second alone, so that none are written.
            self._popen = start_heir([sys.executable, "-P", "-B", "-c", _PROGRAM], listener, writing)
            report = inherited_by(self._popen, writing)
            self._say(pickle.dumps(replace(job, listener=inherited_by(self._popen, listener), report=report)))

    def fileno(self) -> int:
        return self._reading.fileno()

    def go(self) -> None:
        """Let it serve."""
        self._say(b"\n")

    def _say(self, data: bytes) -> None:
        assert self._popen.stdin is not None
        try:
            self._popen.stdin.write(data)
            self._popen.stdin.flush()
        except OSError:  # it has ended, as the other connection shows
            pass

    def reports(self) -> Iterator[Mapping[str, Any]]:
        """The reports that have arrived. Waits unless there is one, or the end."""
        data = self._received()
        self.is_silent = not data
        *lines, self._rest = (self._rest + data).split(b"\n")
        yield from map(json.loads, lines)

    def _received(self) -> bytes:
        try:
            return self._reading.recv(1 << 20)
        except ConnectionError:  # it was killed
            return b""

    def has_exited(self) -> bool:
        return self._popen.poll() is not None

    def end(self, *, of_itself: bool = False) -> int:
        """End the process and all that it has started; its exit code. ``of_itself``: it is about to end anyway."""
        if not (of_itself and self._ends()):
            ask_to_end(self._popen)
        if not self._ends():
            kill_tree(self._popen.pid)
        if self._popen.stdin is not None:
            self._popen.stdin.close()
        self._reading.close()
        return self._popen.wait()

    def _ends(self) -> bool:
        try:
            self._popen.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True
