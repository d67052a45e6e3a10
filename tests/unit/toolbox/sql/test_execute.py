"""Changes: approval questions and their contents, rollbacks, and the state after the process is killed."""

from __future__ import annotations

import asyncio
import os
import re
import select
import signal
import socket
import socketserver
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.sql.engines import ENGINES, PATIENT
from support.sql.fresh_shops import FreshShop
from tooltrue import Client, Server
from tooltrue.client.call_results import Result
from tooltrue.errors import ToolError
from tooltrue.testing.state import LIMIT, StoppedClock
from tooltrue_toolbox.sql import Access, toolset
from tooltrue_toolbox.sql.engine import EngineSession, engine_of
from tooltrue_toolbox.sql.runner import Runner
from tooltrue_toolbox.sql.statement import change_of

EVERYWHERE = pytest.mark.parametrize("engine", ENGINES)
WRITES = Access(writes=True)


class Shown:
    """A client whose user gives ``answer``, and the questions that the user was shown."""

    def __init__(self, url: str, answer: bool = True, access: Access = WRITES, language: str = "en") -> None:
        self._server = Server("shop", toolsets=[toolset(url, access, limits=PATIENT)], language=language)
        self._answer = answer
        self.questions: list[str] = []

    def call(self, tool: str, **arguments: Any) -> Result[Any]:
        def answer(question: Any) -> bool:
            self.questions.append(question.message)
            return self._answer

        async def once() -> Result[Any]:
            async with Client(self._server, elicit=answer) as client:
                return await client.call_tool(tool, arguments)

        return asyncio.run(once())

    def orders(self) -> list[list[Any]]:
        return self.call("run_sql_query", sql="SELECT id, state FROM orders ORDER BY id").structured["rows"]


BEFORE = [[1, "paid"], [2, "open"], [3, "paid"]]


@EVERYWHERE
def test_without_writes_there_is_no_execute_sql(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    assert "execute_sql" not in [tool.name for tool in _listed(url, Access())]
    assert "execute_sql" in [tool.name for tool in _listed(url, WRITES)]


def _listed(url: str, access: Access) -> list[Any]:
    async def once() -> list[Any]:
        async with Client(Server("shop", toolsets=[toolset(url, access, limits=PATIENT)])) as client:
            return list(await client.list_tools())

    return asyncio.run(once())


@EVERYWHERE
def test_a_person_is_shown_the_tables_and_how_many_rows(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    shown = Shown(url, answer=False)
    sql = "UPDATE orders SET state = :state WHERE customer = :name"
    assert shown.call("execute_sql", sql=sql, parameters={"state": "sent", "name": "Lin"}).is_error
    assert shown.questions[0].endswith("UPDATE of orders: 2 rows as of now.")
    assert shown.orders() == BEFORE
    shown.call("execute_sql", sql="DELETE FROM orders")
    assert shown.questions[1].endswith("DELETE of orders: 3 rows as of now; no WHERE: EVERY row.")
    shown.call("execute_sql", sql="INSERT INTO users VALUES (7, 'a', 'b'), (8, 'c', 'd')")
    assert shown.questions[2].endswith("INSERT of users: 2 rows as of now.")
    chinese = Shown(url, answer=False, language="zh")
    chinese.call("execute_sql", sql="DELETE FROM orders")
    assert chinese.questions[-1].endswith("对 orders 执行 DELETE：目前涉及 3 行；没有 WHERE：涉及每一行。")


@EVERYWHERE
def test_a_change_is_made_once_a_person_agrees(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    shown = Shown(url)
    done = shown.call("execute_sql", sql="UPDATE orders SET state = 'sent' WHERE id = :id", parameters={"id": 2})
    assert done.structured == {"verb": "UPDATE", "tables": ["orders"], "affected": 1, "committed": True}
    assert shown.orders() == [[1, "paid"], [2, "sent"], [3, "paid"]]


@EVERYWHERE
def test_more_rows_than_at_most_are_undone(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    shown = Shown(url)
    result = shown.call("execute_sql", sql="DELETE FROM orders", at_most=2)
    assert result.text.endswith("[TT6229]")
    assert shown.orders() == BEFORE


@EVERYWHERE
def test_a_dry_run_changes_nothing(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    shown = Shown(url)
    result = shown.call("execute_sql", sql="DELETE FROM orders WHERE state = 'paid'", dry_run=True)
    assert (result.structured["affected"], result.structured["committed"]) == (2, False)
    assert shown.orders() == BEFORE


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE orders SET state = 'returning'",
        "DROP TABLE orders",
        "WITH x AS (SELECT id FROM orders) DELETE FROM orders WHERE id IN (SELECT id FROM x)",
    ],
)
def test_the_at_most_limit_holds_for_any_statement(engine: str, fresh_shop: FreshShop, sql: str):
    url = fresh_shop(engine)
    shown = Shown(url)
    assert shown.call("execute_sql", sql=sql, at_most=1).text.endswith("[TT6229]")
    assert shown.orders() == BEFORE
    done = shown.call("execute_sql", sql=sql, at_most=3).structured
    assert (done["affected"], done["committed"], "rows" in done) == (3, True, False)


def test_at_most_holds_for_truncate(fresh_shop: FreshShop):
    url = fresh_shop("postgresql")
    shown = Shown(url)
    assert shown.call("execute_sql", sql="TRUNCATE orders", at_most=1).text.endswith("[TT6229]")
    assert shown.orders() == BEFORE


def test_at_most_is_refused_for_a_statement_without_a_row_count(fresh_shop: FreshShop):
    url = fresh_shop("sqlite")
    shown = Shown(url)
    sql = "ALTER TABLE orders DROP COLUMN customer"
    assert shown.call("execute_sql", sql=sql, at_most=1).text.endswith("[TT6236]")
    done = shown.call("execute_sql", sql=sql).structured
    assert (done["tables"], done["committed"]) == (["orders"], True)
    assert len(shown.call("describe_table", table="orders").structured["columns"]) == 3


def test_all_tables_that_a_change_writes_to_are_shown(fresh_shop: FreshShop):
    url = fresh_shop("mysql")
    shown = Shown(url, answer=False)
    shown.call("execute_sql", sql="UPDATE orders o JOIN users u ON o.id = u.id SET o.state = 'x', u.name = 'y'")
    assert shown.questions[0].endswith(
        "UPDATE of orders, users: how many rows is not known before; no WHERE: EVERY row."
    )
    half = Shown(url, access=Access(writes=True, hidden=("users.password*",), mighty_roles=True))
    sql = "UPDATE orders SET customer = u.name FROM users u"
    assert half.call("execute_sql", sql=sql, dry_run=True).structured["tables"] == ["orders"]


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_rows_that_are_replaced_are_told_of(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    shown = Shown(url)
    shown.call("execute_sql", sql="INSERT OR REPLACE INTO ledger VALUES (1, 7)")
    assert shown.questions[0].endswith("INSERT OR REPLACE of ledger: 1 rows as of now.")
    assert shown.call("execute_sql", sql="CREATE OR REPLACE TABLE ledger AS SELECT 1 AS id").text.endswith("[TT6230]")


def test_a_number_beyond_the_database_is_told(fresh_shop: FreshShop):
    url = fresh_shop("sqlite")
    result = Shown(url).call("execute_sql", sql="UPDATE ledger SET amount = :n", parameters={"n": 1 << 70})
    assert result.text.endswith("[TT6225]")


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_statement_that_ends_after_its_timeout_changes_no_row(engine: str, fresh_shop: FreshShop):
    """An engine that cannot be interrupted: the error reports that no row was changed, and the report is correct."""

    async def once(url: str) -> None:
        runner = Runner(engine_of(url, WRITES, PATIENT), seconds=0.05)
        given_up = threading.Event()

        def work(session: EngineSession) -> None:
            session.run(change_of("DELETE FROM orders", "duckdb", session.catalog()), {}, 1)
            setattr(session, "interrupt", given_up.set)  # noqa: B010 - as an engine that does not listen
            assert given_up.wait(30)

        with pytest.raises(ToolError, match="no row was changed"):
            await runner.run(work, None, writes=True, commits=True)

    url = fresh_shop(engine)
    asyncio.run(once(url))
    assert Shown(url).orders() == BEFORE


def test_a_commit_that_outlasts_its_time_may_have_been_made_and_that_is_told(fresh_shop: FreshShop):
    """A reader of the file delays the commit until the call has ended; the commit then succeeds."""
    clock, ended = StoppedClock(), threading.Event()

    async def once(url: str) -> None:
        engine = engine_of(url, WRITES, PATIENT)
        runner = Runner(engine, seconds=0.05, patience=0.05, clock=clock)

        def work(session: EngineSession) -> None:
            session.run(change_of("DELETE FROM orders", "sqlite", session.catalog()), {}, 1)
            commit = session.commit

            def watched() -> None:
                clock.now += 1  # not before: the time is over as the commit has begun
                commit()
                ended.set()

            setattr(session, "commit", watched)  # noqa: B010 - the real one, and when it begins and ends

        with pytest.raises(ToolError) as told:
            await runner.run(work, None, writes=True, commits=True)
        assert told.value.code == "TT6237"

    url = fresh_shop("sqlite")
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM orders").fetchall()
        asyncio.run(once(url))
    assert ended.wait(LIMIT)
    assert Shown(url).orders() == []


def test_a_connection_that_meets_a_lock_is_closed(fresh_shop: FreshShop):
    url = fresh_shop("sqlite")
    file = url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(file, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
            engine_of(url, WRITES, replace(PATIENT, lock_seconds=0)).open(writes=True)
    connections = [frame.locals["db"] for frame in caught.traceback if "db" in frame.locals]
    assert connections
    for connection in connections:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_call_is_given_up_also_while_the_engine_is_slow_to_stop_others(fresh_shop: FreshShop):
    clock, working, stopping = StoppedClock(), threading.Semaphore(0), threading.Semaphore(0)
    may_end, has_ended = threading.Event(), threading.Event()

    def interrupt() -> None:
        stopping.release()
        may_end.wait(LIMIT)

    def slow(session: EngineSession) -> None:
        setattr(session, "interrupt", interrupt)  # noqa: B010 - as an engine whose server is not reached
        working.release()
        assert may_end.wait(LIMIT)

    def deletes(session: EngineSession) -> None:
        session.run(change_of("DELETE FROM orders", "sqlite", session.catalog()), {}, 1)
        close = session.close
        setattr(session, "close", lambda: (close(), has_ended.set()))  # noqa: B010 - the real one, and when it was
        clock.now += 1
        slow(session)

    async def once(url: str) -> None:
        runner = Runner(engine_of(url, WRITES, PATIENT), seconds=0.05, patience=0.05, clock=clock)
        others = [asyncio.ensure_future(runner.run(slow, None)) for _ in range(4)]
        for _ in others:
            assert await asyncio.to_thread(working.acquire, timeout=LIMIT)
        clock.now += 1
        for _ in others:
            assert await asyncio.to_thread(stopping.acquire, timeout=LIMIT)
        with pytest.raises(ToolError, match="no row was changed"):
            await runner.run(deletes, None, writes=True, commits=True)
        may_end.set()
        await asyncio.gather(*others, return_exceptions=True)

    url = fresh_shop("sqlite")
    asyncio.run(once(url))
    assert has_ended.wait(LIMIT)
    assert Shown(url).orders() == BEFORE


class _Losing(socketserver.BaseRequestHandler):
    """A way to a server that breaks once the server has answered to COMMIT, before the answer is passed on."""

    def handle(self) -> None:
        here = self.request
        with socket.create_connection(getattr(self.server, "leads_to")) as there:  # noqa: B009
            while True:
                for readable in select.select([here, there], [], [])[0]:
                    part = readable.recv(1 << 16)
                    if not part:
                        return
                    (there if readable is here else here).sendall(part)
                    if readable is here and re.search(rb"(?<!AUTO)COMMIT", part):
                        there.recv(1 << 16)
                        return


@contextmanager
def _losing_commits(url: str) -> Generator[str]:
    """The URL of the same database, through a proxy that drops the server's answer to a commit."""
    parts = urlsplit(url)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Losing) as server:
        server.daemon_threads = True
        setattr(server, "leads_to", (parts.hostname, parts.port))  # noqa: B010
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        try:
            yield parts._replace(netloc=f"{parts.username}@127.0.0.1:{server.server_address[1]}").geturl()
        finally:
            server.shutdown()


@pytest.mark.parametrize("engine", ["postgresql", "mysql"])
def test_a_commit_whose_answer_is_lost_may_have_been_made_and_that_is_told(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    with _losing_commits(url) as losing:
        result = Shown(losing).call("execute_sql", sql="UPDATE orders SET state = 'sent' WHERE id = 2")
    assert result.text.endswith("[TT6237]")
    assert Shown(url).orders() == [[1, "paid"], [2, "sent"], [3, "paid"]]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_commit_that_is_refused_changes_nothing_and_that_is_told(engine: str, fresh_shop: FreshShop):
    parts = "CREATE TABLE parts (id int PRIMARY KEY, whole int REFERENCES parts DEFERRABLE INITIALLY DEFERRED)"
    url = fresh_shop(engine, (parts,))
    shown = Shown(url)
    assert shown.call("execute_sql", sql="INSERT INTO parts VALUES (1, 7)").text.endswith("[TT6233]")
    assert shown.call("run_sql_query", sql="SELECT * FROM parts").structured["rows"] == []


def test_a_writing_statement_waits_for_a_reading_one(fresh_shop: FreshShop):
    """DuckDB opens a file to read or to write: the one waits for the other, as with every lock."""

    async def once(url: str) -> list[Result[Any]]:
        async with Client(
            Server("shop", toolsets=[toolset(url, WRITES, limits=PATIENT)]), elicit=lambda _: True
        ) as client:
            reading = client.call_tool("run_sql_query", {"sql": "SELECT count(*) FROM range(300000000)"})
            writing = client.call_tool("execute_sql", {"sql": "UPDATE orders SET state = 'sent'"})
            return [await call for call in (asyncio.ensure_future(reading), asyncio.ensure_future(writing))]

    assert [result.is_error for result in asyncio.run(once(fresh_shop("duckdb")))] == [False, False]


@EVERYWHERE
def test_a_constraint_is_told_and_nothing_is_changed(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    shown = Shown(url)
    sql = "INSERT INTO orders VALUES (9, 'x', 1, 'open'), (1, 'y', 1, 'open')"
    assert shown.call("execute_sql", sql=sql).text.endswith("[TT6233]")
    assert shown.orders() == BEFORE


@EVERYWHERE
@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT 1", "TT6230"),
        ("DELETE FROM orders; DELETE FROM users", "TT6210"),
        ("GRANT ALL ON orders TO public", "TT6230"),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "TT6230"),
        ("DELETE FROM ledger", "TT6215"),
        ("UPDATE users SET name = 'x' WHERE password_hash LIKE 'a%'", "TT6232"),
        ("CREATE TABLE sqlite_x (a int)", "TT6231"),
        ("CREATE TABLE ledger (a int)", "TT6231"),
        ("CREATE VIEW v AS SELECT * FROM ledger", "TT6215"),
        ("ALTER TABLE orders RENAME TO pg_orders", "TT6231"),
        ("INSERT INTO orders SELECT id, pg_read_file('x'), 1, 'x' FROM users", "TT6214"),
    ],
)
def test_a_statement_that_does_not_change_a_visible_table_is_refused(
    engine: str, fresh_shop: FreshShop, sql: str, code: str
):
    if engine in ("postgresql", "mysql") and code not in ("TT6232", "TT6215"):
        pytest.skip("the same lines of the parser, seen with the two that need no server")
    url = fresh_shop(engine)
    shown = Shown(url, access=Access(writes=True, hidden=("ledger", "users.password*"), mighty_roles=True))
    assert shown.call("execute_sql", sql=sql).text.endswith(f"[{code}]")
    assert shown.orders() == BEFORE


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "mysql"])
def test_a_table_is_made_altered_and_dropped(engine: str, fresh_shop: FreshShop):
    url = fresh_shop(engine)
    shown = Shown(url)
    for sql in (
        "CREATE TABLE notes (id integer PRIMARY KEY, words varchar(50) NOT NULL DEFAULT 'none')",
        "ALTER TABLE notes ADD COLUMN place varchar(50)",
        "INSERT INTO notes (id) VALUES (1)",
        "CREATE INDEX by_place ON notes (place)",
    ):
        assert not (result := shown.call("execute_sql", sql=sql)).is_error, result.text
    described = shown.call("describe_table", table="notes").structured
    assert [column["name"] for column in described["columns"]] == ["id", "words", "place"]
    assert "by_place" in [index["name"] for index in described["indexes"]]
    assert not (result := shown.call("execute_sql", sql="DROP TABLE notes")).is_error, result.text


@EVERYWHERE
def test_a_call_that_is_cancelled_stops_the_database(engine: str, fresh_shop: FreshShop):
    """It ends long before the time that the database was given."""
    slow = {
        "sqlite": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "duckdb": "SELECT count(*) FROM range(1000000000) a, range(1000000) b",
        "postgresql": "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b",
        "mysql": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
        "SELECT count(*) FROM n a, n b, n c, n d",
    }[engine]

    async def once(url: str) -> None:
        server = Server("shop", toolsets=[toolset(url, limits=replace(PATIENT, seconds=300))])
        heard = asyncio.Event()

        def tick(*report: object) -> None:
            heard.set()

        async with Client(server) as client:
            calling = client.call_tool("run_sql_query", {"sql": slow}, progress=tick)
            task = asyncio.ensure_future(calling)
            await asyncio.wait_for(heard.wait(), 30)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            ended = asyncio.wait_for(client.call_tool("run_sql_query", {"sql": "SELECT count(*) FROM orders"}), 30)
            assert (await ended).structured["rows"] == [[3]]

    asyncio.run(once(fresh_shop(engine)))


KILLED = """
import asyncio, sys
from tooltrue_toolbox.sql import Access, SqlLimits
from tooltrue_toolbox.sql.engine import engine_of
from tooltrue_toolbox.sql.statement import change_of

engine = engine_of(sys.argv[1], Access(writes=True), SqlLimits(seconds=60))
session = engine.open(writes=True)
statement = change_of("UPDATE many SET a = a + 1", engine.dialect, session.catalog())
print("begun", flush=True)
session.run(statement, {}, 10)
print("changed", flush=True)
sys.stdin.read(1)
session.commit()
print("committed", flush=True)
sys.stdin.read(1)
"""


DOUBLED = 15
ROWS = 1 << DOUBLED
MANY = (
    "CREATE TABLE many (id integer PRIMARY KEY, a integer)",
    "INSERT INTO many VALUES (0, 0)",
    *(f"INSERT INTO many SELECT id + {1 << n}, 0 FROM many" for n in range(DOUBLED)),
)


@pytest.mark.process
@pytest.mark.parametrize(("heard", "sum_of"), [("begun", 0), ("changed", 0), ("committed", ROWS)])
@EVERYWHERE
def test_a_process_killed_in_a_change_leaves_the_old_rows_or_the_new(
    engine: str, fresh_shop: FreshShop, heard: str, sum_of: int
):
    url = fresh_shop(engine, MANY)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    while _line(process.stdout.fileno()) != heard:
        if heard == "committed":
            process.stdin.write(b"\n")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    found = Shown(url).call("run_sql_query", sql="SELECT count(*), sum(a), min(a), max(a) FROM many").structured
    count, total, least, most = (int(value) for value in found["rows"][0])
    assert (count, total) in ((ROWS, sum_of), (ROWS, ROWS))
    assert least == most
    if engine == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _line(fd: int) -> str:
    said = b""
    while not said.endswith(b"\n"):
        assert select.select([fd], [], [], 60)[0], "nothing is said"
        part = os.read(fd, 1)
        assert part, "the process has ended"
        said += part
    return said.decode().strip()
