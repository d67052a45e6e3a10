"""A SQLite database, a memo of findings and a prompt: in place of mcp-server-sqlite 2025.4.25 (MIT).

``SQLITE_PATH`` names the database.
"""

import os
import sqlite3
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from tooltrue import Depends, Lifespan, Server, ToolError

Rows = list[dict[str, Any]]
Sql = Annotated[str, "One statement, as SQLite understands it, e.g. 'SELECT name FROM goods LIMIT 20'"]


@dataclass
class App:
    path: str
    insights: list[str] = field(default_factory=list[str])


@asynccontextmanager
async def lifespan(server: Server) -> AsyncGenerator[App]:
    """One memo for the life of the process. Without a path, the server does not start."""
    yield App(os.environ["SQLITE_PATH"])


def connect(only_reads: bool, app: Annotated[App, Lifespan]) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(app.path)) as db, db:
        db.row_factory = sqlite3.Row
        db.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)  # one file, and no other
        db.execute(f"PRAGMA query_only = {only_reads:d}")
        yield db


Reading = Annotated[sqlite3.Connection, Depends(partial(connect, True))]
Writing = Annotated[sqlite3.Connection, Depends(partial(connect, False))]

server = Server("sqlite-memo", version="1.0", lifespan=lifespan)


def run(db: sqlite3.Connection, sql: str, *values: str) -> sqlite3.Cursor:
    try:
        return db.execute(sql, values)
    except sqlite3.Error as error:
        raise ToolError(f"SQLite refuses this: {error}. Look the tables up with list_tables, and correct it.") from None


def rows(cursor: sqlite3.Cursor) -> Rows:
    return [dict(row) for row in cursor]


@server.tool(effect="read")
def read_query(query: Sql, db: Reading) -> Rows:
    """Read rows from the database with a SELECT. Nothing can be changed by it: use write_query for that."""
    return rows(run(db, query))


@server.tool(effect="destructive")
def write_query(query: Sql, db: Writing) -> Rows:
    """Change rows with an INSERT, UPDATE or DELETE, and return how many. The user is asked first."""
    cursor = run(db, query)
    if cursor.description is not None:
        raise ToolError("This reads and changes nothing. Use read_query.")
    return [{"affected_rows": cursor.rowcount}]


@server.tool(effect="write")
def create_table(query: Annotated[str, "A CREATE TABLE statement"], db: Writing) -> str:
    """Add a table to the database. Not for rows: use write_query."""
    if not query.lstrip().upper().startswith("CREATE TABLE"):
        raise ToolError("This is no CREATE TABLE statement. Use write_query for changes of rows.")
    run(db, query)
    return "The table exists now."


@server.tool(effect="read")
def list_tables(db: Reading) -> Rows:
    """List the names of all tables of the database."""
    return rows(run(db, "SELECT name FROM sqlite_master WHERE type = 'table'"))


@server.tool(effect="read")
def describe_table(table_name: Annotated[str, "A name from list_tables, e.g. 'goods'"], db: Reading) -> Rows:
    """Describe the columns of one table: type, default, and whether they may be null or are the key."""
    return rows(run(db, "SELECT * FROM pragma_table_info(?)", table_name))


@server.tool(effect="write")
def append_insight(insight: Annotated[str, "One finding, in a sentence"], app: Annotated[App, Lifespan]) -> str:
    """Add a finding about the data to the memo that the user reads at memo://insights."""
    app.insights.append(insight)
    server.resource_updated("memo://insights")
    return "The memo has it."


@server.resource("memo://insights", mime_type="text/plain")
def insights(app: Annotated[App, Lifespan]) -> str:
    """The findings of this session."""
    return "\n".join(["Findings:", *(f"- {one}" for one in app.insights)]) if app.insights else "No findings yet."


@server.prompt(name="mcp-demo")
def demo(topic: Annotated[str, "The business that the data is about, e.g. 'a tea shop'"]) -> str:
    """Show with invented data what the tools of this server do."""
    return (
        f"Show me this server by an example about {topic}. Make two or three small tables with create_table, and put "
        "some plausible rows into them with write_query. Then ask the data three questions that matter to such a "
        "business, answer each with read_query, and note each answer with append_insight. At the end, sum the memo "
        "up in five sentences. Stop after each step, and wait until I say that you may go on."
    )


if __name__ == "__main__":
    server.run()
