"""`make bench`: tooltrue next to its peers and to the limit, in one run, as ratios (`docs/performance.md`)."""

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import console
import gateway
import openapi
import tasks
from harness import chart, sides
from harness.process import ServerFailed, on_one_cpu
from harness.report import OURS, Figures, data, table
from harness.rows import ROWS, Row, at_least
from harness.sides import Side
from harness.wire import WrongAnswer

RECORDED = Path(__file__).with_name("recorded.json")
_FALLEN = 0.9
_AGAIN = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a row could not be measured or a checked row has fallen, never for a missed goal."""
    options = _options(arguments)
    if options.console:
        return console.report(options.records)
    if options.tasks:
        print(_machine(options.rounds), end="\n\n")
        return tasks.report(options.rounds, options.seconds, options.stores)
    if options.openapi:
        return openapi.report(options.rounds, options.seconds, frozenset(filter(None, options.apis.split(","))))
    if options.gateway:
        return gateway.report(options.rounds, options.seconds, options.gateways)
    if options.check or options.record:
        return _check(options)
    rows = _guarded(options.only) if options.guard else options.only
    rows = tuple(replace(row, sides=tuple(key for key in row.sides if key in options.peers)) for row in rows)
    sides.compile_ours()
    machine, begun = _machine(options.rounds), time.monotonic()
    known, figures = _measure_all(options, rows)
    _say(f"{time.monotonic() - begun:.0f} s")
    names = {key: side.name for key, side in known.items()}
    print(machine, table(figures, names), sep="\n\n")
    if options.json:
        said = {"machine": machine, "names": names, "rows": [data(one) for one in figures]}
        options.json.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n")
    if options.svg:
        chart.draw(figures, names, options.svg)
    return int(any(not one.has(OURS) or not one.has(one.base) for one in figures))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--only", type=_rows, default=ROWS, metavar="ROW,…", help=", ".join(row.key for row in ROWS))
    parser.add_argument("--peers", type=_peers, default=_ALL, metavar="PEER,…", help=", ".join(_ALL))
    parser.add_argument("--rounds", type=int, default=3, help="fresh servers of all sides each (%(default)s)")
    seconds = f"timed, per row, side and round (1, with --tasks {tasks.SECONDS:g})"
    parser.add_argument("--seconds", type=float, help=seconds)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every figure there")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="also draw the ratios there")
    parser.add_argument("--any-cpu", action="store_true", help="let client and server of alternating rows use two CPUs")
    parser.add_argument("--guard", action="store_true", help="all layers next to validation alone; the call rows")
    parser.add_argument("--gateway", action="store_true", help="gateways instead, before the same server")
    parser.add_argument(
        "--gateways", type=_gateways, default=gateway.PEERS, metavar="PEER,…", help=", ".join(gateway.PEERS)
    )
    parser.add_argument("--tasks", action="store_true", help="tasks instead, to their end, next to those of FastMCP")
    parser.add_argument("--openapi", action="store_true", help="tools of described APIs instead, next to FastMCP's")
    parser.add_argument("--apis", default="", metavar="NAME,…", help="with --openapi: these APIs; default: all")
    parser.add_argument("--console", action="store_true", help="the pages of the console instead, over a long log")
    parser.add_argument("--records", type=int, default=1_000_000, help="of that log (%(default)s)")
    parser.add_argument("--stores", type=_stores, default=tasks.STORES, metavar="STORE,…", help=", ".join(tasks.STORES))
    parser.add_argument("--check", action="store_true", help="fail when a ratio to the limit has fallen by a tenth")
    parser.add_argument("--record", action="store_true", help="write the ratios that --check goes by, of --only")
    options = parser.parse_args(arguments)
    if options.seconds is None:
        options.seconds = tasks.SECONDS if options.tasks else 1.0
    return options


_ALL = (*sides.PEERS, "limit", "one", "unguarded")


def _rows(text: str) -> tuple[Row, ...]:
    wanted = text.split(",")
    if unknown := set(wanted) - {row.key for row in ROWS}:
        raise argparse.ArgumentTypeError(f"no row {', '.join(sorted(unknown))}")
    return tuple(row for row in ROWS if row.key in wanted)


def _peers(text: str) -> tuple[str, ...]:
    wanted = tuple(text.split(","))
    if unknown := set(wanted) - set(_ALL):
        raise argparse.ArgumentTypeError(f"no peer {', '.join(sorted(unknown))}")
    return (*dict.fromkeys((*wanted, sides.BASE, "one", "unguarded")),)


def _gateways(text: str) -> tuple[str, ...]:
    wanted = tuple(filter(None, text.split(",")))
    if unknown := set(wanted) - set(gateway.PEERS):
        raise argparse.ArgumentTypeError(f"no gateway {', '.join(sorted(unknown))}")
    return wanted


def _stores(text: str) -> tuple[str, ...]:
    wanted = tuple(text.split(","))
    if unknown := set(wanted) - set(tasks.STORES):
        raise argparse.ArgumentTypeError(f"no store {', '.join(sorted(unknown))}")
    return wanted


# The share of the calls a second that remains with every layer on, by row.
_GUARDED = {
    "stdio": at_least(0.45, of="unguarded"),
    "stdio-sync": None,
    "stdio-64": None,
    "stdio-rows": None,
    "http": at_least(0.7, of="unguarded"),
    "http-32": None,
}


def _guarded(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(replace(row, goal=_GUARDED[row.key], sides=("unguarded",)) for row in rows if row.key in _GUARDED)


# -- measuring ---------------------------------------------------------------------------------------------------------


def _measure_all(options: argparse.Namespace, rows: Sequence[Row]) -> tuple[Mapping[str, Side], list[Figures]]:
    """A round goes through all rows, so that a slow minute of the machine spoils one figure of each and not a row."""
    known = _known(rows)
    figures = [Figures(row) for row in rows]
    for number in range(options.rounds):
        for place, so_far in enumerate(figures):
            _say(f"round {number + 1}/{options.rounds}  {so_far.row.key}")
            order = [key for key in (*so_far.row.sides, OURS) if key in known]
            # Each side goes first in every other round.
            figures[place] = _measured(so_far, order if number % 2 == 0 else order[::-1], known, options)
    return known, figures


def _known(rows: Sequence[Row]) -> dict[str, Side]:
    """The sides that these rows need and this machine can run."""
    wanted, known = dict.fromkeys(key for row in rows for key in row.sides), dict[str, Side]()
    own = {
        "limit": sides.limit,
        "unguarded": sides.unguarded,
        "one": lambda: replace(sides.ours(), key="one", name="one"),
    }
    for key in wanted:
        try:
            known[key] = own[key]() if key in own else sides.peer(key)
        except sides.NotHere as reason:
            _say(f"without {key}: {reason}")
    return {**known, OURS: sides.ours()}


def _measured(so_far: Figures, order: Sequence[str], known: Mapping[str, Side], options: argparse.Namespace) -> Figures:
    """Add one more round to the figures, or record why a side failed."""
    row = so_far.row
    for key in order:
        if key in so_far.failures:
            continue
        side = sides.unaudited() if key == OURS and row.key.endswith("-unaudited") else known[key]
        try:
            with on_one_cpu() if row.alternating and not options.any_cpu else nullcontext():
                so_far = so_far.with_one(key, row.measure(side, options.seconds))
        except (ServerFailed, WrongAnswer, OSError) as error:
            _say(f"failed: {row.key} of {key}: {error}")
            so_far = so_far.failed(key, str(error))
    return so_far


# -- guarding ----------------------------------------------------------------------------------------------------------

_CHECKED = ("stdio", "stdio-rows", "http")


def _check(options: argparse.Namespace) -> int:
    """Compare tooltrue with the limit server, which needs no peer, by the best round of each, since other work on the
    machine can only slow a round down. A row that has fallen is measured again, for the same reason."""
    rows = tuple(replace(row, goal=None, sides=("limit",)) for row in options.only if row.key in _CHECKED)
    recorded = json.loads(RECORDED.read_text())
    _, figures = _measure_all(options, rows)
    found = {one.row.key: one.best_ratio(OURS, "limit") for one in figures}
    if options.record:
        kept = {**recorded, **{key: round(ratio, 3) for key, ratio in found.items()}}
        RECORDED.write_text(json.dumps(kept, indent=2) + "\n")
        return 0
    for _ in range(_AGAIN):
        fallen = [row for row in rows if found[row.key] < recorded[row.key] * _FALLEN]
        if not fallen:
            break
        _, again = _measure_all(options, fallen)
        found |= {one.row.key: max(found[one.row.key], one.best_ratio(OURS, "limit")) for one in again}
    print("| row | of the limit | recorded |\n|---|---|---|")
    for key, ratio in found.items():
        print(f"| {key} | {ratio:.3f} | {recorded[key]:.3f} |")
    return int(any(found[key] < recorded[key] * _FALLEN for key in found))


def _machine(rounds: int) -> str:
    """The origin of the figures. A load near the number of CPUs before the measurement makes them invalid."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    load = f"{os.cpu_count()} CPUs with load {os.getloadavg()[0]:.1f} before"
    return f"{python}, {platform.system()} {platform.machine()}, {load}; median (least–most) of {rounds}"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
