"""The table of attacks agrees with the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from security.recall import MEASUREMENTS
from security.table import ENOUGH, counted, load, recorded, rows_of
from support.collected import Named, whole_suite

pytest_plugins = ("pytester",)

ROWS = {row.id: row for group in load() for row in group.rows}


@pytest.fixture(scope="module")
def suite(request: pytest.FixtureRequest) -> list[Named]:
    """All tests, whichever part of them is running."""
    return whole_suite(request.session)


@pytest.fixture(scope="module")
def tests(suite: list[Named]) -> dict[str, list[str]]:
    """The rows that tests name."""
    attacks, twins = set[str](), set[str]()
    for test in suite:
        named = rows_of(test)
        attacks |= named[0]
        twins |= named[1]
    return {"attacks": sorted(attacks), "twins": sorted(twins)}


def test_every_row_that_a_test_names_is_in_the_table(tests: dict[str, list[str]]):
    assert sorted({*tests["attacks"], *tests["twins"]} - ROWS.keys()) == []


def test_every_row_has_a_test_or_names_the_work_it_waits_for(tests: dict[str, list[str]]):
    assert [id for id, row in ROWS.items() if (id in tests["attacks"]) == (row.later is not None)] == []


def test_every_attack_that_is_blocked_has_a_twin_that_passes(tests: dict[str, list[str]]):
    assert [id for id in tests["attacks"] if id not in tests["twins"]] == []


def test_no_attack_is_tried_in_fewer_variants_than_the_page_states(suite: list[Named]):
    counts = counted(suite)
    fewer = {id: (said, counts.get(id, 0)) for id, said in recorded().items() if counts.get(id, 0) < said}
    assert fewer == {}, "run make security-count"


def test_a_single_condition_is_neither_measured_nor_awaited_nor_a_family(suite: list[Named]):
    counts = counted(suite)
    single = [row for row in ROWS.values() if row.single is not None]
    assert [row.id for row in single if row.heuristic or row.later or counts.get(row.id, 0) >= ENOUGH] == []


def test_each_heuristic_row_names_a_measurement():
    assert {row.heuristic for row in ROWS.values()} - {None} <= MEASUREMENTS.keys()


def test_a_family_that_tries_less_than_its_marker_promises_falls(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent.parent))
    pytester.makeconftest(
        "from support.variants import Family\n\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(Family())\n"
        "    config.addinivalue_line('markers', 'variants(count): how many')\n"
    )
    pytester.makepyfile(
        "import pytest\nfrom support.variants import tried\n\n"
        "@pytest.mark.variants(3)\n@pytest.mark.parametrize('count', [2, 3])\n"
        "def test_it(count):\n    for number in [0, *range(count)]:\n        tried(number)\n"
    )
    pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=1, failed=1)
