"""A report for a person: each tool with its problems, their places, reasons and corrections; then, on one screen, a
summary by rule."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from tooltrue.contract.contract import place
from tooltrue.contract.display import display_safe
from tooltrue.protocol.terminal import one_line
from tooltrue_check.card import Card, Level
from tooltrue_check.findings import RuleFinding
from tooltrue_check.report import CheckReport, ToolFindings
from tooltrue_check.reports.report_phrases import CONFIDENCE, LEVELS, level_counts, phrase, unfilled

__all__ = ["Paint", "explained", "plain", "render"]

Paint: TypeAlias = Callable[[str, str], str]
"""Colours a text as ``error``, ``warning``, ``hint``, ``tool`` or ``aside``."""

_WORST_TOOLS: Final = 5
_LONGEST: Final = 200


def plain(text: str, colour: str) -> str:
    """The text without colours."""
    return text


def render(
    report: CheckReport, language: str, *, paint: Paint = plain, is_whole: bool = False, is_short: bool = False
) -> str:
    """``is_whole`` includes the evidence of each rule, ``is_short`` shows the summary only."""
    page = _ReportPage(language, paint, is_whole)
    lines = [] if is_short else [line for group in report.groups for line in page.group(report, group)]
    return "\n".join([*lines, *page.summary(report)]) + "\n"


class _ReportPage:
    def __init__(self, language: str, paint: Paint, is_whole: bool) -> None:
        self._language = language
        self._paint = paint
        self._is_whole = is_whole
        self._explained: set[str] = set()
        self._levels = {level: paint(_level(level, language), level.value) for level in Level}

    def group(self, report: CheckReport, group: ToolFindings) -> Iterator[str]:
        written_at = report.by_server[group.server].places.get(group.tool)
        aside = f"  {self._paint(str(written_at), 'aside')}" if written_at else ""
        yield self._paint(_tool(report, group.server, group.tool), "tool") + aside
        for finding in group.findings:
            yield self._finding(finding)
            if fix := finding.problem.fix:
                value = _cut(_safe_line(json.dumps(fix.value, ensure_ascii=False)))
                yield "    → " + phrase("fix", self._language, value=value, path=_safe_line(place(fix.path)))
            if finding.code not in self._explained:
                self._explained.add(finding.code)
                yield from (self._paint(f"    {line}", "aside") for line in self._why(finding.card))
        yield ""

    def _finding(self, finding: RuleFinding) -> str:
        level, at = self._levels[finding.level], _safe_line(finding.place)
        says, instead = _line(finding.say(self._language)), _line(finding.instead(self._language))
        return f"  {level} {finding.code} {at}\n    {says}\n    → {instead}"

    def _why(self, card: Card) -> Iterator[str]:
        words = card.words[self._language]
        yield phrase("why", self._language) + words.why
        if self._is_whole:
            yield from _evidence(card, self._language)

    def summary(self, report: CheckReport) -> Iterator[str]:
        say = self._language
        yield phrase("judged", say, servers=len(report.sources), tools=report.tools)
        yield f"{level_counts(report.levels, say)}{phrase('clean', say, count=len(report.clean))}"
        width = max((len(str(count)) for _, _, count in report.rules), default=0)
        for level, card, count in report.rules:
            yield f"  {self._levels[level]} {card.code} {count:>{width}}  {card.words[say].title}"
        if len(report.groups) > 1:
            yield phrase("most", say) + ", ".join(_tool_count(report, one) for one in report.groups[:_WORST_TOOLS])
        for name, entries in (("excused", report.excused), ("known", report.known_keys), ("gone", report.gone_keys)):
            if entries:
                yield phrase(name, say, count=len(entries))
        for one in report.unjudged:
            line = _line(f"{_safe_line(one.target)}: {one.reason.say(say)}")
            yield self._paint(phrase("unjudged", say) + line, "error")


def _tool(report: CheckReport, server: str, tool: str) -> str:
    return _safe_line(f"{server}: {tool}" if tool and len(report.sources) > 1 else tool or server)


def _tool_count(report: CheckReport, group: ToolFindings) -> str:
    return f"{_tool(report, group.server, group.tool)} ({len(group.findings)})"


def _level(level: Level, language: str) -> str:
    word = LEVELS[level][language == "zh"]
    return word if language == "zh" else f"{word:<7}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _line(text: str) -> str:
    """Text on one line, with single blanks."""
    is_line = text.isprintable() and "  " not in text and text.strip() == text
    return text if is_line else " ".join(text.split())


def _evidence(card: Card, language: str) -> Iterator[str]:
    for one in card.evidence:
        confidence = CONFIDENCE[one.confidence][language == "zh"]
        yield f"{phrase('evidence', language)}{one.effect[language]} ({one.source}; {confidence})"
    yield phrase("not_when", language) + card.words[language].not_when


def explained(card: Card, language: str, paint: Paint = plain) -> str:
    """A full card, with its examples."""
    words = card.words[language]
    lines = [
        f"{paint(card.code, card.level.value)} {paint(words.title, 'tool')}",
        f"{_level(card.level, language).strip()}, {card.name}, {card.group}",
        "",
        phrase("why", language) + words.why,
        phrase("instead", language) + unfilled(words.instead),
        *_evidence(card, language),
    ]
    for bad in (True, False):
        lines += ["", phrase("bad" if bad else "good", language)]
        lines += [f"  {_tools(one.tools)}" for one in card.examples if one.bad is bad]
    return "\n".join(lines) + "\n"


def _tools(tools: Sequence[object]) -> str:
    return _safe_line(json.dumps(tools[0] if len(tools) == 1 else list(tools), ensure_ascii=False))


def _safe_line(text: str) -> str:
    """Untrusted text, escaped and on one line."""
    return text if text.isascii() and text.isprintable() else one_line(display_safe(text))
