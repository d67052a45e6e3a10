"""An evaluation as one self-contained page, without script or network access; quoted content is always escaped text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.contract.html_page import page, safe
from tooltrue_check.evaluation.grades import NONE, Evaluation
from tooltrue_check.evaluation.report_phrases import phrase
from tooltrue_check.evaluation.report_text import (
    EvaluationReport,
    compared,
    lines_of_share,
    named,
    tokens,
    unanswered,
    wrong_lines,
)

__all__ = ["as_page"]

_STYLE: Final = """\
:root{--ok:#2e7d4f;--bad:#c62828}
@media(prefers-color-scheme:dark){:root{--ok:#6fc793;--bad:#ef6c6c}}
td.ok{color:var(--ok);font-weight:bold}td.bad{color:var(--bad);font-weight:bold}
pre{white-space:pre-wrap;overflow-wrap:anywhere}
"""


def as_page(report: EvaluationReport, language: str = "en") -> str:
    comparison = report.comparison
    body = [
        *(f"<p>{safe(line)}</p>" for line in (compared(comparison, language) if comparison else ())),
        *(line for one in report.evaluations for line in _evaluation(one, language)),
    ]
    return page(phrase("title", language, model=report.model), language, body, _STYLE)


def _evaluation(evaluation: Evaluation, language: str) -> Iterator[str]:
    facts = {"target": evaluation.target, "questions": len(evaluation.by_question), "answers": len(evaluation.answers)}
    yield f"<h2>{safe(phrase('target', language, **facts))}</h2><table>"
    yield from (
        f"<tr><th>{name}</th><td>{safe(share)}</td></tr>" for name, share in lines_of_share(evaluation, language)
    )
    yield f"</table><p>{tokens(evaluation, language)}</p>"
    if evaluation.unanswered:
        yield f"<p>{safe(unanswered(evaluation, language))}</p>"
    yield from _matrix(evaluation, language)
    yield from _fields(evaluation, language)
    yield from _wrong(evaluation, language)


def _matrix(evaluation: Evaluation, language: str) -> Iterator[str]:
    rows = sorted({expected for expected, _ in evaluation.confusion}, key=_last)
    columns = sorted({tool for pair in evaluation.confusion for tool in pair}, key=_last)
    heads = "".join(f"<th>{safe(named(one, language))}</th>" for one in columns)
    yield f'<h3>{phrase("matrix", language)}</h3><div class="wide"><table><tr><th></th>{heads}</tr>'
    for row in rows:
        cells = "".join(_cell(evaluation.confusion.get((row, column), 0), is_right=row == column) for column in columns)
        yield f"<tr><th>{safe(named(row, language))}</th>{cells}</tr>"
    yield "</table></div>"


def _last(tool: str) -> tuple[bool, str]:
    return tool == NONE, tool


def _cell(count: int, *, is_right: bool) -> str:
    kind = ("ok" if is_right else "bad") if count else ""
    return f'<td class="n {kind}">{count or ""}</td>'


def _fields(evaluation: Evaluation, language: str) -> Iterator[str]:
    if evaluation.fields:
        yield f"<h3>{phrase('arguments', language)}</h3><ul>"
        for (tool, name), counts in evaluation.fields.items():
            facts = {verdict: counts.get(verdict, 0) for verdict in ("right", "different", "missing", "extra")}
            yield f"<li>{safe(phrase('field', language, tool=tool, name=name, **facts))}</li>"
        yield "</ul>"


def _wrong(evaluation: Evaluation, language: str) -> Iterator[str]:
    if lines := [*wrong_lines(evaluation, language)]:
        yield f"<h3>{phrase('wrong', language)}</h3><pre>{safe(chr(10).join(lines))}</pre>"
