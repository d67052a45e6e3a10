"""``make task-faults``: workers of a server with tasks are killed, and their database is taken away, as figures.

    PYTHONPATH=tests python -m task_faults.run [--kills 200] [--store sqlite] [--only kills,outage] [--seed N]

Prints a table for each database, and ends with 1 when a task was lost, a step ran again after its checkpoint, or
anything else was wrong. The seed that it prints repeats the choices, not the moments of a machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import secrets
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from endurance.run import line, machine
from support.postgres import database
from task_faults.rows import ROWS, STORES, Row, Setting


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    print(f"{machine()}; seed {options.seed}")
    faults = list[str]()
    for store in options.store:
        print("", f"| on {store} | figure | measured | bound |  |", "| --- | --- | ---: | ---: | --- |", sep="\n")
        for row in options.only:
            if store in row.stores:
                faults += _print(row, store, options)
    print("", *faults[:50], f"{len(faults)} faults: --seed {options.seed}" if faults else "no faults", sep="\n")
    return int(bool(faults))


def _print(row: Row, store: str, options: argparse.Namespace) -> list[str]:
    """Run a row, print its figures, and return its faults."""
    with _new(store) as url, tempfile.TemporaryDirectory() as folder:
        log = options.log or Path(folder) / "workers.log"
        setting = Setting(url, Path(folder), log, options.seed, options.kills, options.waiting)
        figures, faults = asyncio.run(row.measure(setting))
    for number, figure in enumerate(figures):
        print(line(row.title if number == 0 else "", figure), flush=True)
    broken = [f"{figure.what}: {figure.value:g}, and not {figure.bound}" for figure in figures if not figure.held]
    return [f"{row.key} on {store}: {fault}" for fault in [*broken, *faults]]


@contextlib.contextmanager
def _new(store: str) -> Iterator[str]:
    """The URL of a new database."""
    if store == "postgresql":
        with database() as url:
            yield url
        return
    with tempfile.TemporaryDirectory() as folder:
        yield f"sqlite:///{Path(folder) / 'tasks.db'}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="task-faults", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    rows = ", ".join(row.key for row in ROWS)
    parser.add_argument("--kills", type=int, default=200, help="kills on each database (%(default)s)")
    parser.add_argument("--waiting", type=int, default=10_000, help="tasks that wait for an answer (%(default)s)")
    parser.add_argument("--store", nargs="*", choices=STORES, default=STORES, help="databases (%(default)s)")
    parser.add_argument("--only", type=_rows, default=ROWS, metavar="ROW,…", help=rows)
    parser.add_argument("--log", type=Path, metavar="FILE", help="the standard error of all workers goes there")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000), help="repeats the choices of a run")
    return parser.parse_args(arguments)


def _rows(text: str) -> tuple[Row, ...]:
    wanted = text.split(",")
    if unknown := set(wanted) - {row.key for row in ROWS}:
        raise argparse.ArgumentTypeError(f"no row {', '.join(sorted(unknown))}")
    return tuple(row for row in ROWS if row.key in wanted)


if __name__ == "__main__":
    sys.exit(main())
