"""A diagnosis as text for one screen, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

from tooltrue.check.checking import Finding
from tooltrue.check.doctor.phrases import phrase
from tooltrue.check.doctor.seen import Used
from tooltrue.check.doctor.symptoms import Diagnosis, Symptom
from tooltrue.contract.display import display_safe, display_safe_json
from tooltrue.jsonrpc.messages import Json

__all__ = ["as_json", "as_text", "headline"]

_MOST = 8


def as_text(found: Diagnosis, language: str = "en") -> str:
    """The worst symptoms, each with its likely cause and the first matching finding; then the gaps."""
    return "".join(f"{line}\n" for line in _lines(found, language))


def _lines(found: Diagnosis, language: str) -> Iterator[str]:
    yield headline(found, language)
    for one in found.symptoms[:_MOST]:
        yield ""
        yield f"{one.code} {one.say(language)}"
        yield f"    → {one.because(language)}"
        for finding in one.findings[:1]:
            yield f"    {phrase('check', language)}{_found(finding, language)}"
    if len(found.symptoms) > _MOST:
        yield ""
        yield phrase("more", language, count=len(found.symptoms) - _MOST)
    if found.seen.records and not found.symptoms:
        yield phrase("well", language)
    gaps = found.gaps(language)
    if gaps:
        yield ""
    yield from (f"{phrase('unknown', language)}{said}" for said in gaps)


def headline(found: Diagnosis, language: str) -> str:
    seen = found.seen
    if not seen.records:
        return phrase("empty", language)
    first, last = (display_safe(at[:16].replace("T", " ")) for at in (seen.first, seen.last))
    return phrase("span", language, calls=seen.records, tools=len(seen.tools), first=first, last=last)


def _found(finding: Finding, language: str) -> str:
    return f"{finding.code} {display_safe(finding.place)} {finding.say(language)}"


def as_json(found: Diagnosis, language: str = "en") -> str:
    """The whole diagnosis: every tool with its figures, every symptom with its facts and findings, and the gaps."""
    seen = found.seen
    data: dict[str, Json] = {
        "calls": seen.records,
        "from": seen.first,
        "to": seen.last,
        "tools": {tool: _tool(used) for tool, used in sorted(seen.tools.items())},
        "symptoms": [_symptom(one, language) for one in found.symptoms],
        "unknown": [{"code": code, "text": said} for (code, _), said in _told(found, language)],
    }
    return display_safe_json(json.dumps(data, ensure_ascii=False, indent=2)) + "\n"


def _told(found: Diagnosis, language: str) -> Iterator[tuple[tuple[str, object], str]]:
    return zip(found.unknown, found.gaps(language), strict=True)


def _tool(used: Used) -> dict[str, Json]:
    return {
        "calls": used.calls,
        "outcomes": dict(sorted(used.outcomes.items())),
        "codes": dict(used.codes.counts.most_common()),
        "wrong": [
            {"path": path, "keyword": keyword, "count": count}
            for (path, keyword), count in used.wrong.counts.most_common()
        ],
        "refused": dict(used.refused.counts.most_common()),
        "gave_up": dict(used.gave_up.counts.most_common()),
        "called": dict(used.called.counts.most_common()),
        "repeated": used.repeated,
        "ms": {f"p{share}": round(used.milliseconds.percentile(share / 100), 1) for share in (50, 95, 99)},
        "bytes": {f"p{share}": round(used.size.percentile(share / 100)) for share in (50, 95, 99)},
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
