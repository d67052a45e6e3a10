"""A matrix as a self-contained HTML page: a table of totals, and a table with a row for each tool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.contract.html_page import safe
from tooltrue.contract.profile import Profile
from tooltrue_check.portability import ClientColumn, ClientOutcome, Matrix, ToolVerdict
from tooltrue_check.reports.html import coloured
from tooltrue_check.reports.report_phrases import LEVELS, level_counts, phrase

__all__ = ["render"]

_SUMS: Final = ("tools", "tokens", "name")


def render(matrix: Matrix, language: str) -> str:
    body = [*_sums(matrix, language), *_notes(matrix, language), *_tools(matrix, language)]
    return coloured(phrase("portability", language), language, body)


def _sums(matrix: Matrix, language: str) -> Iterator[str]:
    yield f"<p>{phrase('judged', language, servers=len(matrix.sources), tools=matrix.tools)}</p>"
    yield f"<p>{level_counts(matrix.levels, language)}</p>"
    heads = [*(one.value for one in ClientOutcome), *_SUMS]
    cells = "".join(f'<th class="n">{safe(phrase(name, language))}</th>' for name in heads)
    yield f'<div class="wide"><table><tr><th>{phrase("client", language)}</th>{cells}</tr>'
    for column in matrix.columns:
        values = [str(column.counts[one]) for one in ClientOutcome]
        limits = (column.profile.tools, column.profile.definition_tokens, column.profile.name_length)
        counts = (column.tools, column.tokens, column.longest)
        values += [
            str(count) if limit is None else f"{count}/{limit}" for count, limit in zip(counts, limits, strict=True)
        ]
        cells = "".join(f'<td class="n">{cell}</td>' for cell in values)
        yield f"<tr><td>{_profile(column.profile)}</td>{cells}</tr>"
    yield "</table></div>"
    if not all(column.profile.is_verified for column in matrix.columns):
        yield f"<p>{safe(phrase('believed', language))}</p>"


def _profile(profile: Profile) -> str:
    """The name of a profile, which opens to show its facts."""
    facts = "".join(
        f"<p>{safe(one.says)} <i>({safe(one.source)}, {one.date}){'' if one.verified else ' *'}</i></p>"
        for one in profile.facts
    )
    return f"<details><summary>{safe(profile.name)}{'' if profile.is_verified else ' *'}</summary>{facts}</details>"


def _notes(matrix: Matrix, language: str) -> Iterator[str]:
    for column in matrix.columns:
        for level, note in column.notes:
            yield f'<p class="{level.value}">{safe(f"{column.profile.name}: {note.say(language)}")}</p>'
    for one in matrix.unjudged:
        text = safe(f"{one.target}: {one.reason.say(language)}")
        yield f'<p class="error">{phrase("unjudged", language)}{text}</p>'


def _tools(matrix: Matrix, language: str) -> Iterator[str]:
    heads = "".join(f"<th>{safe(column.profile.name)}</th>" for column in matrix.columns)
    yield f'<div class="wide"><table><tr><th>{phrase("tool", language)}</th>{heads}</tr>'
    for row in matrix.rows:
        cells = "".join(_cell(column, one, language) for column, one in zip(matrix.columns, row, strict=True))
        yield f"<tr><td>{safe(f'{row[0].server}: {row[0].tool}')}</td>{cells}</tr>"
    yield "</table></div>"


def _cell(column: ClientColumn, verdict: ToolVerdict, language: str) -> str:
    """The outcome, which opens to show its details."""
    outcome = phrase(verdict.outcome.value, language)
    css = f' class="{verdict.level.value}"' if verdict.level else ""
    inside = "".join(f"<p>{line}</p>" for line in _about(column, verdict, language))
    return f"<td{css}><details><summary>{outcome}</summary>{inside}</details></td>"


def _about(column: ClientColumn, verdict: ToolVerdict, language: str) -> Iterator[str]:
    if verdict.level:
        yield LEVELS[verdict.level][language == "zh"] + ("" if verdict.is_known else " *")
    facts = {"called": verdict.name, "length": len(verdict.name), "limit": column.profile.name_length}
    yield safe(phrase("called", language, **facts).rstrip(": ："))
    yield from (f"<code>{safe(one.place)}</code> {safe(one.say(language))}" for one in verdict.changes)
    if verdict.lost:
        yield safe(phrase("lost", language, length=len(verdict.lost)) + verdict.lost)
