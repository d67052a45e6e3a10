"""Text that tries to get out of its quotes, in every slot of a statement; ordinary statements are its twin.

The test removes the quoted parts of each text for the engine with expressions of its own; the rest must contain no part
of a payload.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.sql.catalogs import DIALECTS, catalog_of
from support.sql.ordinary import CHANGES, EVERYWHERE, QUERIES
from support.sql.slots import SENTINEL, SLOTS, attacks, outside_of_quotes
from tooltrue.errors import ToolError
from tooltrue_toolbox.sql.catalog import SchemaCatalog
from tooltrue_toolbox.sql.statement import Statement, change_of, query_of

ALL = pytest.mark.parametrize("dialect", DIALECTS)
ROWS = ("F01", "F02", "F03", "F12", "F13", "F14", "F17", "F18", "F19")


def sent(sql: str, dialect: Any, catalog: SchemaCatalog) -> Iterator[str]:
    """All that an engine would be given for ``sql``, as a query or as a change."""
    for judge in (query_of, change_of):
        try:
            statement: Statement = judge(sql, dialect, catalog)
        except ToolError:
            continue
        yield statement.sql
        if statement.count_query is not None:
            yield statement.count_query.sql


@ALL
@pytest.mark.attack(*ROWS)
@pytest.mark.parametrize("part", range(8))
def test_f03_no_text_escapes_its_quotes(dialect: str, part: int):
    catalog = catalog_of(dialect)
    for number, slot in list(enumerate(SLOTS))[part::8]:
        for sql in attacks(slot, number, 1):
            for text in sent(sql, dialect, catalog):
                code = outside_of_quotes(text, dialect).lower()
                assert not any(odd in code for odd in (SENTINEL, ";", "--", "/*", "'", '"', "`", "\\")), (sql, text)


@ALL
@pytest.mark.attack(*ROWS)
@pytest.mark.parametrize(
    "slot",
    [
        "SELECT lower({name} => 'y')",
        "SELECT extract({name} FROM current_date)",
        "SELECT CAST(1 AS {name})",
        "SELECT 1 OPERATOR({name}.+) 1",
        "UPDATE orders SET customer = lower({name} => 'y') WHERE id = 1",
        "CREATE INDEX i ON orders USING {name} (id)",
    ],
)
def test_f03_the_slots_that_were_written_bare(dialect: str, slot: str):
    catalog = catalog_of(dialect)
    for sql in attacks(slot, 0, 60):
        for text in sent(sql, dialect, catalog):
            assert SENTINEL not in outside_of_quotes(text, dialect).lower(), (sql, text)


@ALL
@pytest.mark.twin(*ROWS)
def test_f03_twin_ordinary_statements(dialect: Any):
    catalog = catalog_of(dialect)
    for sql in EVERYWHERE + QUERIES[dialect]:
        assert query_of(sql, dialect, catalog).sql, sql
    for sql in CHANGES[""] + CHANGES[dialect]:
        assert change_of(sql, dialect, catalog).sql, sql
