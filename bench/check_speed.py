"""`python bench/check_speed.py DATA…`: how fast `tooltrue check` and its rules are, and how often each hits.

The command is measured as a person runs it: one process that judges all tools as one dump, its start and its report
included, in seconds of one core (those of the user and of the system) and by the clock. The load of the machine is
printed beside it: on a busy one, both figures are worse than they would be.

Each server is inspected on its own. The time is that of one core, without reading the files, and includes all parsing
of a definition by a rule; a rule that runs first also pays for the parsing that later rules reuse. Tools a second come
from rounds without a clock reading between two rules, because each reading takes a microsecond.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from definitions import servers, shelf, table
from tooltrue_check.findings import rules


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
    print(f"{count} tools of {len(rows)} servers, {len(rules())} rules: {count / total:,.0f} tools a second")
    core, clock = min(_command(rows) for _ in range(options.rounds))
    print(f"command: {count / core:,.0f} tools a second of one core, {count / clock:,.0f} by the clock")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} with {os.cpu_count()} cores\n")
    print(table(("rule", "code", "level", "tools", "%", "µs a tool"), _lines(found, seconds, count)))


def _command(rows: list[tuple[str, list[Any]]]) -> tuple[float, float]:
    """The seconds of one core, and those of the clock, that the command takes for a dump of all tools."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "all.json")
        file.write_text(json.dumps({"tools": [tool for _, tools in rows for tool in tools]}), "utf-8")
        line = [sys.executable, "-c", "from tooltrue.cli.main import main; main()", "check", str(file)]
        before, begun = os.times(), time.perf_counter()
        subprocess.run([*line, "--fail-on", "never"], stdout=subprocess.DEVNULL, check=True)
        clock, after = time.perf_counter() - begun, os.times()
    core = after.children_user - before.children_user + after.children_system - before.children_system
    return core, clock


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
