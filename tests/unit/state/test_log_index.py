"""The index of a log: which rows a query reads, and in which file the index is. That a query with it finds the same is
tested in ``tests/properties/test_log_index.py``."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tooltrue.cli.main import cli
from tooltrue.policy.audit.log_queries import record_of, search, unfinished
from tooltrue.state import log_index
from tooltrue.state.log import LOWEST, Entry, Mark
from tooltrue.state.log_index import LogIndex
from tooltrue.state.sqlite import SqliteLog


class CountingLog(SqliteLog):
    """A log that lists the positions of the entries that were read."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, linger=60)
        self.positions: list[int] = []

    async def read(self, after: int = 0, limit: int = 100) -> tuple[Entry, ...]:
        entries = await super().read(after, limit)
        self.positions += [entry.position for entry in entries]
        return entries


async def write_batches(log: SqliteLog, *, count: int = 10, size: int = 100, **members: Any) -> None:
    """Batches of calls of one tool each, ``tool-1``, ``tool-2`` …"""
    for number in range(1, count + 1):
        for _ in range(size):
            log.note({"kind": "call", "subject": f"tool-{number}", "at": f"2026-03-{number:02}T12:00:00Z", **members})
        await log.head()


async def matching(log: SqliteLog, index: LogIndex, since: str = "", until: str = "", **globs: str) -> list[int]:
    return [entry.position async for entry in search(log, globs, since, until, index)]


def test_a_query_reads_the_candidates_and_both_ends_of_the_log(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with CountingLog(tmp_path / "log.db") as log:
            await write_batches(log)
            index = LogIndex(log, tmp_path / "log.db.index", record_of)
            await matching(log, index, subject="tool-4")  # which builds the index
            ends = [1, 1000]
            for query, expected in (
                ({"subject": "tool-4"}, range(301, 401)),
                ({"subject": "*-[45]", "kind": "c*"}, range(301, 501)),
                ({"subject": "tool-4", "who": "ann"}, ()),
                ({"since": "2026-03-04", "until": "2026-03-05"}, range(301, 501)),
                ({"subject": "tool-?", "since": "2026-03-09"}, range(801, 901)),
            ):
                log.positions.clear()
                assert await matching(log, index, **query) == [*expected]
                assert log.positions == [*ends, *expected]
            log.positions.clear()
            assert await unfinished(log, index) == []
            assert log.positions == ends
            # Fewer records than a block are read each time.
            await log.append({"kind": "intent", "id": "x"})
            await write_batches(log, count=1, size=10)
            new = range(1001, 1012)
            log.positions.clear()
            assert [entry.position for entry in await unfinished(log, index)] == [1001]
            assert log.positions == [*ends, *new, *new]
            await write_batches(log, count=1)
            await matching(log, index, subject="tool-4")
            log.positions.clear()
            assert [entry.position for entry in await unfinished(log, index)] == [1001]
            assert log.positions == [1, 1111, 1001]

    asyncio.run(scenario())


def test_a_pattern_that_fits_an_absent_member_reads_the_whole_log_and_builds_no_index(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            await write_batches(log)
            index = LogIndex(log, tmp_path / "log.db.index", record_of)
            assert await matching(log, index, rule="*", trace="*") == [*range(1, 1001)]
            assert not (tmp_path / "log.db.index").exists()

    asyncio.run(scenario())


def test_several_builds_at_once_give_one_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_index, "_STEP", 70)  # less than a batch

    async def query() -> list[int]:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            return await matching(log, LogIndex(log, tmp_path / "log.db.index", record_of), subject="tool-4")

    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            await write_batches(log)
        assert await asyncio.gather(*[query() for _ in range(4)]) == [[*range(301, 401)]] * 4

    asyncio.run(scenario())
    with closing(sqlite3.connect(tmp_path / "log.db.index")) as db:
        assert db.execute("SELECT count(*), max(last) FROM blocks").fetchone() == (10, 1000)


def test_a_long_build_reports_its_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_index, "_STEP", 300)
    reports: list[tuple[int, int]] = []

    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            await write_batches(log)
            index = LogIndex(log, tmp_path / "log.db.index", record_of, lambda *report: reports.append(report))
            await matching(log, index, subject="tool-4")

    asyncio.run(scenario())
    assert reports == [(300, 1000), (600, 1000), (900, 1000)]


def test_rows_of_one_record_share_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_index, "_BLOCK", 4)

    async def scenario() -> None:
        async with CountingLog(tmp_path / "log.db") as log:
            await write_batches(log, size=1)
            index = LogIndex(log, tmp_path / "log.db.index", record_of)
            assert await matching(log, index, subject="tool-6") == [6]
            log.positions.clear()
            assert await matching(log, index, subject="tool-6") == [6]
            assert log.positions == [1, 8, 9, 10, *range(5, 9), 9, 10]

    asyncio.run(scenario())


def test_a_log_with_another_first_row_is_indexed_again(tmp_path: Path) -> None:
    path, index = tmp_path / "log.db", tmp_path / "log.db.index"

    async def scenario() -> None:
        async with SqliteLog(path, linger=60) as log:
            await write_batches(log)
            assert await _search_once(path) == [*range(301, 401)]
            await log.forget(400)
            assert b"tool-4" in values_in(index)
            assert await _search_once(path) == []
            assert b"tool-4" not in values_in(index)
            with closing(sqlite3.connect(path)) as db, db:  # by another program, where no server writes
                db.execute(
                    "INSERT INTO log (position, writer, record, previous, hash)"
                    " SELECT -7, writer, ?, '', '' FROM log LIMIT 1",
                    (ROW,),
                )
            assert await _search_once(path) == [-7]

    asyncio.run(scenario())


def test_a_log_with_another_last_row_is_indexed_again(tmp_path: Path) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with SqliteLog(path, linger=60) as log:
            await write_batches(log)
            assert await _search_once(path) == [*range(301, 401)]
            with closing(sqlite3.connect(path)) as db, db:  # by another program
                db.execute("DELETE FROM log WHERE position > 500")
            await write_batches(log, count=6)
            assert await _search_once(path) == [*range(301, 401), *range(801, 901)]

    asyncio.run(scenario())


ROW = '{"kind":"call","subject":"tool-4"}'


def values_in(index: Path) -> list[bytes]:
    with closing(sqlite3.connect(index)) as db:
        return [value for (value,) in db.execute("SELECT value FROM names")]


async def _search_once(path: Path) -> list[int]:
    async with SqliteLog(path, linger=60) as log:
        return await matching(log, LogIndex(log, f"{path}.index", record_of), subject="tool-4")


def test_an_index_that_another_user_could_write_is_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, index = tmp_path / "log.db", tmp_path / "log.db.index"

    async def write() -> None:
        async with SqliteLog(path, linger=60) as log:
            await write_batches(log)

    asyncio.run(write())
    assert asyncio.run(_search_once(path)) == [*range(301, 401)]
    assert index.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(index)) as db, db:
        db.execute("DELETE FROM places")
    assert asyncio.run(_search_once(path)) == []  # by this user
    index.chmod(0o620)
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(_search_once(path)) == [*range(301, 401)]
    assert "does not belong to this user alone" in caplog.text


@pytest.mark.parametrize("kind", ["text", "database", "link", "folder"])
def test_another_file_in_its_place_is_not_used_and_stays(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    path, index = tmp_path / "log.db", tmp_path / "log.db.index"

    async def write(path: Path) -> Mark:
        async with SqliteLog(path, linger=60) as log:
            await write_batches(log)
            return await log.head()

    head = asyncio.run(write(path))
    other = tmp_path / "other"
    if kind == "text":
        index.touch(0o600)
        index.write_text("mine")
    elif kind == "database":
        head = asyncio.run(write(index))  # a log of this name
    elif kind == "link":
        index.symlink_to(other)
    else:
        index.mkdir()
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(_search_once(path)) == [*range(301, 401)]
    assert "is not used" in caplog.text
    if kind == "text":
        assert index.read_text() == "mine"
    elif kind == "database":
        assert asyncio.run(_head(index)) == head
    assert not other.exists()


async def _head(path: Path) -> Mark:
    async with SqliteLog(path) as log:
        assert await log.read(LOWEST, 1)
        return await log.head()


def test_the_commands_use_an_index_beside_the_log_and_prune_deletes_it(tmp_path: Path) -> None:
    path, index = tmp_path / "log.db", tmp_path / "log.db.index"

    async def write() -> None:
        async with SqliteLog(path, linger=60) as log:
            await write_batches(log, outcome="ok")

    def run(*words: str) -> str:
        done = CliRunner().invoke(cli, ["--lang", "en", "audit", *words, "--log", f"sqlite:{path}"])
        assert (done.exit_code, done.stderr) == (0, "")
        return done.stdout

    asyncio.run(write())
    before = run("search", "--subject", "tool-4")
    assert len(before.splitlines()) == 100
    assert index.exists()
    assert run("search", "--subject", "tool-4") == before
    assert run("stats", "--since", "2026-03-09").splitlines()[0] == "200 operations, 0 unfinished"
    assert run("search", "--unfinished") == ""
    run("prune", "--before", "2026-03-05", "--key", str(tmp_path / "key"))
    assert not index.exists()  # it had values of deleted records
    assert run("search", "--subject", "tool-4") == ""
    assert b"tool-4" not in values_in(index)
    assert b"tool-5" in values_in(index)
