"""DuckDB by file, isolated from all other files. Owner of duckdb here, which is in the extra ``sql``.

``duckdb:///sales.duckdb`` is below the working folder, ``duckdb:////srv/sales.duckdb`` is absolute. A read-only
database could still read every file of the machine; so external access is off, and the configuration locked, before any
statement.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import duckdb

from tooltrue.errors import ToolError
from tooltrue.wording import Worded
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.catalog import Dialect, Relation, SchemaCatalog, with_hidden
from tooltrue_toolbox.sql.duck_plan import check_plan
from tooltrue_toolbox.sql.duck_tree import check_query
from tooltrue_toolbox.sql.engine import StatementOutcome, file_of, first_line, of_columns
from tooltrue_toolbox.sql.exposure import Exposure
from tooltrue_toolbox.sql.statement import Statement, text_with_parameters
from tooltrue_toolbox.sql.values import Column, ForeignKey, Index, SqlLimits, TableColumn, TableDescription
from tooltrue_toolbox.sql.wording import (
    CONSTRAINT_VIOLATION,
    DATABASE_LOCKED,
    DATABASE_PERMISSION_DENIED,
    DUCKDB_PLAN_REACHES_HIDDEN_TABLES,
    REASON_FILE_OPEN_ELSEWHERE,
    SQL_MULTIPLE_STATEMENTS,
    SQL_NOT_REPRODUCIBLE,
    SQL_REJECTED_BY_DATABASE,
    SQL_TABLES_CHANGED,
    SQL_TIMEOUT,
    SQL_VALUE_TOO_LARGE,
)

__all__ = ["Duck"]

_TABLES = """\
SELECT schema_name, table_name, 'table', estimated_size FROM duckdb_tables() WHERE NOT internal
    AND database_name = current_database()
UNION ALL SELECT schema_name, view_name, 'view', NULL FROM duckdb_views() WHERE NOT internal
    AND database_name = current_database()"""
_COLUMNS = """\
SELECT column_name, data_type, is_nullable, column_default, comment FROM duckdb_columns()
WHERE schema_name = ? AND table_name = ? AND database_name = current_database() ORDER BY column_index"""
_KEYS = """\
SELECT constraint_type, constraint_column_names, referenced_table, referenced_column_names FROM duckdb_constraints()
WHERE schema_name = ? AND table_name = ? AND constraint_type IN ('PRIMARY KEY', 'FOREIGN KEY')"""
_INDEXES = """\
SELECT index_name, is_unique, expressions FROM duckdb_indexes() WHERE schema_name = ? AND table_name = ?
ORDER BY index_name"""

_MACROS = "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE NOT internal"
_PLANS = ("EXPLAIN ANALYZE ", "EXPLAIN ")

_AGAIN = 0.02
_EXACT = frozenset(
    (
        *(
            "BOOLEAN",
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "HUGEINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
        ),
        *("UHUGEINT", "FLOAT", "DOUBLE", "VARCHAR", "BLOB"),
    )
)
"""Types that come as Python values; all others come as DuckDB's text, which is lossless."""


class Duck:
    dialect: Dialect = "duckdb"
    wall = "DuckDB's own reading of queries and plans of changes"

    def __init__(self, url: str, access: Access, limits: SqlLimits) -> None:
        self.place = url
        self._file = file_of(url)
        self._access = access
        self._limits = limits

    def open(self, *, writes: bool) -> _DuckSession:
        config: dict[str, str | bool | int | float | list[str]] = {
            "enable_external_access": "false",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "allow_community_extensions": "false",
            "allow_unsigned_extensions": "false",
            "python_enable_replacements": "false",
            "memory_limit": f"{self._limits.memory_bytes >> 20}MiB",
            "temp_directory": "",
            "threads": 2,
            "lock_configuration": "true",
        }
        until = time.monotonic() + self._limits.lock_seconds
        while True:
            try:
                return _DuckSession(duckdb.connect(str(self._file), read_only=not writes, config=config), self._access)
            except (duckdb.ConnectionException, duckdb.IOException) as error:
                if not _is_taken(error) or time.monotonic() > until:
                    raise
            time.sleep(_AGAIN)

    def tool_error(self, error: Exception) -> ToolError | None:
        return _tool_error(error) if isinstance(error, duckdb.Error) else None


def _is_taken(error: duckdb.Error) -> bool:
    """Whether another process has the file, or another call of this process has it open in an incompatible mode."""
    return any(part in str(error) for part in ("lock", "different configuration", *_TAKEN_ON_WINDOWS))


_TAKEN_ON_WINDOWS = ("already open in", "being used by another process")


_NO_COLUMN = re.compile(
    r'Binder Error: (?:Referenced (?:update )?column "?(.+?)"? not found|'
    r'(?:Table|Values list) ".+" does not have a column (?:named|with name) "(.+)"|Column "(.+)" does not exist)'
)


def _tool_error(error: duckdb.Error) -> ToolError:
    problem = first_line(error)
    match error:
        case duckdb.InterruptException():
            return ToolError.of(SQL_TIMEOUT, seconds="")
        case duckdb.OutOfMemoryException():
            return ToolError.of(SQL_VALUE_TOO_LARGE, problem=problem)
        case duckdb.PermissionException():
            return ToolError.of(DATABASE_PERMISSION_DENIED, problem=problem)
        case duckdb.ConstraintException():
            return ToolError.of(CONSTRAINT_VIOLATION, problem=problem)
        case duckdb.CatalogException():
            return ToolError.of(SQL_TABLES_CHANGED, problem=problem)
        case duckdb.TransactionException():
            return ToolError.of(DATABASE_LOCKED, problem=problem)
        case duckdb.IOException() | duckdb.ConnectionException() if _is_taken(error):
            return ToolError.of(DATABASE_LOCKED, problem=Worded(REASON_FILE_OPEN_ELSEWHERE, {}))
        case _:
            code = DATABASE_PERMISSION_DENIED if "read-only" in problem else SQL_REJECTED_BY_DATABASE
            return of_columns(ToolError.of(code, problem=problem), _NO_COLUMN)


class _DuckSession:
    def __init__(self, db: duckdb.DuckDBPyConnection, access: Access) -> None:
        self._db = db
        self._access = access
        self._known_macros: frozenset[str] | None = None
        db.execute("BEGIN TRANSACTION")

    def _all(self, sql: str, *values: Any) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def catalog(self) -> SchemaCatalog:
        return SchemaCatalog((self._relation(*row) for row in self._all(_TABLES)), "main", self._access)

    def _relation(self, schema: str, name: str, kind: Any, rows: int | None) -> Relation:
        def columns() -> Iterator[tuple[str, str]]:
            return ((row[0], row[3] or "") for row in self._all(_COLUMNS, schema, name))

        return with_hidden(Relation(schema, name, kind, rows), self._access, columns)

    def exposure(self) -> Exposure:
        return Exposure("")

    def describe(self, relation: Relation) -> TableDescription:
        whole = (relation.schema, relation.name)
        keys = self._all(_KEYS, *whole)
        return TableDescription(
            table=relation.name,
            kind=relation.kind,
            columns=[_column(*row) for row in self._all(_COLUMNS, *whole)],
            primary_key=[name for kind, names, _, _ in keys if kind == "PRIMARY KEY" for name in names],
            foreign_keys=[
                ForeignKey(columns=list(here), table=table, references=list(there))
                for kind, here, table, there in keys
                if kind == "FOREIGN KEY"
            ],
            indexes=[
                Index(
                    name=name,
                    unique=unique,
                    columns=[part.strip(" '\"") for part in expressions.strip("[]").split(",")],
                )
                for name, unique, expressions in self._all(_INDEXES, *whole)
            ],
        )

    def run(self, statement: Statement, values: Mapping[str, Any], most: int) -> StatementOutcome:
        arguments = {name: values[name] for name in statement.names}
        text = text_with_parameters(statement, "${name}")
        if statement.kind == "query":
            return self._query(text, arguments, most)
        if statement.kind == "plan":
            self._check_tree(next(text.removeprefix(start) for start in _PLANS if text.startswith(start)))
        executable = self._one(text, _statement_type(statement))
        if statement.kind == "change":
            self._check_change(statement, arguments)
        rows = self._db.execute(executable, arguments).fetchall()
        columns = [Column(name=str(column[0]), type=str(column[1])) for column in self._db.description or ()]
        if statement.kind == "plan":
            return StatementOutcome(columns, iter(rows))
        if statement.returns:
            return StatementOutcome(columns, iter(rows), len(rows))
        is_counted = [column["name"] for column in columns] == ["Count"]
        return StatementOutcome([], iter(()), int(rows[0][0]) if is_counted and rows else None)

    def check(self, change: Statement, values: Mapping[str, Any]) -> None:
        self._one(text_with_parameters(change, "${name}"), _statement_type(change))
        plan = self._plan(change)  # EXPLAIN of a change is refused where the file is open for reading
        problem = f"{str(plan.get('error_type', '')).title()} Error: {plan.get('error_message', '')}".partition("\n")[0]
        if _NO_COLUMN.match(problem) or (problem.startswith(("Binder", "Catalog")) and not change.names):
            raise of_columns(ToolError.of(SQL_REJECTED_BY_DATABASE, problem=problem), _NO_COLUMN)

    def _query(self, text: str, arguments: Mapping[str, Any], most: int) -> StatementOutcome:
        """Run a query. Its types are determined first, so that values that Python would round come as text."""
        self._one(text, duckdb.StatementType.SELECT)
        self._check_tree(text)
        described = self._one(f"DESCRIBE {text}", duckdb.StatementType.SELECT)
        types = [(str(row[0]), str(row[1])) for row in self._db.execute(described, arguments).fetchall()]
        names = [f"c{number}" for number in range(len(types))]
        select_list = ", ".join(
            name if kind in _EXACT else f"CAST({name} AS VARCHAR)" for name, (_, kind) in zip(names, types, strict=True)
        )
        whole = f"SELECT {select_list} FROM ({text}) AS q({', '.join(names)}) LIMIT {most}"
        self._check_tree(whole)
        self._db.execute(self._one(whole, duckdb.StatementType.SELECT), arguments)
        return StatementOutcome([Column(name=name, type=kind) for name, kind in types], _rows_in_batches(self._db))

    def _one(self, text: str, kind: duckdb.StatementType) -> duckdb.Statement:
        """The only statement that DuckDB's own parser finds in ``text``: ``execute`` would run several."""
        statements = self._db.extract_statements(text)
        if len(statements) != 1:
            raise ToolError.of(SQL_MULTIPLE_STATEMENTS, count=len(statements))
        try:
            is_of_kind = statements[0].type == kind
        except ValueError:  # a kind that its Python package cannot name
            is_of_kind = False
        if not is_of_kind:
            raise ToolError.of(SQL_NOT_REPRODUCIBLE)
        return statements[0]

    def _check_tree(self, query: str) -> None:
        """Check the tree that DuckDB's own parser makes of a query."""
        tree = json.loads(self._all("SELECT json_serialize_sql(?)", query)[0][0])
        if tree.get("error") or len(tree["statements"]) != 1:
            raise ToolError.of(SQL_NOT_REPRODUCIBLE)
        check_query(tree, self.catalog(), self._macros())

    def _check_change(self, statement: Statement, arguments: Mapping[str, Any]) -> None:
        """Check the plan that DuckDB makes of a change, if anything is hidden."""
        if not self._access.hidden and not self._access.tables:
            return
        plan = self._plan(statement)
        if plan.get("error") or len(plan["plans"]) != 1:
            self._db.execute(
                f"EXPLAIN {text_with_parameters(statement, '${name}')}", arguments
            )  # reports an error in the text itself
            raise ToolError.of(DUCKDB_PLAN_REACHES_HIDDEN_TABLES)
        check_plan(plan["plans"], self.catalog(), self._macros(), self._all("SELECT current_database()")[0][0])

    def _plan(self, statement: Statement) -> dict[str, Any]:
        """The plan of a change, or its error. DuckDB cannot plan parameters of unknown type: NULL stands in for
        each."""
        return json.loads(self._all("SELECT json_serialize_plan(?)", text_with_parameters(statement, " NULL "))[0][0])

    def _macros(self) -> frozenset[str]:
        """The macros of the database, cached: DuckDB lists all its functions for them, which takes longer than most
        queries, and no statement can create one."""
        if self._known_macros is None:
            self._known_macros = frozenset(row[0] for row in self._all(_MACROS))
        return self._known_macros

    def commit(self) -> None:
        self._db.execute("COMMIT")

    def interrupt(self) -> None:
        with suppress(duckdb.Error):
            self._db.interrupt()

    def close(self) -> None:
        self._db.close()


_KINDS = {"TRUNCATE": "DELETE", "MERGE": "MERGE_INTO"}


def _statement_type(statement: Statement) -> duckdb.StatementType:
    """The type of statement that DuckDB's parser must find for a plan or a change."""
    verb = statement.verb.partition(" ")[0]
    return getattr(duckdb.StatementType, _KINDS.get(verb, verb))


def _rows_in_batches(db: duckdb.DuckDBPyConnection) -> Iterator[Sequence[Any]]:
    while rows := db.fetchmany(1000):
        yield from rows


def _column(name: str, kind: str, nullable: bool, default: str | None, comment: str | None) -> TableColumn:
    column = TableColumn(name=name, type=kind, nullable=nullable)
    if default is not None:
        column["default"] = default
    if comment is not None:
        column["comment"] = comment
    return column
