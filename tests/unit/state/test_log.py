"""The contract of ``Log`` on each store, and every way of tampering that ``verify`` must find."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tooltrue.errors import StateError
from tooltrue.state.log import ORIGIN, Mark, MemoryLog
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
        "INSERT INTO log SELECT 11, writer, record, previous, hash FROM log WHERE position = 10",
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
            for n in range(700):
                log.note({"n": n})

    asyncio.run(fill())
    _cut(tmp_path / "log.db", "UPDATE log SET record = '{}'")
    report = asyncio.run(_verified(tmp_path / "log.db"))
    assert (report.entries, len(report.faults)) == (700, 100)


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
