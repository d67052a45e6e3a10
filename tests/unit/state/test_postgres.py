"""The log on a real PostgreSQL: the contract, several writers, and connection failures."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from support.postgres import database
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.log import LOWEST, ORIGIN, Batch, DraftRecord, linked
from tooltrue.state.postgres import PostgresLog
from tooltrue.state.retention import examine, prune
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


def test_a_changed_record_of_a_batch_is_named(url: str) -> None:
    async def scenario() -> tuple[Fault, ...]:
        async with PostgresLog(url, linger=60) as log:
            for n in range(5):
                log.note({"n": n})
            await log.head()
            with psycopg.connect(url, autocommit=True) as db:
                assert db.execute("SELECT count(*) FROM tooltrue_log").fetchone() == (1,)
                db.execute("UPDATE tooltrue_log SET record = replace(record, ':2}', ':3}')")
            return (await verify(log)).faults

    assert asyncio.run(scenario()) == (Fault(3, "edited"),)


@pytest.mark.parametrize("is_old", [False, True])
def test_the_counts_of_a_batch_are_kept_and_belong_to_its_hash(is_old: bool, url: str) -> None:
    if is_old:  # a table whose batches have no counts
        asyncio.run(_write_a_batch(url))
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("ALTER TABLE tooltrue_log DROP COLUMN counts")

    async def scenario() -> tuple[str, tuple[Fault, ...], tuple[Fault, ...]]:
        async with PostgresLog(url, linger=60) as log:
            log.note(Counted())
            log.note(Counted())
            *_, batch = await log.read_rows(0, 10)
            assert isinstance(batch, Batch)
            before = (await verify(log)).faults
            with psycopg.connect(url, autocommit=True) as db:
                db.execute("UPDATE tooltrue_log SET counts = '[3]' WHERE counts <> ''")
            return batch.counts, before, (await verify(log)).faults

    first = 3 if is_old else 1
    assert asyncio.run(scenario()) == ("[2]", (), (Fault(first, "batch", first + 1),))


async def _write_a_batch(url: str) -> None:
    async with PostgresLog(url, linger=60) as log:
        for n in range(2):
            log.note({"n": n})


class Counted(DraftRecord):
    def text(self) -> str:
        return "{}"

    @classmethod
    def counts(cls, records: Sequence[Counted]) -> str:
        return f"[{len(records)}]"


def test_batches_are_read_in_pages_and_pruned_as_a_whole(url: str) -> None:
    async def scenario() -> None:
        async with PostgresLog(url, linger=60) as log:
            for day in (1, 2, 3):
                for _ in range(600):
                    log.note({"at": f"2026-03-0{day}T12:00:00Z"})
                await log.head()
            assert [entry.position for entry in await log.read(595, 10)] == [*range(596, 606)]
            assert await prune(log, datetime(2026, 3, 3, tzinfo=UTC), b"key") == 1_200
            assert [entry.position for entry in await log.read(0, 2)] == [1_201, 1_202]
            assert (await examine(log, key=b"key")).faults == ()

    asyncio.run(scenario())


def test_a_table_of_an_earlier_release_is_read_and_continued_in_one_chain(url: str) -> None:
    old = linked(['{"n":0}', '{"n":1}'], "old", ORIGIN)
    insert = "INSERT INTO tooltrue_log (position, writer, record, previous, hash) VALUES (%s, %s, %s, %s, %s)"
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "CREATE TABLE tooltrue_log (position bigint PRIMARY KEY, writer text NOT NULL, record text NOT NULL,"
            " previous text NOT NULL, hash text NOT NULL)"
        )
        for entry in old:
            db.execute(insert, entry[:5])

    async def scenario() -> None:
        async with PostgresLog(url, linger=60) as log:
            log.note({"n": 2})
            log.note({"n": 3})
            head = await log.head()
            with psycopg.connect(url, autocommit=True) as db:  # a process that has not been restarted yet
                db.execute(insert, linked(['{"n":4}'], "old", head)[0][:5])
            assert await log.append({"n": 5}) == 6
            assert [entry.record["n"] for entry in await log.read()] == [*range(6)]
            assert (await verify(log)).faults == ()
        async with PostgresLog(url) as log:  # opened again, with nothing to add
            assert (await log.head()).position == 6

    asyncio.run(scenario())


def test_a_record_at_the_lowest_position_is_read_and_found(url: str) -> None:
    lowest = -(2**63)

    async def scenario() -> tuple[list[int], tuple[Fault, ...]]:
        async with PostgresLog(url) as log:
            await log.append({"n": 1})
            with psycopg.connect(url, autocommit=True) as db:
                columns = "writer, record, previous, hash"
                copied = f"SELECT {lowest}, {columns} FROM tooltrue_log"
                db.execute(f"INSERT INTO tooltrue_log (position, {columns}) {copied}".encode())
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
