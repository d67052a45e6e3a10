"""The index of a log: every query with it equals the query without it."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue.policy.audit import log_queries
from tooltrue.policy.audit.log_queries import record_of, search, search_back, unfinished
from tooltrue.state import log_index
from tooltrue.state.log import ORIGIN, Entry, Mark, canonical, linked
from tooltrue.state.log_index import MEMBERS, LogIndex
from tooltrue.state.sqlite import SqliteLog


def overwritten(start: int, byte: bytes) -> Callable[[Path], object]:
    def change(index: Path) -> None:
        content = index.read_bytes()
        index.write_bytes(content[:start] + byte * (len(content) - start))

    return change


def executed(statement: str) -> Callable[[Path], object]:
    def change(index: Path) -> None:
        if index.read_bytes().startswith(b"SQLite format 3"):
            with closing(sqlite3.connect(index)) as db:
                db.execute(statement)

    return change


DAMAGES: list[Callable[[Path], object]] = [
    Path.unlink,
    lambda index: shutil.copy(index.with_name("spare"), index),
    lambda index: index.write_bytes(b""),
    lambda index: index.write_bytes(index.read_bytes()[:5000]),
    lambda index: index.chmod(0o644),
    overwritten(0, b"?"),
    overwritten(100, b"?"),
    overwritten(4096, b"\0"),
    executed("PRAGMA user_version=7"),
    executed("DROP TABLE IF EXISTS places"),
    executed("DROP TABLE IF EXISTS blocks"),
]


TIMES = ["2026-03-01T12:00:00Z", "2026-03-01T12:00:00.5Z", "2026-03-02T08:00:00Z", "2026-03-04T00:00:00Z", "é"]
TEXTS = ["a", "ab", "b", "\ud800", "😀", "[a]", "\x00", ""]
values = st.sampled_from([*TEXTS, 0, 7, None])
records = st.fixed_dictionaries(
    {},
    optional={
        "at": st.sampled_from(TIMES) | values,
        "id": st.sampled_from(["x", "y", "z", ["x"], ""]),
        "kind": st.sampled_from(["intent", "intent", "call"]) | values,
        "trace": values,
        **{member: values for member in MEMBERS if member != "kind"},
    },
)
changes = st.one_of(
    st.tuples(st.just("note"), st.lists(records, min_size=3, max_size=8)),
    st.tuples(st.just("append"), records),
    st.tuples(st.just("old"), st.lists(records, min_size=3, max_size=8)),
    st.tuples(st.just("prune"), st.integers(1, 20)),
    st.tuples(st.just("rewrite"), records),
    st.tuples(st.just("cut"), records),
    st.tuples(st.just("damage"), st.integers(0, len(DAMAGES) - 1)),
)
globs = st.sampled_from(["*", "?", "?*", "a*", "a", "[!a]*", "\ud800*", "😀", "0", "None", "", "[[]a]", "nothing"])
queries = st.tuples(
    st.dictionaries(st.sampled_from([*MEMBERS, "trace"]), globs, min_size=1, max_size=2),
    st.sampled_from(["", "", "2026", "2026-03-02", "2026-03-01T12:00:00.5Z", "a"]),
    st.sampled_from(["", "", "2026-03-01", "2026-03-01T12:00:00.5", "9", "é"]),
)


@settings(deadline=None)
@given(
    st.lists(st.tuples(changes, st.lists(queries, min_size=2, max_size=4)), min_size=2, max_size=6),
    st.integers(1, 3),
    st.integers(1, 20),
)
def test_a_query_with_an_index_equals_the_query_without_it(
    steps: list[tuple[tuple[str, Any], list[Any]]], block: int, step: int
):
    async def scenario(folder: Path) -> None:
        path = folder / "log.db"
        async with SqliteLog(path, linger=60) as log:
            index = LogIndex(log, folder / "log.db.index", record_of)
            for change, queries in steps:
                await changed(log, path, change)
                for globs, since, until in queries:
                    expected = [entry async for entry in search(log, globs, since, until)]
                    assert [entry async for entry in search(log, globs, since, until, index)] == expected
                    back = [entry for entry in reversed(expected) if entry.position > 0]
                    assert await paged_back(log, globs, since, until, index) == back
                assert await unfinished(log, index) == await unfinished(log)

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_index, "_BLOCK", block)
        patch.setattr(log_index, "_STEP", step)
        patch.setattr(log_queries, "_RANGES", block)
        asyncio.run(scenario(Path(folder)))


async def paged_back(log: SqliteLog, globs: Any, since: str, until: str, index: LogIndex) -> list[Entry]:
    """All that a search backwards finds, a page of two after another."""
    found, before = list[Entry](), None
    while True:
        page = await search_back(log, globs, since, until, index, before=before, most=2, effort=5)
        found += page.entries
        if (before := page.before) is None:
            return found


async def changed(log: SqliteLog, path: Path, change: tuple[str, Any]) -> None:
    match change:
        case "note", records:
            for record in records:
                log.note(record)
        case "append", record:
            await log.append(record)
        case "old", records:
            write_old_rows(path, await log.head(), records)
        case "prune", position:
            await log.forget(position)
        case "rewrite", record:  # the whole log, up to its present end
            head = await log.head()
            await log.forget(head.position)
            write_old_rows(path, ORIGIN, [record] * head.position)
        case "cut", record:  # the second half, with others in its place
            end = (await log.head()).position
            with closing(sqlite3.connect(path, isolation_level=None)) as db:
                db.execute("DELETE FROM log WHERE position > ?", (end // 2,))
            write_old_rows(path, await log.head(), [record] * (end + 1))
        case _, number:
            damage(path.with_name("log.db.index"), number)
    await log.head()


def write_old_rows(path: Path, head: Mark, records: list[Mapping[str, Any]]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for entry in linked(map(canonical, records), "old", head):
            db.execute("INSERT INTO log (position, writer, record, previous, hash) VALUES (?, ?, ?, ?, ?)", entry[:5])


def damage(index: Path, number: int) -> None:
    spare = index.with_name("spare")
    if index.exists() and not spare.exists():
        shutil.copy(index, spare)  # for later: of an earlier state of this log
    elif index.exists():
        DAMAGES[number](index)
    elif number == 0:
        index.touch(0o600)
        index.write_text("no index")  # of somebody else, until it is deleted
