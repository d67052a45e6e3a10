"""Which URL opens what. Only what reads settings imports this; it pays for every backend.

``memory:``           this process alone
``sqlite:///a/b.db``  an absolute path
``sqlite:a/b.db``     a path from the working directory, or from home with ``~/``
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, unquote, urlsplit

from toolwright.errors import ConfigurationError
from toolwright.state.facts import Facts, MemoryFacts
from toolwright.state.log import Log, MemoryLog
from toolwright.state.places import without_password
from toolwright.state.sqlite import SqliteFacts, SqliteLog

__all__ = ["open_facts", "open_log"]

T = TypeVar("T")

Opener = Callable[[SplitResult], AbstractAsyncContextManager[T] | None]
"""What the URL says, not opened yet; None when it says more, or less, than this scheme knows."""

FORMS = {"memory": "memory:", "sqlite": "sqlite:///path"}


def open_facts(url: str) -> AbstractAsyncContextManager[Facts]:
    """The facts at ``url``, open while its ``async with`` runs. ConfigurationError when no row knows the URL."""
    return _find(FACTS, url)


def open_log(url: str) -> AbstractAsyncContextManager[Log]:
    """The log at ``url``, open while its ``async with`` runs. ConfigurationError when no row knows the URL."""
    return _find(LOGS, url)


def _find(table: Mapping[str, Opener[T]], url: str) -> AbstractAsyncContextManager[T]:
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _unknown(table, url) from None
    opener = table.get(parts.scheme)
    opened = opener(parts) if opener and not (parts.netloc or parts.query or parts.fragment) else None
    if opened is None:
        raise _unknown(table, url)
    return opened


def _unknown(table: Mapping[str, Opener[T]], url: str) -> ConfigurationError:
    return ConfigurationError.of(
        "TW7001", url=without_password(url), supported=", ".join(FORMS[scheme] for scheme in table)
    )


def _memory_facts(parts: SplitResult) -> MemoryFacts | None:
    return None if parts.path else MemoryFacts()


def _memory_log(parts: SplitResult) -> MemoryLog | None:
    return None if parts.path else MemoryLog()


def _sqlite_facts(parts: SplitResult) -> SqliteFacts | None:
    return SqliteFacts(_file(parts)) if parts.path else None


def _sqlite_log(parts: SplitResult) -> SqliteLog | None:
    return SqliteLog(_file(parts)) if parts.path else None


def _file(parts: SplitResult) -> Path:
    return Path(unquote(parts.path)).expanduser()


FACTS: Mapping[str, Opener[Facts]] = {"memory": _memory_facts, "sqlite": _sqlite_facts}
LOGS: Mapping[str, Opener[Log]] = {"memory": _memory_log, "sqlite": _sqlite_log}
