"""A report as a self-contained HTML page without scripts or network access; quoted text is always escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tooltrue.check.card import Card, Level
from tooltrue.check.checking import Finding
from tooltrue.check.report import Group, Report
from tooltrue.check.reports.phrases import CONFIDENCE, LEVELS, counted, phrase
from tooltrue.contract.page import page, safe

__all__ = ["coloured", "written"]

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


def written(report: Report, language: str) -> str:
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


def _summary(report: Report, language: str) -> Iterator[str]:
    clean = phrase("clean", language, count=len(report.clean))
    yield f"<p>{phrase('judged', language, servers=len(report.sources), tools=report.tools)}</p>"
    yield f"<p>{counted(report.levels, language)}{clean}</p>"
    for name, found in (("excused", report.excused), ("known", report.known), ("gone", report.gone)):
        if found:
            yield f"<p>{phrase(name, language, count=len(found))}</p>"
    for one in report.unjudged:
        said = safe(f"{one.target}: {one.reason.say(language)}")
        yield f'<p class="error">{phrase("unjudged", language)}{said}</p>'


def _chart(report: Report) -> Iterator[str]:
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


def _rules(report: Report, language: str) -> Iterator[str]:
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
        known = CONFIDENCE[one.confidence][language == "zh"]
        yield f"{safe(one.effect[language])} <i>({safe(one.source)}; {known})</i>"


def _group(report: Report, group: Group, language: str) -> Iterator[str]:
    name = safe(": ".join(filter(None, (group.server, group.tool))))
    is_open = " open" if len(report.groups) <= _MOST_OPEN else ""
    yield f"<details{is_open}><summary><b>{name}</b></summary><table>"
    for finding in group.findings:
        at = report.place(finding)
        written_at = f"<br><small>{safe(str(at))}</small>" if at else ""
        yield f'<tr><td class="{finding.level.value}">{_level(finding.level, language)}<br>{finding.code}</td>'
        yield f"<td><code>{safe(finding.place)}</code>{written_at}</td><td>{_said(finding, language)}</td></tr>"
    yield "</table></details>"


def _said(finding: Finding, language: str) -> str:
    return f"{safe(finding.say(language))}<br>→ {safe(finding.instead(language))}"


def _excused(report: Report, language: str) -> Iterator[str]:
    if report.excused:
        yield f"<h2>{phrase('excused', language, count=len(report.excused))}</h2><table>"
        for one in report.excused:
            found = one.finding
            yield f"<tr><td>{found.code}</td><td>{safe(f'{found.server}: {found.tool}')}</td>"
            yield f"<td>{safe(one.excuse.reason)}<br><small>{safe(one.excuse.place)}</small></td></tr>"
        yield "</table>"


def _level(level: Level, language: str) -> str:
    return LEVELS[level][language == "zh"]
