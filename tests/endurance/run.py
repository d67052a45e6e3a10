"""``make endurance``: the effect of hostile, careless and very many clients on a server, as figures with bounds.

    PYTHONPATH=tests python -m endurance.run [--only ROW,…] [--size 0.1]

Prints a table, and ends with 1 when a bound was broken. ``docs/endurance.md`` explains.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence

from endurance.measuring import Figure
from endurance.rows import ROWS, Row


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    print(machine(), "", "| tried | figure | measured | bound |  |", "| --- | --- | ---: | ---: | --- |", sep="\n")
    broken = 0
    for row in options.only:
        begun = time.monotonic()
        figures = _measured(row, options.size)
        for number, figure in enumerate(figures):
            print(line(row.title if number == 0 else "", figure), flush=True)
        broken += sum(not figure.held for figure in figures)
        print(f"{row.key}: {time.monotonic() - begun:.1f} s", file=sys.stderr)
    print("", f"{broken} of the bounds were broken" if broken else "every bound held", sep="\n")
    return int(broken > 0)


def _measured(row: Row, size: float) -> Sequence[Figure]:
    try:
        return row.measure(size)
    except (OSError, EOFError, AssertionError, KeyError) as error:
        return [Figure(f"failed: {type(error).__name__}: {str(error)[:200]}", 0, "", "", held=False, roughly=False)]


def line(title: str, figure: Figure) -> str:
    value = f"{figure.value:,.0f}" if figure.value == int(figure.value) else f"{figure.value:,.2f}"
    return f"| {title} | {figure.what} | {value} {figure.unit} | {figure.bound} | {'✓' if figure.held else '✗'} |"


def machine() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    load = f"{os.cpu_count()} CPUs with load {os.getloadavg()[0]:.1f} before"
    return f"{python}, {platform.system()} {platform.machine()}, {load}"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="endurance", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--only", type=_rows, default=ROWS, metavar="ROW,…", help=", ".join(row.key for row in ROWS))
    parser.add_argument("--size", type=float, default=1.0, metavar="PART", help="how much of the whole (%(default)s)")
    return parser.parse_args(arguments)


def _rows(text: str) -> tuple[Row, ...]:
    wanted = text.split(",")
    if unknown := set(wanted) - {row.key for row in ROWS}:
        raise argparse.ArgumentTypeError(f"no row {', '.join(sorted(unknown))}")
    return tuple(row for row in ROWS if row.key in wanted)


if __name__ == "__main__":
    raise SystemExit(main())
