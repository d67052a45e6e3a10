"""The index of an SQLite log: a file beside it that tells a query which parts of the log to read.

The index is no part of the chain and proves nothing. A query reads what it shows from the log itself, and filters it
again; ``verify`` and exports use no index. The file may be deleted at any time, because it is built, and continued,
when a query first needs it. Several processes may do that at once.

It has blocks: a batch, or consecutive rows of the log with about a hundred records. The last records of the log, fewer
than a block, are in none. A log that no longer has the first or the last indexed row was pruned or rewritten, or is
another one, and is indexed again. A row that another program changes in between is found by ``verify``, and perhaps not
by a query.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import stat
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, contextmanager
from fnmatch import fnmatchcase
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tooltrue._internal.platform.private_files import is_private, open_private_file
from tooltrue.state.log import LOWEST, Entry, Log, Mark

__all__ = ["MEMBERS", "Candidates", "LogIndex"]

logger = logging.getLogger("tooltrue.state")

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Called with the last position that is indexed, and that of the log."""

MEMBERS = ("called", "code", "effect", "instance", "kind", "outcome", "rule", "subject", "who")
"""The members of records that are indexed. Another choice is another layout."""
LAYOUT = 1
_APPLICATION = 0x74745849
_BLOCK = 100
"""The least number of records in a block."""
_STEP = 20_000
"""Entries per transaction of a build."""
_PATIENCE = 5.0

# Texts are blobs: a text of JSON may have lone surrogates, which UTF-8 has not. Their order is the same.
_TABLES = (
    "CREATE TABLE blocks (last INTEGER PRIMARY KEY, hash TEXT NOT NULL, after INTEGER NOT NULL,"
    " first INTEGER NOT NULL, first_hash TEXT NOT NULL, began BLOB NOT NULL, ended BLOB NOT NULL) STRICT",
    "CREATE TABLE names (id INTEGER PRIMARY KEY, member TEXT NOT NULL, value BLOB NOT NULL, UNIQUE (member, value))"
    " STRICT",
    "CREATE TABLE places (name INTEGER, last INTEGER, PRIMARY KEY (name, last)) WITHOUT ROWID, STRICT",
    "CREATE TABLE open (id BLOB PRIMARY KEY, position INTEGER NOT NULL) STRICT",
    f"PRAGMA application_id={_APPLICATION}",
    f"PRAGMA user_version={LAYOUT}",
)
_HOLDING = (
    "EXISTS (SELECT 1 FROM places WHERE places.last = blocks.last"
    " AND name = (SELECT id FROM names WHERE member = ? AND value = ?))"
)
"""Whether a block holds a value: one look for each block that is visited, so that a bounded query ends soon."""
_FITTING = "last IN (SELECT last FROM names JOIN places ON name = id WHERE member = ? AND fits(value, ?))"
"""The same for a pattern, which many values may fit: their blocks are collected once."""

_NOT_DAMAGED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY}


class Candidates(NamedTuple):
    """The entries that a query must read: those behind the first and up to the second position of each range, and all
    behind ``after``."""

    ranges: Sequence[tuple[int, int]]
    after: int


class LogIndex:
    """The index of ``log`` at ``path``. ``record_of`` returns the record of an entry as the filters of queries see it.

    A query for which the index is of no use, or cannot be used, gets no candidates and reads the whole log.
    """

    def __init__(
        self,
        log: Log,
        path: str | Path,
        record_of: Callable[[Entry], Mapping[str, Any]],
        progress: Progress | None = None,
    ) -> None:
        self._log = log
        self._path = Path(path)
        self._record_of = record_of
        self._progress = progress

    async def matching(
        self, globs: Mapping[str, str], since: str, until: str, *, top: int | None = None, most: int = -1
    ) -> Candidates | None:
        """Return where there may be records whose members match ``globs``, with a time from ``since`` up to the prefix
        ``until``. With ``most``, these are at most so many ranges, the newest of those that reach no higher than the
        block of the position ``top``."""
        # A member that is absent is not in the index. Such a pattern matches it.
        narrowing = {name: glob for name, glob in globs.items() if name in MEMBERS and not fnmatchcase("", glob)}
        if not (narrowing or since or until):
            return None
        # No byte of UTF-8 is FF: whatever begins with `until` is less.
        conditions, values = (
            ["ended >= ?", "began < ?"],
            list[str | bytes | int]((_blob(since), _blob(until) + b"\xff")),
        )
        for member, glob in narrowing.items():
            conditions.append(_FITTING if any(sign in glob for sign in "*?[") else _HOLDING)
            values += (member, _blob(glob))
        if top is not None:
            conditions.append("last <= coalesce((SELECT min(last) FROM blocks WHERE last >= ?), ?) AND after < ?")
            values += (top, top, top)
        statement = f"SELECT after, last FROM blocks WHERE {' AND '.join(conditions)} ORDER BY last DESC LIMIT ?"
        values.append(most)

        def ask(db: sqlite3.Connection) -> Candidates:
            return Candidates(db.execute(statement, values).fetchall()[::-1], _last(db).position)

        return await self._use(ask)

    async def unfinished(self) -> Candidates | None:
        """Return the write-ahead records without a record of their end."""
        statement = "SELECT position - 1, position FROM open ORDER BY position"
        return await self._use(lambda db: Candidates(db.execute(statement).fetchall(), _last(db).position))

    def delete(self) -> None:
        """Delete the file, if there is one. The next query builds another."""
        try:
            if self._path.exists():
                _prepare(self._path)
                self._path.unlink()
        except OSError as error:
            logger.warning("The index %s is not deleted: %s", self._path, error)

    async def _use(self, ask: Callable[[sqlite3.Connection], T]) -> T | None:
        """Return what ``ask`` reads from the index once it is up to date; None if it cannot be used."""
        try:
            try:
                return await self._ask(ask)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF in _NOT_DAMAGED:
                    raise
                self._path.unlink(missing_ok=True)
                return await self._ask(ask)
        except (sqlite3.Error, OSError) as error:
            logger.warning("The index %s is not used: %s", self._path, error)
            return None

    async def _ask(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        # No lock is held while the log is read: other processes that build the index need not wait.
        with closing(_connected(self._path)) as db:
            if not await self._is_same(db):
                with _transaction(db):
                    for table in ("blocks", "names", "places", "open"):
                        db.execute(f"DELETE FROM {table}")
            await self._continue(db)
            return ask(db)

    async def _is_same(self, db: sqlite3.Connection) -> bool:
        """Return whether the log still has the first and the last row that are indexed, and the first is its first."""
        last = _last(db)
        if last.position == LOWEST:
            return True
        first = db.execute("SELECT first, first_hash FROM blocks ORDER BY last LIMIT 1").fetchone()
        marks = [entry.mark for after in (LOWEST, last.position - 1) for entry in await self._log.read(after, 1)]
        return marks == [Mark(*first), last]

    async def _continue(self, db: sqlite3.Connection) -> None:
        """Index the entries that were written since, up to the last complete block."""
        limit = _STEP
        while True:
            page = await self._log.read(after := _last(db).position, limit)
            if blocks := [*_blocks(page)]:
                with _transaction(db):
                    if _last(db).position == after:  # no other process has done the same
                        self._insert(db, blocks)
            if len(page) < limit:
                return
            if self._progress is not None:
                self._progress(_last(db).position, (await self._log.head()).position)
            limit = _STEP if blocks else 2 * limit

    def _insert(self, db: sqlite3.Connection, blocks: Iterable[Sequence[Entry]]) -> None:
        places = list[tuple[int, str, bytes]]()
        for entries in blocks:
            first, last, records = entries[0].mark, entries[-1].mark, [*map(self._record_of, entries)]
            times = [str(record.get("at", "")) for record in records]
            row = (*last, entries[0].position - 1, *first, _blob(min(times)), _blob(max(times)))
            db.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for member in MEMBERS:
                values = {str(record.get(member, "")) for record in records}
                places += [(last.position, member, _blob(value)) for value in values if value]
            for entry, record in zip(entries, records, strict=True):
                if record.get("id"):
                    _open_or_close(db, record, entry.position)
        names = {(member, value) for _, member, value in places}
        db.executemany("INSERT OR IGNORE INTO names (member, value) VALUES (?, ?)", names)
        db.executemany("INSERT INTO places SELECT id, ? FROM names WHERE member = ? AND value = ?", places)


def _blocks(page: Sequence[Entry]) -> Generator[list[Entry]]:
    """Yield the complete blocks. The last row of the page may go on behind it."""
    block = list[Entry]()
    for mark, entries in groupby(page, lambda entry: entry.mark):
        block += entries
        if len(block) >= _BLOCK and block[-1].position == mark.position:
            yield block
            block = []


def _open_or_close(db: sqlite3.Connection, record: Mapping[str, Any], position: int) -> None:
    id = _blob(str(record["id"]))
    if record.get("kind") == "intent":
        db.execute("INSERT OR REPLACE INTO open VALUES (?, ?)", (id, position))
    else:
        db.execute("DELETE FROM open WHERE id = ?", (id,))


def _last(db: sqlite3.Connection) -> Mark:
    row = db.execute("SELECT last, hash FROM blocks ORDER BY last DESC LIMIT 1").fetchone()
    return Mark(LOWEST, "") if row is None else Mark(*row)


def _connected(path: Path) -> sqlite3.Connection:
    """Open the index, a new one if there is none or it has another layout. Raises OSError for a file that is no index,
    or is not this user's alone: it could hide records."""
    _prepare(path)
    db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
    try:
        db.create_function("fits", 2, _fits, deterministic=True)
        if db.execute("PRAGMA user_version").fetchone() == (0,):
            with _transaction(db):
                if db.execute("PRAGMA user_version").fetchone() == (0,):  # no other process has done the same
                    for statement in _TABLES:
                        db.execute(statement)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(path: Path) -> None:
    handle = open_private_file(path)
    with os.fdopen(handle, "rb") as file:
        is_ours = stat.S_ISREG(os.fstat(handle).st_mode) and is_private(handle)
        header = file.read(72)
    if not is_ours:
        raise PermissionError("it does not belong to this user alone")
    if not header:
        return
    if not header.startswith(b"SQLite format 3\0") or int.from_bytes(header[68:], "big") != _APPLICATION:
        raise FileExistsError("it is another file")
    if int.from_bytes(header[60:64], "big") != LAYOUT:
        path.unlink(missing_ok=True)
        _prepare(path)


@contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _blob(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _fits(value: bytes, glob: bytes) -> bool:
    return fnmatchcase(value.decode(errors="surrogatepass"), glob.decode(errors="surrogatepass"))
