"""The error text for statements that cannot run, and the statements that never ask a person."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.sql.catalogs import DIALECTS, catalog_of
from support.sql.engines import ENGINES, PATIENT
from support.sql.fresh_shops import FreshShop
from tooltrue import Client, Server
from tooltrue.errors import ToolError
from tooltrue_toolbox.sql import Access, toolset
from tooltrue_toolbox.sql.engine import engine_of
from tooltrue_toolbox.sql.statement import Statement, query_of

WRONG = (
    "SELECT 1 *",
    "SELECT FROM WHERE",
    "SELECT (1",
    "SELECT 'a",
    "SELECT 1 FROM",
    "SELECT CASE WHEN 1",
    "SELCT 1 2 3",
)
KNOWN_TO_FAIL = (
    {"sql": "UPDATE orders SET nocol = 1"},
    {"sql": "INSERT INTO orders (id, nocol) VALUES (9, 1)"},
    {"sql": "DELETE FROM orders WHERE nocol = :state", "parameters": {"state": "open"}},
    {"sql": "UPDATE orders SET state = :state, nocol = 1", "parameters": {"state": "open"}},
    {"sql": "SELECT 1"},
    {"sql": "DELETE FROM orders; DELETE FROM users"},
    {"sql": "DELETE FROM nowhere"},
    {"sql": "DELETE FROM orders WHERE"},
    {"sql": "DELETE FROM orders WHERE id = :id"},
    {"sql": "DELETE FROM orders WHERE id = :id", "parameters": {"id": 1, "other": 2}},
    {"sql": "DELETE FROM orders WHERE no_such_column = 1"},
    {"sql": "DELETE FROM orders WHERE lower(\"'x') OR true --\" => 'y') = 'x'"},
)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", WRONG)
def test_a_syntax_error_has_a_place_and_nothing_of_the_parser(dialect: Any, sql: str):
    with pytest.raises(ToolError) as caught:
        query_of(sql, dialect, catalog_of(dialect))
    text = str(caught.value)
    assert not any(odd in text for odd in ("sqlglot", "class", "Required keyword", "\x1b", "Invalid expression")), text


def test_a_text_that_the_parser_falls_over_is_an_error_of_the_text():
    for sql in ("SELECT DATE_ADD(INTERVAL 1 ALL, 1)", "SELECT DATE_ADD(INTERVAL 1 ALL, INTERVAL 0 day NFC)"):
        with pytest.raises(ToolError) as caught:
            query_of(sql, "mysql", catalog_of("mysql"))
        assert caught.value.code == "TT6211"


@pytest.mark.parametrize("name", ["pg_read_file", "load_file", "xyzzy"])
def test_a_function_that_is_like_no_other_has_none_near(name: str):
    with pytest.raises(ToolError) as caught:
        query_of(f"SELECT {name}('x')", "postgres", catalog_of("postgres"))
    assert "(none)" in str(caught.value)


@pytest.mark.parametrize("sql", ["SELECT * FROM read_csv('x')", "SELECT told()"])
def test_a_function_of_duckdb_that_is_like_no_other_has_none_near(sql: str, fresh_shop: FreshShop):
    """Past the judge of statements, by DuckDB's own reading."""
    url = fresh_shop("duckdb", ("CREATE MACRO told() AS 1",))
    session = engine_of(url, Access(), PATIENT).open(writes=False)
    with pytest.raises(ToolError) as caught:
        session.run(Statement(sql, "query"), {}, 10)
    session.close()
    assert "(none)" in str(caught.value)


MISSING = (
    ("SELECT custmer FROM orders", "customer"),
    ("SELECT o.custmer FROM orders AS o", "customer"),
    ("SELECT u.nam FROM users AS u JOIN orders AS o ON o.id = u.id", "name"),
    ("SELECT id FROM orders WHERE stat = 'x'", "state"),
    ("SELECT id FROM orders ORDER BY totl", "total"),
    ("SELECT * FROM orders AS a JOIN orders AS b USING (custmer)", "customer"),
    ("SELECT xyzzy FROM orders", "(none)"),
    ("SELECT password_hsh FROM users", "(none)"),
    ("SELECT password_hash FROM users", "(none)"),
    ("SELECT ammount FROM orders", "(none)"),
    ("UPDATE orders SET stat = 'x'", "state"),
    ("INSERT INTO orders (custmer) VALUES ('x')", "customer"),
    ("DELETE FROM orders WHERE custmer = 'x'", "customer"),
)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_column_that_is_not_there_is_told_with_those_near_it_that_are_shown(engine: str, fresh_shop: FreshShop):
    access = Access(writes=True, hidden=("ledger", "users.password*"), mighty_roles=True)

    async def once(url: str) -> None:
        server = Server("shop", toolsets=[toolset(url, access, limits=PATIENT)])
        async with Client(server, elicit=lambda _: True) as client:
            for sql, near in MISSING:
                tool = "run_sql_query" if sql.startswith("SELECT") else "execute_sql"
                text = (await client.call_tool(tool, {"sql": sql})).text
                assert text.endswith("[TT6241]"), text
                assert f"Near it are: {near}." in text, text

    asyncio.run(once(fresh_shop(engine)))


OF_AN_ENGINE = {
    "sqlite": ("INSERT INTO orders VALUES (9)", "CREATE TABLE orders (id integer)", "DROP VIEW orders"),
    "duckdb": ("INSERT INTO orders VALUES (9)",),
    "mysql": ("INSERT INTO orders VALUES (9)",),
    "postgresql": ("UPDATE orders SET total = 'much'", "INSERT INTO orders VALUES (9, 'Lin', 1, 'open', 5)"),
}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_person_is_not_asked_about_a_change_that_the_engine_cannot_plan(engine: str, fresh_shop: FreshShop):
    questions: list[str] = []
    joined = "UPDATE orders SET state = u.password_hash FROM users u WHERE u.id = orders.id"
    changes = (*OF_AN_ENGINE[engine], *(() if engine == "mysql" else (joined,)))
    access = Access(writes=True, hidden=("ledger", "users.password*"), mighty_roles=True)

    def answer(question: Any) -> bool:
        questions.append(question.message)
        return True

    async def once(url: str) -> None:
        async with Client(Server("shop", toolsets=[toolset(url, access, limits=PATIENT)]), elicit=answer) as client:
            for sql in changes:
                result = await client.call_tool("execute_sql", {"sql": sql})
                assert result.is_error, sql
                assert "scrypt" not in result.text
            assert questions == []
            rise = {"sql": "UPDATE orders SET total = total + :more", "parameters": {"more": 1}}
            assert not (await client.call_tool("execute_sql", rise)).is_error
            assert len(questions) == 1

    asyncio.run(once(fresh_shop(engine)))


@pytest.mark.parametrize("engine", ENGINES)
def test_no_person_is_asked_about_a_change_that_is_known_to_fail_or_is_a_dry_run(engine: str, fresh_shop: FreshShop):
    questions: list[str] = []

    def answer(question: Any) -> bool:
        questions.append(question.message)
        return True

    async def once(url: str) -> None:
        server = Server("shop", toolsets=[toolset(url, Access(writes=True), limits=PATIENT)])
        async with Client(server, elicit=answer) as client:
            for arguments in KNOWN_TO_FAIL:
                assert (await client.call_tool("execute_sql", arguments)).is_error
            tried = {"sql": "DELETE FROM orders WHERE id = 1", "dry_run": True}
            assert (await client.call_tool("execute_sql", tried)).value["committed"] is False
            assert questions == []
            assert not (await client.call_tool("execute_sql", {"sql": "DELETE FROM orders WHERE id = 1"})).is_error
            assert len(questions) == 1

    asyncio.run(once(fresh_shop(engine)))
