"""What an engine has to be able to do, and the URLs that lead to one. Each engine is a file, and owns its package."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from toolwright.errors import ConfigurationError, ToolError
from toolwright.loading import load
from toolwright.state.places import without_password
from toolwright.toolbox.sql.access import Access
from toolwright.toolbox.sql.catalog import Catalog, Dialect, Relation
from toolwright.toolbox.sql.exposure import Exposure
from toolwright.toolbox.sql.statement import Statement
from toolwright.toolbox.sql.values import Column, SqlLimits, TableDescription

__all__ = ["Engine", "Outcome", "Session", "engine_of", "file_of", "first_line", "of_columns"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a statement gave: ``rows`` come from the engine as they are taken. ``affected`` is known once they are."""

    columns: Sequence[Column]
    rows: Iterator[Sequence[Any]]
    affected: int | None = None


class Session(Protocol):
    """One connection, in one transaction, for one call. All but :meth:`interrupt` on the thread that opened it."""

    def catalog(self) -> Catalog: ...

    def exposure(self) -> Exposure:
        """What the role reaches though it is hidden. Nothing, where the engine has a guard of its own for that."""
        ...

    def describe(self, relation: Relation) -> TableDescription:
        """All of it, what is hidden too."""
        ...

    def run(self, statement: Statement, values: Mapping[str, Any], most: int) -> Outcome:
        """``most``: rows that anybody will take."""
        ...

    def check(self, change: Statement, values: Mapping[str, Any]) -> None:
        """Have the engine plan a change without making it: its error where the change cannot be made. Of a change that
        the engine makes no plan of, such as ``CREATE TABLE`` in PostgreSQL and MySQL, nothing is found out."""
        ...

    def commit(self) -> None: ...

    def interrupt(self) -> None:
        """Ends what runs, from any thread; nothing where nothing does."""
        ...

    def close(self) -> None:
        """Undoes what was not committed."""
        ...


class Engine(Protocol):
    dialect: Dialect
    place: str
    """Where the database is, as it may be shown."""
    wall: str
    """The engine's own wall before what is hidden, in words."""

    def open(self, *, writes: bool) -> Session:
        """A session. ``ToolError`` where there is none to be had now."""
        ...

    def worded(self, error: Exception) -> ToolError | None:
        """What an exception of the engine's package means to the model; ``None`` for one that is not its."""
        ...


_ENGINES: Mapping[str, tuple[str, str, str]] = {
    "sqlite": ("sqlite:Sqlite", "sqlite3", "sql"),
    "duckdb": ("duck:Duck", "duckdb", "sql"),
    "postgresql": ("postgresql:Postgresql", "psycopg", "sql,postgres"),
    "postgres": ("postgresql:Postgresql", "psycopg", "sql,postgres"),
    "mysql": ("mysql:Mysql", "pymysql", "sql,mysql"),
    "mariadb": ("mysql:Mysql", "pymysql", "sql,mysql"),
}
"""scheme → the class, the package that it needs, and the extras that bring it"""


def file_of(url: str) -> Path:
    """The file of a database that is one. ``ConfigurationError`` where the URL is none, or the file is not there."""
    parts = urlsplit(url)
    path = parts.path.removeprefix("/")
    if parts.netloc or parts.query or not path:
        known = f"{parts.scheme}:///FILE, {parts.scheme}:////absolute/FILE"
        raise ConfigurationError.of("TW6201", url=url, known=known)
    file = Path(unquote(path))
    if not file.is_file():
        raise ConfigurationError.of("TW6202", url=url, problem="there is no such file")
    return file


def engine_of(url: str, access: Access, limits: SqlLimits) -> Engine:
    """The engine that a URL names. ``ConfigurationError`` for one that there is not, or whose package is missing."""
    scheme = urlsplit(url).scheme
    if scheme not in _ENGINES:
        raise ConfigurationError.of("TW6201", url=without_password(url), known=", ".join(_ENGINES))
    place, package, extra = _ENGINES[scheme]
    try:
        make = load(f"toolbox.sql.{place}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        command = load("extras:install_command")(extra)
        raise ConfigurationError.of("TW6200", scheme=scheme, package=package, extra=extra, command=command) from None
    return make(url, access, limits)


def of_columns(error: ToolError, pattern: re.Pattern[str]) -> ToolError:
    """The error, or that which names the column, where ``pattern`` finds in its ``problem`` that there is none."""
    found = pattern.match(str(error.facts["problem"]))
    if found is None:
        return error
    return ToolError.of("TW6241", name=next(name for name in found.groups() if name is not None)[:80], near="(none)")


def first_line(error: Exception) -> str:
    """What an engine says: its first line, since others repeat the statement, and no more of it than helps."""
    return str(error).strip().partition("\n")[0][:300].rstrip(". ")
