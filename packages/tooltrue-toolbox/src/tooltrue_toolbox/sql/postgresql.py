"""PostgreSQL by URL, through a role with few rights. Owner of psycopg here, which is an extra: ``postgres``.

A read-only transaction of a superuser can still read files and run programs: such roles are refused. The search path is
empty, so that a name without a schema is always one of the server's own functions or types; tables are qualified by
their schemas (:mod:`statement`). Statements use the extended protocol, which takes one statement at a time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import conninfo
from psycopg.types.string import TextLoader

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

__all__ = ["Postgresql"]

_NATIVE_TYPES = (
    "bool",
    "int2",
    "int4",
    "int8",
    "oid",
    "float4",
    "float8",
    "bytea",
    "text",
    "varchar",
    "bpchar",
    "name",
    '"char"',
)
"""Types that come as Python values; all others come as the server's text, which is lossless."""

_TABLES = """\
SELECT n.nspname, c.relname, CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END,
    CASE WHEN c.reltuples >= 0 THEN c.reltuples::bigint END
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
    AND (pg_catalog.has_table_privilege(c.oid, 'SELECT, INSERT, UPDATE, DELETE')
        OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))"""
_COLUMNS = """\
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
    pg_catalog.pg_get_expr(d.adbin, d.adrelid), pg_catalog.col_description(a.attrelid, a.attnum)
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attrelid = $1::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum"""
_ENUMS = """\
SELECT n.nspname || '.' || t.typname FROM pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype = 'e' AND n.nspname !~ '\\.' AND t.typname !~ '\\.'"""
_KEYS = """\
SELECT k.contype, (SELECT n.nspname FROM pg_catalog.pg_namespace n WHERE n.oid = r.relnamespace) || '.' || r.relname,
    (SELECT pg_catalog.json_agg(a.attname ORDER BY p.n) FROM unnest(k.conkey) WITH ORDINALITY p(num, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = p.num)::text,
    (SELECT pg_catalog.json_agg(a.attname ORDER BY p.n) FROM unnest(k.confkey) WITH ORDINALITY p(num, n)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = p.num)::text
FROM pg_catalog.pg_constraint k LEFT JOIN pg_catalog.pg_class r ON r.oid = k.confrelid
WHERE k.conrelid = $1::regclass AND k.contype IN ('p', 'f') ORDER BY k.conname"""
_INDEXES = """\
SELECT c.relname, i.indisunique, pg_catalog.pg_get_indexdef(i.indexrelid, p.n, true)
FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid,
    pg_catalog.generate_series(1, i.indnkeyatts) p(n)
WHERE i.indrelid = $1::regclass ORDER BY c.relname, p.n"""
_ROLE = """\
SELECT current_user, CASE WHEN r.rolsuper THEN 'a superuser' ELSE (
    SELECT 'a member of ' || g.rolname FROM pg_catalog.pg_roles g
    WHERE g.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
        AND pg_catalog.pg_has_role(current_user, g.oid, 'MEMBER') LIMIT 1) END
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user"""


_ROLES = """\
WITH me AS (SELECT r.oid, r.rolname FROM pg_catalog.pg_roles r
    WHERE pg_catalog.pg_has_role(session_user, r.oid, 'MEMBER')
        OR pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER'))
"""
"""The role, and all roles whose rights it could take."""
_REACHED = (
    _ROLES
    + """\
SELECT n.nspname, c.relname, a.attname, c.relowner IN (SELECT oid FROM me)
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    AND EXISTS (SELECT FROM me WHERE pg_catalog.has_schema_privilege(me.oid, n.oid, 'USAGE')
        AND (pg_catalog.has_column_privilege(me.oid, c.oid, a.attnum, $1)
            OR ($2 <> '' AND pg_catalog.has_table_privilege(me.oid, c.oid, $2))))
ORDER BY 1, 2, a.attnum"""
)
_GRANTEES = (
    _ROLES
    + """\
SELECT DISTINCT x.grantee, pg_catalog.pg_get_userbyid(x.grantee) FROM pg_catalog.pg_class c, LATERAL (
    SELECT (pg_catalog.aclexplode(coalesce(c.relacl, pg_catalog.acldefault('r', c.relowner)))).grantee
    UNION SELECT (pg_catalog.aclexplode(a.attacl)).grantee FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid) x
WHERE c.oid = $1::regclass AND (x.grantee = 0 OR x.grantee IN (SELECT oid FROM me)) ORDER BY 1"""
)
_READS_ALL = (
    _ROLES
    + """\
SELECT g.rolname, me.rolname FROM pg_catalog.pg_auth_members m JOIN me ON me.oid = m.member
    JOIN pg_catalog.pg_roles g ON g.oid = m.roleid
WHERE g.rolname IN ('pg_read_all_data', 'pg_write_all_data') ORDER BY 1, 2"""
)
_RUN_AS_OTHERS = (
    _ROLES
    + """\
SELECT n.nspname, p.proname,
    pg_catalog.format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)),
    (SELECT pg_catalog.string_agg(CASE x.grantee WHEN 0 THEN 'PUBLIC'
            ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(x.grantee)::text) END, ', ')
        FROM pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) x
        WHERE x.grantee = 0 OR x.grantee IN (SELECT oid FROM me))
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE p.prosecdef AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
    AND EXISTS (SELECT FROM me WHERE pg_catalog.has_schema_privilege(me.oid, n.oid, 'USAGE')
        AND pg_catalog.has_function_privilege(me.oid, p.oid, 'EXECUTE'))
ORDER BY 1, 2"""
)


_SETTINGS = {
    "standard_conforming_strings": "on",  # a backslash in text is literal, as the parser takes it
    "backslash_quote": "safe_encoding",
    "transform_null_equals": "off",
    "array_nulls": "on",
    "DateStyle": "ISO, MDY",
    "IntervalStyle": "postgres",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    "xmloption": "content",
    "quote_all_identifiers": "off",
    "row_security": "on",
    "idle_in_transaction_session_timeout": "60000",
}
"""Parameters that a role, a database or a server may have set otherwise."""


class Postgresql:
    dialect: Dialect = "postgres"
    wall = "the rights of the role"

    def __init__(self, url: str, access: Access, limits: SqlLimits) -> None:
        self.place = without_password(url)
        try:
            self._options = conninfo.conninfo_to_dict(urlunsplit(urlsplit(url)._replace(scheme="postgresql")))
        except psycopg.ProgrammingError as error:
            raise ConfigurationError.of(DATABASE_URL_NOT_SUPPORTED, url=self.place, known=first_line(error)) from None
        self._access = access
        self._limits = limits

    def open(self, *, writes: bool) -> _PostgresSession:
        limits = self._limits
        options: dict[str, Any] = {
            "application_name": "tooltrue",
            **self._options,
            "connect_timeout": max(2, round(limits.connect_seconds)),
            "client_encoding": "UTF8",
        }
        db = psycopg.connect("", autocommit=True, cursor_factory=psycopg.RawCursor, **options)
        try:
            home = _set_parameters(db, limits)
            if (mighty := _mighty(db)) is not None and not self._access.mighty_roles:
                raise ToolError.of(DATABASE_ROLE_TOO_POWERFUL, role=mighty[0], why=mighty[1])
            return _PostgresSession(db, home, self._access, writes=writes)
        except BaseException:
            db.close()
            raise

    def tool_error(self, error: Exception) -> ToolError | None:
        return _tool_error(error) if isinstance(error, psycopg.Error) else None


_CODES: Mapping[str, str] = {
    "57014": SQL_TIMEOUT,  # cancelled: by its time limit, or by us
    "55P03": DATABASE_LOCKED,
    "40": DATABASE_LOCKED,
    "42501": DATABASE_PERMISSION_DENIED,
    "25006": DATABASE_PERMISSION_DENIED,
    "42P01": SQL_TABLES_CHANGED,
    "42703": SQL_TABLES_CHANGED,
    "0A000": SQL_TABLES_CHANGED,
    "23": CONSTRAINT_VIOLATION,
    "53": SQL_VALUE_TOO_LARGE,
    "54": SQL_VALUE_TOO_LARGE,
    "08": DATABASE_UNREACHABLE,
    "57P": DATABASE_UNREACHABLE,
    "28": DATABASE_UNREACHABLE,
    "3D": DATABASE_UNREACHABLE,
}
"""SQLSTATE, or a prefix of it → code of the error for the model"""


_NO_COLUMN = re.compile(r'column (?:"(.+?)"|(\S+)) (?:of relation ".+" |specified in USING clause )?does not exist')


def _tool_error(error: psycopg.Error) -> ToolError:
    state = error.sqlstate or ("08" if isinstance(error, psycopg.OperationalError) else "")
    code = next((code for start, code in _CODES.items() if state.startswith(start)), SQL_REJECTED_BY_DATABASE)
    by_hand = state == "P0001" or bool(error.diag.context)  # of a function: a trigger, a default, a check
    return of_columns(ToolError.of(code, problem=first_line(error), seconds="", by_hand=by_hand), _NO_COLUMN)


def _set_parameters(db: psycopg.Connection, limits: SqlLimits) -> str:
    """Set the parameters that change how text is read or a value is written, overriding the role and the database.
    Return the schema of names without one."""
    # By their full names, and first: a schema in the path of the role may have functions and operators of its own.
    row = db.execute("SELECT pg_catalog.current_schema(), pg_catalog.set_config('search_path', '', false)").fetchone()
    times = {"statement_timeout": limits.seconds, "lock_timeout": limits.lock_seconds}
    parameters = {**_SETTINGS, **{name: str(round(seconds * 1000)) for name, seconds in times.items()}}
    # Outside a transaction these hold for the session, which is as long as the call.
    calls = (f"set_config(${2 * number + 1}, ${2 * number + 2}, false)" for number in range(len(parameters)))
    db.execute(f"SELECT {', '.join(calls)}".encode(), [text for pair in parameters.items() for text in pair])
    return str(row[0]) if row and row[0] else "public"


def _mighty(db: psycopg.Connection) -> tuple[str, str] | None:
    """The role and the reason, if it has rights beyond the database."""
    role, why = db.execute(_ROLE).fetchone() or ("?", None)
    return None if why is None else (role, why)


class _PostgresSession:
    def __init__(self, db: psycopg.Connection, home: str, access: Access, *, writes: bool) -> None:
        self._db = db
        self._access = access
        self._writes = writes
        for type_info in db.adapters.types:
            if type_info.name not in _NATIVE_TYPES:
                db.adapters.register_loader(type_info.oid, TextLoader)
                db.adapters.register_loader(type_info.array_oid or type_info.oid, TextLoader)
        for type_info in db.adapters.types:
            if type_info.array_oid:
                db.adapters.register_loader(type_info.array_oid, TextLoader)
        self._home = home
        db.execute("BEGIN READ WRITE" if writes else "BEGIN READ ONLY")

    def catalog(self) -> SchemaCatalog:
        rows = self._db.execute(_TABLES).fetchall()
        types = [row[0] for row in self._db.execute(_ENUMS)]
        return SchemaCatalog((self._relation(*row) for row in rows), self._home, self._access, folds=True, types=types)

    def _relation(self, schema: str, name: str, kind: Any, rows: int | None) -> Relation:
        def columns() -> Iterator[tuple[str, str]]:
            return ((row[0], row[3] or "") for row in self._db.execute(_COLUMNS, (_quoted(schema, name),)))

        return with_hidden(Relation(schema, name, kind, rows), self._access, columns)

    def exposure(self) -> Exposure:
        role = str(self._value("SELECT current_user::text"))
        if (mighty := _mighty(self._db)) is not None:
            return Exposure(role, (f"all: it is {mighty[1]}",))
        if not self._access.hidden and not self._access.tables:
            return Exposure(role)
        catalog = self.catalog()
        columns = list(self._reachable(catalog))
        functions = list(self._run_as_others(catalog))
        reached = [f"{schema}.{table}.{column}" for schema, table, column, _ in columns]
        reached += [f"the function {function}, which runs with its owner's rights" for function, _ in functions]
        return Exposure(role, tuple(reached), tuple(self._revocations(catalog, role, columns, functions)))

    def _value(self, sql: str) -> Any:
        return (self._db.execute(sql.encode()).fetchone() or (None,))[0]

    def _reachable(self, catalog: SchemaCatalog) -> Iterator[tuple[str, str, str, bool]]:
        rights = ("SELECT, INSERT, UPDATE", "DELETE, TRUNCATE") if self._writes else ("SELECT", "")
        hides = {(r.schema, r.name): r.hides for r in catalog.relations}
        for schema, table, column, is_own in self._db.execute(_REACHED, rights).fetchall():
            hidden = hides.get((schema, table))
            if hidden is None or column in hidden:
                yield schema, table, column, is_own

    def _run_as_others(self, catalog: SchemaCatalog) -> Iterator[tuple[str, str]]:
        for schema, name, function, roles in self._db.execute(_RUN_AS_OTHERS).fetchall():
            if not catalog.functions & {name.lower(), f"{schema}.{name}".lower()}:
                yield function, roles

    def _revocations(
        self,
        catalog: SchemaCatalog,
        role: str,
        columns: Sequence[tuple[str, str, str, bool]],
        functions: Sequence[tuple[str, str]],
    ) -> Iterator[str]:
        if columns:
            yield from (f"REVOKE {_quoted(group)} FROM {_quoted(me)}" for group, me in self._db.execute(_READS_ALL))
        visible = {(r.schema, r.name): r for r in catalog.relations}
        for (schema, table), is_own in {(schema, table): own for schema, table, _, own in columns}.items():
            name = _quoted(schema, table)
            if is_own and self._writes:
                yield f"ALTER TABLE {name} OWNER TO CURRENT_USER"
            for oid, grantee in self._db.execute(_GRANTEES, (name,)).fetchall():
                yield f"REVOKE ALL ON TABLE {name} FROM {_quoted(grantee) if oid else 'PUBLIC'}"
            if (relation := visible.get((schema, table))) is not None and relation.shown_columns:
                open_ones = ", ".join(map(_quoted, relation.shown_columns))
                yield f"GRANT SELECT ({open_ones}) ON TABLE {name} TO {_quoted(role)}"
        yield from (f"REVOKE ALL ON FUNCTION {function} FROM {roles}" for function, roles in functions if roles)

    def describe(self, relation: Relation) -> TableDescription:
        whole = (_quoted(relation.schema, relation.name),)
        keys = [
            (kind, table, _names(here), _names(there)) for kind, table, here, there in self._db.execute(_KEYS, whole)
        ]
        return TableDescription(
            table=relation.name,
            kind=relation.kind,
            columns=[_column(*row) for row in self._db.execute(_COLUMNS, whole)],
            primary_key=[name for kind, _, names, _ in keys if kind == "p" for name in names],
            foreign_keys=[
                ForeignKey(columns=here, table=table, references=there)
                for kind, table, here, there in keys
                if kind == "f"
            ],
            indexes=list(_indexes(self._db.execute(_INDEXES, whole).fetchall())),
        )

    def run(self, statement: Statement, values: Mapping[str, Any], most: int) -> StatementOutcome:
        cursor = self._db.cursor()
        arguments = [values[name] for name in statement.names]
        text = text_with_parameters(statement, "${n}").encode()
        if statement.kind == "change":
            cursor.execute(text, arguments)
            columns = _columns(self._db, cursor)
            rows = cursor.fetchall() if columns else []
            return StatementOutcome(columns, iter(rows), cursor.rowcount if cursor.rowcount >= 0 else None)
        rows = cursor.stream(text, arguments)
        first = next(rows, None)  # until then there are no columns
        return StatementOutcome(_columns(self._db, cursor), _behind(first, rows))

    def check(self, change: Statement, values: Mapping[str, Any]) -> None:
        if change.is_of_rows:
            text = f"EXPLAIN {text_with_parameters(change, '${n}')}".encode()
            self._db.cursor().execute(text, [values[name] for name in change.names])

    def commit(self) -> None:
        self._db.execute("COMMIT")

    def interrupt(self) -> None:
        with suppress(psycopg.Error):
            self._db.cancel_safe(timeout=2.0)

    def close(self) -> None:
        with suppress(psycopg.Error):
            self._db.close()


def _behind(first: Sequence[Any] | None, rest: Iterator[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    if first is not None:
        yield first
        yield from rest


def _columns(db: psycopg.Connection, cursor: psycopg.Cursor[Any]) -> list[Column]:
    return [_column_of(db, column.name, column.type_code) for column in cursor.description or ()]


def _column_of(db: psycopg.Connection, name: str, oid: int) -> Column:
    type_info = db.adapters.types.get(oid)
    if type_info is None:
        return Column(name=name)
    return Column(name=name, type=type_info.name if type_info.oid == oid else f"{type_info.name}[]")


def _column(name: str, kind: str, nullable: bool, default: str | None, comment: str | None) -> TableColumn:
    column = TableColumn(name=name, type=kind, nullable=nullable)
    if default is not None:
        column["default"] = default
    if comment is not None:
        column["comment"] = comment
    return column


def _names(text: str | None) -> list[str]:
    return list(json.loads(text)) if text else []


def _indexes(rows: Sequence[Sequence[Any]]) -> Iterator[Index]:
    indexes: dict[str, Index] = {}
    for name, unique, column in rows:
        indexes.setdefault(name, Index(name=name, unique=unique, columns=[]))["columns"].append(column)
    yield from indexes.values()


def _quoted(*names: str) -> str:
    """A quoted name as the server reads it, for ``regclass``."""
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)
