"""External programs with guaranteed cleanup: each has a time limit, and no descendant process outlives it."""

import ctypes
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

PATIENCE = 5.0  # seconds a process may take to end by itself
START_SECONDS = 20.0
PR_SET_CHILD_SUBREAPER = 36


class Failure(Exception):
    """A step that should have worked. `detail` is the program's output on stderr."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.detail = detail


def adopt_orphans() -> None:
    """Become the parent of the orphans of our children, so that `end_orphans` finds them."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_orphans(since: set[int]) -> list[str]:
    """End every child that is not in `since`; the command lines of those that did not go by themselves."""
    deadline = time.monotonic() + PATIENCE
    while (left := children() - since) and time.monotonic() < deadline:
        time.sleep(0.02)
    names = [_command_line(pid) for pid in sorted(left)]
    while left := children() - since:  # a killed parent hands us its own children
        for pid in left:
            _kill(pid)
    return names


def children() -> set[int]:
    """Our living children; the dead ones among the adopted are buried on the way."""
    found = set()
    for task in Path("/proc/self/task").iterdir():
        found |= {int(pid) for pid in (task / "children").read_text().split()}
    return {pid for pid in found if not _buried(pid)}


def completed(
    command: list[str], seconds: float, *, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run to the end in a process group of its own. Raises Failure on timeout.

    The output goes to files, since an orphaned descendant would keep a pipe open.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = _started(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        with _killed_on_failure(process):
            try:
                process.wait(seconds)
            except subprocess.TimeoutExpired:
                raise Failure(f"no end after {seconds:.0f} s", written(err)) from None
        return subprocess.CompletedProcess(command, process.returncode, written(out), written(err))


def written(file: IO[bytes]) -> str:
    """All that was written to the file so far."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode(errors="replace")


@contextmanager
def listening(command: list[str], port: int, stderr: IO[bytes], seconds: float = START_SECONDS) -> Iterator[None]:
    """A server that accepts connections on `port` within `seconds`, stopped by SIGTERM. Raises Failure if it does not
    start or stop."""
    process = _started(command, stdin=subprocess.DEVNULL, stdout=stderr, stderr=stderr, start_new_session=True)
    with _killed_on_failure(process):
        _wait_for(process, port, seconds)
        yield
        _stop(process)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def _killed_on_failure(process: subprocess.Popen) -> Iterator[None]:
    """Kill the group on failure only: `end_orphans` finds and reports the processes left after a normal exit."""
    try:
        yield
    except BaseException:
        _signal_group(process, signal.SIGKILL)
        process.wait()
        raise


def _started(command: list[str], **how: Any) -> subprocess.Popen:
    try:
        return subprocess.Popen(command, **how)
    except OSError as error:
        raise Failure(f"cannot start {command[0]}: {error.strerror}") from None


def _wait_for(process: subprocess.Popen[bytes], port: int, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failure(f"the server ended with {process.returncode} before it listened")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise Failure(f"the server did not listen within {seconds:.0f} s")


def _stop(process: subprocess.Popen[bytes]) -> None:
    _signal_group(process, signal.SIGTERM)
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        raise Failure(f"the server still ran {PATIENCE:.0f} s after SIGTERM") from None


def _signal_group(process: subprocess.Popen, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def _buried(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _command_line(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    return f"process {pid}"
