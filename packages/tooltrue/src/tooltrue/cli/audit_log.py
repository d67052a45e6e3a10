"""Selection of an audit log, and display and parsing of its records."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tooltrue.app import Server
from tooltrue.cli.families import families_of
from tooltrue.cli.language import current_language
from tooltrue.cli.output import show_rows
from tooltrue.cli.printing import redrawn, tell, tell_data
from tooltrue.cli.targets import Spec, is_ours, load_server
from tooltrue.cli.wording import (
    AUDIT_LOG_NAMED_TWICE,
    AUDIT_LOG_NOT_FOUND,
    AUDIT_LOG_REQUIRED,
    HINT_OTHER_AUDIT_LOGS,
    TARGET_WITHOUT_AUDIT_LOG,
)
from tooltrue.contract.wording import FILE_UNREADABLE
from tooltrue.errors import ConfigurationError, ParseError, StateError
from tooltrue.jsonrpc.messages import decode, is_object
from tooltrue.policy.audit.log_queries import record_of
from tooltrue.state.log import Entry, Log
from tooltrue.state.log_index import LogIndex
from tooltrue.state.places import audit_file, audit_files, beside, signing_key_file, sqlite_url
from tooltrue.state.urls import open_log
from tooltrue.wording import Worded, names_or_none, sentence

__all__ = ["Which", "indexed", "key_file", "place_of", "records_in", "show", "with_log"]

T = TypeVar("T")


def with_log(place: str, use: Callable[[Log], Awaitable[T]]) -> T:
    """Run ``use`` with the log at this URL, and return its result. ConfigurationError if there is no log."""
    path = beside(place, "")
    if path and not Path(path).is_file():  # opening it would create it
        raise ConfigurationError.of(AUDIT_LOG_NOT_FOUND, what=path, known=_log_names())

    async def run() -> T:
        async with open_log(place) as log:
            return await use(log)

    return asyncio.run(run())


@contextlib.contextmanager
def indexed(log: Log, place: str) -> Generator[LogIndex | None]:
    """The index of the log at this URL; None unless the log is an SQLite file. A terminal shows a long build."""
    path, is_terminal = beside(place, ".index"), sys.stderr.isatty()

    def progress(position: int, end: int) -> None:
        redrawn(f"{path}: {position}/{end} …")

    try:
        yield LogIndex(log, path, record_of, progress if is_terminal else None) if path else None
    finally:
        if is_terminal:
            redrawn()


@dataclass(frozen=True)
class Which:
    """The selected log: that of a target, of a server by its name, or the one at a URL. At most one is given."""

    target: str | None = None
    server: str | None = None
    url: str | None = None

    def place(self, *, newest: bool = False) -> str:
        """The URL of the log. Without a selection: that of the only log, or with ``newest`` of the one written last,
        with a note on standard error. ConfigurationError otherwise."""
        options = [one for one in (self.target, self.server, self.url) if one is not None]
        if len(options) > 1:
            raise ConfigurationError.of(AUDIT_LOG_NAMED_TWICE)
        if self.target is not None:
            return _log_of(self.target)
        if self.server is not None:
            return place_of(self.server)
        return self.url or _only(newest=newest)


def place_of(server: str) -> str:
    """The URL of the default log of a server of this name."""
    return sqlite_url(audit_file(server))


def _only(*, newest: bool) -> str:
    paths = audit_files()
    if not paths or (len(paths) > 1 and not newest):
        raise ConfigurationError.of(AUDIT_LOG_REQUIRED, known=_log_names())
    if len(paths) == 1:
        return sqlite_url(paths[0])
    *others, last = sorted(paths, key=lambda path: asyncio.run(_last_record_time(path)))
    other_names = ", ".join(path.stem for path in reversed(others))
    tell(
        sentence(HINT_OTHER_AUDIT_LOGS, current_language(), {"log": last.stem, "others": other_names}),
        fg="yellow",
        err=True,
    )
    return sqlite_url(last)


async def _last_record_time(path: Path) -> str:
    """The time of the last record in a log. The file's own time is no substitute: reading a log may change it too."""
    with contextlib.suppress(ConfigurationError, StateError):
        async with open_log(sqlite_url(path)) as log:
            for entry in await log.read((await log.head()).position - 1, 1):
                return str(record_of(entry).get("at", ""))
    return ""


def _log_of(target: str) -> str:
    """The log of a tooltrue server, by its target: other servers keep no log here."""
    server = _server_of(target)
    audit = None if server is None else server.settings.audit
    if audit is None or not audit.is_kept or not isinstance(audit.to, str):
        raise ConfigurationError.of(TARGET_WITHOUT_AUDIT_LOG, target=target, known=_log_names())
    return audit.to


def _server_of(target: str) -> Server | None:
    if families_of(target):  # the name determines the log: its folders are not needed
        return Server("-".join(Spec(target).names))
    return load_server(Spec(target)) if is_ours(target) else None


def _log_names() -> str | Worded:
    return names_or_none(sorted(path.stem for path in audit_files()))


def key_file(path: str | None) -> Path:
    return Path(path) if path else signing_key_file()


def show(records: Iterable[Entry], as_json: bool) -> None:
    if as_json:
        for entry in records:
            tell_data(entry.text)
    else:
        show_rows([_row(entry) for entry in records])


def _row(entry: Entry) -> tuple[str, ...]:
    record = record_of(entry)
    if "count" in record:  # a summary of several operations
        return _columns(entry, record, f"{record['count']} {record.get('kind', '')}", "")
    outcome = " ".join(str(record[name]) for name in ("outcome", "code", "rule") if record.get(name))
    subject = f"{record.get('kind', '')} {record.get('subject', '')}".strip()
    arguments = json.dumps(record["arguments"], ensure_ascii=False) if record.get("arguments") else ""
    return _columns(entry, record, subject, outcome or "begins", arguments[:200])


def _columns(entry: Entry, record: dict[str, Any], *rest: str) -> tuple[str, ...]:
    cells = (str(entry.position), str(record.get("at", ""))[:19], str(record.get("who", "")), *rest)
    return (*cells, *[""] * (6 - len(cells)))


def records_in(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Read the output of `audit export` or `audit search --json`: each record with its line number; None for a line
    that is not a record. Blank lines are skipped. ConfigurationError if the file cannot be read."""
    try:
        with path.open("rb") as opened:
            for number, line in enumerate(opened, 1):
                if line.strip():
                    yield number, _record(line)
    except OSError as error:
        raise ConfigurationError.of(FILE_UNREADABLE, file=str(path), problem=error.strerror) from None


def _record(line: bytes) -> Mapping[str, Any] | None:
    try:
        data = decode(line)
    except ParseError:
        return None
    record = data["record"] if is_object(data) and is_object(data.get("record")) else data
    return record if is_object(record) and isinstance(record.get("kind"), str) else None
