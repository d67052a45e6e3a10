"""Rows and tests, held against each other in both directions."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import get_args, get_type_hints

import pytest

from requirements.coverage import (
    FOLDER,
    LEVELS,
    REVISIONS,
    Level,
    Requirement,
    Ties,
    load,
    report,
    stale,
    ties_of,
    unknown,
    untied,
)
from support.collected import whole_suite

ROWS = load()
FILES = {file.stem: tomllib.loads(file.read_text()) for file in FOLDER.glob("*.toml")}

# The number of duties of each group. A lost row would be a forgotten duty.
GROUPS = {
    "ADJ": 15,
    "AUTHC": 49,
    "AUTHS": 26,
    "BASE": 23,
    "CACHE": 19,
    "CALL": 23,
    "CANC": 14,
    "DISC": 4,
    "ELIC": 45,
    "ERR": 10,
    "HDR": 19,
    "HTTP": 29,
    "ICON": 5,
    "LCLI": 15,
    "LHTTP": 43,
    "LIFE": 23,
    "LOG": 7,
    "LTASK": 29,
    "META": 19,
    "MRTR": 26,
    "PAGE": 7,
    "PROG": 8,
    "ROOT": 5,
    "SAMP": 18,
    "SCH": 13,
    "SEC": 32,
    "STATE": 7,
    "STDIO": 14,
    "SUB": 10,
    "TOOL": 19,
    "VER": 21,
    "XAPP": 5,
    "XHDR": 34,
    "XTASK": 44,
}


@pytest.fixture(scope="module")
def ties(request: pytest.FixtureRequest) -> Ties:
    return ties_of(whole_suite(request.session))


# -- the rows ----------------------------------------------------------------------------------------------------------


def test_no_row_is_lost_and_none_stands_twice():
    assert Counter(row.group for row in ROWS) == Counter(GROUPS)
    assert len({row.id for row in ROWS}) == len(ROWS)


def test_each_file_has_a_title_and_the_rows_of_its_group_in_order():
    for name, file in FILES.items():
        assert file.keys() == {"title", "requirement"}, name
        assert file["title"], name
        ids = [row["id"] for row in file["requirement"]]
        assert ids == sorted(ids), name
        assert {id.rpartition("-")[0] for id in ids} == {name.upper()}


def is_well_formed(row: Requirement) -> bool:
    first, dots, last = row.revisions.partition("..")
    span = row.revisions == "extension" or (first in REVISIONS and ((last in REVISIONS and first < last) or not dots))
    names = re.fullmatch(r"[A-Z]+-\d\d", row.id) and re.fullmatch(r"[a-z0-9_/-]+", row.section)
    known = row.level in LEVELS and row.role in get_args(get_type_hints(Requirement)["role"])
    text = (row.text[0].isupper() or row.text[0] in "`-") and row.text.endswith(".")
    reasons = (row.gap is None or row.not_offered is None) and "" not in (row.gap, row.not_offered)
    return bool(span and names and known and text and reasons)


def test_rows_are_well_formed():
    assert [row.id for row in ROWS if not is_well_formed(row)] == []


def test_a_row_applies_from_its_first_revision_to_its_last():
    row = Requirement("A-01", "2025-03-26..2025-11-25", "server", "MUST", "basic", "It does.")
    assert [revision for revision in REVISIONS if row.applies(revision)] == ["2025-11-25", "2025-06-18", "2025-03-26"]
    assert not row.applies("extension")


# -- the rows and the tests --------------------------------------------------------------------------------------------


@pytest.mark.process
def test_every_row_has_a_test_or_a_reason_why_it_has_none(ties: Ties):
    assert untied(ROWS, ties) == []


@pytest.mark.process
def test_no_reason_outlives_the_first_test(ties: Ties):
    assert {row.id: ties[row.id] for row in stale(ROWS, ties)} == {}


@pytest.mark.process
def test_every_name_that_a_test_gives_is_that_of_a_row(ties: Ties):
    assert {name: ties[name] for name in unknown(ROWS, ties)} == {}


# -- the table ---------------------------------------------------------------------------------------------------------


def made(id: str, level: Level = "MUST", **reasons: str) -> Requirement:
    return Requirement(id, "2026-07-28", "server", level, "basic", "It does.", **reasons)


def test_the_last_line_counts_required_and_tied_rows():
    rows = (
        made("A-01"),
        made("A-02", "STATED"),
        made("A-03", "MUST NOT", gap="being built"),
        made("A-04", not_offered="no such thing"),
        made("B-01", "SHOULD"),
        made("B-02", "SHOULD NOT", gap="being built"),
    )
    lines = list(report(rows, {"A-01": ["test"], "A-02": ["test"], "B-01": ["test"]}))
    assert lines[-1] == "MUST 2 of 3, SHOULD 1 of 2, gaps 2"
    assert lines[1].split() == ["A", "2", "of", "3", "0", "of", "0", "1", "1"]


def test_each_fault_is_named_above_the_last_line():
    said = "\n".join(report((made("A-01"), made("A-02", gap="later")), {"A-02": ["test"], "A-03": ["test"]}))
    assert "neither test nor reason\n    A-01\n" in said
    assert "a test, and a reason why there is none\n    A-02\n" in said
    assert "named by a test, and no row: A-03\n" in said
