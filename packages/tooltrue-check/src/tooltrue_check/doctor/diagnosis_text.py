"""A diagnosis as text for one screen, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tooltrue.contract.display import display_safe, display_safe_json
from tooltrue.jsonrpc.messages import Json
from tooltrue_check.doctor.diagnosis_phrases import phrase
from tooltrue_check.doctor.log_figures import ToolFigures
from tooltrue_check.doctor.symptoms import Diagnosis, Symptom
from tooltrue_check.findings import RuleFinding

__all__ = ["as_json", "as_text", "headline"]

_MOST = 8


def as_text(diagnosis: Diagnosis, language: str = "en") -> str:
    """The worst symptoms, each with its likely cause and the first matching finding; then the gaps."""
    return "".join(f"{line}\n" for line in _lines(diagnosis, language))


def _lines(diagnosis: Diagnosis, language: str) -> Iterator[str]:
    yield headline(diagnosis, language)
    for one in diagnosis.symptoms[:_MOST]:
        yield ""
        yield f"{one.code} {one.say(language)}"
        yield f"    → {one.because(language)}"
        for finding in one.findings[:1]:
            yield f"    {phrase('check', language)}{_finding_text(finding, language)}"
    if len(diagnosis.symptoms) > _MOST:
        yield ""
        yield phrase("more", language, count=len(diagnosis.symptoms) - _MOST)
    if diagnosis.figures.records and not diagnosis.symptoms:
        yield phrase("well", language)
    gaps = diagnosis.gaps(language)
    if gaps:
        yield ""
    yield from (f"{phrase('unknown', language)}{gap}" for gap in gaps)


def headline(diagnosis: Diagnosis, language: str) -> str:
    figures = diagnosis.figures
    if not figures.records:
        return phrase("empty", language)
    first, last = (display_safe(at[:16].replace("T", " ")) for at in (figures.first, figures.last))
    return phrase("span", language, calls=figures.records, tools=len(figures.tools), first=first, last=last)


def _finding_text(finding: RuleFinding, language: str) -> str:
    return f"{finding.code} {display_safe(finding.place)} {finding.say(language)}"


def as_json(diagnosis: Diagnosis, language: str = "en") -> str:
    """The whole diagnosis: every tool with its figures, every symptom with its facts and findings, and the gaps."""
    figures = diagnosis.figures
    data: dict[str, Json] = {
        "calls": figures.records,
        "from": figures.first,
        "to": figures.last,
        "tools": {tool: _tool(use) for tool, use in sorted(figures.tools.items())},
        "symptoms": [_symptom(one, language) for one in diagnosis.symptoms],
        "unknown": [{"code": code, "text": text} for (code, _), text in _gaps_with_codes(diagnosis, language)],
    }
    return display_safe_json(json.dumps(data, ensure_ascii=False, indent=2)) + "\n"


def _gaps_with_codes(diagnosis: Diagnosis, language: str) -> Iterator[tuple[tuple[str, object], str]]:
    return zip(diagnosis.unknown, diagnosis.gaps(language), strict=True)


def _tool(use: ToolFigures) -> dict[str, Json]:
    return {
        "calls": use.calls,
        "outcomes": dict(sorted(use.outcomes.items())),
        "codes": dict(use.codes.counts.most_common()),
        "wrong": [
            {"path": path, "keyword": keyword, "count": count}
            for (path, keyword), count in use.wrong.counts.most_common()
        ],
        "refused": dict(use.refused.counts.most_common()),
        "gave_up": dict(use.gave_up.counts.most_common()),
        "called": dict(use.called.counts.most_common()),
        "repeated": use.repeated,
        "ms": {f"p{share}": round(use.milliseconds.percentile(share / 100), 1) for share in (50, 95, 99)},
        "bytes": {f"p{share}": round(use.size.percentile(share / 100)) for share in (50, 95, 99)},
    }


def _symptom(one: Symptom, language: str) -> dict[str, Json]:
    return {
        "code": one.code,
        "kind": one.kind,
        "tool": one.tool,
        "count": one.count,
        "facts": dict(one.facts),
        "text": one.say(language),
        "cause": one.because(language),
        "findings": [
            {"code": each.code, "path": each.place, "text": each.say(language), "instead": each.instead(language)}
            for each in one.findings
        ],
    }
