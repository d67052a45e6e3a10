"""Verification of an audit log, and its result in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from tooltrue.errors import ConfigurationError
from tooltrue.policy.wording import (
    AUDIT_BATCH_CHANGED,
    AUDIT_CHAIN_BROKEN,
    AUDIT_PRUNING_UNPROVEN,
    AUDIT_RECORD_CHANGED,
    AUDIT_RECORD_INSERTED,
    AUDIT_RECORD_POSITION_INVALID,
    AUDIT_RECORDS_REMOVED,
    AUDIT_SEAL_NOT_FOUND,
    AUDIT_SEALED_RECORD_CHANGED,
    AUDIT_SEALED_RECORD_MISSING,
    REPORT_AUDIT_FAULT_COUNT,
    REPORT_AUDIT_INTACT,
    REPORT_AUDIT_INTACT_SEAL_BESIDE,
    REPORT_AUDIT_INTACT_WITHOUT_SEAL,
    REPORT_AUDIT_LOG_SEALED,
    REPORT_AUDIT_LOG_UNSEALED,
    SEAL_FILE_OF_OTHER_LOG,
)
from tooltrue.protocol.types import Value
from tooltrue.state.log import Log, Mark
from tooltrue.state.places import beside, without_password
from tooltrue.state.retention import examine
from tooltrue.state.seal import is_log, name_of, read_seals, seals_in
from tooltrue.state.urls import open_log
from tooltrue.state.verify import VerifyReport
from tooltrue.wording import Worded

__all__ = ["Verification", "verified"]


class Verification(Value, frozen=True):
    """The result for a log. ``is_sound``: no fault, and a seal proves it, or none is required."""

    is_sound: bool
    sentences: tuple[Worded, ...]


async def verified(
    log: Log, place: str, secret: bytes | None, *, seal: str | None = None, unsealed: bool = False
) -> Verification:
    """Verify the log at the URL ``place``. ``secret`` is the key that signed when it was pruned, ``seal`` the place of
    seals that are kept elsewhere; ``unsealed`` accepts a log without any. ``ConfigurationError`` for seals of another
    log."""
    seal_place = seal or beside(place, ".seal")
    marks = await _stored_seals(seal_place, place, is_optional=seal is None)
    report = await examine(log, marks, secret)
    is_proven = bool(marks) or unsealed
    sentences = tuple(_sentences(report, marks, seal_place, is_elsewhere=seal is not None, is_proven=is_proven))
    return Verification(is_proven and not report.faults, sentences)


def _sentences(
    report: VerifyReport, marks: list[Mark], seal_place: str, *, is_elsewhere: bool, is_proven: bool
) -> Iterator[Worded]:
    if report.faults:
        yield Worded(REPORT_AUDIT_FAULT_COUNT, {"count": len(report.faults)})
    else:
        yield Worded(
            _proof(is_sealed=bool(marks), is_elsewhere=is_elsewhere) if is_proven else AUDIT_SEAL_NOT_FOUND, {}
        )
    for fault in report.faults:
        yield Worded(_FAULTS[fault.kind], {"position": fault.position, "end": fault.end})
    facts = {
        "records": report.entries,
        "position": report.head.position,
        "hash": report.head.hash,
        "seals": len(marks),
        "place": without_password(seal_place),
    }
    yield Worded(REPORT_AUDIT_LOG_SEALED if marks else REPORT_AUDIT_LOG_UNSEALED, facts)


def _proof(*, is_sealed: bool, is_elsewhere: bool) -> str:
    """The code of the sentence on the strength of the proof that a log without faults gives."""
    if not is_sealed:
        return REPORT_AUDIT_INTACT_WITHOUT_SEAL
    return REPORT_AUDIT_INTACT if is_elsewhere else REPORT_AUDIT_INTACT_SEAL_BESIDE


_FAULTS: Final[Mapping[str, str]] = {
    "edited": AUDIT_RECORD_CHANGED,
    "batch": AUDIT_BATCH_CHANGED,
    "inserted": AUDIT_RECORD_INSERTED,
    "missing": AUDIT_RECORDS_REMOVED,
    "unlinked": AUDIT_CHAIN_BROKEN,
    "rewritten": AUDIT_SEALED_RECORD_CHANGED,
    "cut": AUDIT_SEALED_RECORD_MISSING,
    "outside": AUDIT_RECORD_POSITION_INVALID,
    "unsigned": AUDIT_PRUNING_UNPROVEN,
}


async def _stored_seals(seal: str, place: str, *, is_optional: bool) -> list[Mark]:
    if not is_log(seal):
        return _seals_in_file(Path(seal), is_optional=is_optional)
    async with open_log(seal) as log:
        marks = await seals_in(log, name_of(place))
    if marks:
        return marks
    raise ConfigurationError.of(SEAL_FILE_OF_OTHER_LOG, seal=without_password(seal), log=name_of(place))


def _seals_in_file(path: Path, *, is_optional: bool) -> list[Mark]:
    return [] if is_optional and not path.is_file() else read_seals(path)
