"""How Linux runs a program: in a supervisor that confines it with every mechanism that the kernel has."""

from __future__ import annotations

import sys

assert sys.platform == "linux"

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

from tooltrue._internal.platform.child_descriptors import keep_descriptors
from tooltrue_toolbox.platform.posix_calls import beneath
from tooltrue_toolbox.platform.sandbox.jobs import ProcessOutcome, SandboxJob
from tooltrue_toolbox.platform.sandbox.mechanisms import LimitedBy
from tooltrue_toolbox.platform.sandbox.supervisor_link import Report, SupervisorLink, outcome_of, supervisor_command

__all__ = ["LIMITED_BY", "part_of", "run", "what_holds"]

LIMITED_BY: LimitedBy | None = None
"""The mechanism that ends a program where none confines it: not on this system."""

_CHUNK = 1 << 16


async def run(job: SandboxJob, tell: Callable[[int, bytes], None]) -> ProcessOutcome:
    """Run it to its end. ``tell`` is called with the number of bytes of output so far, and the newest of them.

    Cancelling ends the program, and returns when it is gone.
    """
    return await outcome_of(_supervisor_of(job, tell), job.bounds.seconds)


def part_of(directory: int, name: str) -> int | None:
    """The folder ``name`` in an open directory, as a descriptor that can be started from; ``None`` behind a link."""
    return beneath(directory, name, mounts=True)


@asynccontextmanager
async def _supervisor_of(
    job: SandboxJob, tell: Callable[[int, bytes], None]
) -> AsyncGenerator[tuple[SupervisorLink, Callable[[], Report]]]:
    """The supervisor with its job, and the reader of its report. It is gone afterwards."""
    with _scratch_and_pipe() as (scratch, status, theirs):
        keep_descriptors()
        _, supervisor = await asyncio.get_running_loop().subprocess_exec(
            lambda: SupervisorLink(job, tell),
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
            yield supervisor, lambda: _read_report(status)
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
    return supervisor_command("tooltrue_toolbox.platform.sandbox.linux_supervisor")


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


def _read_report(status: int) -> Report:
    try:
        lines = os.read(status, _CHUNK).splitlines()
    except BlockingIOError:
        return {}
    return {name: value for line in lines for name, value in json.loads(line).items()}


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
