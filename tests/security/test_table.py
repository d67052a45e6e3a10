"""The table of attacks says what the tests say."""

from __future__ import annotations

import pytest

from collected import whole_suite
from security.table import load, rows_of

ROWS = {row.id: row for group in load() for row in group.rows}


@pytest.fixture(scope="module")
def tests(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """The rows that tests name, whichever part of the suite is running."""
    attacks, twins = set[str](), set[str]()
    for test in whole_suite(request.session):
        named = rows_of(test)
        attacks |= named[0]
        twins |= named[1]
    return {"attacks": sorted(attacks), "twins": sorted(twins)}


def test_every_row_that_a_test_names_is_in_the_table(tests: dict[str, list[str]]):
    assert sorted({*tests["attacks"], *tests["twins"]} - ROWS.keys()) == []


def test_every_row_is_tested_or_says_what_it_waits_for(tests: dict[str, list[str]]):
    assert [id for id, row in ROWS.items() if (id in tests["attacks"]) == (row.later is not None)] == []


def test_every_attack_that_is_blocked_has_a_twin_that_passes(tests: dict[str, list[str]]):
    assert [id for id in tests["attacks"] if id not in tests["twins"]] == []
