"""`python bench/check_speed.py DATA…`: how fast the rules of `toolwright check` are, and how often each finds anything.

Each server stands on a shelf of its own. The time is that of one core, reading the files left out, everything that a
rule reads out of a definition included; a rule that comes first pays for what the others read too. Tools a second are
of rounds in which nobody looks at the clock between two rules, which takes a microsecond each time.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from definitions import servers, shelf, table
from toolwright.check.checking import rules


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=3, help="the best one counts (%(default)s)")
    options = parser.parse_args()
    rows = list(servers(options.data))
    count = sum(len(tools) for _, tools in rows)
    rules()
    total = min(_whole(rows) for _ in range(options.rounds))
    found, seconds = min((_measured(rows) for _ in range(options.rounds)), key=lambda one: sum(one[1].values()))
    print(f"{count} tools of {len(rows)} servers, {len(rules())} rules: {count / total:,.0f} tools a second\n")
    print(table(("rule", "code", "level", "tools", "%", "µs a tool"), _lines(found, seconds, count)))


def _whole(rows: list[tuple[str, list[Any]]]) -> float:
    """The seconds that all rules take for all tools."""
    begun = time.process_time()
    for server, tools in rows:
        for tool in shelf(server, tools):
            for _, problems in rules():
                list(problems(tool))
    return time.process_time() - begun


def _measured(rows: list[tuple[str, list[Any]]]) -> tuple[Counter[str], dict[str, float]]:
    """By rule: tools in which it finds something, and seconds."""
    found: Counter[str] = Counter()
    seconds = dict.fromkeys((card.name for card, _ in rules()), 0.0)
    for server, tools in rows:
        for tool in shelf(server, tools):
            for card, problems in rules():
                begun = time.process_time_ns()
                finds = len(list(problems(tool)))
                seconds[card.name] += (time.process_time_ns() - begun) / 1e9
                found[card.name] += bool(finds)
    return found, seconds


def _lines(found: Counter[str], seconds: dict[str, float], count: int) -> Iterator[tuple[object, ...]]:
    for card, _ in rules():
        share = f"{100 * found[card.name] / count:.1f}"
        cost = f"{1e6 * seconds[card.name] / count:.1f}"
        yield card.name, card.code, card.level.value, found[card.name], share, cost


if __name__ == "__main__":
    main()
