"""The two tiers of the suite: ``make test`` leaves out the tests in ``slow.txt``, ``make test-all`` runs every test.

A test function is slow if its cases take ``SLOW_SECONDS`` or more on average, measured. ``make slow-tests`` measures
the whole suite and writes the file again; a function that the file does not name is fast.

    PYTHONPATH=tests python -m support.tiers REPORT.xml ...
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import pytest

__all__ = ["COLLECTED", "SLOW", "Tiers", "slow_tests"]

SLOW_SECONDS = 0.2
SLOW = Path(__file__).parents[1] / "slow.txt"
_HEAD = "# Written by `make slow-tests`: test functions whose cases take 0.2 s or more on average.\n"


def slow_tests() -> frozenset[str]:
    """The functions of the file, as ``tests/FILE.py::FUNCTION``."""
    lines = SLOW.read_text("utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


COLLECTED = pytest.StashKey[tuple[pytest.Item, ...]]()
"""All tests that were collected, before some are left out by their marks or names."""


class Tiers:
    """A plugin of pytest that gives slow tests the mark ``slow``."""

    def __init__(self) -> None:
        self._slow = slow_tests()

    @pytest.hookimpl(tryfirst=True)  # before pytest deselects the tests that -m excludes
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        config.stash[COLLECTED] = tuple(items)
        for item in items:
            if item.nodeid.partition("[")[0] in self._slow:
                item.add_marker("slow")


def measured(reports: Iterable[Path]) -> dict[str, float]:
    """Test function → the mean of the seconds of its cases; of several reports, the median counts for a case."""
    cases: defaultdict[str, list[float]] = defaultdict(list)
    for report in reports:
        for case in ElementTree.parse(report).iter("testcase"):
            cases[_name(case.attrib["classname"], case.attrib["name"])].append(float(case.attrib["time"]))
    functions: defaultdict[str, list[float]] = defaultdict(list)
    for name, seconds in cases.items():
        functions[name.partition("[")[0]].append(median(seconds))
    return {name: sum(seconds) / len(seconds) for name, seconds in functions.items()}


def _name(dotted: str, case: str) -> str:
    """The id of a case. A test class, whose name begins with a capital, is the last part of ``dotted``."""
    parts = dotted.split(".")
    classes = [parts.pop()] if parts[-1][0].isupper() else []
    return "::".join([f"{'/'.join(parts)}.py", *classes, case])


def main(reports: Sequence[str]) -> None:
    slow = sorted(name for name, seconds in measured(map(Path, reports)).items() if seconds >= SLOW_SECONDS)
    SLOW.write_text(_HEAD + "".join(f"{name}\n" for name in slow), "utf-8")
    print(f"{len(slow)} slow test functions in {SLOW.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
