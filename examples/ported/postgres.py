"""A PostgreSQL database, with plans, a history and prompts: in place of mapeg-postgres-mcp 2.0.0 (MIT).

``DB_HOST``, ``DB_PORT``, ``DB_NAME``, ``DB_USER`` and ``DB_PASSWORD`` name the database; with ``READ_ONLY=true`` no
statement can change it.
"""

import asyncio
import json
import os
import re
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Annotated, Any, Literal

import psycopg
from psycopg import sql as names
from psycopg.rows import dict_row
from pydantic import Field

from tooltrue import Context, Depends, Form, Lifespan, Server, ToolError

Row = dict[str, Any]
Connection = psycopg.AsyncConnection[Row]


@dataclass
class Entry:
    tool_name: str
    query_text: str
    timestamp: str = field(default_factory=lambda: datetime.now().isoformat())
    execution_time_ms: float = 0.0
    row_count: int = 0
    status: Literal["success", "error"] = "success"
    error_message: str = ""
    user_query: str = ""


@dataclass
class History:
    db_identifier: str
    workspace_path: str = field(default_factory=os.getcwd)
    entries: list[Entry] = field(default_factory=list[Entry])


@dataclass
class Result:
    sql: str
    columns: list[str]
    rows: list[Row]
    row_count: int
    limit_applied: int | None
    duration_ms: float


@dataclass
class Column:
    name: str
    data_type: str
    nullable: bool
    default: str | None
    max_length: int | None
    position: int


@dataclass
class Table:
    schema_name: str
    table_name: str
    columns: list[Column]
    row_count: int
    size: str


@dataclass
class Tables:
    question: str
    tables: dict[str, list[str]]


@dataclass
class Plan:
    sql: str
    analyzed: bool
    format: Literal["text", "json", "yaml"]
    plan: str


@dataclass
class App:
    """The one connection, whose calls take turns, and what was run on it."""

    connection: Connection
    history: History
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


@asynccontextmanager
async def lifespan(server: Server) -> AsyncGenerator[App]:
    host, port = os.environ.get("DB_HOST", "localhost"), os.environ.get("DB_PORT", "5432")
    name, user = os.environ["DB_NAME"], os.environ.get("DB_USER", "postgres")
    async with await psycopg.AsyncConnection[Row].connect(
        host=host, port=port, dbname=name, user=user, password=os.environ["DB_PASSWORD"], row_factory=dict_row
    ) as connection:
        await connection.set_autocommit(True)
        yield App(connection, History(f"{host}:{port}/{name}"))


async def read_transaction(app: Annotated[App, Lifespan]) -> AsyncGenerator[Connection]:
    """The connection, in a transaction that PostgreSQL lets read and not write."""
    async with app.turn, app.connection.transaction():
        await app.connection.execute("SET TRANSACTION READ ONLY")
        yield app.connection


State = Annotated[App, Lifespan]
Database = Annotated[Connection, Depends(read_transaction)]
Sql = Annotated[str, Field(min_length=1), "One statement of PostgreSQL, e.g. 'SELECT count(*) FROM books'"]
server = Server("postgres", version="1.0", lifespan=lifespan)


async def run(
    app: App, tool: str, sql: str, *, writes: bool = False, limit: int | None = None, asked: str = ""
) -> Result:
    """Run a statement in a transaction of its own, and note it in the history.

    It is prepared, so that it is one statement: none can end the transaction, and run others after it.
    """
    entry, began = Entry(tool, sql, user_query=asked), time.perf_counter()
    try:
        async with app.turn, app.connection.transaction():
            await app.connection.execute(f"SET TRANSACTION READ {'WRITE' if writes else 'ONLY'}")
            cursor = await app.connection.execute(sql.encode(), prepare=True)
            rows = await cursor.fetchall() if cursor.description else []
    except psycopg.errors.ReadOnlySqlTransaction:
        raise
    except psycopg.Error as error:
        app.history.entries.append(entry)
        entry.status, entry.error_message = "error", str(error)
        raise ToolError(f"PostgreSQL refuses this: {error}. Look the tables up with smart_query.") from None
    entry.execution_time_ms, entry.row_count = (time.perf_counter() - began) * 1000, max(cursor.rowcount, 0)
    app.history.entries.append(entry)
    shown = [
        {key: f"<{len(one)} bytes>" if isinstance(one, bytes) else one for key, one in row.items()} for row in rows
    ]
    columns = [column.name for column in cursor.description or ()]
    return Result(sql, columns, shown, entry.row_count, limit, entry.execution_time_ms)


@server.tool(effect="destructive", confirm=False)
async def execute_sql(
    sql: Sql,
    app: State,
    context: Context,
    limit: Annotated[int, Field(ge=1, le=10_000), "Most rows of a SELECT without a LIMIT of its own"] = 100,
) -> Result:
    """Run one SQL statement. The user is asked before anything changes. For the cost of a query use explain_query."""
    sql, applied = sql.rstrip("; \n"), None
    if re.match(r"\s*SELECT\b", sql, re.IGNORECASE) and not re.search(r"\bLIMIT\b", sql, re.IGNORECASE):
        sql, applied = f"{sql} LIMIT {limit}", limit
    try:
        return await run(app, "execute_sql", sql, limit=applied)
    except psycopg.errors.ReadOnlySqlTransaction:  # PostgreSQL knows what writes, also within a WITH or a function
        if os.environ.get("READ_ONLY") == "true":
            raise ToolError("This database may only be read. Tell the user.") from None
    if not context.ask(Form(f"Run this on {app.history.db_identifier}?\n\n{sql}"), key="run"):
        raise ToolError("The user said no. Nothing was changed.")
    return await run(app, "execute_sql", sql, writes=True, limit=applied)


QUESTIONS = {
    "table": "SELECT schemaname, tablename, tableowner FROM pg_tables"
    " WHERE schemaname !~ '^(pg_|information_schema)' ORDER BY 1, 2",
    "user": "SELECT usename, usesuper, usecreatedb FROM pg_user ORDER BY 1",
    "schema": "SELECT nspname, nspowner::regrole::text FROM pg_namespace ORDER BY 1",
    "database": "SELECT current_database(), current_user, version()",
}


@server.tool(effect="read")
async def natural_language_query(
    query: Annotated[str, Field(min_length=1), "A question about tables, users, schemas or the database"], app: State
) -> Result:
    """Answer one of four questions about the database, by a word in it. For any other, write SQL for execute_sql."""
    sql = next((sql for word, sql in QUESTIONS.items() if word in query.lower()), None)
    if sql is None:
        entry = Entry("natural_language_query", "", status="error", error_message="no such question", user_query=query)
        app.history.entries.append(entry)
        raise ToolError(f"This answers questions about {', '.join(QUESTIONS)} alone. Use execute_sql.")
    return await run(app, "natural_language_query", f"{sql} LIMIT 50", limit=50, asked=query)


COLUMNS = """
    SELECT table_schema, table_name, column_name AS name, data_type, is_nullable = 'YES' AS nullable,
        column_default AS default, character_maximum_length AS max_length, ordinal_position AS position
    FROM information_schema.columns WHERE table_schema !~ '^(pg_|information_schema)'
    ORDER BY table_schema, table_name, ordinal_position
"""


async def columns_by_table(db: Connection) -> dict[tuple[str, str], list[Column]]:
    tables: dict[tuple[str, str], list[Column]] = {}
    for row in await (await db.execute(COLUMNS)).fetchall():
        tables.setdefault((row.pop("table_schema"), row.pop("table_name")), []).append(Column(**row))
    return tables


async def describe(db: Connection, schema: str, table: str, context: Context) -> Table:
    context.progress(0, 3)
    columns = (await columns_by_table(db)).get((schema, table))
    if columns is None:
        raise ToolError(f"There is no table {schema}.{table}. Look the tables up with smart_query.")
    context.progress(1, 3)
    name = names.Identifier(schema, table)
    [count] = await (await db.execute(names.SQL("SELECT count(*) AS n FROM {}").format(name))).fetchall()
    context.progress(2, 3)
    query = names.SQL("SELECT pg_size_pretty(pg_total_relation_size({}::regclass)) AS size")
    [size] = await (await db.execute(query.format(names.Literal(name.as_string(db))))).fetchall()
    context.progress(3, 3)
    return Table(schema, table, columns, count["n"], size["size"])


@server.tool(effect="read")
async def describe_table(
    table_name: Annotated[str, Field(min_length=1), "A table, e.g. 'books' or 'public.books'"],
    db: Database,
    context: Context,
) -> Table:
    """Describe one table: its columns, how many rows it has, and its size. For all tables use smart_query."""
    schema, _, table = table_name.rpartition(".")
    return await describe(db, schema or "public", table, context)


@server.tool(effect="read")
async def smart_query(
    question: Annotated[str, Field(min_length=1), "The question that a query shall answer"], db: Database
) -> Tables:
    """List the public tables and their columns, before you write a query. No query is run."""
    tables = (await columns_by_table(db)).items()
    shown = {
        table: [f"{one.name} ({one.data_type})" for one in columns] for (of, table), columns in tables if of == "public"
    }
    return Tables(question, shown)


@server.tool(effect="read")
async def explain_query(
    sql: Sql,
    app: State,
    analyze: Annotated[bool, "Run the query, and measure its steps; not for one that writes"] = False,
    format: Annotated[Literal["text", "json", "yaml"], "Form of the plan"] = "text",
    buffers: Annotated[bool, "Count the pages that are read; with analyze alone"] = False,
) -> Plan:
    """Show how PostgreSQL would run a query, and at what cost. Use it when a query is slow."""
    options = f"ANALYZE {analyze}, BUFFERS {analyze and buffers}, FORMAT {format}"
    try:
        result = await run(app, "explain_query", f"EXPLAIN ({options}) {sql}")
    except psycopg.errors.ReadOnlySqlTransaction:
        raise ToolError("This query writes: show its plan with analyze=false.") from None
    plans = [row["QUERY PLAN"] for row in result.rows]
    return Plan(sql, analyze, format, "\n".join(plans) if format != "json" else json.dumps(plans[0]))


@server.tool(effect="read")
async def get_query_history(
    app: State,
    limit: Annotated[int, Field(ge=1, le=500), "Most entries of the answer"] = 20,
    status: Annotated[Literal["success", "error"] | None, "Only those that worked, or that failed"] = None,
    tool_name: Annotated[str, "Only those of one tool, e.g. 'execute_sql'"] = "",
) -> History:
    """List what was run since this server was started, the newest first, with its time and its errors."""
    entries = [one for one in reversed(app.history.entries) if status in (None, one.status)]
    chosen = [one for one in entries if tool_name in ("", one.tool_name)][:limit]
    return History(app.history.db_identifier, app.history.workspace_path, chosen)


@server.resource("postgresql://tables", mime_type="application/json")
async def tables(db: Database) -> list[Row]:
    """All tables, with their owners."""
    query = """
        SELECT schemaname AS schema_name, tablename AS table_name, tableowner AS owner,
            hasindexes AS has_indexes, hastriggers AS has_triggers
        FROM pg_tables WHERE schemaname !~ '^(pg_|information_schema)' ORDER BY 1, 2
    """
    return await (await db.execute(query)).fetchall()


@server.resource("postgresql://schema", mime_type="application/json")
async def schema(db: Database) -> dict[str, list[Row]]:
    """All tables, with their columns."""
    tables = (await columns_by_table(db)).items()
    return {f"{of}.{table}": [_short(column) for column in columns] for (of, table), columns in tables}


def _short(column: Column) -> Row:
    return {key: value for key, value in asdict(column).items() if key != "max_length"}


@server.resource("postgresql://stats", mime_type="application/json")
async def stats(db: Database) -> Row:
    """The version of the database, and how many tables each schema has."""
    query = "SELECT current_database() AS database, current_user AS user, version()"
    [row] = await (await db.execute(query)).fetchall()
    counted: dict[str, int] = {}
    for table in await tables(db):
        counted[table["schema_name"]] = counted.get(table["schema_name"], 0) + 1
    return row | {"tables_per_schema": counted}


@server.resource("postgresql://table/{schema}/{table}", mime_type="application/json")
async def table(schema: str, table: str, db: Database, context: Context) -> Table:
    """One table: its columns, how many rows it has, and its size."""
    return await describe(db, schema, table, context)


@server.prompt
def analyze_table(table_name: Annotated[str, "A table, e.g. 'public.books'"]) -> str:
    """Look a table over."""
    return (
        f"Describe the table {table_name} with describe_table, and read twenty of its rows. Then tell me in ten "
        "sentences what a row stands for, which columns are empty or always the same, where values contradict each "
        "other, and which index or constraint you would add. Change nothing."
    )


@server.prompt
def optimize_query(sql: Annotated[str, "A query that is slow"]) -> str:
    """Make a query faster."""
    return (
        f"This query is slow:\n\n{sql}\n\nGet its plan with explain_query. Name the step that costs most, and why. "
        "Give one change of the query or one index that would help, and show by the plan of the new query that it does."
    )


if __name__ == "__main__":
    server.run()
