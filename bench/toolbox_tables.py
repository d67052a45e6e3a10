"""``python bench/toolbox_tables.py [--megabytes 200]``: figures of a large CSV, by the tables tools and by others.

Makes a CSV of that size once, in the folder for temporary files, and asks the same of each side: how many rows, and the
sum of a column, by group. Each side is a process of its own, measured from outside: its time is that from its start to
its end, its memory the most that it had. The best of ``--times`` runs counts; each round asks all sides, so that a busy
minute is not that of one side. ``analyze_csv`` is called as a client calls it, through the whole server. pandas and
DuckDB's own command line are installed by uv into an environment of their own, as the peers of ``make bench`` are.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from harness.sides import environment

PEERS = ("duckdb-cli==1.5.6", "pandas==3.1.1")
ROW = 57  # bytes, about
MAKE = """
import duckdb, sys
duckdb.execute("COPY (SELECT i AS id, 'city ' || (i * 7919 % 50) AS city, CAST((i * 7919 % 100000) / 100 AS "
    "DECIMAL(12, 2)) AS amount, DATE '2020-01-01' + CAST(i % 1000 AS INT) AS day, 'a note on number ' || i AS note "
    f"FROM range({sys.argv[2]}) t(i)) TO '{sys.argv[1]}' (HEADER)")
"""
HEAD = """
import json, sys
from pathlib import Path
path = Path(sys.argv[1])
"""
TAIL = """
print(json.dumps([{"rows": rows, "total": float(total)}]))
"""
OURS = """
import asyncio
from tooltrue import Client, Server
from tooltrue_toolbox.tables import toolset
async def ask(tool, **arguments):
    async with Client(Server("tables", toolsets=[toolset([path.parent])]), timeout=310) as client:
        return (await client.call_tool(tool, {"path": path.name, **arguments})).value
"""
ANALYZE = """
found = asyncio.run(ask("analyze_csv", operations=["sum"], columns=["amount"], group_by=["city"]))
rows, total = found["rows"], sum(group["values"]["amount"]["sum"] for group in found["groups"])
"""
DESCRIBE = """
rows, total = asyncio.run(ask("describe_csv"))["rows"], 0
"""
DUCKDB = """
SELECT sum(n) AS rows, sum(s) AS total
FROM (SELECT city, count(*) AS n, sum(amount) AS s FROM read_csv('{path}') GROUP BY city)
"""
PANDAS = """
import pandas
found = pandas.read_csv(path).groupby("city").amount.agg(["count", "sum"])
rows, total = int(found["count"].sum()), found["sum"].sum()
"""
CHUNKS = """
import pandas
parts = [part.groupby("city").amount.agg(["count", "sum"]) for part in pandas.read_csv(path, chunksize=100_000)]
found = pandas.concat(parts).groupby("city").sum()
rows, total = int(found["count"].sum()), found["sum"].sum()
"""
CSV = """
import csv
from collections import Counter
rows, totals = 0, Counter()
with open(path, newline="") as file:
    for row in csv.DictReader(file):
        rows += 1
        totals[row["city"]] += float(row["amount"])
total = sum(totals.values())
"""


@dataclass(frozen=True, slots=True)
class Run:
    """One process: its seconds, its peak memory in MiB, and its answer."""

    seconds: float
    peak: int
    answer: str


def sides(path: Path) -> dict[str, list[str]]:
    """The commands by name; each prints its rows and its sum as JSON."""
    python = environment("tables", PEERS)

    def script(interpreter: Path | str, code: str) -> list[str]:
        return [str(interpreter), "-c", HEAD + code + TAIL, str(path)]

    return {
        "analyze_csv": script(sys.executable, OURS + ANALYZE),
        "describe_csv": script(sys.executable, OURS + DESCRIBE),
        "duckdb CLI": [str(python.with_name("duckdb")), "-json", "-c", DUCKDB.format(path=path)],
        "pandas": script(python, PANDAS),
        "pandas, chunks": script(python, CHUNKS),
        "csv of Python": script(sys.executable, CSV),
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=200)
    options.add_argument("--times", type=int, default=2)
    said = options.parse_args()
    path = Path(tempfile.gettempdir()) / f"tooltrue-bench-{said.megabytes}" / "table.csv"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-c", MAKE, path, str(said.megabytes * 1_000_000 // ROW)], check=True)
    print(f"{path.stat().st_size / 1e6:.0f} MB of CSV, {', '.join(PEERS)}\n")
    commands = sides(path)
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(said.times):
        for name, command in commands.items():
            runs[name].append(measured(command))
    print(f"{'':14}{'seconds':>9}{'peak MiB':>10}   rows, sum")
    for name, those in runs.items():
        best = min(those, key=lambda run: run.seconds)
        print(f"{name:14}{best.seconds:9.2f}{max(run.peak for run in those):10}   {best.answer}")


def measured(command: list[str]) -> Run:
    """Run and measure a command. Raises SystemExit if it fails: a comparison needs the figures of all sides."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command[0]} ended with {process.returncode}")
        out.seek(0)
        [answer] = json.loads(out.read())
    return Run(seconds, used.ru_maxrss // 1024, f"{answer['rows']}, {answer['total']:.2f}")


if __name__ == "__main__":
    main()
