"""The second wall before hidden data: the rights of the database role, which the tools query at the start."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pymysql
import pytest
from click.testing import CliRunner

from support.sql.engines import ENGINES, PATIENT, run_as_owner
from support.sql.fresh_shops import FreshShop
from tooltrue import Client, Server
from tooltrue.cli.main import cli
from tooltrue.client.call_results import Result
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.sql import Access, toolset
from tooltrue_toolbox.sql.engine import engine_of
from tooltrue_toolbox.sql.statement import Statement

HIDING = Access(hidden=("ledger", "users.password*"))
ONLY = Access(tables=("orders",))
DENIED = (psycopg.errors.InsufficientPrivilege, pymysql.err.OperationalError)
SERVERS = pytest.mark.parametrize("engine", ["postgresql", "mysql"])
EVERYWHERE = pytest.mark.parametrize("engine", ENGINES)
NO_ROLES = ("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role}", "GRANT SELECT ON orders TO {role}")


def ending(url: str, access: Access) -> list[str]:
    """The statements that a refused start prints."""
    with pytest.raises(ConfigurationError) as caught:
        toolset(url, access, limits=PATIENT)
    assert caught.value.code == "TT6205", str(caught.value)
    _, _, statements = str(caught.value).partition("\n")
    return [line.removesuffix(";") for line in statements.splitlines() if line.endswith(";")]


def role_of(url: str) -> str:
    user = urlsplit(url).username or ""
    return f"`{user}`@`%`" if url.startswith("mysql:") else user


def call(url: str, access: Access, tool: str, **arguments: Any) -> Result[Any]:
    async def once() -> Result[Any]:
        async with Client(Server("shop", toolsets=[toolset(url, access, limits=PATIENT)])) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(once())


def rows(url: str, access: Access, sql: str) -> list[list[Any]]:
    result = call(url, access, "run_sql_query", sql=sql)
    assert not result.is_error, result.text
    value: Mapping[str, Any] = result.structured
    return value["rows"]


def check_that_it_stands(url: str, access: Access = HIDING) -> None:
    """Check that the tools start, visible data is readable, and the engine itself denies access to hidden data."""
    toolset(url, access, limits=PATIENT)
    assert rows(url, access, "SELECT count(*) FROM orders") == [[3]]
    home = "public." if url.startswith("postgresql:") else ""
    for sql in ("SELECT amount FROM {}ledger", "SELECT password_hash FROM {}users", "SELECT * FROM {}users"):
        session = engine_of(url, access, PATIENT).open(writes=False)
        try:
            with pytest.raises(DENIED) as caught:
                list(session.run(Statement(sql.format(home), "query"), {}, 10).rows)
            assert "denied" in str(caught.value)
        finally:
            session.close()


@contextmanager
def other(url: str, made: str, gone: str) -> Generator[None]:
    """Something of the server, rather than of the database, for a while."""
    run_as_owner(url, made)
    try:
        yield
    finally:
        run_as_owner(url, gone)


@SERVERS
@pytest.mark.attack("F18")
def test_f18_a_role_with_access_to_hidden_data_is_refused(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    run_as_owner(url, *ending(url, HIDING))
    check_that_it_stands(url)
    assert rows(url, HIDING, "SELECT * FROM users ORDER BY id") == [[1, "Lin"], [2, "Ada"]]
    assert rows(url, HIDING, "SELECT u.* FROM users AS u WHERE u.id = 1") == [[1, "Lin"]]
    listed: Any = call(url, HIDING, "list_tables").structured
    assert [table["name"] for table in listed["tables"]] == ["orders", "paid", "users"]
    described: Any = call(url, HIDING, "describe_table", table="users").structured
    assert [column["name"] for column in described["columns"]] == ["id", "name"]


@EVERYWHERE
@pytest.mark.twin("F18")
def test_f18_twin_with_nothing_hidden_any_role_is_taken(engine: str, fresh_shop: FreshShop):
    assert rows(fresh_shop(engine), Access(), "SELECT amount FROM ledger") == [[1000]]


@SERVERS
@pytest.mark.attack("F18")
def test_f18_tables_that_no_pattern_names_are_hidden_too(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    run_as_owner(url, *ending(url, ONLY))
    check_that_it_stands(url, ONLY)


@SERVERS
@pytest.mark.attack("F18")
def test_f18_with_writes_other_privileges_on_hidden_tables_count_too(engine: str, fresh_shop: FreshShop):
    writing = Access(writes=True, hidden=HIDING.hidden)
    url = fresh_shop(engine)
    run_as_owner(url, *ending(url, HIDING))
    run_as_owner(url, f"GRANT DELETE ON ledger TO {role_of(url)}")
    if engine == "mysql":
        run_as_owner(url, f"GRANT DROP ON {urlsplit(url).path.strip('/')}.* TO {role_of(url)}")
    toolset(url, HIDING, limits=PATIENT)
    run_as_owner(url, *ending(url, writing))
    check_that_it_stands(url, writing)


def inspected(url: str, *options: str) -> str:
    words = ("inspect", "sql", "--database", url, "--hide", "ledger", "--hide", "users.password*", *options)
    ran = CliRunner().invoke(cli, words)
    assert ran.exit_code == 0, ran.output
    return ran.output


@EVERYWHERE
def test_inspect_says_how_many_walls_there_are(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    if engine in ("sqlite", "duckdb"):
        assert "two walls: the judge of statements" in inspected(url)
        return
    assert "one wall: the judge of statements" in inspected(url, "--roles", "any")
    run_as_owner(url, *ending(url, HIDING))
    assert "two walls: the judge of statements, the rights of the" in inspected(url, "--roles", "any")
    assert "two walls: the judge of statements, the rights of the" in inspected(url)


@EVERYWHERE
def test_a_pattern_without_a_match_is_reported(engine: str, fresh_shop: FreshShop, caplog: pytest.LogCaptureFixture):
    url = fresh_shop(engine)
    shown = inspected(url, "--roles", "any", "--hide", "legder", "--hide", "users.pin*", "--table", "*")
    assert "no table or column that the role can see matches legder, users.pin*" in " ".join(shown.split())
    assert "matches" not in inspected(url, "--roles", "any", "--hide", "LEDGER", "--hide", "orders.tot*")
    caplog.clear()
    toolset(url, Access(hidden=("legder", "ledger", "users.name"), mighty_roles=True), limits=PATIENT)
    told = [record.getMessage() for record in caplog.records if "TT6206" in record.getMessage()]
    assert [("legder" in line, "users" in line) for line in told] == (
        [(True, False)] if engine in ("sqlite", "duckdb") else []
    )


PATHS = {
    "a group": ("GRANT SELECT ON ledger TO {group}", "GRANT {group} TO {role}"),
    "a group that has to be taken on": (
        "GRANT SELECT ON ledger TO {group}",
        "ALTER ROLE {role} NOINHERIT",
        "GRANT {group} TO {role}",
    ),
    "everybody": ("GRANT SELECT ON ledger TO PUBLIC",),
    "a column": ("GRANT SELECT (amount) ON ledger TO {role}",),
    "a column of everybody": (
        "GRANT SELECT (password_hash) ON users TO PUBLIC",
        "GRANT SELECT (id, name) ON users TO {role}",
    ),
    "owning it": ("ALTER TABLE ledger OWNER TO {role}",),
    "all data": ("GRANT pg_read_all_data TO {role}",),
    "all data by a group": ("GRANT pg_read_all_data TO {group}", "GRANT {group} TO {role}"),
    "a function": (
        "CREATE FUNCTION told(n integer) RETURNS integer LANGUAGE sql SECURITY DEFINER AS 'SELECT amount FROM ledger'",
    ),
    "a quoted function": (
        'CREATE SCHEMA "o""dd"',
        'GRANT USAGE ON SCHEMA "o""dd" TO {role}',
        'CREATE FUNCTION "o""dd"."T ""old"() RETURNS integer LANGUAGE sql SECURITY DEFINER AS \'SELECT 1\'',
        'GRANT EXECUTE ON FUNCTION "o""dd"."T ""old"() TO {role}',
    ),
    "another schema": (
        'CREATE SCHEMA "Led ger"',
        'GRANT USAGE ON SCHEMA "Led ger" TO {role}',
        'CREATE TABLE "Led ger"."ledger" ("A ""b" integer)',
        'GRANT SELECT ON "Led ger"."ledger" TO {role}',
    ),
    "a view of it that is hidden": ("CREATE VIEW shown AS SELECT * FROM ledger", "GRANT SELECT ON shown TO {role}"),
}


@pytest.mark.attack("F18")
@pytest.mark.parametrize("path", PATHS)
def test_f18_every_way_to_a_right_of_postgresql_is_found_and_ended(path: str, fresh_shop: FreshShop):
    access = Access(hidden=("ledger", "shown", "users.password*"))
    url = fresh_shop("postgresql")
    names = {"role": role_of(url), "group": f"{role_of(url)}_group"}
    run_as_owner(url, *(statement.format(**names) for statement in NO_ROLES))
    check_that_it_stands(url, access)
    with other(url, f"CREATE ROLE {names['group']}", f"DROP OWNED BY {names['group']}; DROP ROLE {names['group']}"):
        run_as_owner(url, *(statement.format(**names) for statement in PATHS[path]))
        run_as_owner(url, *ending(url, access))
        check_that_it_stands(url, access)


def test_a_function_that_the_operator_allows_is_no_hole(fresh_shop: FreshShop):
    url = fresh_shop("postgresql", ("CREATE SCHEMA open",))
    run_as_owner(url, *(statement.format(role=role_of(url)) for statement in NO_ROLES), *PATHS["a function"])
    toolset(url, Access(hidden=HIDING.hidden, functions=("public.told",)), limits=PATIENT)


GRANTS = {
    "the database": ("GRANT SELECT ON {database}.* TO {role}",),
    "all databases": ("GRANT SELECT ON *.* TO {role}",),
    "a column": ("GRANT SELECT (amount) ON ledger TO {role}",),
    "a role": ("GRANT SELECT ON ledger TO {group}", "GRANT {group} TO {role}", "SET DEFAULT ROLE {group} FOR {role}"),
    "another database": ("CREATE TABLE {other}.secrets (k integer)", "GRANT SELECT ON {other}.* TO {role}"),
    "a function": (
        "CREATE FUNCTION told() RETURNS integer READS SQL DATA RETURN (SELECT max(amount) FROM ledger)",
        "GRANT EXECUTE ON FUNCTION told TO {role}",
    ),
}


@pytest.mark.attack("F18")
@pytest.mark.parametrize("path", GRANTS)
def test_f18_every_way_to_a_right_of_mysql_is_found_and_ended(path: str, fresh_shop: FreshShop):
    url = fresh_shop("mysql")
    database = urlsplit(url).path.strip("/")
    names = {"role": role_of(url), "group": f"{database}_group", "database": database, "other": f"{database}_other"}
    role = names["role"]
    run_as_owner(url, f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {role}", f"GRANT SELECT ON orders TO {role}")
    check_that_it_stands(url)
    with (
        other(url, f"CREATE ROLE {names['group']}", f"DROP ROLE {names['group']}"),
        other(url, f"CREATE DATABASE {names['other']}", f"DROP DATABASE {names['other']}"),
    ):
        run_as_owner(url, *(statement.format(**names) for statement in GRANTS[path]))
        run_as_owner(url, *ending(url, HIDING))
        check_that_it_stands(url)


@SERVERS
def test_printed_statements_quote_names_that_need_quotes(engine: str, fresh_shop: FreshShop):
    quote = "`" if engine == "mysql" else '"'
    table = f"{quote}the {quote * 2} ledger; x{quote}"
    url = fresh_shop(engine, (f"CREATE TABLE {table} ({table} integer, id integer)",))
    access = Access(hidden=("ledger", "users.password*", "the *.the *"))
    run_as_owner(url, *ending(url, access))
    check_that_it_stands(url, access)
    assert rows(url, access, f"SELECT * FROM {table}") == []
