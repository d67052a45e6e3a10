"""A session parses a statement as the checker does, under any defaults of the role, the database or the server."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.sql.engines import PATIENT, run_as_owner
from support.sql.fresh_shops import FreshShop
from support.variants import tried
from tooltrue.errors import ToolError
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.engine import engine_of
from tooltrue_toolbox.sql.statement import Statement, query_of

HIDING = Access(writes=True, hidden=("ledger", "users.password*"), mighty_roles=True)
HOSTILE = {
    "search_path": "evil, pg_catalog, public",
    "standard_conforming_strings": "off",
    "backslash_quote": "on",
    "escape_string_warning": "off",
    "transform_null_equals": "on",
    "array_nulls": "off",
    "DateStyle": "SQL, DMY",
    "IntervalStyle": "sql_standard",
    "bytea_output": "escape",
    "extra_float_digits": "-15",
    "quote_all_identifiers": "on",
    "xmloption": "document",
    "row_security": "off",
    "client_encoding": "SQL_ASCII",
    "default_transaction_read_only": "off",
    "statement_timeout": "0",
    "lock_timeout": "0",
}
EVIL = (
    "CREATE SCHEMA evil",
    "GRANT USAGE ON SCHEMA evil TO PUBLIC",
    "CREATE TABLE evil.orders AS SELECT 666 AS id, 'evil'::text AS customer",
    "CREATE FUNCTION evil.current_schema() RETURNS name LANGUAGE sql AS $$ SELECT 'evil'::name $$",
    "CREATE FUNCTION evil.set_config(text, text, boolean) RETURNS text LANGUAGE sql AS $$ SELECT 'never' $$",
    "CREATE FUNCTION evil.upper(varchar) RETURNS text LANGUAGE sql AS $$ SELECT 'evil' $$",
    "CREATE FUNCTION evil.count(integer) RETURNS integer LANGUAGE sql AS $$ SELECT 666 $$",
    "CREATE FUNCTION evil.never(name, name) RETURNS boolean LANGUAGE sql AS $$ SELECT false $$",
    "CREATE OPERATOR evil.= (LEFTARG = name, RIGHTARG = name, FUNCTION = evil.never)",
)
READS: dict[str, tuple[tuple[str, Any], ...]] = {
    "postgresql": (
        (r"SELECT 'a\'", "a\\"),
        (r"SELECT 'a\'' || '; -- x'", "a\\' || "),
        (r"SELECT E'a\tb'", "a\tb"),
        ("SELECT count(*) FROM orders WHERE (NULL = NULL) IS NULL", 3),
        ("SELECT ('{NULL}'::text[])[1] IS NULL", True),
        ("SELECT '01/02/2024'::date", "2024-01-02"),
        ("SELECT '-1 2:00'::interval", "-1 days +02:00:00"),
        ("SELECT 0.1::float8 + 0.2::float8", 0.30000000000000004),
        ("SELECT upper(customer) FROM orders WHERE id = 1", "LIN"),
        ("SELECT id FROM orders ORDER BY id LIMIT 1", 1),
        ("SELECT 'é€'", "é€"),
    ),
    "mysql": (
        (r"SELECT 'a\'b'", "a'b"),
        ('SELECT "orders"', "orders"),
        ("SELECT 1 || 0", 1),
        ("SELECT NOT 1 BETWEEN -5 AND 5", 0),
        ("SELECT COUNT(*) FROM orders WHERE id IS NULL", 0),
        ("SELECT 1 / 3", "0.3333"),
        ("SELECT 'é€'", "é€"),
        ("SELECT id FROM orders ORDER BY id LIMIT 1", 1),
    ),
}
MODES = (
    "ANSI_QUOTES",
    "NO_BACKSLASH_ESCAPES",
    "PIPES_AS_CONCAT",
    "HIGH_NOT_PRECEDENCE",
    "IGNORE_SPACE",
    "ANSI",
    "ORACLE",
)


def read(url: str, sql: str) -> Any:
    engine = engine_of(url, HIDING, PATIENT)
    session = engine.open(writes=False)
    try:
        [row] = session.run(query_of(sql, engine.dialect, session.catalog()), {}, 10).rows
        return row[0]
    finally:
        session.close()


def check(url: str, engine: str) -> None:
    for sql, wanted in READS[engine]:
        assert read(url, sql) == wanted, sql


@pytest.mark.attack("F14", "F17")
@pytest.mark.variants(17)
def test_f14_defaults_of_a_role_of_postgresql_change_nothing(fresh_shop: FreshShop):
    url = fresh_shop("postgresql")
    role = url.partition("//")[2].partition("@")[0]
    run_as_owner(url, *EVIL, f"GRANT ALL ON ALL TABLES IN SCHEMA evil TO {role}")
    for name, value in HOSTILE.items():
        tried(name)
        said = value if name == "search_path" else f"'{value}'"
        run_as_owner(url, f"ALTER ROLE {role} SET {name} = {said}")
        if name == "search_path":  # only unqualified names resolve to its first schema
            assert read(url, "SELECT id FROM orders") == 666
            assert read(url, "SELECT upper(customer) FROM public.orders WHERE id = 1") == "LIN"
            assert read(url, "SELECT count(id) FROM public.orders") == 3
            run_as_owner(url, f"ALTER ROLE {role} SET search_path = public, evil")
    check(url, "postgresql")


@pytest.mark.attack("F11")
def test_f11_an_operator_of_somebody_does_not_hide_that_a_role_is_mighty(fresh_shop: FreshShop):
    url = fresh_shop("postgresql")
    role = url.partition("//")[2].partition("@")[0]
    run_as_owner(url, *EVIL, f"ALTER ROLE {role} SUPERUSER")
    run_as_owner(url, f"ALTER ROLE {role} SET search_path = evil, pg_catalog, public")
    with pytest.raises(ToolError) as caught:
        engine_of(url, Access(), PATIENT).open(writes=False)
    assert caught.value.code == "TT6203"


@contextmanager
def init_connect(url: str, statements: str) -> Generator[None]:
    run_as_owner(url, f'SET GLOBAL init_connect = "{statements}"')
    try:
        yield
    finally:
        run_as_owner(url, "SET GLOBAL init_connect = ''")


@pytest.mark.attack("F14")
@pytest.mark.variants(9)
def test_f14_the_init_connect_statement_of_a_mysql_server_has_no_effect(fresh_shop: FreshShop):
    url = fresh_shop("mysql")
    for mode in (*(f"sql_mode = '{mode}'" for mode in MODES), "sql_auto_is_null = 1, foreign_key_checks = 0"):
        tried(mode)
        others = "SET NAMES latin1; SET SESSION div_precision_increment = 30; SET SESSION completion_type = 2"
        with init_connect(url, f"SET SESSION {mode}; {others}"):
            check(url, "mysql")
    tried("USE")
    with init_connect(url, "USE information_schema"):
        check(url, "mysql")


@pytest.mark.twin("F14")
@pytest.mark.parametrize("engine", list(READS))
def test_f14_twin_a_text_reads_so_with_the_usual_defaults_too(engine: str, fresh_shop: FreshShop):
    check(fresh_shop(engine), engine)


@pytest.mark.attack("F14")
def test_f14_a_file_of_sqlite_in_another_encoding_hides_as_well(tmp_path: Path):
    file = tmp_path / "wide.db"
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA encoding = 'UTF-16le'")
        db.execute("CREATE TABLE ledger (amount integer)")
        db.execute("CREATE TABLE users (name text, password_hash text)")
        db.execute("INSERT INTO users VALUES ('é€', 'scrypt')")
        db.commit()
    url = f"sqlite:///{file}"
    assert read(url, "SELECT name FROM users") == "é€"
    session = engine_of(url, HIDING, PATIENT).open(writes=False)
    assert [relation.name for relation in session.catalog().relations] == ["users"]
    with pytest.raises(sqlite3.DatabaseError, match="prohibited"):
        list(session.run(Statement("SELECT password_hash FROM users", "query"), {}, 10).rows)
    session.close()
