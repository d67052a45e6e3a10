"""MySQL and MariaDB by URL, through an account with few rights. Owner of PyMySQL, which is an extra: ``mysql``.

``mysql://user:password@host:3306/shop``; a certificate is checked with ``?ssl_ca=FILE``. Accounts that may read or
write files of the server, or administer it, are refused. The transaction is read-only, and the session's own limits
bound time and rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.constants import CLIENT, FIELD_TYPE
from pymysql.cursors import SSCursor

from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.state.places import without_password
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.catalog import Dialect, Relation, SchemaCatalog, with_hidden
from tooltrue_toolbox.sql.engine import StatementOutcome, first_line, of_columns
from tooltrue_toolbox.sql.exposure import Exposure
from tooltrue_toolbox.sql.statement import Statement, text_with_parameters
from tooltrue_toolbox.sql.values import Column, ForeignKey, Index, SqlLimits, TableColumn, TableDescription
from tooltrue_toolbox.sql.wording import (
    CONSTRAINT_VIOLATION,
    DATABASE_LOCKED,
    DATABASE_PERMISSION_DENIED,
    DATABASE_ROLE_TOO_POWERFUL,
    DATABASE_UNREACHABLE,
    DATABASE_URL_NOT_SUPPORTED,
    SQL_REJECTED_BY_DATABASE,
    SQL_TABLES_CHANGED,
    SQL_TIMEOUT,
    SQL_VALUE_TOO_LARGE,
)

__all__ = ["Mysql"]

_TABLES = """\
SELECT table_schema, table_name, IF(table_type = 'VIEW', 'view', 'table'), table_rows FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_type IN ('BASE TABLE', 'VIEW')"""
_COLUMNS = """\
SELECT column_name, column_type, is_nullable, column_default, column_comment, generation_expression
FROM information_schema.columns WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position"""
_KEYS = """\
SELECT constraint_name, column_name, referenced_table_name, referenced_column_name
FROM information_schema.key_column_usage
WHERE table_schema = %s AND table_name = %s AND (constraint_name = 'PRIMARY' OR referenced_table_name IS NOT NULL)
ORDER BY constraint_name, ordinal_position"""
_INDEXES = """\
SELECT index_name, non_unique, column_name FROM information_schema.statistics
WHERE table_schema = %s AND table_name = %s ORDER BY index_name, seq_in_index"""
_REACHED = """\
SELECT table_schema, table_name, column_name FROM information_schema.columns
WHERE table_schema <> 'information_schema' AND privileges REGEXP %s ORDER BY 1, 2, ordinal_position"""
_RUN_AS_OTHERS = """\
SELECT routine_schema, routine_name FROM information_schema.routines
WHERE routine_type = 'FUNCTION' AND security_type = 'DEFINER' ORDER BY 1, 2"""
_GRANT = re.compile(r"GRANT (?P<rights>.+?) ON (?P<what>\S+) TO (?P<role>\S+)")
_ENDS_TABLES = {"ALL PRIVILEGES", "DELETE", "DROP", "ALTER"}
_MIGHTY = ("FILE", "SUPER", "ALL PRIVILEGES")

_NUMBERS = (
    *(FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.LONG, FIELD_TYPE.INT24, FIELD_TYPE.LONGLONG, FIELD_TYPE.YEAR),
)
_TYPES = {number: name.lower() for name, number in vars(FIELD_TYPE).items() if name.isupper()}


_SETTINGS = (
    # A value that does not fit is an error, not another value; and "name" is text, as the parser takes it.
    "sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
    "sql_auto_is_null = 0",
    "foreign_key_checks = 1",
    "unique_checks = 1",
    "default_week_format = 0",
    "div_precision_increment = 4",
    "completion_type = 0",
)
"""Variables that the server may set otherwise for each session, by ``init_connect``. The package sets the character
set."""


class Mysql:
    dialect: Dialect = "mysql"
    wall = "the rights of the account"

    def __init__(self, url: str, access: Access, limits: SqlLimits) -> None:
        parts = urlsplit(url)
        self.place = without_password(url)
        more = dict(parse_qsl(parts.query))
        if not parts.hostname or not parts.path.strip("/") or more.keys() - {"ssl_ca"}:
            form = "mysql://user:password@host:port/database, ?ssl_ca=FILE"
            raise ConfigurationError.of(DATABASE_URL_NOT_SUPPORTED, url=self.place, known=form)
        self._options: dict[str, Any] = {
            "host": parts.hostname,
            "port": parts.port or 3306,
            "user": unquote(parts.username or ""),
            "password": unquote(parts.password or ""),
            "database": unquote(parts.path.strip("/")),
            **more,
        }
        self._access = access
        self._limits = limits

    def connect(self, seconds: float) -> pymysql.Connection[Any]:
        return pymysql.connect(
            **self._options,
            charset="utf8mb4",
            local_infile=False,
            autocommit=True,
            client_flag=CLIENT.FOUND_ROWS,  # a matched row counts even if unchanged, as in all engines
            connect_timeout=max(2, round(self._limits.connect_seconds)),
            read_timeout=seconds,
            write_timeout=seconds,
            conv=_loaders(),
        )

    def open(self, *, writes: bool) -> _MysqlSession:
        db = self.connect(self._limits.seconds + 5)
        try:
            mighty = _mighty(db)
            if mighty and not self._access.mighty_roles:
                raise ToolError.of(DATABASE_ROLE_TOO_POWERFUL, role=mighty[0], why=mighty[1])
            return _MysqlSession(self, db, self._access, self._limits, writes=writes)
        except BaseException:
            db.close()
            raise

    def tool_error(self, error: Exception) -> ToolError | None:
        return _tool_error(error) if isinstance(error, pymysql.MySQLError) else None


def _loaders() -> Any:
    """Converters of values: numbers as such, all others as the text or bytes that the server sends, which is
    lossless."""
    # Without this, types other than text come as ASCII bytes: dates, decimals, JSON.
    as_text = {number: str for number in (*_TYPES,) if number not in _BYTES}
    return {**as_text, **dict.fromkeys(_NUMBERS, int), FIELD_TYPE.FLOAT: float, FIELD_TYPE.DOUBLE: float, **_ESCAPES}


_BYTES = {
    *(FIELD_TYPE.BLOB, FIELD_TYPE.TINY_BLOB, FIELD_TYPE.MEDIUM_BLOB, FIELD_TYPE.LONG_BLOB),
    *(FIELD_TYPE.BIT, FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR, FIELD_TYPE.GEOMETRY),
}
_ESCAPES: dict[Any, Any] = dict(pymysql.converters.encoders)

_CODES: Mapping[int, str] = {
    1317: SQL_TIMEOUT,
    1969: SQL_TIMEOUT,
    3024: SQL_TIMEOUT,
    1205: DATABASE_LOCKED,
    1213: DATABASE_LOCKED,
    1142: DATABASE_PERMISSION_DENIED,
    1143: DATABASE_PERMISSION_DENIED,
    1227: DATABASE_PERMISSION_DENIED,
    1044: DATABASE_PERMISSION_DENIED,
    1370: DATABASE_PERMISSION_DENIED,
    1792: DATABASE_PERMISSION_DENIED,
    1146: SQL_TABLES_CHANGED,
    1054: SQL_TABLES_CHANGED,
    1412: SQL_TABLES_CHANGED,
    1062: CONSTRAINT_VIOLATION,
    1048: CONSTRAINT_VIOLATION,
    1451: CONSTRAINT_VIOLATION,
    1452: CONSTRAINT_VIOLATION,
    3819: CONSTRAINT_VIOLATION,
    4025: CONSTRAINT_VIOLATION,
    1301: SQL_VALUE_TOO_LARGE,
    1038: SQL_VALUE_TOO_LARGE,
    1045: DATABASE_UNREACHABLE,
    1049: DATABASE_UNREACHABLE,
    2003: DATABASE_UNREACHABLE,
    2006: DATABASE_UNREACHABLE,
    2013: DATABASE_UNREACHABLE,
}


_NO_COLUMN = re.compile("Unknown column '(.+)' in '")


def _tool_error(error: pymysql.MySQLError) -> ToolError:
    number, problem = (*error.args, "", "")[:2]
    code = _CODES.get(number, SQL_REJECTED_BY_DATABASE) if isinstance(number, int) else DATABASE_UNREACHABLE
    by_hand = number == 1644  # SIGNAL, in a trigger
    tool_error = ToolError.of(code, problem=first_line(Exception(str(problem))), seconds="", by_hand=by_hand)
    return of_columns(tool_error, _NO_COLUMN)


def _grants(db: pymysql.Connection[Any]) -> Iterator[tuple[set[str], str, str]]:
    """The grants of the account and its roles: the rights, their object, and their grantee."""
    with db.cursor() as cursor:
        cursor.execute("SHOW GRANTS")
        matches = [_GRANT.match(str(row[0])) for row in cursor.fetchall()]
    return (
        ({right.strip() for right in grant["rights"].split(",")}, grant["what"], grant["role"])
        for grant in matches
        if grant is not None
    )


def _mighty(db: pymysql.Connection[Any]) -> tuple[str, str] | None:
    """The account and the reason, if it can reach the files of the server, or administer it."""
    for rights, what, role in _grants(db):
        for right in _MIGHTY:
            if what == "*.*" and right in rights:
                return role, f"granted {right} on *.*"
    return None


class _MysqlSession:
    def __init__(self, engine: Mysql, db: Any, access: Access, limits: SqlLimits, *, writes: bool) -> None:
        self._engine = engine
        self._db = db
        self._access = access
        self._writes = writes
        self._home = db.db.decode() if isinstance(db.db, bytes) else str(db.db)
        is_mariadb = "mariadb" in db.get_server_info().lower()
        seconds = f"max_statement_time = {limits.seconds}"
        milliseconds = f"max_execution_time = {round(limits.seconds * 1000)}"
        locks = max(1, round(limits.lock_seconds))
        settings = (
            *_SETTINGS,
            *((seconds, "check_constraint_checks = 1") if is_mariadb else (milliseconds,)),
            f"lock_wait_timeout = {locks}",
            f"innodb_lock_wait_timeout = {locks}",
        )
        self._do("SET SESSION " + ", ".join(settings))
        self._db.select_db(self._home)
        self._do(f"START TRANSACTION {'READ WRITE' if writes else 'READ ONLY'}")

    def _do(self, sql: str) -> None:
        with self._db.cursor() as cursor:
            cursor.execute(sql)

    def _all(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._db.cursor() as cursor:
            cursor.execute(sql, values or None)
            return list(cursor.fetchall())

    def catalog(self) -> SchemaCatalog:
        return SchemaCatalog((self._relation(*row) for row in self._all(_TABLES)), self._home, self._access)

    def _relation(self, schema: str, name: str, kind: Any, rows: int | None) -> Relation:
        def columns() -> Iterator[tuple[str, str]]:
            return ((row[0], f"{row[5] or ''} {row[3] or ''}") for row in self._all(_COLUMNS, schema, name))

        relation = with_hidden(Relation(schema, name, kind, rows), self._access, columns)
        # Columns that the account may not read are invisible to it, and SELECT * would be refused for them.
        return replace(relation, is_partial=bool(relation.columns))

    def exposure(self) -> Exposure:
        catalog, hidden = self.catalog(), not _hides_nothing(self._access)
        reached = list(self._reachable(catalog)) if hidden else []
        if mighty := _mighty(self._db):
            reached.append(mighty[1])
        account = self._all("SELECT CURRENT_USER()")[0][0]
        return Exposure(
            account, tuple(reached), tuple(self._revocations(catalog, _account(account))) if reached else ()
        )

    def _reachable(self, catalog: SchemaCatalog) -> Iterator[str]:
        visible = {(r.schema, r.name): set(r.columns and r.shown_columns) for r in catalog.relations}
        for schema, table, column in self._all(_REACHED, "select|insert|update" if self._writes else "select"):
            columns = visible.get((schema, table))
            if columns is None or (columns and column not in columns):
                yield f"{schema}.{table}.{column}"
        for schema, name in self._all(_RUN_AS_OTHERS):
            if not catalog.functions & {name.lower(), f"{schema}.{name}".lower()}:
                yield f"the function {schema}.{name}, which runs with its definer's rights"
        visible_tables = {f"{_quoted(schema)}.{_quoted(table)}" for schema, table in visible}
        for rights, what, _ in _grants(self._db) if self._writes else ():
            if what not in visible_tables and rights & _ENDS_TABLES:
                yield f"{min(rights & _ENDS_TABLES)} on {what}"

    def _revocations(self, catalog: SchemaCatalog, account: str) -> Iterator[str]:
        """The statements that revoke all rights, and grant those on visible relations."""
        yield from (f"REVOKE {role} FROM {account}" for role in self._roles())
        for rights, what, role in _grants(self._db):
            if role == "PUBLIC" and rights != {"USAGE"}:
                yield f"REVOKE {', '.join(sorted(rights))} ON {what} FROM PUBLIC"
        yield f"REVOKE ALL PRIVILEGES, GRANT OPTION FROM {account}"
        for relation in catalog.relations:
            columns = f" ({', '.join(map(_quoted, relation.shown_columns))})" if relation.is_partial else ""
            changes = self._writes and relation.kind == "table" and not relation.hides
            rights = [f"{right}{columns}" for right in ("SELECT", *(("INSERT", "UPDATE") if changes else ()))]
            rights += ["DELETE"] if changes else []
            name = f"{_quoted(relation.schema)}.{_quoted(relation.name)}"
            yield f"GRANT {', '.join(rights)} ON {name} TO {account}"

    def _roles(self) -> list[str]:
        """The roles of the account, as statements call them."""
        roles = str(self._all("SELECT CURRENT_ROLE()")[0][0] or "NONE")
        if "`" in roles:  # MySQL names all, in quotes
            return roles.split(",")
        named = self._all("SELECT role_name FROM information_schema.applicable_roles") if roles != "NONE" else []
        return [_quoted(row[0]) for row in named]

    def describe(self, relation: Relation) -> TableDescription:
        whole = (relation.schema, relation.name)
        keys = self._all(_KEYS, *whole)
        return TableDescription(
            table=relation.name,
            kind=relation.kind,
            columns=[_column(*row[:5]) for row in self._all(_COLUMNS, *whole)],
            primary_key=[column for name, column, _, _ in keys if name == "PRIMARY"],
            foreign_keys=list(_foreign_keys(keys)),
            indexes=list(_indexes(self._all(_INDEXES, *whole))),
        )

    def run(self, statement: Statement, values: Mapping[str, Any], most: int) -> StatementOutcome:
        self._do(f"SET SESSION sql_select_limit = {most if statement.kind == 'query' else 'DEFAULT'}")
        cursor = self._db.cursor(SSCursor if statement.kind == "query" else None)
        cursor.execute(*_bound(statement, values))
        columns = [Column(name=str(c[0]), type=_TYPES.get(c[1], str(c[1]))) for c in cursor.description or ()]
        if statement.kind != "change":
            return StatementOutcome(columns, _rows_of(cursor))
        rows = list(cursor.fetchall()) if columns else []
        return StatementOutcome(columns, iter(rows), len(rows) if columns else cursor.rowcount)

    def check(self, change: Statement, values: Mapping[str, Any]) -> None:
        if change.is_of_rows and not self._writes:
            text, arguments = _bound(change, values)
            self._do("START TRANSACTION READ WRITE")  # else a plan of a change is refused; it is never committed
            self._db.cursor().execute(f"EXPLAIN {text}", arguments)
            self._do("START TRANSACTION READ ONLY")

    def commit(self) -> None:
        self._db.commit()

    def interrupt(self) -> None:
        with suppress(pymysql.MySQLError, OSError):
            other: Any = self._engine.connect(2.0)
            try:
                other.kill(self._db.thread_id())
            finally:
                other.close()

    def close(self) -> None:
        with suppress(pymysql.MySQLError, OSError):
            self._db.close()


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _account(name: str) -> str:
    """``user@host`` as GRANT takes it."""
    user, _, host = name.rpartition("@")
    return f"{_quoted(user)}@{_quoted(host)}"


def _hides_nothing(access: Access) -> bool:
    return not access.hidden and not access.tables


def _bound(statement: Statement, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text in the package's style, and the parameters, which the package inserts escaped for its connection."""
    text = text_with_parameters(replace(statement, sql=statement.sql.replace("%", "%%")), "%(p{n})s")
    return text, {f"p{number}": values[name] for number, name in enumerate(statement.names, 1)}


def _rows_of(cursor: Any) -> Iterator[Sequence[Any]]:
    while (row := cursor.fetchone()) is not None:
        yield row


def _column(name: str, kind: str, nullable: str, default: str | None, comment: str | None) -> TableColumn:
    column = TableColumn(name=name, type=kind, nullable=nullable == "YES")
    if default is not None:
        column["default"] = default
    if comment:
        column["comment"] = comment
    return column


def _foreign_keys(rows: Sequence[tuple[Any, ...]]) -> Iterator[ForeignKey]:
    keys: dict[str, ForeignKey] = {}
    for name, column, table, there in rows:
        if table is not None:
            key = keys.setdefault(name, ForeignKey(columns=[], table=table, references=[]))
            key["columns"].append(column)
            key["references"].append(there)
    yield from keys.values()


def _indexes(rows: Sequence[tuple[Any, ...]]) -> Iterator[Index]:
    indexes: dict[str, Index] = {}
    for name, other, column in rows:
        indexes.setdefault(name, Index(name=name, unique=not other, columns=[]))["columns"].append(column or "…")
    yield from indexes.values()
