"""The interface of an engine, and the URLs that lead to one. Each engine is a file, and owns its package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from tooltrue._internal.platform.file_urls import exact_path_from_url
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.extras import required
from tooltrue.state.places import without_password
from tooltrue.wording import REASON_FILE_NOT_FOUND, Worded, names_or_none
from tooltrue_toolbox.distribution import DISTRIBUTION
from tooltrue_toolbox.sql.access import Access
from tooltrue_toolbox.sql.catalog import Dialect, Relation, SchemaCatalog
from tooltrue_toolbox.sql.exposure import Exposure
from tooltrue_toolbox.sql.statement import Statement
from tooltrue_toolbox.sql.values import Column, SqlLimits, TableDescription
from tooltrue_toolbox.sql.wording import (
    DATABASE_NOT_SERVABLE,
    DATABASE_PACKAGE_MISSING,
    DATABASE_URL_NOT_SUPPORTED,
    UNKNOWN_COLUMN,
)

__all__ = ["Engine", "EngineSession", "StatementOutcome", "engine_of", "file_of", "first_line", "of_columns"]


@dataclass(frozen=True, slots=True)
class StatementOutcome:
    """The outcome of a statement: ``rows`` are fetched from the engine on iteration. ``affected`` is the number of
    changed rows, if known."""

    columns: Sequence[Column]
    rows: Iterator[Sequence[Any]]
    affected: int | None = None


class EngineSession(Protocol):
    """One connection, in one transaction, for one call. All but :meth:`interrupt` on the thread that opened it."""

    def catalog(self) -> SchemaCatalog: ...

    def exposure(self) -> Exposure:
        """Hidden data that the role can reach. Empty, where the engine has a guard of its own for that."""
        ...

    def describe(self, relation: Relation) -> TableDescription:
        """The full description, hidden columns included."""
        ...

    def run(self, statement: Statement, values: Mapping[str, Any], most: int) -> StatementOutcome:
        """Run the statement. ``most``: the maximum number of rows that the caller will take."""
        ...

    def check(self, change: Statement, values: Mapping[str, Any]) -> None:
        """Have the engine plan a change without making it: raise the engine's error where the change cannot be made. An
        engine that does not plan such a change, such as ``CREATE TABLE`` in PostgreSQL and MySQL, reports no error."""
        ...

    def commit(self) -> None: ...

    def interrupt(self) -> None:
        """Cancel the running statement, if any. Thread-safe."""
        ...

    def close(self) -> None:
        """Roll back uncommitted changes and close the connection."""
        ...


class Engine(Protocol):
    dialect: Dialect
    place: str
    """The location of the database, without secrets."""
    wall: str
    """A description of the engine's own protection of hidden data."""

    def open(self, *, writes: bool) -> EngineSession:
        """Open a session. ``ToolError`` where that is not possible now."""
        ...

    def tool_error(self, error: Exception) -> ToolError | None:
        """The error for the model for an exception of the engine's package; ``None`` for any other exception."""
        ...


Maker: TypeAlias = Callable[[str, Access, SqlLimits], Engine]


def _sqlite() -> Maker:
    from tooltrue_toolbox.sql.sqlite import Sqlite  # noqa: PLC0415 - one engine is used, and may need an extra

    return Sqlite


def _duckdb() -> Maker:
    from tooltrue_toolbox.sql.duck import Duck  # noqa: PLC0415 - one engine is used, and may need an extra

    return Duck


def _postgresql() -> Maker:
    from tooltrue_toolbox.sql.postgresql import Postgresql  # noqa: PLC0415 - one engine is used, and may need an extra

    return Postgresql


def _mysql() -> Maker:
    from tooltrue_toolbox.sql.mysql import Mysql  # noqa: PLC0415 - one engine is used, and may need an extra

    return Mysql


_ENGINES: Mapping[str, tuple[Callable[[], Maker], str, str]] = {
    "sqlite": (_sqlite, "sqlite3", "sql"),
    "duckdb": (_duckdb, "duckdb", "sql"),
    "postgresql": (_postgresql, "psycopg", "sql,postgres"),
    "postgres": (_postgresql, "psycopg", "sql,postgres"),
    "mysql": (_mysql, "pymysql", "sql,mysql"),
    "mariadb": (_mysql, "pymysql", "sql,mysql"),
}
"""scheme → a function that imports the class, the package that it needs, and the extras that bring it"""


def file_of(url: str) -> Path:
    """The file of a file database. ``ConfigurationError`` where the URL does not name a file, or the file does not
    exist."""
    parts = urlsplit(url)
    path = parts.path.removeprefix("/")
    if parts.netloc or parts.query or not path:
        forms = f"{parts.scheme}:///FILE, {parts.scheme}:////absolute/FILE"
        raise ConfigurationError.of(DATABASE_URL_NOT_SUPPORTED, url=url, known=forms)
    file = exact_path_from_url(path)
    if not file.is_file():
        raise ConfigurationError.of(DATABASE_NOT_SERVABLE, url=url, problem=Worded(REASON_FILE_NOT_FOUND, {}))
    return file


def engine_of(url: str, access: Access, limits: SqlLimits) -> Engine:
    """The engine that a URL names. ``ConfigurationError`` for an unknown scheme, or one whose package is missing."""
    scheme = urlsplit(url).scheme
    if scheme not in _ENGINES:
        raise ConfigurationError.of(DATABASE_URL_NOT_SUPPORTED, url=without_password(url), known=", ".join(_ENGINES))
    load, package, extra = _ENGINES[scheme]

    def fail(command: str) -> ConfigurationError:
        return ConfigurationError.of(
            DATABASE_PACKAGE_MISSING, scheme=scheme, package=package, extra=extra, command=command
        )

    with required(package, extra, fail, DISTRIBUTION):
        make = load()
    return make(url, access, limits)


def of_columns(error: ToolError, pattern: re.Pattern[str]) -> ToolError:
    """The error, or one that names the column, where ``pattern`` finds a missing column in its ``problem``."""
    match = pattern.match(str(error.facts["problem"]))
    if match is None:
        return error
    return ToolError.of(
        UNKNOWN_COLUMN, name=next(name for name in match.groups() if name is not None)[:80], near=names_or_none(())
    )


def first_line(error: Exception) -> str:
    """The first line of an engine's message, shortened: its other lines repeat the statement."""
    return str(error).strip().partition("\n")[0][:300].rstrip(". ")
