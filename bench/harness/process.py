"""Server processes: started with a clean environment, never left behind, never waited for without end. Linux only."""

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

Command = Sequence[str]

_LONGEST = 60.0  # a server that runs this long is stopped, which its client sees as the end of the stream
_GRACE = 2.0
# Set on many build machines; both sides would compile their sources on every start.
_UNWANTED = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH", "VIRTUAL_ENV")


class ServerFailed(Exception):
    """A server that ended or closed its connection before it answered. The text ends with its stderr output."""


@contextmanager
def running(
    command: Command,
    environment: Mapping[str, str] | None = None,
    longest: float = _LONGEST,
    *,
    own_session: bool = False,
) -> Iterator[subprocess.Popen[bytes]]:
    """The process of `command` with pipes for stdin and stdout; ended, with its stdin closed first, on the way out.

    Raises ServerFailed in place of an EOFError or ConnectionError from the body. A process that runs for more than
    `longest` seconds is ended. The scheduler of Linux gives each session the same share of the CPUs.
    """
    with tempfile.TemporaryFile() as errors:
        process = _start(command, errors, environment or {}, own_session)
        watchdog = threading.Timer(longest, process.kill)
        watchdog.daemon = True
        watchdog.start()
        try:
            yield process
        except (EOFError, ConnectionError) as error:
            _end(process)
            raise ServerFailed(f"{error or type(error).__name__}: {_tail(errors)}") from error
        finally:
            watchdog.cancel()
            _end(process)


@contextmanager
def on_one_cpu() -> Iterator[None]:
    """This thread and the servers it starts share one CPU in the body."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def memory(process: subprocess.Popen[bytes], field: str) -> float:
    """MB of `Rss` or `Pss` the process holds now."""
    for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(field)


def cpu_seconds(process: subprocess.Popen[bytes]) -> float:
    """CPU time that the process and its running descendants have used."""
    parents = dict(_parents())
    tree = {process.pid}
    while more := {pid for pid, parent in parents.items() if parent in tree} - tree:
        tree |= more
    return sum(cpu_ticks(pid) for pid in tree) / os.sysconf("SC_CLK_TCK")


def cpu_ticks(pid: int) -> int:
    """CPU time that all threads of a process have used, in ticks of the clock; 0 if the process has ended."""
    try:
        user, system = _status(pid)[11:13]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(user) + int(system)


def cpu_microseconds(pid: int) -> float:
    """CPU time that the living threads of a process have used, finer than the ticks of the clock."""
    total = 0
    for file in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            total += int(file.read_text().split()[0])
    return total / 1e3


def _parents() -> Iterator[tuple[int, int]]:
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                yield int(entry), int(_status(int(entry))[1])


def _status(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the third on: the second may contain spaces."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _start(command: Command, errors: IO[bytes], more: Mapping[str, str], own_session: bool) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _UNWANTED}
    return subprocess.Popen(
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env={**environment, **more},
        start_new_session=own_session,
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.terminate()
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def _tail(errors: IO[bytes]) -> str:
    errors.seek(0)
    lines = errors.read().decode(errors="replace").strip().splitlines()
    return " / ".join(lines[-3:]) or "nothing on stderr"
