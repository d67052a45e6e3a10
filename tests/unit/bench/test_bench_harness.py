"""The judgement of `bench/harness`: when a side is warm, and how many instructions a call has taken."""

import sys
from pathlib import Path

import pytest

from support.sources import ROOT

sys.path.append(str(ROOT / "bench"))  # scripts that are not installed

from harness.callgrind import CannotCount, Count, take_dump
from harness.warm_up import NODE_SECONDS, WarmUp


def windows(warm_up: WarmUp, *rates: float) -> int:
    """How many windows it takes of a side with these rates; the last repeats."""
    remaining = list(rates)
    warm_up.run(lambda seconds: remaining.pop(0) if len(remaining) > 1 else remaining[0])
    return len(warm_up.rates)


def test_a_steady_side_is_warm_after_three_windows():
    assert windows(WarmUp(), 100, 102, 99) == 3


def test_a_side_is_not_warm_while_its_rate_grows():
    assert windows(WarmUp(), 10, 20, 40, 80, 100, 101, 100) == 7


def test_a_rate_that_is_never_steady_ends_the_warm_up_after_six_seconds():
    unsteady = WarmUp()
    unsteady.run(lambda seconds: 2.0 ** len(unsteady.rates))
    assert len(unsteady.rates) * unsteady.window == 6


def test_node_works_for_its_seconds_although_its_rate_is_steady():
    assert windows(WarmUp(NODE_SECONDS), 100) * 0.25 == NODE_SECONDS


def test_the_windows_before_a_short_measurement_are_short():
    assert windows(WarmUp.before(0.3), 100) * WarmUp.before(0.3).window < 0.3


def dump(folder: Path, *, number: int, thread: int, total: int) -> None:
    file = folder / f"callgrind.{number}-{thread:02}"
    file.write_text(f"thread: {thread}\nsummary: {total}\n\ntotals: {total}\n")


def test_the_first_thread_is_that_of_the_loop(tmp_path: Path):
    dump(tmp_path, number=1, thread=1, total=3_000)
    dump(tmp_path, number=1, thread=2, total=500)
    dump(tmp_path, number=1, thread=11, total=100)
    assert take_dump(tmp_path).per(100) == Count(30, 6)


def test_a_dump_is_counted_once(tmp_path: Path):
    dump(tmp_path, number=1, thread=1, total=3_000)
    take_dump(tmp_path)
    dump(tmp_path, number=2, thread=1, total=70)
    assert take_dump(tmp_path) == Count(70, 0)


def test_a_missing_dump_is_no_count_of_zero(tmp_path: Path):
    with pytest.raises(CannotCount):
        take_dump(tmp_path)
