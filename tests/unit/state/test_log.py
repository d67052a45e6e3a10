"""The contract of ``Log`` on each store, and every way of tampering that ``verify`` must find."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from zlib import crc32

import pytest

from tooltrue.errors import StateError
from tooltrue.state.log import (
    LARGEST_BATCH,
    ORIGIN,
    Batch,
    DraftRecord,
    Entry,
    Mark,
    MemoryLog,
    batched,
    canonical,
    fits,
    linked,
)
from tooltrue.state.sqlite import SqliteLog
from tooltrue.state.verify import Fault, VerifyReport, verify
from tooltrue.testing.state import LIMIT, check_log


def test_memory_keeps_the_contract() -> None:
    asyncio.run(check_log(MemoryLog))


def test_sqlite_keeps_the_contract(tmp_path: Path) -> None:
    paths = (tmp_path / f"{number}.db" for number in range(100))
    asyncio.run(check_log(lambda: SqliteLog(next(paths))))


def test_the_record_hash_follows_the_documented_formula() -> None:
    async def scenario() -> None:
        log = MemoryLog(writer='w"1')
        await log.append({"b": 1, "a": "名"})
        (entry,) = await log.read()
        whole = {"position": 1, "previous": "0" * 64, "record": {"a": "名", "b": 1}, "writer": 'w"1'}
        text = json.dumps(whole, sort_keys=True, separators=(",", ":"))
        assert entry.hash == hashlib.sha256(text.encode()).hexdigest()

    asyncio.run(scenario())


def test_memory_forgets_the_oldest_and_can_be_verified_from_there() -> None:
    async def scenario() -> None:
        log = MemoryLog(keep=10)
        for n in range(1, 105):
            assert await log.append({"n": n}) == n
        kept = await log.read()
        assert 10 <= len(kept) < 20
        assert [entry.record["n"] for entry in kept] == list(range(log.base.position + 1, 105))
        assert await log.read(102) == kept[-2:]
        assert (await verify(log, since=log.base)).faults == ()

    asyncio.run(scenario())


# Tampering: ten records of two writers, then one statement by somebody with a knife.

TAMPERED: dict[str, tuple[str, list[Fault]]] = {
    "one byte of a record": (
        "UPDATE log SET record = replace(record, '4', '5') WHERE position = 5",
        [Fault(5, "edited")],
    ),
    "a byte that is not UTF-8": (
        "UPDATE log SET record = CAST(x'ff' || substr(record, 2) AS TEXT) WHERE position = 5",
        [Fault(5, "edited")],
    ),
    "a space": ("UPDATE log SET record = record || ' ' WHERE position = 5", [Fault(5, "edited")]),
    "the writer": ("UPDATE log SET writer = 'first' WHERE position = 5", [Fault(5, "edited")]),
    "the hash": (
        "UPDATE log SET hash = '0' || substr(hash, 2, 63) || 'x' WHERE position = 5",
        [Fault(5, "edited"), Fault(6, "unlinked")],
    ),
    "the link": ("UPDATE log SET previous = hash WHERE position = 5", [Fault(5, "edited")]),
    "a removal": ("DELETE FROM log WHERE position = 5", [Fault(6, "missing")]),
    "removals": ("DELETE FROM log WHERE position IN (1, 2, 7)", [Fault(3, "missing"), Fault(8, "missing")]),
    "all of one writer": (
        "DELETE FROM log WHERE writer = 'second'",
        [Fault(position, "missing") for position in (4, 6, 8, 10)],
    ),
    "a removal and the rest moved up": (
        "DELETE FROM log WHERE position = 9; UPDATE log SET position = 9 WHERE position = 10",
        [Fault(9, "edited")],
    ),
    "an exchange": (
        "UPDATE log SET position = -1 WHERE position = 5; UPDATE log SET position = 5 WHERE position = 6;"
        "UPDATE log SET position = 6 WHERE position = -1",
        [Fault(5, "edited"), Fault(6, "edited"), Fault(7, "unlinked")],
    ),
    "a record of another position": (
        "UPDATE log SET (writer, record, previous, hash) = "
        "(SELECT writer, record, previous, hash FROM log WHERE position = 3) WHERE position = 5",
        [Fault(5, "edited"), Fault(6, "unlinked")],
    ),
    "an insertion at the end": (
        "INSERT INTO log (position, writer, record, previous, hash)"
        "SELECT 11, writer, record, previous, hash FROM log WHERE position = 10",
        [Fault(11, "edited")],
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_verify_says_where_the_log_was_changed(what: str, tmp_path: Path) -> None:
    statements, faults = TAMPERED[what]
    path = tmp_path / "log.db"
    asyncio.run(_write_ten(path))
    _cut(path, statements)
    assert asyncio.run(_verified(path)).faults == tuple(faults)


def test_an_entry_written_anew_does_not_fit_its_successor(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    asyncio.run(_write_ten(path))
    forged = hashlib.sha256(
        b'{"position":5,"previous":"%b","record":{"n":99},"writer":"first"}' % _column(path, "previous", 5).encode()
    ).hexdigest()
    _cut(path, f"""UPDATE log SET record = '{{"n":99}}', writer = 'first', hash = '{forged}' WHERE position = 5""")
    assert asyncio.run(_verified(path)).faults == (Fault(6, "unlinked"),)


def test_a_cut_end_is_seen_with_a_mark_and_only_with_one(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    mark = asyncio.run(_write_ten(path))
    _cut(path, "DELETE FROM log WHERE position > 8")
    assert asyncio.run(_verified(path)).faults == ()
    assert asyncio.run(_verified(path, head=mark)).faults == (Fault(10, "cut"),)


def test_a_log_that_was_replaced_is_seen_with_a_mark(tmp_path: Path) -> None:
    mark = asyncio.run(_write_ten(tmp_path / "log.db"))
    asyncio.run(_write_ten(tmp_path / "other.db", offset=1))
    assert asyncio.run(_verified(tmp_path / "other.db", head=mark)).faults == (Fault(10, "rewritten"),)


def test_an_emptied_log_is_seen_with_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    mark = asyncio.run(_write_ten(path))
    _cut(path, "DELETE FROM log")
    assert asyncio.run(_verified(path, head=mark)) == VerifyReport(0, ORIGIN, (Fault(10, "cut"),))


def test_faults_are_bounded(tmp_path: Path) -> None:
    async def fill() -> None:
        async with SqliteLog(tmp_path / "log.db") as log:
            await asyncio.gather(*(log.append({"n": n}) for n in range(350)))
            for n in range(350):
                log.note({"n": n})

    asyncio.run(fill())
    _cut(tmp_path / "log.db", "UPDATE log SET record = replace(record, 'n', 'm')")
    report = asyncio.run(_verified(tmp_path / "log.db"))
    assert (report.entries, len(report.faults)) == (700, 100)


def test_rows_have_the_records_that_are_read_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    asyncio.run(_write_batches(path))

    async def read() -> None:
        async with SqliteLog(path) as log:
            for after in range(22):
                rows = await log.read_rows(after, 100)
                entries = [entry for row in rows for entry in (row.entries() if isinstance(row, Batch) else [row])]
                assert tuple(entries) == await log.read(after, 100)
            assert [row.position for row in await log.read_rows(0, 5)] == [1, 11]
            # The limit counts records behind `after` only.
            assert [row.position for row in await log.read_rows(10, 5)] == [11, 21]

    asyncio.run(read())


# Batches: one record, then ten and ten more that were written together.

BATCHES: dict[str, tuple[str, list[Fault]]] = {
    "one record": ("UPDATE log SET record = replace(record, '{\"n\":4}', '{\"n\":9}')", [Fault(4, "edited")]),
    "the first and the last record": (
        "UPDATE log SET record = '{}' || substr(record, 8, length(record) - 15) || '{}' WHERE position = 11",
        [Fault(2, "edited"), Fault(11, "edited")],
    ),
    "a byte that is not UTF-8": (
        "UPDATE log SET record = CAST(substr(record, 1, 20) || x'ff' || substr(record, 22) AS TEXT)"
        " WHERE position = 11",
        [Fault(4, "edited")],
    ),
    "records of both": (
        "UPDATE log SET record = replace(replace(record, ':6', ':7'), '\"n\":15', '\"n\": 15')",
        [Fault(6, "edited"), Fault(15, "edited")],
    ),
    "a removal": ("UPDATE log SET record = replace(record, '{\"n\":4}' || char(10), '')", [Fault(5, "missing")]),
    "removals": (
        "UPDATE log SET record = replace(replace(record, '{\"n\":2}' || char(10), ''), char(10) || '{\"n\":11}', '')",
        [Fault(3, "missing"), Fault(12, "missing")],
    ),
    "an insertion": (
        "UPDATE log SET record = replace(record, '{\"n\":4}', '{}' || char(10) || '{\"n\":4}')",
        [Fault(4, "inserted")],
    ),
    "an exchange": (
        "UPDATE log SET record = replace(replace(replace(record, ':4}', ':x}'), ':5}', ':4}'), ':x}', ':5}')",
        [Fault(4, "edited"), Fault(5, "edited")],
    ),
    "a record and its checksum": (
        "UPDATE log SET record = replace(record, ':4}', ':9}'),"
        " checksums = substr(checksums, 1, 16) || '$checksum' || substr(checksums, 25) WHERE position = 11",
        [Fault(2, "batch", 11)],
    ),
    "the writer": ("UPDATE log SET writer = 'x' WHERE position = 11", [Fault(2, "batch", 11)]),
    "the first time": ("UPDATE log SET first_time = 'x' WHERE position = 11", [Fault(2, "batch", 11)]),
    "the last time": ("UPDATE log SET last_time = 'x' WHERE position = 21", [Fault(12, "batch", 21)]),
    "counts that no writer made": ("UPDATE log SET counts = '[]' WHERE position = 11", [Fault(2, "batch", 11)]),
    "the link": ("UPDATE log SET previous = hash WHERE position = 11", [Fault(2, "batch", 11)]),
    "the hash": (
        "UPDATE log SET hash = upper(hash) WHERE position = 11",
        [Fault(2, "batch", 11), Fault(12, "unlinked")],
    ),
    "the first position": ("UPDATE log SET first_position = 1 WHERE position = 11", [Fault(1, "batch", 11)]),
    "no first position": (
        "UPDATE log SET first_position = NULL WHERE position = 11",
        [Fault(11, "edited")],
    ),
    "the position": ("UPDATE log SET position = 31 WHERE position = 21", [Fault(12, "batch", 31)]),
    "the batch": ("DELETE FROM log WHERE position = 11", [Fault(12, "missing")]),
    "the record before": ("DELETE FROM log WHERE position = 1", [Fault(2, "missing")]),
    "a single record in place of the batch": (
        "UPDATE log SET first_position = NULL, record = '{\"n\":11}' WHERE position = 11",
        [Fault(11, "edited")],
    ),
    "more lines than a writer makes": (
        "UPDATE log SET record = replace(hex(zeroblob(100000)), '00', char(10)) WHERE position = 11",
        [Fault(2, "batch", 11)],
    ),
    "all records": ("UPDATE log SET record = '' WHERE position = 11", [Fault(2, "edited"), Fault(12, "missing")]),
}


CHECKSUM = format(crc32(b'{"n":9}'), "08x")


@pytest.mark.parametrize("what", BATCHES)
def test_verify_names_the_record_of_a_batch_that_was_changed(what: str, tmp_path: Path) -> None:
    statements, faults = BATCHES[what]
    path = tmp_path / "log.db"
    asyncio.run(_write_batches(path))
    _cut(path, statements.replace("$checksum", CHECKSUM))
    assert asyncio.run(_verified(path)).faults == tuple(faults)


def test_a_batch_written_anew_does_not_fit_its_successor(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    asyncio.run(_write_batches(path))
    forged = batched([b"{}"] * 10, (), "x", Mark(1, _column(path, "hash", 1)))
    assert isinstance(forged, Batch)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(
            "UPDATE log SET writer = ?, record = ?, hash = ?, checksums = ? WHERE position = 11",
            (forged.writer, forged.text, forged.hash, forged.checksums),
        )
    assert asyncio.run(_verified(path)).faults == (Fault(12, "unlinked"),)


def test_a_batch_whose_records_are_not_as_many_as_its_positions_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    asyncio.run(_write_batches(path))
    forged = batched([b"{}"] * 3, (), "x", Mark(1, _column(path, "hash", 1)))
    assert isinstance(forged, Batch)
    assert fits(forged)
    assert not fits(forged._replace(first=1))


def test_a_mark_inside_a_batch_was_rewritten(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    asyncio.run(_write_batches(path))
    assert asyncio.run(_verified(path, head=Mark(5, "0" * 64))).faults == (Fault(5, "rewritten"),)
    assert asyncio.run(_verified(path, head=Mark(11, _column(path, "hash", 11)))).faults == ()


def test_the_batch_hash_follows_the_documented_formula(tmp_path: Path) -> None:
    async def scenario() -> tuple[Entry, ...]:
        async with SqliteLog(tmp_path / "log.db", writer='w"1', linger=60) as log:
            await log.append({})
            log.note({"b": 1, "a": "名"})
            log.note(Timed(2.5))
            log.note(Timed(1.0))
            return await log.read()

    single, first, *_, last = asyncio.run(scenario())
    lines = [{"a": "名", "b": 1}, {"at": 2.5}, {"at": 1.0}]
    texts = [json.dumps(line, sort_keys=True, separators=(",", ":")) for line in lines]
    header = {
        "began": "1970-01-01T00:00:01Z",
        "checksums": "".join(f"{crc32(text.encode()):08x}" for text in texts),
        "ended": "1970-01-01T00:00:02.500000Z",
        "first": 2,
        "last": 4,
        "previous": single.hash,
        "writer": 'w"1',
    }
    whole = "\n".join([json.dumps(header, sort_keys=True, separators=(",", ":")), *texts])
    assert first.hash == last.hash == hashlib.sha256(whole.encode()).hexdigest()
    assert (first.position, first.mark, last.mark) == (2, Mark(4, last.hash), Mark(4, last.hash))


def test_the_counts_of_a_batch_belong_to_its_hash(tmp_path: Path) -> None:
    async def scenario() -> tuple[Entry, ...]:
        async with SqliteLog(tmp_path / "log.db", writer="w", linger=60) as log:
            for at in (1.0, 2.0):
                log.note(Counted(at))
            return await log.read()

    first, _ = asyncio.run(scenario())
    assert first.batch is not None
    assert first.batch.counts == '["two"]'
    header = {
        "began": "1970-01-01T00:00:01Z",
        "checksums": "".join(f"{crc32(text.encode()):08x}" for text in ('{"at":1.0}', '{"at":2.0}')),
        "counts": '["two"]',
        "ended": "1970-01-01T00:00:02Z",
        "first": 1,
        "last": 2,
        "previous": "0" * 64,
        "writer": "w",
    }
    whole = json.dumps(header, sort_keys=True, separators=(",", ":")) + '\n{"at":1.0}\n{"at":2.0}'
    assert first.hash == hashlib.sha256(whole.encode()).hexdigest()
    _cut(tmp_path / "log.db", "UPDATE log SET counts = NULL")
    assert asyncio.run(_verified(tmp_path / "log.db")).faults == (Fault(1, "batch", 2),)


@pytest.mark.parametrize("other", [{"n": 1}, lambda: Timed(2.0), lambda: Counted(-1.0)])
def test_a_batch_with_a_record_that_was_not_counted_has_no_counts(
    other: dict[str, int] | Callable[[], DraftRecord], tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            for note in (Counted(1.0), Counted(2.0), other() if callable(other) else other):
                log.note(note)
            (row,) = await log.read_rows(0, 10)
            assert isinstance(row, Batch)
            assert row.counts == ""

    asyncio.run(scenario())


class Timed(DraftRecord):
    def __init__(self, at: float) -> None:
        self.at = at

    def text(self) -> str:
        if self.at < 0:
            raise ValueError("negative")
        return f'{{"at":{self.at}}}'

    @classmethod
    def times(cls, records: Sequence[Timed]) -> list[float]:
        return [record.at for record in records]


class Counted(Timed):
    @classmethod
    def counts(cls, records: Sequence[Timed]) -> str:
        return json.dumps([{1: "one", 2: "two"}.get(len(records), "many")])


def test_a_draft_that_cannot_be_serialized_is_counted_and_the_others_are_written(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            for at in (1.0, -1.0, 2.0):
                log.note(Timed(at))
            log.note({"n": 1})
            assert [entry.record for entry in await log.read()] == [{"at": 1.0}, {"at": 2.0}, {"n": 1}]
            assert log.lost == 1
            assert (await verify(log)).faults == ()

    asyncio.run(scenario())


def test_many_notes_are_divided_into_batches_and_read_in_pages(tmp_path: Path) -> None:
    count = 2 * LARGEST_BATCH + 1

    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            for n in range(count):
                log.note({"n": n})
            head = await log.head()
            assert head.position == count
            read, after = list[int](), 0
            while page := await log.read(after, 7):
                assert len(page) == min(7, count - after)
                read += [entry.record["n"] for entry in page]
                after = page[-1].position
            assert read == [*range(count)]
            assert await verify(log) == VerifyReport(count, head, ())

    asyncio.run(scenario())
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        rows = db.execute("SELECT first_position, position FROM log ORDER BY position").fetchall()
    assert rows == [(1, LARGEST_BATCH), (LARGEST_BATCH + 1, 2 * LARGEST_BATCH), (None, count)]


# A file of an earlier release, whose rows have one record each.


def test_a_log_of_an_earlier_release_is_read_and_continued_in_one_chain(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    _write_old_layout(path, 3)

    async def scenario() -> None:
        async with SqliteLog(path, linger=60) as log:
            assert [entry.record["n"] for entry in await log.read()] == [0, 1, 2]
            assert (await verify(log)).faults == ()
            log.note({"n": 3})
            log.note({"n": 4})
            assert await log.append({"n": 5}) == 6
            _write_old_layout(path, 2, offset=6)  # by a process that has not been restarted yet
            log.note({"n": 8})
            log.note({"n": 9})
            assert [entry.record["n"] for entry in await log.read()] == [*range(10)]
            assert await verify(log) == VerifyReport(10, await log.head(), ())
        _cut(path, "UPDATE log SET record = replace(replace(record, ':1}', ':7}'), ':4}', ':7}') WHERE position < 6")
        assert (await _verified(path)).faults == (Fault(2, "edited"), Fault(5, "edited"))

    asyncio.run(scenario())


def test_an_earlier_release_does_not_open_a_log_with_batches(tmp_path: Path) -> None:
    asyncio.run(_write_batches(tmp_path / "log.db"))
    with closing(sqlite3.connect(tmp_path / "log.db")) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (3,)


def _write_old_layout(path: Path, count: int, offset: int = 0) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        if not offset:
            db.execute(
                "CREATE TABLE log (position INTEGER PRIMARY KEY, writer TEXT NOT NULL, record TEXT NOT NULL,"
                " previous TEXT NOT NULL, hash TEXT NOT NULL) STRICT"
            )
            db.execute("PRAGMA user_version=1")
        row = db.execute("SELECT position, hash FROM log ORDER BY position DESC LIMIT 1").fetchone()
        texts = [canonical({"n": n}) for n in range(offset, offset + count)]
        for entry in linked(texts, "old", ORIGIN if row is None else Mark(*row)):
            db.execute("INSERT INTO log (position, writer, record, previous, hash) VALUES (?, ?, ?, ?, ?)", entry[:5])


async def _write_batches(path: Path) -> None:
    async with SqliteLog(path, linger=60, writer="one") as log:
        await log.append({"n": 1})
        for n in range(2, 22):
            log.note({"n": n})
            if n == 11:
                await log.head()


async def _write_ten(path: Path, offset: int = 0) -> Mark:
    async with SqliteLog(path, writer="first") as first, SqliteLog(path, writer="second") as second:
        for n in range(10):
            await (second if n % 2 == 0 and n else first).append({"n": n + offset})
        return await first.head()


async def _verified(path: Path, head: Mark | None = None) -> VerifyReport:
    async with SqliteLog(path) as log:
        return await verify(log, head=head)


def _cut(path: Path, statements: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.executescript(statements)


def _column(path: Path, column: str, position: int) -> str:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(f"SELECT {column} FROM log WHERE position = ?", (position,)).fetchone()[0]


# When the disk says no.


def test_closing_writes_the_notes_that_wait(tmp_path: Path) -> None:
    async def scenario() -> list[int]:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            for n in range(5):
                log.note({"n": n})
        async with SqliteLog(tmp_path / "log.db") as log:
            return [entry.record["n"] for entry in await log.read()]

    assert asyncio.run(scenario()) == [0, 1, 2, 3, 4]


def test_notes_reach_the_disk_by_themselves(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=0.01) as log, SqliteLog(tmp_path / "log.db") as other:
            log.note({"n": 1})
            async with asyncio.timeout(LIMIT):
                while await other.head() == ORIGIN:
                    pass

    asyncio.run(scenario())


def test_a_locked_log_refuses_durable_records_and_counts_the_dropped_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "log.db"

    async def scenario() -> None:
        async with SqliteLog(path, patience=0.01, linger=0.0) as log:
            await log.append({"n": 1})
            with _locked(path):
                log.note({"n": 2})
                log.note({"n": 3})
                with pytest.raises(StateError) as caught:
                    await log.append({"n": 4})
                assert caught.value.code == "TT7003"
                assert log.lost == 2
            assert await log.append({"n": 5}) == 2
            assert (await verify(log)).faults == ()

    asyncio.run(scenario())
    assert _errors(caplog) == ["are being lost", "lost 2 records"]


def test_closing_a_locked_log_gives_up_all_that_waits(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        log = SqliteLog(tmp_path / "log.db", patience=0.2, linger=60)
        async with log:
            lock = _locked(tmp_path / "log.db")
            lock.__enter__()
            for n in range(3_500):
                log.note({"n": n})
        lock.__exit__()
        assert log.lost == 3_500

    asyncio.run(scenario())
    assert _errors(caplog) == ["are being lost", "lost 3500 records"]


def test_a_full_queue_refuses_and_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", capacity=10, linger=0.0, patience=LIMIT) as log:
            with _locked(tmp_path / "log.db"):  # the thread has at most one group in hand
                for n in range(40):
                    log.note({"n": n})
                assert log.failing
                appends = [asyncio.create_task(log.append({"n": n})) for n in range(40)]
                refused, _ = await asyncio.wait(appends, return_when=asyncio.FIRST_COMPLETED)
            outcomes = await asyncio.gather(*appends, return_exceptions=True)
            codes = [outcome.code for outcome in outcomes if isinstance(outcome, StateError)]
            assert codes == ["TT7004"] * len(codes)
            assert len(codes) >= len(refused) > 0
            head = await log.head()
            assert log.lost > 0
            assert head.position + log.lost + len(codes) == 80
            assert not log.failing
            assert (await verify(log)).faults == ()

    asyncio.run(scenario())
    assert _errors(caplog) == ["are being lost", f"lost {LOST} records"]


LOST = 30
"""Of forty notes, ten may wait; the thread has to be told of the first before it takes any."""


def test_a_closed_log_refuses_and_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db") as log:
            pass
        log.note({})
        assert log.lost == 1
        with pytest.raises(StateError) as caught:
            await log.append({})
        assert caught.value.code == "TT7005"

    asyncio.run(scenario())
    assert _errors(caplog) == ["are being lost"]


class _locked:
    """Another process that holds the write lock."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self._db.execute("ROLLBACK")
        self._db.close()


def _errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The error messages for the operator, without paths and causes."""
    messages = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    return [found[0] for message in messages if (found := re.search(r"are being lost|lost \d+ records", message))]
