"""A sandboxed program, from our side: start, output, and the end of it and of all that it has started.

Its output is stored up to a bound, beyond which it is ended; it is also ended at its time limit, and when its call is
cancelled.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

import tooltrue
import tooltrue_toolbox
from tooltrue._internal.platform.child_descriptors import keep_descriptors
from tooltrue._internal.platform.processes import kill_tree
from tooltrue_toolbox.completion import wait_until_done

__all__ = ["ProcessOutcome", "SandboxBounds", "SandboxJob", "run", "what_holds"]

Cause = Literal["exit", "signal", "time", "output", "processes", "start", "confinement", "lost"]

_MAIN = "import sys; sys.path[:0] = sys.argv[1:]; from tooltrue_toolbox.sandbox.supervisor import main; main()"
_SOURCES = tuple({str(Path(module.__path__[0]).parent) for module in (tooltrue, tooltrue_toolbox)})
"""The folders of the packages that the supervisor imports: one where they are installed, two in a checkout."""
_CHUNK = 1 << 16
_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SandboxBounds:
    """Limits of one program. Memory, file size and CPU time are per process."""

    seconds: float = 30.0
    output_bytes: int = 2 << 20
    cpu_seconds: int = 60
    memory_bytes: int = 2 << 30
    file_bytes: int = 256 << 20
    processes: int = 64
    files: int = 256

    def limits(self) -> dict[str, int]:
        """The limits by the names of the system."""
        return {
            "CPU": self.cpu_seconds,
            "FSIZE": self.file_bytes,
            "NOFILE": self.files,
            "AS": self.memory_bytes,
        }


@dataclass(frozen=True, slots=True)
class SandboxJob:
    """A program to run. ``program`` is absolute, ``argv`` has its name first; ``folder`` is a descriptor of its working
    directory.

    ``readable`` and ``writable`` are the places that it may open besides the system and a folder of its own, with
    ``HOME`` and ``TMPDIR``: paths, or descriptors where a path might lead elsewhere by now. ``required`` are the
    confinement mechanisms without which it is not run.
    """

    program: str
    argv: tuple[str, ...]
    folder: int
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    readable: tuple[str, ...] = ()
    writable: tuple[str | int, ...] = ()
    network: bool = False
    required: tuple[str, ...] = ()
    bounds: SandboxBounds = field(default_factory=SandboxBounds)


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """The outcome; ``lost`` where another process has ended the supervisor.

    ``code`` is the exit code, or the number of the signal; the error number if the start failed.
    """

    cause: Cause
    code: int
    output: bytes
    errors: bytes
    holds: tuple[str, ...]
    missing: tuple[str, ...]
    seconds: float
    cpu_seconds: float
    memory_bytes: int


class _Supervisor(asyncio.SubprocessProtocol):
    """The process that confines the program: the output of both, and its end.

    ``exited`` is set when it has ended; ``closed`` when its output has no writer any more, which is later only where
    another process has ended it and the program lives.
    """

    def __init__(self, job: SandboxJob, tell: Callable[[int, bytes], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._job = job
        self._tell = tell
        self._size = 0
        self._killing: asyncio.TimerHandle | None = None
        self.stopped: Cause | None = None
        self.streams: tuple[bytearray, bytearray] = (bytearray(), bytearray())
        self.exited: asyncio.Future[None] = self._loop.create_future()
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)  # uvloop's is no subclass of it

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        room = self._job.bounds.output_bytes - self._size
        self._size += len(data)
        if room > 0:
            self.streams[fd - 1].extend(data[:room])
            self._tell(self._size, data)
        if len(data) > room:
            self.stop("output")  # and drops the rest of the output

    def process_exited(self) -> None:
        self.exited.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed.set_result(None)

    @property
    def _control(self) -> asyncio.WriteTransport:
        return cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))

    def begin(self, line: bytes) -> None:
        if not self._control.is_closing():  # uvloop raises for a closed one
            self._control.write(line)

    def stop(self, cause: Cause) -> None:
        self.stopped = self.stopped or cause
        self.end()

    def end(self) -> None:
        """Tell it to end the program and itself; kill it if it does not."""
        if self._killing is None:
            self._control.close()
            self._killing = self._loop.call_later(_GRACE_SECONDS, kill_tree, self._transport.get_pid())

    async def gone(self) -> None:
        """End it, and return when it has ended and its output is closed."""
        self.end()
        try:
            await wait_until_done(self.exited.done, lambda: asyncio.wait([self.exited]))
        finally:
            if self._killing is not None:
                self._killing.cancel()
            self._transport.close()
            await wait_until_done(self.closed.done, lambda: asyncio.wait([self.closed]))


async def run(job: SandboxJob, tell: Callable[[int, bytes], None]) -> ProcessOutcome:
    """Run it to its end. ``tell`` is called with the number of bytes of output so far, and the newest of them.

    Cancelling ends the program, and returns when it is gone.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with _supervisor_of(job, tell) as (supervisor, status):
        timer = loop.call_later(job.bounds.seconds, supervisor.stop, "time")
        try:
            await asyncio.wait([supervisor.exited])
            await asyncio.wait([supervisor.closed], timeout=_GRACE_SECONDS)
        finally:
            timer.cancel()
        report = _read_report(status)
    return _outcome(report, supervisor, loop.time() - began)


@asynccontextmanager
async def _supervisor_of(
    job: SandboxJob, tell: Callable[[int, bytes], None]
) -> AsyncGenerator[tuple[_Supervisor, int]]:
    """The supervisor with its job, and the descriptor of its status. It is gone afterwards."""
    with _scratch_and_pipe() as (scratch, status, theirs):
        keep_descriptors()
        _, supervisor = await asyncio.get_running_loop().subprocess_exec(
            lambda: _Supervisor(job, tell),
            *_command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(theirs, job.folder, *(each for each in job.writable if isinstance(each, int))),
            env={},
            cwd="/",
            start_new_session=True,
        )
        try:
            supervisor.begin(_line(job, theirs, scratch))
            yield supervisor, status
        finally:
            await supervisor.gone()


@contextmanager
def _scratch_and_pipe() -> Generator[tuple[str, int, int]]:
    """A folder for the program alone, and the two ends of the pipe for the supervisor's status."""
    with ExitStack() as stack:
        status, theirs = os.pipe()
        stack.callback(os.close, status)
        stack.callback(os.close, theirs)
        os.set_blocking(status, False)
        scratch = tempfile.mkdtemp(prefix="tooltrue-")
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)  # the supervisor has removed it, if it got that far
        yield scratch, status, theirs


def _command() -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _MAIN, *_SOURCES]


def _line(job: SandboxJob, status: int, scratch: str) -> bytes:
    message: dict[str, Any] = {
        "program": job.program,
        "argv": job.argv,
        "environment": {"HOME": scratch, "TMPDIR": scratch, **job.environment},
        "folder": job.folder,
        "scratch": scratch,
        "status": status,
        "readable": job.readable,
        "writable": job.writable,
        "network": job.network,
        "required": job.required,
        "limits": job.bounds.limits(),
        "processes": job.bounds.processes,
    }
    return json.dumps(message).encode() + b"\n"


def _read_report(status: int) -> dict[str, Any]:
    try:
        lines = os.read(status, _CHUNK).splitlines()
    except BlockingIOError:
        return {}
    return {name: value for line in lines for name, value in json.loads(line).items()}


def _outcome(report: dict[str, Any], supervisor: _Supervisor, seconds: float) -> ProcessOutcome:
    code = report.get("code", 0)
    cause: Cause = "lost" if "code" not in report else "signal" if code < 0 else "exit"
    if report.get("missing"):
        cause = "confinement"
    elif "failed" in report or "holds" not in report:
        cause, code = "start", report.get("failed", 0)
    if supervisor.stopped or "ended" in report:
        cause = supervisor.stopped or "processes"
    return ProcessOutcome(
        cause,
        abs(code),
        bytes(supervisor.streams[0]),
        bytes(supervisor.streams[1]),
        tuple(report.get("holds", ())),
        tuple(report.get("missing", ())),
        seconds,
        report.get("cpu", 0.0),
        report.get("memory", 0),
    )


def what_holds() -> tuple[str, ...]:
    """The mechanisms that confine a program on this machine, determined by a trial."""
    folder = os.open("/", os.O_PATH | os.O_DIRECTORY)
    try:
        with _scratch_and_pipe() as (scratch, status, theirs):
            job = SandboxJob("/", ("",), folder)  # a directory: it is confined, and then cannot be run
            with subprocess.Popen(
                _command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(theirs, folder),
                env={},
                cwd="/",
            ) as process:
                assert process.stdin
                process.stdin.write(_line(job, theirs, scratch))
                process.stdin.flush()
                process.wait()
            return tuple(_read_report(status).get("holds", ()))
    finally:
        os.close(folder)
