"""How a system without the mechanisms of Linux runs a program: in a supervisor that ends it, and confines nothing.

The program reaches every file and every host that this process reaches. The operator accepts that by
``--confinement available``.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from tooltrue._internal.platform.child_descriptors import keep_descriptors
from tooltrue_toolbox.platform.sandbox.enclosure import (
    ENDED_BY,
    entrance,
    environment_of_program,
    environment_of_supervisor,
    start_options,
)
from tooltrue_toolbox.platform.sandbox.jobs import ProcessOutcome, SandboxJob
from tooltrue_toolbox.platform.sandbox.mechanisms import LimitedBy
from tooltrue_toolbox.platform.sandbox.supervisor_link import Report, SupervisorLink, outcome_of, supervisor_command

__all__ = ["LIMITED_BY", "part_of", "run", "what_holds"]

LIMITED_BY: LimitedBy | None = ENDED_BY
"""The mechanism that ends a program and bounds its use of the machine, since none confines it."""


async def run(job: SandboxJob, tell: Callable[[int, bytes], None]) -> ProcessOutcome:
    """Run it to its end. ``tell`` is called with the number of bytes of output so far, and the newest of them.

    Cancelling ends the program, and returns when it is gone. A job that requires a mechanism is not run.
    """
    if job.required:
        return ProcessOutcome("confinement", 0, b"", b"", (), job.required, 0.0, None, None)
    return await outcome_of(_supervisor_of(job, tell), job.bounds.seconds)


def part_of(directory: int, name: str) -> int | None:
    """None: what a program may write is not confined to parts of a folder."""
    return None


def what_holds() -> tuple[str, ...]:
    """The mechanisms that confine a program on this machine: there are none."""
    return ()


@asynccontextmanager
async def _supervisor_of(
    job: SandboxJob, tell: Callable[[int, bytes], None]
) -> AsyncGenerator[tuple[SupervisorLink, Callable[[], Report]]]:
    """The supervisor with its job, and the reader of its report. It is gone afterwards."""
    with _scratch_and_report() as (scratch, report):
        keep_descriptors()
        _, supervisor = await asyncio.get_running_loop().subprocess_exec(
            lambda: SupervisorLink(job, tell),
            *supervisor_command("tooltrue_toolbox.platform.sandbox.unconfined_supervisor", site=True),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment_of_supervisor(),
            cwd=Path(scratch).anchor,
            **start_options(job.folder),
        )
        try:
            supervisor.begin(_line(job, scratch, report))
            yield supervisor, lambda: _read_report(report)
        finally:
            await supervisor.gone()


@contextmanager
def _scratch_and_report() -> Generator[tuple[str, Path]]:
    """A folder for the program alone, and beside it the file for the supervisor's report. A pipe would need a handle
    that only POSIX passes on simply; and the program could write to either."""
    place = Path(tempfile.mkdtemp(prefix="tooltrue-"))
    try:
        (place / "home").mkdir()
        yield str(place / "home"), place / "report"
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _line(job: SandboxJob, scratch: str, report: Path) -> bytes:
    message: dict[str, Any] = {
        "program": job.program,
        "argv": job.argv,
        "environment": {**environment_of_program(scratch), **job.environment},
        "folder": entrance(job.folder),
        "report": str(report),
        "limits": job.bounds.limits(),
        "processes": job.bounds.processes,
    }
    return json.dumps(message).encode() + b"\n"


def _read_report(report: Path) -> Report:
    try:
        lines = report.read_bytes().splitlines()
        return {name: value for line in lines for name, value in json.loads(line).items()}
    except (OSError, ValueError):  # it was killed before, or while it wrote
        return {}
