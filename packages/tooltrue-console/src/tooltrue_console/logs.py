"""The audit logs that the pages read.

The index of a long log is built on a thread of its own. Until it is ready, a search reads a bounded part of the log at
a time, and the page shows how far the index is.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tooltrue.errors import ConfigurationError, StateError, TooltrueError
from tooltrue.policy.audit.log_queries import record_of
from tooltrue.state.log import Log
from tooltrue.state.log_index import LogIndex
from tooltrue.state.places import beside
from tooltrue.state.urls import open_log
from tooltrue.wording import names_or_none
from tooltrue_console.wording import CONSOLE_LOG_UNKNOWN

__all__ = ["Logs", "OpenedLog"]

_log = logging.getLogger("tooltrue.console")

_PATIENCE_SECONDS: Final = 0.5
_FRESH_SECONDS: Final = 5.0
"""For so long, an index is up to date: a search adds the few records that were written since by itself."""


@dataclass(frozen=True, slots=True)
class OpenedLog:
    """A log and its index. ``share`` is the part of the log that the index has, from 0 to 1, while it is built."""

    name: str
    log: Log
    index: LogIndex | None
    share: float | None


@dataclass
class _Build:
    """One run of the thread that brings the index of a log up to date."""

    share: float = 0.0
    ended_at: float = float("-inf")
    done: threading.Event = field(default_factory=threading.Event)

    def progress(self, position: int, end: int) -> None:
        self.share = position / max(end, 1)


class Logs:
    """The logs at the URLs that ``urls`` returns by name."""

    def __init__(self, urls: Callable[[], Mapping[str, str]], *, patience: float = _PATIENCE_SECONDS) -> None:
        self._urls = urls
        self._patience = patience
        self._builds: dict[str, _Build] = {}

    def names(self) -> list[str]:
        return sorted(self._urls())

    def url(self, name: str) -> str:
        """The URL of a log. ``ConfigurationError`` if there is none of this name, or its file is gone."""
        urls = self._urls()
        url = urls.get(name)
        if url is None or not _is_there(url):
            known = sorted(name for name, url in urls.items() if _is_there(url))
            raise ConfigurationError.of(CONSOLE_LOG_UNKNOWN, name=name[:80], known=names_or_none(known))
        return url

    async def newest(self) -> str | None:
        """The name of the log that was written last; ``None`` if there is no log."""
        times = {name: await self.last_time(name) for name in self.names()}
        return max(times, key=lambda name: (times[name], name), default=None)

    async def last_time(self, name: str) -> str:
        """The time of the last record of a log; empty if it has none, or cannot be read."""
        return str((await self._last(name)).get("at", ""))

    async def _last(self, name: str) -> Mapping[str, Any]:
        try:
            async with open_log(self.url(name)) as log:
                for entry in await log.read((await log.head()).position - 1, 1):
                    return record_of(entry)
        except (ConfigurationError, StateError):  # the page of this log tells it
            pass
        return {}

    @asynccontextmanager
    async def open(self, name: str) -> AsyncGenerator[OpenedLog]:
        """Open a log, with its index if that is ready soon."""
        url = self.url(name)
        build = await self._indexed(url)
        async with open_log(url) as log:
            is_ready = build is not None and build.done.is_set()
            index = LogIndex(log, beside(url, ".index"), record_of) if is_ready else None
            yield OpenedLog(name, log, index, None if build is None or is_ready else build.share)

    async def _indexed(self, url: str) -> _Build | None:
        """Have the index brought up to date; ``None`` for a log that has none."""
        if not beside(url, ""):
            return None
        build = self._builds.get(url)
        is_over = build is not None and build.done.is_set() and build.ended_at + _FRESH_SECONDS < time.monotonic()
        if build is None or is_over:
            build = self._builds[url] = _Build()
            threading.Thread(target=_build, args=(url, build), daemon=True).start()
        await asyncio.to_thread(build.done.wait, self._patience)
        return build


def _is_there(url: str) -> bool:
    """Whether a log can be opened. Opening a file that is gone would create it."""
    path = beside(url, "")
    return not path or Path(path).is_file()


def _build(url: str, build: _Build) -> None:
    async def run() -> None:
        async with open_log(url) as log:
            await LogIndex(log, beside(url, ".index"), record_of, build.progress).unfinished()

    try:
        asyncio.run(run())
    except TooltrueError as error:  # the page meets it too
        _log.warning("the index of a log is not built: %s", error)
    else:
        build.ended_at = time.monotonic()
    finally:
        build.done.set()
