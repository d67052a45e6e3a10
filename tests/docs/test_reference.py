"""The API reference: each public name has an entry with a docstring, and each parameter of a table a meaning."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import tooltrue
import tooltrue.testing

DOCS = Path(__file__).parents[2] / "docs"
sys.path.append(str(DOCS))

import api_reference as reference  # noqa: E402 - found by the line above

ENTRIES = reference.entries()
TABLES = [entry for entry in ENTRIES if entry.name in (*reference.TABLES, *reference.SETTINGS)]
NAMES = [
    *((name, "tooltrue") for name in tooltrue.__all__ if name != "__version__"),
    *((name, "tooltrue.testing") for name in tooltrue.testing.__all__),
]


def test_each_public_name_has_an_entry_with_a_docstring():
    assert {(entry.name, entry.package) for entry in ENTRIES} >= set(NAMES)
    assert [entry.name for entry in ENTRIES if not entry.docstring] == []


@pytest.mark.parametrize("page", reference.PAGES)
def test_each_entry_stands_on_the_page_of_its_subject(page: str):
    headings = re.findall(r"^## `(\w+)`", (DOCS / "reference" / f"{page}.md").read_text("utf-8"), re.MULTILINE)
    assert headings == [entry.name for entry in ENTRIES if entry.page == page]
    assert headings != []


@pytest.mark.parametrize("entry", TABLES, ids=lambda entry: entry.name)
def test_the_docstring_describes_each_parameter_of_a_table_and_no_other(entry: reference.Entry):
    assert reference.meanings_of(entry).keys() == {one.name for one in reference.parameters_of(entry)}
