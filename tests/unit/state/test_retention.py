"""Deletion of old records, and the key that signs the record of it. More of its use is tested in
``tests/security/test_audit.py``."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier

import pytest

from tooltrue.errors import ConfigurationError
from tooltrue.state.retention import examine, prune, signing_key
from tooltrue.state.sqlite import SqliteLog
from tooltrue.testing.state import LIMIT

KEY = b"key"


async def _write(log: SqliteLog, days: Iterable[int]) -> None:
    """Write one batch of records of these days of a month."""
    for day in days:
        log.note({"at": f"2026-03-{day:02}T12:00:00Z"})
    await log.head()


async def _kept(log: SqliteLog) -> list[int]:
    return [entry.position for entry in await log.read(0, 1_000)]


def test_a_batch_is_deleted_once_all_of_its_records_are_older(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            await _write(log, (1, 2, 3))
            await _write(log, (4, 9, 5))  # 9: a call that took long is recorded after later ones
            await _write(log, (10, 11))
            assert await prune(log, datetime(2026, 3, 3, tzinfo=UTC), KEY) == 0
            assert await prune(log, datetime(2026, 3, 5, tzinfo=UTC), KEY) == 3
            assert await _kept(log) == [4, 5, 6, 7, 8, 9]
            assert (await examine(log, key=KEY)).faults == ()
            assert await prune(log, datetime(2026, 3, 10, tzinfo=UTC), KEY) == 3
            assert await _kept(log) == [7, 8, 9, 10]
            assert (await examine(log, key=KEY)).faults == ()
            assert [fault.kind for fault in (await examine(log, key=b"other")).faults] == ["unsigned"]

    asyncio.run(scenario())


def test_batches_that_end_inside_a_page_are_pruned(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            await log.append({"at": "2026-03-01T12:00:00Z"})
            await _write(log, [2] * 1_100)
            await _write(log, [9] * 10)
            assert await prune(log, datetime(2026, 3, 5, tzinfo=UTC), KEY) == 1_101
            assert await _kept(log) == [*range(1_102, 1_113)]
            assert (await examine(log, key=KEY)).faults == ()

    asyncio.run(scenario())


def test_a_log_that_begins_inside_a_batch_is_not_accepted(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteLog(tmp_path / "log.db", linger=60) as log:
            await _write(log, (1, 2, 3, 4))
            head = await log.head()
            with closing(sqlite3.connect(tmp_path / "log.db", isolation_level=None)) as db:
                db.execute("UPDATE log SET record = substr(record, instr(record, char(10)) + 1), first_position = 2")
            assert [fault.kind for fault in (await examine(log, [head], KEY)).faults] == ["unsigned", "batch"]

    asyncio.run(scenario())


FULL = """
import resource, sys
from pathlib import Path
from tooltrue.errors import ConfigurationError
from tooltrue.state.retention import signing_key
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))  # as good as a full disk
try:
    signing_key(Path(sys.argv[1]), make=True)
except ConfigurationError as error:
    print(error.code)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(signing_key(Path(sys.argv[1]), make=True).decode())
"""


@pytest.mark.needs("limits")
@pytest.mark.process
def test_a_key_that_found_no_room_is_made_once_there_is_some(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FULL, str(tmp_path / "key")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT, check=True)
    code, key = done.stdout.splitlines()
    assert code == "TT7014"
    assert re.fullmatch("[0-9a-f]{64}", key)
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("make", [True, False])
@pytest.mark.parametrize("text", ["", " \n"])
def test_a_well_known_text_is_refused_as_a_signing_key(tmp_path: Path, text: str, make: bool) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        signing_key(tmp_path / "key", make=make)
    assert caught.value.code == "TT7014"


def test_a_key_is_for_its_owner_alone_and_made_where_that_is_said(tmp_path: Path) -> None:
    path = tmp_path / "new" / "key"
    assert signing_key(path, make=False) is None
    assert signing_key(path, make=True) == path.read_bytes().strip()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_all_that_start_at_once_have_the_one_key(tmp_path: Path) -> None:
    together = Barrier(4)

    def make(number: int) -> bytes | None:
        together.wait(LIMIT)
        return signing_key(tmp_path / str(number), make=True)

    with ThreadPoolExecutor(4) as threads:
        for number in range(50):
            assert len({*threads.map(make, [number] * 4)}) == 1
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 50
