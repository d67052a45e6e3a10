"""Print how many lines and branches were run: ``coverage json -o - | python tests/support/branches.py``."""

from __future__ import annotations

import json
import sys

if __name__ == "__main__":
    totals = json.load(sys.stdin)["totals"]
    for kind, count, covered in (
        ("lines", totals["num_statements"], totals["covered_lines"]),
        ("branches", totals["num_branches"], totals["covered_branches"]),
    ):
        print(f"{kind:8} {covered:7,} of {count:7,}   {100 * covered / count:5.1f} %")
