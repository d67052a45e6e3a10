"""A matrix for a terminal: the totals of each client, a mark for each tool, then the details of each tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from string import ascii_letters
from typing import Final
from unicodedata import east_asian_width

from tooltrue.contract.display import display_safe, excerpt
from tooltrue.protocol.terminal import one_line
from tooltrue_check.portability import ClientColumn, ClientOutcome, Matrix, ToolVerdict
from tooltrue_check.reports.report_phrases import LEVELS, level_counts, phrase
from tooltrue_check.reports.text import Paint, plain

__all__ = ["render"]

_MARKS: Final = {
    ClientOutcome.ACCEPTED: ".",
    ClientOutcome.CHANGED: "~",
    ClientOutcome.CUT: "/",
    ClientOutcome.REJECTED: "x",
    ClientOutcome.UNSEEN: "-",
}
_CHANGES: Final = 5
_LOST: Final = 60


def render(
    matrix: Matrix, language: str, *, paint: Paint = plain, is_whole: bool = False, is_short: bool = False
) -> str:
    """``is_whole`` includes all changes and names, ``is_short`` only the totals."""
    page = _MatrixPage(language, paint, is_whole)
    lines = [*page.sums(matrix)]
    if not is_short:
        lines += [*page.marks(matrix), *page.details(matrix)]
    return "\n".join([*lines, *page.summary(matrix)]) + "\n"


class _MatrixPage:
    def __init__(self, language: str, paint: Paint, is_whole: bool) -> None:
        self._language = language
        self._paint = paint
        self._changes = None if is_whole else _CHANGES
        self._is_whole = is_whole

    def _say(self, name: str, **facts: object) -> str:
        return phrase(name, self._language, **facts)

    def sums(self, matrix: Matrix) -> Iterator[str]:
        heads = ["", self._say("client"), *(self._say(one.value) for one in ClientOutcome)]
        heads += [self._say(name) for name in ("tools", "tokens", "name")]
        rows = [[letter, *self._sum(column)] for letter, column in zip(_letters(matrix), matrix.columns, strict=True)]
        widths = [max(map(_width, cells)) for cells in zip(heads, *rows, strict=True)]
        for row in (heads, *rows):
            yield "  ".join(
                [_left_aligned(row[0], widths[0]), _left_aligned(row[1], widths[1]), *_right(row[2:], widths[2:])]
            ).rstrip()
        if not all(column.profile.is_verified for column in matrix.columns):
            yield self._say("believed")
        yield ""

    def _sum(self, column: ClientColumn) -> list[str]:
        profile = column.profile
        name = profile.name if profile.is_verified else f"{profile.name} *"
        counts = [str(column.counts[one]) for one in ClientOutcome]
        limits = (profile.tools, profile.definition_tokens, profile.name_length)
        sizes = (column.tools, column.tokens, column.longest)
        return [name, *counts, *(_of(count, limit) for count, limit in zip(sizes, limits, strict=True))]

    def marks(self, matrix: Matrix) -> Iterator[str]:
        names = [_tool(matrix, row[0]) for row in matrix.rows]
        width = max(map(_width, names), default=0)
        yield f"{' ' * width}  {''.join(_letters(matrix))}"
        for name, row in zip(names, matrix.rows, strict=True):
            yield f"{_left_aligned(name, width)}  {''.join(_MARKS[one.outcome] for one in row)}"
        yield "  ".join(f"{mark} {self._say(outcome.value)}" for outcome, mark in _MARKS.items())
        yield ""

    def details(self, matrix: Matrix) -> Iterator[str]:
        for row in matrix.rows:
            lines = [*self._row(matrix, row)]
            if lines:
                yield from (self._paint(_tool(matrix, row[0]), "tool"), *lines, "")

    def _row(self, matrix: Matrix, row: Sequence[ToolVerdict]) -> Iterator[str]:
        alike: dict[tuple[object, ...], list[int]] = {}
        for number, one in enumerate(row):
            if one.level:
                changes = tuple((change.place, change.say(self._language)) for change in one.changes)
                alike.setdefault((one.level, one.outcome, changes, one.lost), []).append(number)
        for numbers in alike.values():
            names = ", ".join(matrix.columns[number].profile.name for number in numbers)
            yield from self._verdict(row[numbers[0]], names)
        for one, column in zip(row, matrix.columns, strict=True) if self._is_whole else ():
            facts = {"called": _safe_line(one.name), "length": len(one.name), "limit": column.profile.name_length}
            yield f"  {self._say('called', **facts)}{column.profile.name}"

    def _verdict(self, verdict: ToolVerdict, names: str) -> Iterator[str]:
        if verdict.level is None:
            return
        level = self._paint(LEVELS[verdict.level][self._language == "zh"], verdict.level.value)
        yield f"  {level} {self._say(verdict.outcome.value)}: {names}{'' if verdict.is_known else ' *'}"
        for change in islice(verdict.changes, self._changes):
            yield f"    {_safe_line(change.place)}: {' '.join(change.say(self._language).split())}"
        if self._changes is not None and len(verdict.changes) > self._changes:
            yield f"    {self._say('more', count=len(verdict.changes) - self._changes)}"
        if verdict.lost:
            text = excerpt(verdict.lost, 0, _LOST - 20)
            yield f"    {self._say('lost', length=len(verdict.lost))}{text}"

    def summary(self, matrix: Matrix) -> Iterator[str]:
        for column in matrix.columns:
            for level, note in column.notes:
                label = self._paint(LEVELS[level][self._language == "zh"], level.value)
                yield f"{label} {column.profile.name}: {note.say(self._language)}"
        yield self._say("judged", servers=len(matrix.sources), tools=matrix.tools)
        yield level_counts(matrix.levels, self._language)
        for one in matrix.unjudged:
            line = " ".join(f"{_safe_line(one.target)}: {one.reason.say(self._language)}".split())
            yield self._paint(self._say("unjudged") + line, "error")


def _letters(matrix: Matrix) -> str:
    """A letter for each column."""
    return ascii_letters[: len(matrix.columns)]


def _of(count: int, limit: int | None) -> str:
    return str(count) if limit is None else f"{count}/{limit}"


def _tool(matrix: Matrix, verdict: ToolVerdict) -> str:
    return _safe_line(verdict.tool if len(matrix.sources) == 1 else f"{verdict.server}: {verdict.tool}")


def _width(text: str) -> int:
    """The width of a text in terminal columns: two for a Chinese character."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(char) in "FW" else 1 for char in text)


def _left_aligned(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _right(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [" " * (width - _width(cell)) + cell for cell, width in zip(cells, widths, strict=True)]


def _safe_line(text: str) -> str:
    """Untrusted text, escaped and on one line."""
    return one_line(display_safe(text))
