"""Deletion of old records from a log that remains verifiable: a signed record states where the log was pruned."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

from tooltrue._internal.platform.private_files import make_private_folder
from tooltrue.errors import ConfigurationError
from tooltrue.state.log import LOWEST, ORIGIN, Entry, Log, Mark
from tooltrue.state.new_file import write_new
from tooltrue.state.verify import MAX_FAULTS, Fault, VerifyReport, verify
from tooltrue.state.wording import RETENTION_KEY_FILE_UNUSABLE
from tooltrue.wording import REASON_EMPTY, Worded

__all__ = ["Prunable", "examine", "prune", "signing_key"]

PAGE = 500
_PRUNED = "pruned"


class Prunable(Log, Protocol):
    """A log whose oldest entries can be deleted."""

    async def forget(self, last: int) -> None: ...


async def prune(log: Prunable, before: datetime, key: bytes) -> int:
    """Delete all entries before the first one that is not older than ``before``. Returns their number.

    A batch is deleted as a whole, once all of its entries are older.

    The signed record is written first, so that the log can be verified even after a crash between the two steps.
    """
    last, count, after, seen = ORIGIN, 0, 0, 0
    limit = before.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    while page := await log.read(after, PAGE):
        after = page[-1].position
        old = [*takewhile(lambda entry: _is_older(entry, limit), page)]
        for entry in old:
            seen += 1
            if entry.position == entry.mark.position:  # the end of its batch
                last, count = entry.mark, seen
        if len(old) < len(page):
            break
    if count:
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        await log.append(
            {"kind": _PRUNED, "at": now, "count": count, "position": last.position, "hash": last.hash}
            | {"signature": _signature(last, key)}
        )
        await log.forget(last.position)
    return count


def _is_older(entry: Entry, limit: str) -> bool:
    try:
        at = entry.record.get("at")
    except ValueError:  # damaged: kept for verification
        return False
    return isinstance(at, str) and at[: len(limit)] < limit


async def examine(log: Log, marks: Iterable[Mark] = (), key: bytes | None = None) -> VerifyReport:
    """``verify`` a log that may have been pruned: one of its records must confirm its start with ``key``."""
    first = await log.read(0, 1)
    since = Mark(first[0].position - 1, first[0].previous) if first and first[0].position > 1 else ORIGIN
    checkpoints: list[Any] = []

    def collect_checkpoint(entry: Entry) -> None:
        if f'"kind":"{_PRUNED}"' in entry.text:
            with contextlib.suppress(ValueError):  # damaged, which `verify` reports
                checkpoints.append(entry.record)

    report = await verify(
        log, since=since, marks=[mark for mark in marks if mark.position > since.position], on_entry=collect_checkpoint
    )
    below = [entry.position for entry in await log.read(LOWEST, PAGE) if entry.position <= ORIGIN.position]
    before = [Fault(position, "outside") for position in below[:MAX_FAULTS]]
    if since != ORIGIN and not any(_is_signed(record, since, key) for record in checkpoints):
        before.append(Fault(since.position + 1, "unsigned"))
    return VerifyReport(report.entries, report.head, (*before, *report.faults))


def _is_signed(record: Any, mark: Mark, key: bytes | None) -> bool:
    claim = record.get("position"), record.get("hash"), record.get("signature")
    return key is not None and claim[:2] == mark and hmac.compare_digest(str(claim[2]), _signature(mark, key))


def _signature(mark: Mark, key: bytes) -> str:
    return hmac.new(key, f"{mark.position} {mark.hash}".encode(), hashlib.sha256).hexdigest()


def signing_key(path: Path, *, make: bool) -> bytes | None:
    """The key in the file at ``path``. With ``make`` a missing file is created, once for concurrent callers."""
    try:
        if not path.exists():
            if not make:
                return None
            make_private_folder(path.parent)
            with contextlib.suppress(FileExistsError):  # another process has just created it
                write_new(path, secrets.token_hex(32) + "\n")
        key = path.read_bytes().strip()
    except OSError as error:
        raise ConfigurationError.of(RETENTION_KEY_FILE_UNUSABLE, path=path, problem=error) from error
    if not key:  # an empty key would let anyone sign
        raise ConfigurationError.of(RETENTION_KEY_FILE_UNUSABLE, path=path, problem=Worded(REASON_EMPTY, {}))
    return key
