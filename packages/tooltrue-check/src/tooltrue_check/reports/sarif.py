"""A report as SARIF 2.1.0, for code scanning: rules with their cards, results with their lines and fingerprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from tooltrue.contract.contract import place
from tooltrue.contract.display import display_safe, json_document
from tooltrue.jsonrpc.messages import Json
from tooltrue.version import __version__
from tooltrue_check.card import Card, Level
from tooltrue_check.excuses import Excuse
from tooltrue_check.findings import RuleFinding
from tooltrue_check.report import CheckReport, Unjudged
from tooltrue_check.reports.text import explained

__all__ = ["data", "render"]

_SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS: Final = {Level.ERROR: "error", Level.WARNING: "warning", Level.HINT: "note"}
_FINGERPRINT: Final = "tooltrue/v1"


def render(report: CheckReport, language: str) -> str:
    return json_document(data(report, language))


def data(report: CheckReport, language: str) -> dict[str, Json]:
    codes = list(report.cards)
    driver = {
        "name": "tooltrue",
        "version": __version__,
        "rules": [_rule(card, language) for card in report.cards.values()],
    }
    run = {
        "tool": {"driver": driver},
        "language": language,
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report.unjudged, language)],
        "results": list(_results(report, codes, language)),
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(card: Card, language: str) -> dict[str, Json]:
    words = card.words[language]
    return {
        "id": card.code,
        "name": "".join(part.capitalize() for part in card.name.split("_")),
        "shortDescription": {"text": words.title},
        "fullDescription": {"text": words.why},
        "help": {"text": explained(card, language)},
        "defaultConfiguration": {"level": _LEVELS[card.level]},
        "properties": {"tags": [card.group]},
    }


def _invocation(unjudged: Sequence[Unjudged], language: str) -> dict[str, Json]:
    notes = [{"level": "error", "message": {"text": f"{one.target}: {one.reason.say(language)}"}} for one in unjudged]
    return {"executionSuccessful": not notes, "toolExecutionNotifications": notes}


def _results(report: CheckReport, codes: list[str], language: str) -> Iterator[dict[str, Json]]:
    for group in report.groups:
        yield from (_result(report, finding, codes, language) for finding in group.findings)
    for one in report.excused:
        yield {**_result(report, one.finding, codes, language), "suppressions": [_suppression(one.excuse)]}


def _result(report: CheckReport, finding: RuleFinding, codes: list[str], language: str) -> dict[str, Json]:
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": _LEVELS[finding.level],
        "message": {"text": f"{display_safe(finding.tool)}: {finding.say(language)} {finding.instead(language)}"},
        "locations": [_location(report, finding)],
        "partialFingerprints": {_FINGERPRINT: report.key_of(finding).fingerprint},
    }


def _location(report: CheckReport, finding: RuleFinding) -> dict[str, Json]:
    name = place(("servers", finding.server, "tools", finding.tool, *finding.problem.path))
    at = report.place(finding)
    where = {"logicalLocations": [{"fullyQualifiedName": name, "kind": "member"}]}
    if at is None:
        return where
    artifact = {"uri": _uri(at.file)}
    return {"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": at.line}}, **where}


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())


def _suppression(excuse: Excuse) -> dict[str, Json]:
    return {"kind": "inSource" if excuse.in_source else "external", "justification": excuse.reason}
