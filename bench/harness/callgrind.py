"""Instructions of a process, counted by valgrind's callgrind, thread by thread.

A count depends neither on the load nor on the clock rate of the machine, and `perf` counters are not needed, which
virtual machines often lack.
"""

import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from harness.process import Command, cpu_ticks, running

_LONGEST = 900.0  # callgrind makes a process more than a hundred times as slow
_PATIENCE = 60.0
_QUIET = 0.3  # a process without work for so many seconds has finished it
_TOTALS = re.compile(r"^totals: (\d+)", re.MULTILINE)


class CannotCount(Exception):
    """This machine cannot count instructions. The text gives the reason."""


@dataclass(frozen=True, slots=True)
class Count:
    """Instructions of the event loop's thread and of all others."""

    loop: float
    others: float

    @property
    def total(self) -> float:
        return self.loop + self.others

    def per(self, calls: int) -> "Count":
        return Count(self.loop / calls, self.others / calls)


def check_tools() -> None:
    """Raises CannotCount unless valgrind is installed."""
    if not all(map(shutil.which, ("valgrind", "vgdb"))):
        raise CannotCount("valgrind is not on the path: install the package valgrind")


class CountedProcess:
    """A server or a client under callgrind. It is counted only within `count`."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self.process = process
        self._folder = folder

    def count(self, work: Callable[[], object]) -> Count:
        """The instructions of `work`, and those that it leaves to other threads."""
        self._let_time_pass()
        self._command("instrumentation", "on")
        work()
        self._let_time_pass()
        self._command("dump")
        self._command("instrumentation", "off")
        return take_dump(self._folder)

    def _let_time_pass(self) -> None:
        """End the timed waits in the process (`signalled_waits.py`), and wait until it has no more work."""
        self.process.send_signal(signal.SIGUSR1)
        wait_until_idle(self.process.pid)

    def _command(self, *words: str) -> None:
        command = ["vgdb", f"--pid={self.process.pid}", *words]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=_PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise CannotCount("callgrind does not answer: this machine may forbid ptrace") from error
        except subprocess.CalledProcessError as error:
            raise CannotCount(f"callgrind has refused a command: {error.stderr.strip()}") from error


def take_dump(folder: Path) -> Count:
    """Read the newest dump in the folder, a file for each thread, and delete it. The first thread runs the event
    loop."""
    by_thread: dict[int, int] = {}
    for file in folder.glob("callgrind*-*"):
        if match := _TOTALS.search(file.read_text()):
            by_thread[int(file.name.rpartition("-")[2])] = int(match[1])
        file.unlink()
    if 1 not in by_thread:
        raise CannotCount("callgrind has written no dump")
    return Count(by_thread.pop(1), sum(by_thread.values()))


@contextmanager
def counted(command: Command, environment: Mapping[str, str]) -> Iterator[CountedProcess]:
    """The process of `command` under callgrind, with a fixed hash seed and a state folder of its own."""
    with _valgrind(command, environment, "--instr-atstart=no") as (process, folder):
        yield CountedProcess(process, folder)


def count_process(
    command: Command, environment: Mapping[str, str], work: Callable[[subprocess.Popen[bytes]], None]
) -> Count:
    """The instructions of the process of `command`, from its start to its end: after `work`, its stdin is closed."""
    with _valgrind(command, environment) as (process, folder):
        work(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(_PATIENCE)
        return take_dump(folder)


@contextmanager
def _valgrind(
    command: Command, environment: Mapping[str, str], *options: str
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        valgrind = (
            "valgrind",
            "--quiet",
            "--tool=callgrind",
            *options,
            "--separate-threads=yes",
            f"--callgrind-out-file={folder / 'callgrind'}",
        )
        fixed = {"PYTHONHASHSEED": "0", "XDG_STATE_HOME": str(folder / "state")}
        with running([*valgrind, *command], {**environment, **fixed}, longest=_LONGEST) as process:
            yield process, folder


def wait_until_idle(pid: int) -> None:
    """Return once no thread of the process has run or waited for a disk for a moment."""
    ticks, since, deadline = -1, time.monotonic(), time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        now = cpu_ticks(pid)
        if now != ticks or _is_busy(pid):
            ticks, since = now, time.monotonic()
        elif time.monotonic() - since >= _QUIET:
            return
        time.sleep(0.02)
    raise CannotCount("the process does not come to rest")


def _is_busy(pid: int) -> bool:
    """Whether a thread runs (R) or waits for a disk (D) at this moment."""
    states: set[str] = set()
    for file in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread has ended
            states.add(file.read_text().rpartition(")")[2].split()[0])
    return not states.isdisjoint("RD")
