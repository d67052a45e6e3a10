"""DuckDB's second check of changes: the plan that DuckDB makes of a change reads and writes no hidden data."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing

import duckdb
import pytest

from support.sql.engines import PATIENT, shop
from support.sql.fresh_shops import FreshShop
from support.sql.ordinary import CHANGES
from tooltrue.errors import ToolError
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.engine import engine_of
from tooltrue_toolbox.sql.statement import Statement, change_of

HIDING = Access(writes=True, hidden=("ledger", "users.password*"))
MORE = (
    "CREATE MACRO told() AS (SELECT max(amount) FROM ledger)",
    "CREATE MACRO tab() AS TABLE SELECT * FROM ledger",
    "CREATE VIEW amounts AS SELECT amount FROM ledger",
    "CREATE VIEW people AS SELECT password_hash FROM users",
)
SOURCES = (
    "SELECT max(amount) FROM ledger",
    "SELECT count(*) FROM ledger",
    "SELECT 1 FROM ledger",
    "SELECT max(amount) FROM (FROM ledger)",
    "SELECT max(amount) FROM amounts",
    "SELECT count(*) FROM people WHERE password_hash > 'a'",
    "SELECT count(*) FROM users WHERE password_hash > 'a'",
    "SELECT count(users) FROM users",
    "SELECT length(to_json(users)) FROM users LIMIT 1",
    "SELECT length(max(COLUMNS('pass.*'))) FROM users",
    "SELECT count(*) FROM (SELECT * FROM users)",
    "SELECT count(*) FROM (SELECT * EXCLUDE (id) FROM users)",
    "SELECT count(*) FROM users GROUP BY password_hash LIMIT 1",
    "SELECT id FROM users ORDER BY password_hash LIMIT 1",
    "SELECT told()",
    "SELECT amount FROM tab()",
    "SELECT amount FROM query_table('ledger')",
    "SELECT amount FROM query('SELECT amount FROM ledger')",
    "SELECT count(*) FROM duckdb_tables()",
    "SELECT count(*) FROM sqlite_master",
    "SELECT count(*) FROM information_schema.columns",
)
PLACES = (
    "INSERT INTO orders (id) ({source})",
    "UPDATE orders SET total = ({source}) WHERE id = 1",
    "DELETE FROM orders WHERE id = ({source})",
    "CREATE TABLE copied AS ({source})",
    "CREATE VIEW copied AS ({source})",
)
WRITES = (
    "INSERT INTO ledger VALUES (9, 9)",
    "INSERT INTO ledger VALUES (1, 9) ON CONFLICT (id) DO UPDATE SET amount = 9 RETURNING amount",
    "INSERT OR REPLACE INTO ledger VALUES (1, 9)",
    "UPDATE ledger SET amount = 0 WHERE false",
    "UPDATE users SET name = 'x'",
    "DELETE FROM ledger",
    "TRUNCATE ledger",
    "DELETE FROM users WHERE id = 1 RETURNING *",
    "MERGE INTO ledger USING orders ON ledger.id = orders.id WHEN MATCHED THEN DELETE",
    "MERGE INTO orders USING ledger ON ledger.id = orders.id WHEN MATCHED THEN DELETE",
    "UPDATE orders SET total = ledger.amount FROM ledger",
    "DELETE FROM orders USING ledger WHERE ledger.id = orders.id",
    "ALTER TABLE ledger RENAME TO open_ledger",
    "ALTER TABLE users RENAME COLUMN password_hash TO shown",
    "ALTER TABLE users ADD COLUMN more integer",
    "DROP TABLE ledger",
    "DROP VIEW IF EXISTS ledger_view; DROP TABLE ledger",
    "CREATE INDEX i ON ledger (amount)",
    "CREATE INDEX i ON users (password_hash)",
    "CREATE TABLE linked (id integer REFERENCES ledger (id))",
    "CREATE TABLE temp.main.copied AS SELECT * FROM ledger",
    "WITH l AS MATERIALIZED (SELECT amount FROM ledger) INSERT INTO orders (id) SELECT amount FROM l",
)
VERBS = ("INSERT", "UPDATE", "DELETE", "MERGE", "TRUNCATE", "CREATE", "ALTER", "DROP")


def is_query_of_a_view(source: str, place: str) -> bool:
    """Whether the change creates a view over a shown view, whose rows a query can read anyhow."""
    return "VIEW" in place and ("amounts" in source or "people" in source)


def past_the_judge(sql: str) -> Statement:
    """``sql`` as a change that was not checked, with the verb that DuckDB's parser finds in it."""
    return Statement(sql, "change", verb=next(verb for verb in VERBS if verb in sql))


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The URL of a shop that is the same after each change that is refused, and is held open."""
    with (
        shop("duckdb", tmp_path_factory.mktemp("held"), MORE) as url,
        closing(engine_of(url, HIDING, PATIENT).open(writes=True)),
    ):
        yield url


@pytest.mark.attack("F18")
@pytest.mark.parametrize(("source", "place"), [(s, p) for s in SOURCES for p in PLACES if not is_query_of_a_view(s, p)])
def test_f18_no_change_copies_hidden_data(source: str, place: str, held: str):
    check_refused(place.format(source=source), held)


@pytest.mark.attack("F18")
@pytest.mark.parametrize("sql", WRITES)
def test_f18_no_change_writes_to_hidden_data(sql: str, held: str):
    check_refused(sql, held)


def check_refused(sql: str, url: str) -> None:
    with closing(engine_of(url, HIDING, PATIENT).open(writes=True)) as session:
        with pytest.raises((ToolError, duckdb.Error)) as caught:
            session.run(past_the_judge(sql), {}, 100)
        assert not any(secret in str(caught.value) for secret in ("scrypt", "1000"))


@pytest.mark.twin("F18")
def test_f18_twin_ordinary_changes_pass_both_walls(fresh_shop: FreshShop):
    url = fresh_shop("duckdb")
    for sql in (*CHANGES[""], *CHANGES["duckdb"], "UPDATE orders SET total = :a + :b, customer = :c"):
        session = engine_of(url, HIDING, PATIENT).open(writes=True)
        statement = change_of(sql, "duckdb", session.catalog())
        list(session.run(statement, dict.fromkeys(statement.names, 7), 100).rows)
        session.close()


def test_an_invalid_statement_raises_the_error_of_the_database(fresh_shop: FreshShop):
    url = fresh_shop("duckdb")
    session = engine_of(url, HIDING, PATIENT).open(writes=True)
    with pytest.raises(duckdb.BinderException, match="nope"):
        session.run(past_the_judge("UPDATE orders SET nope = 1"), {}, 100)
    session.close()
