"""SQLite by file: read-only by its mode, by its pragmas, and by an authorizer that has the last word on each access.

``sqlite:///shop.db`` is below the working folder, ``sqlite:////srv/shop.db`` is absolute, and so is
``sqlite:///C:/shop.db`` on Windows. The file has to exist.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from tooltrue.errors import ToolError
from tooltrue_toolbox.sql import syntax_allowlist
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.catalog import Dialect, Relation, SchemaCatalog, with_hidden
from tooltrue_toolbox.sql.engine import StatementOutcome, file_of, first_line, of_columns
from tooltrue_toolbox.sql.exposure import Exposure
from tooltrue_toolbox.sql.statement import Statement, text_with_parameters
from tooltrue_toolbox.sql.values import Column, ForeignKey, Index, SqlLimits, TableColumn, TableDescription
from tooltrue_toolbox.sql.wording import (
    CONSTRAINT_VIOLATION,
    DATABASE_LOCKED,
    DATABASE_PERMISSION_DENIED,
    SQL_REJECTED_BY_DATABASE,
    SQL_TABLES_CHANGED,
    SQL_TIMEOUT,
    SQL_VALUE_TOO_LARGE,
)

__all__ = ["Sqlite", "uri_of"]

_TABLES = """\
SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"""
_COLUMNS = """\
SELECT name, type, "notnull", dflt_value, pk, hidden > 1 FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid"""
_DEFINITION = "SELECT coalesce(sql, '') FROM sqlite_schema WHERE name = ? AND type IN ('table', 'view')"
_KEYS = 'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq'
_INDEXES = """\
SELECT list.name, list."unique", info.name FROM pragma_index_list(?) AS list, pragma_index_info(list.name) AS info
ORDER BY list.name, info.seqno"""

_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_READ}
_WRITES = _READS | {
    sqlite3.SQLITE_INSERT,
    sqlite3.SQLITE_UPDATE,
    sqlite3.SQLITE_DELETE,
    sqlite3.SQLITE_CREATE_TABLE,
    sqlite3.SQLITE_CREATE_INDEX,
    sqlite3.SQLITE_CREATE_VIEW,
    sqlite3.SQLITE_DROP_TABLE,
    sqlite3.SQLITE_DROP_INDEX,
    sqlite3.SQLITE_DROP_VIEW,
    sqlite3.SQLITE_ALTER_TABLE,
    sqlite3.SQLITE_REINDEX,  # a part of CREATE INDEX
}
_OWN = (None, "main", "temp")
_OF_ALTER = frozenset(
    f"sqlite_{name}" for name in ("rename_table", "rename_column", "rename_test", "rename_quotefix", "drop_column")
)


def uri_of(path: PurePath, mode: str) -> str:
    """The URI by which SQLite opens an absolute path as it is, of any system, in ``mode``."""
    # SQLite would take what follows "//" for a host, and knows none. The backslashes of Windows stay, encoded: a path
    # that begins with \\?\ has no other separator.
    text = str(path)
    return f"file:{'//' if text.startswith('//') else ''}{quote(text)}?mode={mode}"


class Sqlite:
    dialect: Dialect = "sqlite"
    wall = "SQLite's authorizer"

    def __init__(self, url: str, access: Access, limits: SqlLimits) -> None:
        self.place = url
        self._file = file_of(url)
        self._access = access
        self._limits = limits

    def open(self, *, writes: bool) -> _SqliteSession:
        db = sqlite3.connect(
            uri_of(self._file.absolute(), "rw" if writes else "ro"),
            uri=True,
            timeout=self._limits.lock_seconds,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            return _SqliteSession(db, self._access, self._limits, writes=writes)
        except BaseException:
            db.close()
            raise

    def tool_error(self, error: Exception) -> ToolError | None:
        if isinstance(error, OverflowError):  # a parameter of more than 64 bits
            return ToolError.of(SQL_REJECTED_BY_DATABASE, problem=first_line(error))
        return _tool_error(error) if isinstance(error, sqlite3.Error | sqlite3.Warning) else None


_NO_COLUMN = re.compile(
    "no such column: (.+)|table .+ has no column named (.+)|cannot join using column (.+) - column not present"
)


def _tool_error(error: sqlite3.Error | sqlite3.Warning) -> ToolError:
    name = str(getattr(error, "sqlite_errorname", ""))
    message = first_line(error)
    if name == "SQLITE_INTERRUPT":
        return ToolError.of(SQL_TIMEOUT, seconds="")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return ToolError.of(DATABASE_LOCKED, problem=message)
    if name in ("SQLITE_TOOBIG", "SQLITE_NOMEM") or "too big" in message:
        return ToolError.of(SQL_VALUE_TOO_LARGE, problem=message)
    if name in ("SQLITE_AUTH", "SQLITE_READONLY") or "prohibited" in message or "not authorized" in message:
        return ToolError.of(DATABASE_PERMISSION_DENIED, problem=message)
    if name.startswith("SQLITE_CONSTRAINT"):
        return ToolError.of(CONSTRAINT_VIOLATION, problem=message, by_hand=name == "SQLITE_CONSTRAINT_TRIGGER")
    if name == "SQLITE_SCHEMA" or message.startswith("no such table"):
        return ToolError.of(SQL_TABLES_CHANGED, problem=message)
    return of_columns(ToolError.of(SQL_REJECTED_BY_DATABASE, problem=message), _NO_COLUMN)


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


class _SqliteSession:
    def __init__(self, db: sqlite3.Connection, access: Access, limits: SqlLimits, *, writes: bool) -> None:
        self._db = db
        self._access = access
        self._writes = writes
        db.text_factory = _text
        for setting in (
            "trusted_schema = off",
            "cell_size_check = on",
            "foreign_keys = on",
            f"query_only = {'off' if writes else 'on'}",
        ):
            db.execute(f"PRAGMA {setting}")
        for limit, most in (
            (sqlite3.SQLITE_LIMIT_LENGTH, limits.value_bytes),
            (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
            (sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 20),
            (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
        ):
            db.setlimit(limit, most)
        # A session that writes locks at once: a lock requested in the middle of a transaction cannot be waited for.
        db.execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    def catalog(self) -> SchemaCatalog:
        rows = self._db.execute(_TABLES).fetchall()
        return SchemaCatalog((self._relation(*row) for row in rows), "main", self._access)

    def _relation(self, name: str, kind: Any) -> Relation:
        def columns() -> Iterator[tuple[str, str]]:
            # SQLite does not tell which columns a generated one depends on: it may be any.
            definition = self._db.execute(_DEFINITION, (name,)).fetchone()[0]
            rows = self._db.execute(_COLUMNS, (name,)).fetchall()
            return ((row[0], definition if row[5] else "") for row in rows)

        return with_hidden(Relation("main", name, kind), self._access, columns)

    def exposure(self) -> Exposure:
        return Exposure("")

    def describe(self, relation: Relation) -> TableDescription:
        name = relation.name
        rows = self._db.execute(_COLUMNS, (name,)).fetchall()
        return TableDescription(
            table=name,
            kind=relation.kind,
            columns=[_column(*row[:5]) for row in rows],
            primary_key=[row[0] for row in sorted(rows, key=lambda row: row[4]) if row[4]],
            foreign_keys=list(_foreign_keys(self._db.execute(_KEYS, (name,)))),
            indexes=list(_indexes(self._db.execute(_INDEXES, (name,)))),
        )

    def run(self, statement: Statement, values: Mapping[str, Any], most: int) -> StatementOutcome:
        self._guard(writes=self._writes)
        before = self._db.total_changes
        cursor = self._db.execute(
            text_with_parameters(statement, ":{name}"), {name: values[name] for name in statement.names}
        )
        if cursor.description is None:
            return StatementOutcome([], iter(()), self._affected_rows(statement, cursor.rowcount, before))
        columns = [Column(name=str(column[0])) for column in cursor.description]
        if statement.kind != "change":
            return StatementOutcome(columns, iter(cursor))
        rows = cursor.fetchall()
        return StatementOutcome(columns, iter(rows), self._db.total_changes - before)

    def _affected_rows(self, statement: Statement, counted: int, before: int) -> int | None:
        """The number of changed rows. Python's package does not count those of statements that begin with WITH."""
        if counted >= 0:
            return counted
        return self._db.total_changes - before if statement.verb in ("UPDATE", "DELETE") else None

    def check(self, change: Statement, values: Mapping[str, Any]) -> None:
        self._guard(writes=True)
        self._db.execute(
            f"EXPLAIN {text_with_parameters(change, ':{name}')}", {name: values[name] for name in change.names}
        )

    def _guard(self, *, writes: bool) -> None:
        self._db.set_authorizer(None)
        catalog = self.catalog()
        visible = {relation.name.lower() for relation in catalog.relations}
        closed = frozenset(str(row[0]).lower() for row in self._db.execute(_TABLES)) - visible
        self._db.set_authorizer(_authorizer(catalog, closed, writes=writes))

    def commit(self) -> None:
        self._db.set_authorizer(None)
        self._db.commit()

    def interrupt(self) -> None:
        with suppress(sqlite3.ProgrammingError):  # closed meanwhile
            self._db.interrupt()

    def close(self) -> None:
        self._db.set_authorizer(None)
        self._db.close()


def _column(name: str, kind: str, notnull: int, default: str | None, key: int) -> TableColumn:
    column = TableColumn(name=name, type=kind, nullable=not notnull and not key)
    if default is not None:
        column["default"] = default
    return column


def _foreign_keys(rows: Iterator[Sequence[Any]]) -> Iterator[ForeignKey]:
    keys: dict[int, ForeignKey] = {}
    for number, table, here, there in rows:
        key = keys.setdefault(number, ForeignKey(columns=[], table=table, references=[]))
        key["columns"].append(here)
        key["references"].extend([there] if there else [])
    yield from keys.values()


def _indexes(rows: Iterator[Sequence[Any]]) -> Iterator[Index]:
    indexes: dict[str, Index] = {}
    for name, unique, column in rows:
        indexes.setdefault(name, Index(name=name, unique=bool(unique), columns=[]))["columns"].append(column or "…")
    yield from indexes.values()


def _authorizer(catalog: SchemaCatalog, closed: frozenset[str], *, writes: bool) -> Callable[..., int]:
    """The authorizer: decides on each access that a statement is compiled to.

    ``closed``: tables that are not in the catalogue. A view in the catalogue may read them, and hidden columns.
    """
    views = {relation.name.lower() for relation in catalog.relations if relation.kind == "view"}
    columns = {(r.name.lower(), column.lower()) for r in catalog.relations for column in r.hides}
    functions = syntax_allowlist.FUNCTIONS | syntax_allowlist.ENGINE["sqlite"] | catalog.functions
    actions = _WRITES if writes else _READS

    def decide(action: int, first: str | None, second: str | None, schema: str | None, inside: str | None) -> int:
        table, column = (first or "").lower(), (second or "").lower()
        if action == sqlite3.SQLITE_FUNCTION:
            allowed = column in functions or (writes and column in _OF_ALTER)
        elif action not in actions or (first if action == sqlite3.SQLITE_ALTER_TABLE else schema) not in _OWN:
            allowed = False
        elif table.startswith("sqlite_"):
            allowed = writes  # CREATE, DROP and ALTER change it; statements that name it are refused
        elif (inside or "").lower() in views:
            allowed = True
        else:
            allowed = table not in closed and (table, column) not in columns
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return decide
