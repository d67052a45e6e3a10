"""A report as JSON for programs. Members may be added; none are removed or change their meaning."""

from __future__ import annotations

from tooltrue.contract.contract import place
from tooltrue.contract.display import json_document
from tooltrue.jsonrpc.messages import Json
from tooltrue.version import __version__
from tooltrue_check.findings import RuleFinding
from tooltrue_check.report import CheckReport

__all__ = ["data", "render"]


def render(report: CheckReport, language: str) -> str:
    return json_document(data(report, language))


def data(report: CheckReport, language: str) -> dict[str, Json]:
    return {
        "tooltrue": __version__,
        "servers": [
            {"server": one.server, "target": one.target, "tools": len(one.contract.tools)} for one in report.sources
        ],
        "counts": {level.value: count for level, count in report.levels.items()},
        "findings": [_finding(report, one, language) for group in report.groups for one in group.findings],
        "excused": [
            {**_finding(report, one.finding, language), "reason": one.excuse.reason, "by": one.excuse.place}
            for one in report.excused
        ],
        "known": [one._asdict() for one in report.known_keys],
        "gone": [one._asdict() for one in report.gone_keys],
        "notes": [one.say(language) for one in report.notes],
        "unjudged": [
            {"target": one.target, "code": one.reason.code, "reason": one.reason.say(language)}
            for one in report.unjudged
        ],
    }


def _finding(report: CheckReport, finding: RuleFinding, language: str) -> dict[str, Json]:
    at, fix = report.place(finding), finding.problem.fix
    return {
        "server": finding.server,
        "tool": finding.tool,
        "code": finding.code,
        "rule": finding.card.name,
        "level": finding.level.value,
        "path": finding.place,
        "says": finding.say(language),
        "instead": finding.instead(language),
        "fingerprint": report.key_of(finding).fingerprint,
        **({"file": at.file, "line": at.line} if at else {}),
        **({"fix": {"path": place(fix.path), "value": fix.value}} if fix else {}),
    }
