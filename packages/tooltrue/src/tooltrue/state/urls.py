"""The store for each URL. Only code that reads settings imports this; a backend's package is loaded for its URL.

``memory:``           this process alone
``sqlite:///a/b.db``  an absolute path; ``sqlite:///C:/a/b.db`` on Windows
``sqlite:a/b.db``     a path from the working directory, or from home with ``~/``
``postgresql://…``    a log, for any machine: as psycopg accepts it, ``postgresql://user:password@host:port/database``
``redis://host/0``    facts on Redis (``rediss``: with TLS) or Valkey (``valkey``, ``valkeys``), for any machine
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from tooltrue._internal.platform.file_urls import path_from_url
from tooltrue.errors import ConfigurationError
from tooltrue.extras import required
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.state.log import Log, MemoryLog
from tooltrue.state.places import without_password
from tooltrue.state.sqlite import SqliteFacts, SqliteLog
from tooltrue.state.wording import STATE_PACKAGE_MISSING, STATE_URL_NOT_SUPPORTED

__all__ = ["is_across_machines", "open_facts", "open_log"]

T = TypeVar("T")

Opener = Callable[[SplitResult], AbstractAsyncContextManager[T] | None]
"""Creates the store for a URL, not opened yet; None if the URL has unknown or missing parts for its scheme."""

FORMS = {
    "memory": "memory:",
    "sqlite": "sqlite:///path",
    "postgresql": "postgresql://host/database",
    "redis": "redis://host:port/db",
}
ACROSS_MACHINES = ("redis", "rediss", "valkey", "valkeys")


def open_facts(url: str) -> AbstractAsyncContextManager[Facts]:
    """The facts at ``url``, open while its ``async with`` runs. Raises ConfigurationError for an unknown URL."""
    return _find(FACTS, url)


def open_log(url: str) -> AbstractAsyncContextManager[Log]:
    """The log at ``url``, open while its ``async with`` runs. Raises ConfigurationError for an unknown URL."""
    return _find(LOGS, url)


def is_across_machines(url: str) -> bool:
    """Whether servers on several machines may share the store at ``url``."""
    return url.partition(":")[0] in ACROSS_MACHINES


def _find(table: Mapping[str, Opener[T]], url: str) -> AbstractAsyncContextManager[T]:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _unknown(table, url) from None
    opener = table.get(parts.scheme)
    opened = opener(parts) if opener else None
    if opened is None:
        raise _unknown(table, url)
    return opened


def _unknown(table: Mapping[str, Opener[T]], url: str) -> ConfigurationError:
    supported = ", ".join(FORMS[scheme] for scheme in table if scheme in FORMS)
    return ConfigurationError.of(STATE_URL_NOT_SUPPORTED, url=without_password(url), supported=supported)


def _memory_facts(parts: SplitResult) -> MemoryFacts | None:
    return MemoryFacts() if _is_local(parts) and not parts.path else None


def _memory_log(parts: SplitResult) -> MemoryLog | None:
    return MemoryLog() if _is_local(parts) and not parts.path else None


def _sqlite_facts(parts: SplitResult) -> SqliteFacts | None:
    return SqliteFacts(_file(parts)) if _is_local(parts) and parts.path else None


def _sqlite_log(parts: SplitResult) -> SqliteLog | None:
    return SqliteLog(_file(parts)) if _is_local(parts) and parts.path else None


def _is_local(parts: SplitResult) -> bool:
    return not (parts.netloc or parts.query or parts.fragment)


def _file(parts: SplitResult) -> Path:
    return path_from_url(parts.path)


def _redis_facts(parts: SplitResult) -> AbstractAsyncContextManager[Facts] | None:
    with required("redis", "redis", partial(_no_package, parts, "redis", "redis")):
        from tooltrue.state.redis import RedisFacts  # noqa: PLC0415 - Redis comes with an extra
    return RedisFacts.at(parts)


def _postgres_log(parts: SplitResult) -> AbstractAsyncContextManager[Log]:
    with required("psycopg", "postgres", partial(_no_package, parts, "postgres", "psycopg")):
        from tooltrue.state.postgres import PostgresLog  # noqa: PLC0415 - PostgreSQL comes with an extra
    return PostgresLog(parts.geturl())


def _no_package(parts: SplitResult, extra: str, package: str, command: str) -> ConfigurationError:
    return ConfigurationError.of(
        STATE_PACKAGE_MISSING, scheme=parts.scheme, package=package, extra=extra, command=command
    )


FACTS: Mapping[str, Opener[Facts]] = {
    "memory": _memory_facts,
    "sqlite": _sqlite_facts,
    **dict.fromkeys(ACROSS_MACHINES, _redis_facts),
}
LOGS: Mapping[str, Opener[Log]] = {"memory": _memory_log, "sqlite": _sqlite_log, "postgresql": _postgres_log}
