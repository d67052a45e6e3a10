"""Our end of a supervisor, the process between us and a program: it stores the output, and tells the supervisor to end.

The output is stored up to a bound, beyond which the program is ended; it is also ended at its time limit, and when its
call is cancelled.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, cast

import tooltrue
import tooltrue_toolbox
from tooltrue._internal.platform.processes import kill_tree
from tooltrue_toolbox.completion import wait_until_done
from tooltrue_toolbox.platform.sandbox.jobs import Cause, ProcessOutcome, SandboxJob

__all__ = ["Report", "SupervisorLink", "outcome_of", "supervisor_command"]

Report = dict[str, Any]
"""The report of the supervisor about the program; empty if there is none."""

_SOURCES = tuple({str(Path(module.__path__[0]).parent) for module in (tooltrue, tooltrue_toolbox)})
"""The folders of the packages that the supervisor imports: one where they are installed, two in a checkout."""
_GRACE_SECONDS = 5.0


def supervisor_command(module: str, *, site: bool = False) -> list[str]:
    """The command line of a new process that runs ``main`` of that module, and reads no settings of Python, nor those
    of its environment (``site``)."""
    main = f"import sys; sys.path[:0] = sys.argv[1:]; from {module} import main; main()"
    return [sys.executable, "-I", *([] if site else ["-S"]), "-c", main, *_SOURCES]


class SupervisorLink(asyncio.SubprocessProtocol):
    """The supervisor of one program: the output of both, and its end.

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


async def outcome_of(
    opened: AbstractAsyncContextManager[tuple[SupervisorLink, Callable[[], Report]]], seconds: float
) -> ProcessOutcome:
    """The outcome of a program that the supervisor runs when it is opened. Its time limit is ``seconds``.

    Cancelling ends the program, and returns when it is gone.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    async with opened as (supervisor, read_report):
        timer = loop.call_later(seconds, supervisor.stop, "time")
        try:
            await asyncio.wait([supervisor.exited])
            await asyncio.wait([supervisor.closed], timeout=_GRACE_SECONDS)
        finally:
            timer.cancel()
        report = read_report()
    return _outcome(report, supervisor, loop.time() - began)


def _outcome(report: Report, supervisor: SupervisorLink, seconds: float) -> ProcessOutcome:
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
        report.get("cpu", 0.0 if report.get("holds") else None),
        report.get("memory", 0 if report.get("holds") else None),
    )
