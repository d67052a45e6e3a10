"""A report as a self-contained HTML page without scripts or network access; quoted text is always escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tooltrue.contract.html_page import page, safe
from tooltrue_check.card import Card, Level
from tooltrue_check.findings import RuleFinding
from tooltrue_check.report import CheckReport, ToolFindings
from tooltrue_check.reports.report_phrases import CONFIDENCE, LEVELS, level_counts, phrase

__all__ = ["coloured", "render"]

_STYLE: Final = """\
:root{--error:#c62828;--warning:#b26a00;--hint:#3b6ea5}
@media(prefers-color-scheme:dark){:root{--error:#ef6c6c;--warning:#e0a030;--hint:#7fb0e8}}
table{width:100%}summary{cursor:pointer;padding:.3rem 0}
.error{color:var(--error)}.warning{color:var(--warning)}.hint{color:var(--hint)}
rect.error{fill:var(--error)}rect.warning{fill:var(--warning)}rect.hint{fill:var(--hint)}
"""
_ROW: Final = 22
_BAR: Final = 420
_LABEL: Final = 90
_MOST: Final = 25
_MOST_OPEN: Final = 50


def coloured(title: str, language: str, body: Iterable[str]) -> str:
    """Build a page with colours for errors, warnings and hints."""
    return page(title, language, body, _STYLE)


def render(report: CheckReport, language: str) -> str:
    return coloured(
        phrase("report", language),
        language,
        [
            *_summary(report, language),
            *_chart(report),
            *_rules(report, language),
            *(line for group in report.groups for line in _group(report, group, language)),
            *_excused(report, language),
        ],
    )


def _summary(report: CheckReport, language: str) -> Iterator[str]:
    clean = phrase("clean", language, count=len(report.clean))
    yield f"<p>{phrase('judged', language, servers=len(report.sources), tools=report.tools)}</p>"
    yield f"<p>{level_counts(report.levels, language)}{clean}</p>"
    for name, entries in (("excused", report.excused), ("known", report.known_keys), ("gone", report.gone_keys)):
        if entries:
            yield f"<p>{phrase(name, language, count=len(entries))}</p>"
    for one in report.unjudged:
        text = safe(f"{one.target}: {one.reason.say(language)}")
        yield f'<p class="error">{phrase("unjudged", language)}{text}</p>'


def _chart(report: CheckReport) -> Iterator[str]:
    """A bar chart of the findings per rule."""
    rows = report.rules[:_MOST]
    most = max((count for _, _, count in rows), default=1)
    yield f'<svg role="img" width="{_LABEL + _BAR + 60}" height="{_ROW * len(rows)}">'
    for number, (level, card, count) in enumerate(rows):
        top, length = number * _ROW, max(2, round(_BAR * count / most))
        yield f'<text x="0" y="{top + 15}">{card.code}</text>'
        yield f'<rect class="{level.value}" x="{_LABEL}" y="{top + 3}" width="{length}" height="{_ROW - 6}"/>'
        yield f'<text x="{_LABEL + length + 6}" y="{top + 15}">{count}</text>'
    yield "</svg>"


def _rules(report: CheckReport, language: str) -> Iterator[str]:
    heads = "".join(f"<th>{phrase(name, language)}</th>" for name in ("level", "rule", "found"))
    yield f"<table><tr>{heads}</tr>"
    for level, card, count in report.rules:
        yield f'<tr><td class="{level.value}">{_level(level, language)}</td><td>{_card(card, language)}</td>'
        yield f'<td class="n">{count}</td></tr>'
    yield "</table>"


def _card(card: Card, language: str) -> str:
    words = card.words[language]
    lines = [f"<p>{safe(words.why)}</p>", *(f"<p>{line}</p>" for line in _evidence(card, language))]
    lines += [f"<p>{phrase('not_when', language)}{safe(words.not_when)}</p>"]
    return f"<details><summary>{card.code} {safe(words.title)}</summary>{''.join(lines)}</details>"


def _evidence(card: Card, language: str) -> Iterator[str]:
    for one in card.evidence:
        confidence = CONFIDENCE[one.confidence][language == "zh"]
        yield f"{safe(one.effect[language])} <i>({safe(one.source)}; {confidence})</i>"


def _group(report: CheckReport, group: ToolFindings, language: str) -> Iterator[str]:
    name = safe(": ".join(filter(None, (group.server, group.tool))))
    is_open = " open" if len(report.groups) <= _MOST_OPEN else ""
    yield f"<details{is_open}><summary><b>{name}</b></summary><table>"
    for finding in group.findings:
        at = report.place(finding)
        written_at = f"<br><small>{safe(str(at))}</small>" if at else ""
        yield f'<tr><td class="{finding.level.value}">{_level(finding.level, language)}<br>{finding.code}</td>'
        yield f"<td><code>{safe(finding.place)}</code>{written_at}</td><td>{_finding_html(finding, language)}</td></tr>"
    yield "</table></details>"


def _finding_html(finding: RuleFinding, language: str) -> str:
    return f"{safe(finding.say(language))}<br>→ {safe(finding.instead(language))}"


def _excused(report: CheckReport, language: str) -> Iterator[str]:
    if report.excused:
        yield f"<h2>{phrase('excused', language, count=len(report.excused))}</h2><table>"
        for one in report.excused:
            finding = one.finding
            yield f"<tr><td>{finding.code}</td><td>{safe(f'{finding.server}: {finding.tool}')}</td>"
            yield f"<td>{safe(one.excuse.reason)}<br><small>{safe(one.excuse.place)}</small></td></tr>"
        yield "</table>"


def _level(level: Level, language: str) -> str:
    return LEVELS[level][language == "zh"]
