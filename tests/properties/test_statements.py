"""No statement discloses or changes hidden data, on any engine, with any combination of its parts.

Each statement runs on two databases that differ only in hidden data: answers that differ or contain a secret are a
leak. ``make fuzz FUZZ="-k statements"`` tries many statements.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

import pytest
import sqlglot
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlglot.errors import ErrorLevel

from properties.querying import changes, queries
from support.sql.engines import ENGINES
from support.sql.slots import outside_of_quotes
from support.sql.worlds import OPEN, SECRETS, UNSAID, Told, World, asked, worlds
from support.variants import tried
from tooltrue_toolbox.sql.statement import Statement, text_with_parameters

ROWS = ("F01", "F02", "F03", "F12", "F13", "F14", "F17", "F18", "F19")
FEW = 45
DIFFERENT = 20
MANY = settings().max_examples
QUICKLY = settings(
    max_examples=MANY if MANY > 1000 else FEW,
    phases=(Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType] - the metaclass iterates
)
Pair = tuple[World, World]


@pytest.fixture(scope="module", params=ENGINES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Pair]:
    with worlds(request.param, tmp_path_factory.mktemp(request.param)) as both:
        yield both


@pytest.mark.attack(*ROWS)
@pytest.mark.variants(DIFFERENT)
def test_f18_no_query_discloses_hidden_data(pair: Pair):
    check_all(pair, writes=False)


@pytest.mark.attack(*ROWS)
@pytest.mark.variants(DIFFERENT)
def test_f18_no_change_discloses_or_modifies_hidden_data(pair: Pair):
    check_all(pair, writes=True)


def check_all(pair: Pair, *, writes: bool) -> None:
    made = (changes if writes else queries)(pair[0].dialect)

    @QUICKLY
    @given(made)
    def check(sql: str) -> None:
        tried(sql)
        one, other = asked(pair, sql, writes=writes)
        check_told(one, pair[0])
        check_told(other, pair[1])
        assert one.answer == other.answer

    check()


def check_told(told: Told, world: World) -> None:
    assert not any(secret in told.answer for one in SECRETS for secret in one), told.answer
    assert UNSAID not in told.answer, told.answer
    for statement in told.sent:
        check_sent(statement, world)


def check_sent(statement: Statement, world: World) -> None:
    """Check that the text is one statement, parses to the same text, and has no odd character outside of quotes."""
    text = (
        text_with_parameters(statement, ":{name}")
        .removeprefix("EXPLAIN ")
        .removeprefix("QUERY PLAN ")
        .removeprefix("ANALYZE ")
    )
    [tree] = sqlglot.parse(text, read=world.dialect)
    assert tree is not None
    again = tree.sql(
        dialect=world.dialect, comments=False, normalize_functions=False, unsupported_level=ErrorLevel.RAISE
    )
    assert again == text
    code = outside_of_quotes(text, world.dialect)
    assert not any(odd in code for odd in (";", "--", "/*", "'", '"', "`", "\\", "\x02")), text


@pytest.mark.twin(*ROWS)
def test_f18_twin_with_nothing_hidden_the_same_statements_tell_the_worlds_apart(pair: Pair):
    """So the property above can fail."""
    found: set[str] = set()
    with closing(opened(pair[0])) as first, closing(opened(pair[1])) as second:

        @settings(QUICKLY, max_examples=FEW)
        @given(
            st.sampled_from(("SELECT * FROM ledger", "SELECT password_hash FROM users", "SELECT count(*) FROM vault"))
        )
        def look(sql: str) -> None:
            one, other = asked((first, second), sql, writes=False)
            if one.answer != other.answer:
                found.add(sql)

        look()
    assert len(found) == 3


def opened(world: World) -> World:
    """The same database, with nothing hidden."""
    world.close()  # DuckDB opens a file with one set of settings at a time
    return World(world.engine, world.url, OPEN)
