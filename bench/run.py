"""`make bench`: toolwright next to the official Python SDK, in one run, as ratios. `docs/performance.md` explains."""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from harness import sides
from harness.process import ServerFailed, on_one_cpu
from harness.report import Figures, data, table
from harness.rows import ROWS, Row, at_least
from harness.sides import Side
from harness.wire import WrongAnswer


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; 1 when a row could not be measured, 0 whether or not the goals are met."""
    options = _options(arguments)
    if options.guard:
        options.only = tuple(replace(row, goal=GUARDED[row.key]) for row in options.only if row.key in GUARDED)
    peer = sides.unguarded() if options.guard else sides.peer()
    ours = sides.peer("itself") if options.calibrate else sides.ours()
    machine = _machine(options.rounds)
    begun = time.monotonic()
    figures = _measure_all(options, peer, ours)
    _say(f"{time.monotonic() - begun:.0f} s")
    print(machine, table(figures, peer.name, ours.name), sep="\n\n")
    if options.json:
        options.json.write_text(json.dumps([data(one) for one in figures], indent=2, ensure_ascii=False) + "\n")
    return int(any(one.failure for one in figures))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--only", type=_rows, default=ROWS, metavar="ROW,…", help=", ".join(row.key for row in ROWS))
    parser.add_argument("--rounds", type=int, default=3, help="fresh servers of both sides each (%(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="timed, per row, side and round (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure there")
    parser.add_argument("--any-cpu", action="store_true", help="let client and server of alternating rows use two CPUs")
    parser.add_argument("--calibrate", action="store_true", help="the peer against itself: every ratio should be 1")
    parser.add_argument("--guard", action="store_true", help="all layers next to validation alone; the call rows")
    return parser.parse_args(arguments)


# What is left of the calls a second, by row, with everything on.
GUARDED = {
    "stdio": at_least(0.45),
    "stdio-sync": None,
    "stdio-64": None,
    "stdio-rows": None,
    "http": at_least(0.7),
    "http-32": None,
}


def _rows(text: str) -> tuple[Row, ...]:
    wanted = text.split(",")
    if unknown := set(wanted) - {row.key for row in ROWS}:
        raise argparse.ArgumentTypeError(f"no row {', '.join(sorted(unknown))}")
    return tuple(row for row in ROWS if row.key in wanted)


def _measure_all(options: argparse.Namespace, peer: Side, ours: Side) -> list[Figures]:
    """A round goes through all rows, so that a slow minute of the machine spoils one figure of each and not a row."""
    figures = {row.key: Figures(row, [], []) for row in options.only}
    for number in range(options.rounds):
        # Each side goes first in every other round.
        order = (peer, ours) if number % 2 == 0 else (ours, peer)
        for key, so_far in figures.items():
            if so_far.failure is None:
                _say(f"round {number + 1}/{options.rounds}  {key}")
                figures[key] = _measured(so_far, order, peer, options)
    return list(figures.values())


def _measured(so_far: Figures, order: Sequence[Side], peer: Side, options: argparse.Namespace) -> Figures:
    """With one more round; or with the reason why there is none."""
    row = so_far.row
    try:
        with on_one_cpu() if row.alternating and not options.any_cpu else nullcontext():
            measured = {side is peer: row.measure(side, options.seconds) for side in order}
    except (ServerFailed, WrongAnswer, OSError) as error:
        _say(f"failed: {error}")
        return replace(so_far, failure=str(error))
    return replace(so_far, peer=[*so_far.peer, measured[True]], ours=[*so_far.ours, measured[False]])


def _machine(rounds: int) -> str:
    """What the figures are from. A load near the number of CPUs, before anything was measured, spoils them."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    load = f"{os.cpu_count()} CPUs with load {os.getloadavg()[0]:.1f} before"
    return f"{python}, {platform.system()} {platform.machine()}, {load}; median (least–most) of {rounds}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
