"""A diagnosis as a self-contained HTML page without scripts or network access."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tooltrue.contract.html_page import page, safe
from tooltrue_check.doctor.diagnosis_phrases import phrase
from tooltrue_check.doctor.diagnosis_text import headline
from tooltrue_check.doctor.log_figures import ToolFigures
from tooltrue_check.doctor.symptoms import Diagnosis, Symptom

__all__ = ["as_page"]

_STYLE: Final = """\
:root{--ok:#2e7d4f;--failed:#c62828;--refused:#b26a00}
@media(prefers-color-scheme:dark){:root{--ok:#6fc793;--failed:#ef6c6c;--refused:#e0a030}}
table{width:100%}svg{max-width:100%;height:auto}
.ok{fill:var(--ok)}.failed{fill:var(--failed)}.refused{fill:var(--refused)}
"""
_ROW: Final = 24
_LABEL: Final = 200
_BAR: Final = 560
_MOST: Final = 25
_WIDEST: Final = 24


def as_page(diagnosis: Diagnosis, language: str = "en") -> str:
    body = [
        f"<p>{safe(headline(diagnosis, language))}</p>",
        *(f"<p>{phrase('unknown', language)}{safe(gap)}</p>" for gap in diagnosis.gaps(language)),
        f"<h2>{phrase('symptoms', language)}</h2>",
        *_symptoms(diagnosis.symptoms, language),
        *_charts(diagnosis, language),
        *_table(diagnosis, language),
    ]
    return page(phrase("title", language), language, body, _STYLE)


def _symptoms(symptoms: Sequence[Symptom], language: str) -> Iterator[str]:
    if not symptoms:
        yield f"<p>{phrase('well', language)}</p>"
    for one in symptoms:
        yield f"<p><b>{one.code}</b> {safe(one.say(language))}<br>→ {safe(one.because(language))}"
        for finding in one.findings:
            text = f"{finding.say(language)} {finding.instead(language)}"
            yield f"<br>{phrase('check', language)}{finding.code} <code>{safe(finding.place)}</code> {safe(text)}"
        yield "</p>"


# -- charts ------------------------------------------------------------------------------------------------------------

_Bars = Callable[[ToolFigures], Sequence[tuple[str, float]]]


def _charts(diagnosis: Diagnosis, language: str) -> Iterator[str]:
    tools = sorted(diagnosis.figures.tools.items(), key=lambda item: (-item[1].calls, item[0]))[:_MOST]
    if tools:
        yield f"<h2>{phrase('outcomes', language)}</h2>"
        yield f"<p>{_legend(language)}</p>"
        yield from _chart(phrase("outcomes", language), tools, _outcomes, lambda use: str(use.calls))
        yield f"<h2>{phrase('times', language)}</h2>"
        yield from _chart(phrase("times", language), tools, _times, lambda use: f"{_late(use):.0f} ms")


def _outcomes(use: ToolFigures) -> Sequence[tuple[str, float]]:
    failed = use.outcomes["error"] + use.outcomes["abandoned"] + use.outcomes["cancelled"]
    return ("ok", use.outcomes["ok"]), ("failed", failed), ("refused", use.outcomes["refused"])


def _times(use: ToolFigures) -> Sequence[tuple[str, float]]:
    return (("ok", _late(use)),)


def _late(use: ToolFigures) -> float:
    return use.milliseconds.percentile(0.95)


def _legend(language: str) -> str:
    marks = (
        f'<svg width="14" height="14" aria-hidden="true"><rect class="{kind}" width="14" height="14"/></svg> '
        f"{phrase(kind, language)}"
        for kind in ("ok", "failed", "refused")
    )
    return " &#160; ".join(marks)


def _chart(
    title: str, tools: Sequence[tuple[str, ToolFigures]], bars: _Bars, total: Callable[[ToolFigures], str]
) -> Iterator[str]:
    """A bar chart with a row per tool and its bars stacked; the longest row takes the full width."""
    most = max((sum(size for _, size in bars(use)) for _, use in tools), default=0) or 1
    width, height = _LABEL + _BAR + 90, _ROW * len(tools)
    yield f'<svg role="img" aria-label="{safe(title)}" viewBox="0 0 {width} {height}" width="{width}">'
    for number, (tool, use) in enumerate(tools):
        top, x = number * _ROW, float(_LABEL)
        label = tool if len(tool) <= _WIDEST else f"{tool[: _WIDEST - 1]}…"
        yield f'<text x="0" y="{top + 16}">{safe(label)}<title>{safe(tool)}</title></text>'
        for kind, size in bars(use):
            if length := _BAR * size / most:
                yield f'<rect class="{kind}" x="{x:.1f}" y="{top + 4}" width="{length:.1f}" height="{_ROW - 8}"/>'
                x += length
        yield f'<text x="{x + 6:.1f}" y="{top + 16}">{total(use)}</text>'
    yield "</svg>"


def _table(diagnosis: Diagnosis, language: str) -> Iterator[str]:
    yield f"<h2>{phrase('every', language)}</h2><table><tr><th>{phrase('tool', language)}</th>"
    for name in ("calls", "failed", "refused", "median", "late", "size"):
        yield f'<th class="n">{phrase(name, language)}</th>'
    yield "</tr>"
    for tool, use in sorted(diagnosis.figures.tools.items()):
        counts = dict(_outcomes(use))
        median, late, size = use.milliseconds.percentile(0.5), _late(use), use.size.percentile(0.95)
        numbers = (
            use.calls,
            counts["failed"],
            counts["refused"],
            f"{median:.0f} ms",
            f"{late:.0f} ms",
            f"{size:.0f} B",
        )
        cells = "".join(f'<td class="n">{number}</td>' for number in numbers)
        yield f"<tr><td><code>{safe(tool)}</code></td>{cells}</tr>"
    yield "</table>"
