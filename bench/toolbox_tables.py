"""``python bench/toolbox_tables.py [--megabytes 200]``: figures of a large CSV, by the tables tools and by others.

Makes a CSV of that size once, in the folder for temporary files, and asks the same of each side: how many rows, and the
sum of a column, by group. Each side is a process of its own, so that its time begins at nothing and its memory is its
own; the best of ``--times`` runs counts. ``analyze_csv`` is called as a client calls it, through the whole server.
pandas is asked only where it is installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROW = 57  # bytes, about
MAKE = """
import duckdb, sys
duckdb.execute("COPY (SELECT i AS id, 'city ' || (i * 7919 % 50) AS city, CAST((i * 7919 % 100000) / 100 AS "
    "DECIMAL(12, 2)) AS amount, DATE '2020-01-01' + CAST(i % 1000 AS INT) AS day, 'a note on number ' || i AS note "
    f"FROM range({sys.argv[2]}) t(i)) TO '{sys.argv[1]}' (HEADER)")
"""
HEAD = """
import json, resource, sys, time
from pathlib import Path
path = Path(sys.argv[1])
began = time.perf_counter()
"""
TAIL = """
seconds = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
print(json.dumps({"seconds": round(seconds, 2), "peak_mib": peak, "answer": [rows, round(float(total), 2)]}))
"""
SIDES = {
    "analyze_csv": """
import asyncio
from toolwright import Client, Server
from toolwright.toolbox.tables import toolset
async def ask():
    async with Client(Server("tables", toolsets=[toolset([path.parent])]), timeout=310) as client:
        arguments = {"path": path.name, "operations": ["sum"], "columns": ["amount"], "group_by": ["city"]}
        return (await client.call_tool("analyze_csv", arguments)).value
found = asyncio.run(ask())
rows, total = found["rows"], sum(group["values"]["amount"]["sum"] for group in found["groups"])
""",
    "describe_csv": """
import asyncio
from toolwright import Client, Server
from toolwright.toolbox.tables import toolset
async def ask():
    async with Client(Server("tables", toolsets=[toolset([path.parent])]), timeout=310) as client:
        return (await client.call_tool("describe_csv", {"path": path.name})).value
rows, total = asyncio.run(ask())["rows"], 0
""",
    "duckdb": """
import duckdb
found = duckdb.sql(f"SELECT count(*), sum(amount) FROM read_csv('{path}') GROUP BY city").fetchall()
rows, total = sum(row[0] for row in found), sum(row[1] for row in found)
""",
    "pandas": """
import pandas
found = pandas.read_csv(path).groupby("city").amount.agg(["count", "sum"])
rows, total = int(found["count"].sum()), found["sum"].sum()
""",
    "csv of Python": """
import csv
from collections import Counter
rows, totals = 0, Counter()
with open(path, newline="") as file:
    for row in csv.DictReader(file):
        rows += 1
        totals[row["city"]] += float(row["amount"])
total = sum(totals.values())
""",
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--megabytes", type=int, default=200)
    options.add_argument("--times", type=int, default=2)
    said = options.parse_args()
    path = Path(tempfile.gettempdir()) / f"toolwright-bench-{said.megabytes}" / "table.csv"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-c", MAKE, path, str(said.megabytes * 1_000_000 // ROW)], check=True)
    print(f"{path.stat().st_size / 1e6:.0f} MB of CSV\n")
    print(f"{'':14}{'seconds':>9}{'peak MiB':>10}   rows, sum")
    for name, code in SIDES.items():
        print(f"{name:14}{_best(code, path, said.times)}")


def _best(code: str, path: Path, times: int) -> str:
    runs = []
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-c", HEAD + code + TAIL, path], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return f"   {done.stderr.strip().splitlines()[-1]}"
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    best = min(runs, key=lambda run: run["seconds"])
    peak = max(run["peak_mib"] for run in runs)
    return f"{best['seconds']:9.2f}{peak:10}   {best['answer'][0]}, {best['answer'][1]}"


if __name__ == "__main__":
    main()
