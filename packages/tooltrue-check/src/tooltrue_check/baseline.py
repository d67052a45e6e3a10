"""The baseline: a file of known findings, to be committed, so that only new findings count.

A finding is recognized by its server, tool, code and path, and by the value that it concerns: once that value is
changed, the finding counts again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from tooltrue.contract.digests import Definition, digest
from tooltrue.contract.files import write_whole
from tooltrue.contract.wording import FILE_UNREADABLE
from tooltrue.errors import ConfigurationError, ParseError, fact_of
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue.wording import Worded
from tooltrue_check.findings import RuleFinding
from tooltrue_check.wording import BASELINE_FILE_INVALID, REASON_REPORT_KEY_MISSING, REASON_TEXTS_MISSING

__all__ = ["FORMAT", "FindingKey", "key_of", "read", "write"]

FORMAT = 1
"""Format version, stored under ``tooltrue.baseline``. It is increased when older releases can no longer read the
file."""

_MARK = "tooltrue.baseline"


class FindingKey(NamedTuple):
    """The identity of a finding. ``sha256`` is the digest of the value at ``path``; empty if there is no such value."""

    server: str
    tool: str
    code: str
    path: str
    sha256: str

    @property
    def fingerprint(self) -> str:
        """One string for the whole identity."""
        return digest(list(self))[:32]


def key_of(finding: RuleFinding, definition: Definition) -> FindingKey:
    return FindingKey(
        finding.server, finding.tool, finding.code, finding.place, _digest_at(definition, finding.problem.path)
    )


def _digest_at(value: Json, path: Iterable[str | int]) -> str:
    try:
        for step in path:
            value = value[step]
    except (LookupError, TypeError):  # the finding is about a missing value
        return ""
    return digest(value)


def read(file: Path) -> frozenset[FindingKey]:
    """Read the findings in the file. ``ConfigurationError`` if the file is not valid."""
    try:
        document = decode(file.read_bytes())
    except OSError as error:
        raise ConfigurationError.of(FILE_UNREADABLE, file=str(file), problem=error.strerror) from None
    except ParseError as error:
        raise _refused(file, fact_of(error)) from None
    if not is_object(document) or document.get(_MARK) != FORMAT or not is_array(document.get("findings")):
        raise _refused(file, Worded(REASON_REPORT_KEY_MISSING, {"key": _MARK, "format": FORMAT}))
    return frozenset(_entries(file, document["findings"]))


def _entries(file: Path, rows: list[Json]) -> Iterator[FindingKey]:
    for number, row in enumerate(rows):
        if not _is_entry(row):
            raise _refused(
                file,
                Worded(REASON_TEXTS_MISSING, {"path": f"$.findings[{number}]", "names": ", ".join(FindingKey._fields)}),
            )
        yield FindingKey(**row)


def _is_entry(row: Json) -> TypeGuard[dict[str, Any]]:
    return (
        is_object(row) and row.keys() == set(FindingKey._fields) and all(isinstance(one, str) for one in row.values())
    )


def _refused(file: Path, problem: str | Worded) -> ConfigurationError:
    return ConfigurationError.of(BASELINE_FILE_INVALID, file=str(file), problem=problem)


def write(file: Path, keys: Iterable[FindingKey]) -> None:
    """Write one finding per line, sorted, so that a review shows which were added and removed."""
    rows = ",\n".join(f"  {json.dumps(one._asdict())}" for one in sorted(set(keys)))
    findings = f"[\n{rows}\n ]" if rows else "[]"
    write_whole(file, f'{{\n "{_MARK}": {FORMAT},\n "findings": {findings}\n}}\n')
