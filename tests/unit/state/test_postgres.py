"""The log on a real PostgreSQL: the contract, several writers, and connection failures."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from support.postgres import database
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.log import LOWEST
from tooltrue.state.postgres import PostgresLog
from tooltrue.state.retention import examine
from tooltrue.state.seal import name_of, sealing, seals_in
from tooltrue.state.sqlite import SqliteLog
from tooltrue.state.urls import open_log
from tooltrue.state.verify import Fault, verify
from tooltrue.testing.state import check_log


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with database() as url:
        yield url


@pytest.fixture
def url(server: str) -> str:
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS tooltrue_log")
    return server


def test_postgres_keeps_the_contract(url: str) -> None:
    def make() -> PostgresLog:
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("DROP TABLE IF EXISTS tooltrue_log")
        return PostgresLog(url)

    asyncio.run(check_log(make))


def test_an_url_opens_it(url: str) -> None:
    async def scenario() -> None:
        async with open_log(url) as log:
            assert await log.append({}) == 1

    asyncio.run(scenario())


def test_writers_at_once_are_one_chain(url: str) -> None:
    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            opened = await asyncio.gather(*(stack.enter_async_context(PostgresLog(url)) for _ in range(4)))
            for n in range(200):
                opened[n % 4].note({"n": n})
            await asyncio.gather(*(opened[n % 4].append({"n": n}) for n in range(40)))
        async with PostgresLog(url) as log:
            report = await verify(log)
            assert (report.entries, report.faults) == (240, ())
            assert len({entry.writer for entry in await log.read(0, 1000)}) == 4

    asyncio.run(scenario())


def test_text_with_copy_syntax_is_read_back_as_written(url: str) -> None:
    """COPY reads a row as a line with tabs between columns, where `\\N` is NULL and `\\.` is the end of the data."""
    writer = "a\tb\\N\n\\."

    async def scenario() -> None:
        async with PostgresLog(url, writer=writer) as log:
            for text in ("\\N", "\\.", "a\tb\nc", "{1,2}", "é\0"):
                log.note({"text": text})
            await log.append({})
            read = await log.read()
            assert [entry.record.get("text") for entry in read] == ["\\N", "\\.", "a\tb\nc", "{1,2}", "é\0", None]
            assert {entry.writer for entry in read} == {writer}
            assert (await verify(log)).faults == ()

    asyncio.run(scenario())


def test_a_changed_row_of_the_log_table_is_detected(url: str) -> None:
    async def scenario() -> tuple[Fault, ...]:
        async with PostgresLog(url) as log:
            for n in range(5):
                await log.append({"n": n})
            with psycopg.connect(url, autocommit=True) as db:
                db.execute("UPDATE tooltrue_log SET record = '{}' WHERE position = 3")
            return (await verify(log)).faults

    assert asyncio.run(scenario()) == (Fault(3, "edited"),)


def test_a_record_at_the_lowest_position_is_read_and_found(url: str) -> None:
    lowest = -(2**63)

    async def scenario() -> tuple[list[int], tuple[Fault, ...]]:
        async with PostgresLog(url) as log:
            await log.append({"n": 1})
            with psycopg.connect(url, autocommit=True) as db:
                columns = "writer, record, previous, hash FROM tooltrue_log"
                db.execute(f"INSERT INTO tooltrue_log SELECT {lowest}, {columns}".encode())
            return [entry.position for entry in await log.read(LOWEST)], (await examine(log)).faults

    assert asyncio.run(scenario()) == ([lowest, 1], (Fault(lowest, "outside"),))


def test_the_head_of_another_log_is_kept_there_beside_those_of_others(url: str, tmp_path: Path) -> None:
    of = name_of(f"sqlite:{tmp_path}/a.db")

    async def scenario() -> None:
        async with SqliteLog(tmp_path / "a.db") as log, SqliteLog(tmp_path / "b.db") as other:
            async with sealing(log, url, of=of), sealing(other, url, of=name_of(f"sqlite:{tmp_path}/b.db")):
                for n in range(3):
                    await log.append({"n": n})
                await other.append({"n": 0})
            async with PostgresLog(url) as seals:
                kept = await seals_in(seals, of)
            assert kept == [await log.head()]
            assert (await verify(log, marks=kept)).faults == ()

    asyncio.run(scenario())


def test_a_connection_that_was_lost_is_made_again(url: str) -> None:
    async def scenario() -> None:
        async with PostgresLog(url) as log:
            await log.append({"n": 1})
            _disconnect(url)
            with pytest.raises(StateError) as caught:
                await log.append({"n": 2})
            assert caught.value.code == "TT7021"
            assert await log.append({"n": 3}) == 2

    asyncio.run(scenario())


def test_a_connection_that_cannot_write_any_more_is_made_again(url: str) -> None:
    """Simulates a failover behind the same host name: the old server closes its connections and becomes read-only."""

    async def scenario() -> None:
        async with PostgresLog(url) as log:
            await log.append({"n": 1})
            _let_write(url, False)
            try:
                _disconnect(url)
                for _ in range(2):  # the connection was lost; the new one can only read
                    with pytest.raises(StateError):
                        await log.append({"n": 2})
            finally:
                _let_write(url, True)
            assert await log.append({"n": 3}) == 2

    asyncio.run(scenario())


def test_without_the_database_durable_records_are_refused_and_the_others_are_counted(url: str) -> None:
    async def scenario() -> None:
        async with PostgresLog(url, linger=0.0) as log:
            await log.append({"n": 1})
            _admit(url, "false")
            try:
                _disconnect(url)
                with pytest.raises(StateError):
                    await log.append({"n": 2})
                log.note({"n": 3})
                with pytest.raises(StateError):
                    await log.head()  # behind the note
                assert (log.failing, log.lost) == (True, 1)
            finally:
                _admit(url, "true")
            assert await log.append({"n": 4}) == 2
            assert not log.failing

    asyncio.run(scenario())


def _disconnect(url: str) -> None:
    with psycopg.connect(url.rpartition("/")[0] + "/postgres", autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = %s",
            (url.rpartition("/")[2],),
        )


def _admit(url: str, whether: LiteralString) -> None:
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as db:
        db.execute(SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}").format(Identifier(name), SQL(whether)))


def _let_write(url: str, whether: bool) -> None:
    """The connections that are made from here on, or not."""
    server, _, name = url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as db:
        state = SQL("off" if whether else "on")
        db.execute(SQL("ALTER DATABASE {} SET default_transaction_read_only = {}").format(Identifier(name), state))


def test_a_failed_connection_is_reported_without_the_password() -> None:
    async def scenario() -> None:
        async with PostgresLog("postgresql://somebody:hunter2@127.0.0.1:1/nowhere", patience=2.0):
            raise AssertionError("nobody listens there")

    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(scenario())
    assert caught.value.code == "TT7020"
    assert "hunter2" not in str(caught.value)
