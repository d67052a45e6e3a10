"""Which log the command is about, and how its records are shown and read back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from toolwright.cli.output import show_rows
from toolwright.cli.printing import tell_data
from toolwright.errors import ConfigurationError, ParseError
from toolwright.jsonrpc.messages import decode, is_object
from toolwright.policy.audit_reading import record_of
from toolwright.state.log import Entry, Log
from toolwright.state.places import audit_file, beside, state_folder
from toolwright.state.urls import open_log

__all__ = ["key_file", "line", "place_of", "records_in", "show", "with_log"]

T = TypeVar("T")


def with_log(server: str | None, url: str | None, use: Callable[[Log], Awaitable[T]]) -> T:
    """What ``use`` makes of the log that is meant. ConfigurationError when there is none."""
    place = place_of(server, url)
    path = beside(place, "")
    if path and not Path(path).is_file():  # opening it would make it
        raise ConfigurationError.of("TW7015", what=path, known=_known())

    async def run() -> T:
        async with open_log(place) as log:
            return await use(log)

    return asyncio.run(run())


def place_of(server: str | None, url: str | None) -> str:
    if url is not None:
        return url
    if server is not None:
        return f"sqlite://{audit_file(server)}"
    found = sorted((state_folder() / "audit").glob("*.db"))
    if len(found) != 1:
        raise ConfigurationError.of("TW7016", known=_known())
    return f"sqlite://{found[0]}"


def _known() -> str:
    return ", ".join(path.stem for path in sorted((state_folder() / "audit").glob("*.db"))) or "none"


def key_file(said: str | None) -> Path:
    return Path(said) if said else state_folder() / "audit" / "key"


def show(found: Iterable[Entry], as_json: bool) -> None:
    if as_json:
        for entry in found:
            tell_data(entry.text)
    else:
        show_rows([_row(entry) for entry in found])


def _row(entry: Entry) -> tuple[str, ...]:
    record = record_of(entry)
    if "count" in record:  # one for many
        return _columns(entry, record, f"{record['count']} {record.get('kind', '')}", "")
    ended = " ".join(str(record[name]) for name in ("outcome", "code", "rule") if record.get(name))
    subject = f"{record.get('kind', '')} {record.get('subject', '')}".strip()
    arguments = json.dumps(record["arguments"], ensure_ascii=False) if record.get("arguments") else ""
    return _columns(entry, record, subject, ended or "begins", arguments[:200])


def _columns(entry: Entry, record: dict[str, Any], *rest: str) -> tuple[str, ...]:
    cells = (str(entry.position), str(record.get("at", ""))[:19], str(record.get("who", "")), *rest)
    return (*cells, *[""] * (6 - len(cells)))


def line(entry: Entry) -> str:
    """What the hash is made of, and the hash."""
    rest = f'"position":{entry.position},"previous":"{entry.previous}","record":{entry.text}'
    return f'{{"hash":"{entry.hash}",{rest},"writer":{json.dumps(entry.writer)}}}'


def records_in(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """The records in what `audit export`, or `audit search --json`, has written, each with its line; None for a line
    that is no record. Blank lines are passed over. ConfigurationError when the file cannot be read."""
    try:
        with path.open("rb") as opened:
            for number, line in enumerate(opened, 1):
                if line.strip():
                    yield number, _record(line)
    except OSError as error:
        raise ConfigurationError.of("TW9006", file=str(path), problem=error.strerror) from None


def _record(line: bytes) -> Mapping[str, Any] | None:
    try:
        said = decode(line)
    except ParseError:
        return None
    record = said["record"] if is_object(said) and is_object(said.get("record")) else said
    return record if is_object(record) and isinstance(record.get("kind"), str) else None
