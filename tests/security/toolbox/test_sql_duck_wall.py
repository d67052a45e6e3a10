"""DuckDB's second wall: DuckDB's own parser refuses statements that the judge might let through."""

from __future__ import annotations

import duckdb
import pytest

from support.sql.engines import PATIENT
from support.sql.fresh_shops import FreshShop
from support.sql.ordinary import EVERYWHERE, QUERIES
from tooltrue.errors import ToolError
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.engine import engine_of
from tooltrue_toolbox.sql.statement import Kind, Statement, query_of

HIDING = Access(hidden=("ledger", "users.password*"))
MACROS = (
    "CREATE MACRO told() AS (SELECT max(amount) FROM ledger)",
    "CREATE MACRO tab() AS TABLE SELECT * FROM ledger",
)
ATTACKS = (
    "SELECT password_hash FROM users",
    "SELECT * FROM users",
    "SELECT users FROM users",
    "SELECT count(*) FROM (SELECT id FROM users WHERE password_hash > 'a')",
    "SELECT * FROM ledger",
    "FROM ledger",
    "TABLE ledger",
    "SELECT * FROM query('SELECT * FROM ledger')",
    "FROM query_table('ledger')",
    "SELECT told()",
    "SELECT * FROM tab()",
    "DESCRIBE users",
    "SUMMARIZE users",
    "SHOW TABLES",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM information_schema.tables",
    "SELECT id FROM (SELECT id FROM users ORDER BY password_hash)",
    "WITH u AS (FROM users) SELECT * FROM u",
    "PIVOT users ON name",
    "SELECT * FROM users u JOIN orders USING (id)",
    "SELECT * FROM orders POSITIONAL JOIN users",
    "SELECT (SELECT max(password_hash) FROM users)",
    "SELECT id, name FROM users AS t(a,b,name)",
    "SELECT id, name FROM users WHERE name IN (SELECT password_hash FROM users)",
    "UNPIVOT users ON password_hash",
    "SELECT id FROM users GROUP BY password_hash, id",
    "SELECT DISTINCT ON (password_hash) id FROM users",
    "SELECT id FROM users AT (VERSION => 1)",
    "SELECT id FROM users TABLESAMPLE 1 ROWS",
    "WITH ledger AS (SELECT 1) SELECT * FROM main.ledger",
    "SELECT id FROM users LIMIT (SELECT amount FROM ledger)",
)
STACKED = (
    ("UPDATE orders SET id = id; DELETE FROM ledger", "change", "UPDATE"),
    ("SELECT 1; SELECT 2", "query", "SELECT"),
    ("EXPLAIN SELECT 1; DELETE FROM ledger", "plan", "EXPLAIN"),
    ("DELETE FROM ledger", "query", "SELECT"),
    ("DELETE FROM ledger", "change", "UPDATE"),
    ("DROP TABLE ledger", "change", "DELETE"),
    ("", "query", "SELECT"),
)


@pytest.mark.attack("F18")
def test_f18_the_engine_blocks_queries_that_the_parser_might_let_through(fresh_shop: FreshShop):
    url = fresh_shop("duckdb", MACROS)
    session = engine_of(url, HIDING, PATIENT).open(writes=False)
    for sql in ATTACKS:
        with pytest.raises((ToolError, duckdb.Error)):
            session.run(Statement(sql, "query"), {}, 100)
    session.close()


@pytest.mark.attack("F01")
@pytest.mark.parametrize(("sql", "kind", "verb"), STACKED)
def test_f01_one_statement_of_the_kind_that_is_expected(sql: str, kind: Kind, verb: str, fresh_shop: FreshShop):
    url = fresh_shop("duckdb")
    session = engine_of(url, Access(writes=True), PATIENT).open(writes=True)
    with pytest.raises(ToolError) as caught:
        session.run(Statement(sql, kind, verb=verb), {}, 100)
    assert caught.value.code in ("TT6210", "TT6238")
    assert len(list(session.run(Statement("SELECT * FROM ledger", "query"), {}, 100).rows)) == 1
    session.close()


@pytest.mark.twin("F01", "F18")
def test_f18_twin_ordinary_queries_pass_both_walls(fresh_shop: FreshShop):
    url = fresh_shop("duckdb")
    session = engine_of(url, HIDING, PATIENT).open(writes=False)
    for sql in EVERYWHERE + QUERIES["duckdb"]:
        statement = query_of(sql, "duckdb", session.catalog(), most=100)
        list(session.run(statement, {"name": "Lin", "least": 0}, 100).rows)
    session.close()
