"""Verdicts on the results of the suite, stricter than its own.

The suite accepts warnings, and scenarios without any check. Here a scenario passes if at least one of its own checks
succeeded and all others did too; `EXCUSED` lists the exceptions with their reasons.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

# These only record the traffic. Any other INFO is a check without a subject.
RECORDS = {
    *("incoming-request", "incoming-response", "incoming-sse-event", "outgoing-request", "stream-closed"),
    *("outgoing-response", "outgoing-sse-event", "outgoing-stream-close", "server-info", "scope-retry-auth-attempt"),
    *("incoming-auth-request", "outgoing-auth-response"),
}
# Made beside the checks of each scenario: true of a server that refuses everything.
BESIDE = "wire-schema-valid"
EXCUSED = {
    ("server-sse-multiple-streams", "server-sse-streams-functional"): (
        "it asks for three lists at once; we answer a list as JSON, as a server may"
    ),
    ("http-standard-headers", "ClientMcpMethodHeader_initialize"): "there is no handshake in this revision",
    ("http-standard-headers", "ClientMcpMethodHeader_notifications_initialized"): (
        "there is no handshake in this revision"
    ),
}
FAILING = {"tools-call-error"}  # where a tool is meant to fail
_FOLDER = re.compile(r"server-(?P<scenario>.+)-(?P<time>\d{4}-\d\d-\d\dT[\d-]+Z)")


@dataclass(frozen=True, slots=True)
class Row:
    """One scenario at one revision. `counts` is by status, `troubles` are the reasons why it has not passed, `expected`
    is the reason why it may fail."""

    revision: str
    scenario: str
    counts: Counter[str]
    troubles: tuple[str, ...]
    expected: str = ""

    @property
    def passed(self) -> bool:
        return not self.troubles


def rows_in(folder: Path, revision: str) -> list[Row]:
    """A row for each scenario that the suite has left in `folder`, in the order in which they ran."""
    matches = (_FOLDER.fullmatch(path.parent.name) for path in folder.glob("*/checks.json"))
    found = sorted(filter(None, matches), key=lambda match: match["time"])
    return [judged(revision, match["scenario"], json.loads(_checks(folder, match))) for match in found]


def expected_failures(file: Path, side: str) -> dict[str, dict[str, str]]:
    """The reasons of a side, by part of the run and scenario."""
    return yaml.safe_load(file.read_text()).get(side, {})


def with_expected(rows: Sequence[Row], expected: Mapping[str, str], *, is_whole: bool) -> list[Row]:
    """The rows, where those of `expected` pass by failing. One that succeeds, or that a whole run lacks, fails."""
    ran = {row.scenario for row in rows}
    missing = [name for name in expected if name not in ran] if is_whole else []
    unknown = [Row("", name, Counter(), ("an expected failure that the suite does not have",)) for name in missing]
    return [*(_expected(row, expected.get(row.scenario)) for row in rows), *unknown]


def _expected(row: Row, reason: str | None) -> Row:
    if reason is None:
        return row
    if row.passed:
        return replace(row, troubles=("it passes: take it out of expected-failures.yml",))
    return replace(row, troubles=(), expected=reason)


def judged(revision: str, scenario: str, checks: list[dict]) -> Row:
    counts = Counter(check["status"] for check in checks)
    troubles = [trouble for check in checks if (trouble := _trouble(scenario, check))]
    if not any(check["status"] == "SUCCESS" and check["id"] != BESIDE for check in checks):
        troubles.append("vacuous: no check of its own has passed")
    return Row(revision, scenario, counts, tuple(troubles))


def _trouble(scenario: str, check: dict) -> str | None:
    name, status = check["id"], check["status"]
    excused = (scenario, name) in EXCUSED or (scenario, check.get("name")) in EXCUSED
    if status == "SUCCESS" and _is_error(check) and scenario not in FAILING:
        return f"{name} is content with a tool that failed: {json.dumps(check['details'])}"
    if status == "SUCCESS":
        return f"{name} passes, and needs no excuse any more" if excused else None
    if excused or (status == "INFO" and name in RECORDS):
        return None
    reason = check.get("errorMessage") or json.dumps(check.get("details"))
    return f"{status} {name}: {check['description']}: {reason}"


def _is_error(check: dict) -> bool:
    result = (check.get("details") or {}).get("result")
    return isinstance(result, dict) and result.get("isError") is True


def _checks(folder: Path, match: re.Match[str]) -> bytes:
    return (folder / match[0] / "checks.json").read_bytes()
