"""The rows that take a second or two, at their quick size, where bounds of memory hold roughly and times are
not judged; ``make endurance`` does all of them, whole, and is strict."""

from __future__ import annotations

import sys

import pytest

from endurance.rows import ROWS, Row

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="what is read of a process stands in /proc"),
]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.key) for row in ROWS if row.quick])
def test_a_quick_run_of_each_endurance_row_keeps_within_its_strict_bounds(row: Row):
    assert [figure for figure in row.measure(row.quick) if not figure.roughly] == []
