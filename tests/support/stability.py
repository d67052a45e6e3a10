"""Runs the suite again and again in random orders, some of the runs beside busy processes: ``make stability``.

Prints the seed, the time and the counts of each run, and stops at the first that fails or does not end, with the
command that repeats it. A seed gives the order of the tests; which process of xdist takes which is not repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

BUSY = 4
LAST_LINES = 200


@dataclass(frozen=True)
class Order:
    """One run of the suite: its seed, and how many processes are busy beside it."""

    seed: int
    busy: int


@dataclass(frozen=True)
class Outcome:
    passed: int
    failed: int
    skipped: int
    seconds: float
    code: int | None
    """The exit code of pytest; ``None`` where it was ended because it took too long."""

    def __str__(self) -> str:
        counts = f"{self.passed:,} passed, {self.failed:,} failed, {self.skipped:,} skipped"
        return f"{self.seconds:8.1f} s   {counts}{'' if self.code is not None else ', DID NOT END'}"


def main() -> int:
    asked = arguments()
    first = random.SystemRandom().randrange(2**31) if asked.seed is None else asked.seed
    busy = [0] * asked.runs + [BUSY] * asked.busy_runs
    orders = [Order(first + number, each) for number, each in enumerate(busy)]
    for number, order in enumerate(orders, 1):
        print(f"run {number} of {len(orders)}   {order.busy} busy   seed {order.seed:10d}", end="   ", flush=True)
        folder = Path(tempfile.mkdtemp(prefix="stability-"))
        outcome = run(order, asked, folder)
        print(outcome, flush=True)
        if outcome.code != 0:
            print(*last_lines(folder), sep="\n")
            print(f"whole output: {folder / 'output'}")
            print(f"again: {again(order, asked)}")
            return 1
        shutil.rmtree(folder)
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="runs on a machine left alone (5)")
    parser.add_argument("--busy-runs", type=int, default=2, help=f"runs beside {BUSY} busy processes (2)")
    parser.add_argument("--seed", type=int, help="of the first run; the next ones count on from it")
    parser.add_argument("--jobs", default="auto", help="processes of each run (one for each CPU)")
    parser.add_argument("--minutes", type=float, default=120.0, help="for one run at the most (120)")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest, behind --")
    return parser.parse_args()


def run(order: Order, asked: argparse.Namespace, folder: Path) -> Outcome:
    begun = time.monotonic()
    report = folder / "report.xml"
    given = [
        f"--randomly-seed={order.seed}",
        "--numprocesses",
        asked.jobs,
        "--dist",
        "worksteal",
        f"--junitxml={report}",
    ]
    with (folder / "output").open("wb") as output, busy(order.busy):
        command = [sys.executable, "-m", "pytest", *given, *asked.pytest]
        code = ended(command, output.fileno(), asked.minutes * 60)
    return Outcome(*counts(report), time.monotonic() - begun, code)


@contextlib.contextmanager
def busy(number: int) -> Iterator[None]:
    """So many processes beside the block, each of which takes all of a processor that it gets."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ended(command: Sequence[str], output: int, seconds: float) -> int | None:
    """The exit code of a command; ``None`` after a timeout, which kills its process group."""
    with subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True) as process:
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def counts(report: Path) -> tuple[int, int, int]:
    """Numbers of passed, failed and skipped tests in a report; zeros without a report."""
    if not report.exists():
        return 0, 0, 0
    suites = ElementTree.parse(report).iter("testsuite")
    numbers = [[int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")] for suite in suites]
    tests, failures, errors, skipped = map(sum, zip(*numbers, strict=True))
    return tests - failures - errors - skipped, failures + errors, skipped


def last_lines(folder: Path) -> list[str]:
    return (folder / "output").read_text(errors="replace").splitlines()[-LAST_LINES:]


def again(order: Order, asked: argparse.Namespace) -> str:
    numbers = ["--runs", "0", "--busy-runs", "1"] if order.busy else ["--runs", "1", "--busy-runs", "0"]
    rest = ["--", *asked.pytest] if asked.pytest else []
    options = [*numbers, "--seed", str(order.seed), "--jobs", asked.jobs, *rest]
    return f"PYTHONPATH=tests {shlex.join([sys.executable, '-m', 'support.stability', *options])}"


if __name__ == "__main__":
    sys.exit(main())
