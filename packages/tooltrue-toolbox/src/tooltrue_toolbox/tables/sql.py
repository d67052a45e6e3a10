"""From columns and filters to SQL of our own making.

No word of a caller gets into the text: columns are ``c0``, ``c1``, …, and values are parameters.

**Numbers are exact or reported as inexact.** A cell is a number when it is written like one, ``-12.50`` or ``1e-3``, or
in the notation of its column (:mod:`tooltrue_toolbox.tables.notation`); not ``007``, ``0x10`` or ``1_000``, which are
usually identifiers, and not ``1e999``, which is too large for a number. It is read as a decimal of the width that the
beginning of the file suggests; one that needs more ends the reading (``unfit``), which then restarts with a width that
holds the whole column, or with floating point where no decimal does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from tooltrue.errors import ToolError
from tooltrue_toolbox.tables.filters import (
    Both,
    ColumnComparison,
    ColumnMembership,
    ColumnSearch,
    Either,
    Empty,
    Node,
    Not,
    Search,
    Value,
    leaves,
)
from tooltrue_toolbox.tables.notation import NUMBER, Notation
from tooltrue_toolbox.tables.wording import COLUMN_NOT_NUMERIC, UNKNOWN_TABLE_COLUMN

__all__ = ["FLOAT", "Shape", "TableColumns", "is_number", "shape_of"]

_NUMBER = re.compile(NUMBER)
MOST = 38
"""Digits of the widest decimal."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The digits before and after the point that a decimal needs; floating point where ``exact`` is false."""

    before: int = 1
    behind: int = 0
    exact: bool = True

    def wide(self, other: Shape) -> Shape:
        both = Shape(max(self.before, other.before), max(self.behind, other.behind), self.exact and other.exact)
        return both if both.before + both.behind <= MOST else FLOAT


FLOAT = Shape(exact=False)


def shape_of(cells: Iterable[str], notation: Notation | None) -> Shape:
    """A shape that holds those of ``cells`` that are numbers, with room for larger ones in the rest of the file."""
    shape = Shape(12, 2)
    for cell in cells:
        number = cell if notation is None else notation.plain(cell)
        if number is not None and is_number(number):
            shape = shape.wide(_one(number))
    return shape


def is_number(cell: str, notation: Notation | None = None) -> bool:
    """Whether a cell is a number for the engine: in the notation of its column, and within the range of a double."""
    number = cell if notation is None else notation.plain(cell)
    return number is not None and _NUMBER.fullmatch(number) is not None and math.isfinite(float(number))


def _one(number: str) -> Shape:
    if "e" in number or "E" in number:
        return FLOAT
    before, _, behind = number.lstrip("+-").partition(".")
    return Shape(len(before), len(behind))


@dataclass(frozen=True, slots=True)
class TableColumns:
    """The columns of a file, by name, as expressions. ``natives`` have numbers as the file's own types; the numbers of
    the others are plain, or in the notation of ``notations``."""

    names: tuple[str, ...]
    natives: Mapping[str, Shape]
    shapes: Mapping[str, Shape]
    truths: frozenset[str] = frozenset()
    notations: Mapping[str, Notation] = field(default_factory=dict[str, Notation])

    def at(self, name: str, where: str) -> int:
        """The number of the column. ``ToolError`` lists the columns that exist."""
        if name not in self.names:
            columns = ", ".join(self.names[:40]) + (", …" if len(self.names) > 40 else "")
            raise ToolError.of(UNKNOWN_TABLE_COLUMN, name=name[:100], where=where, known=columns)
        return self.names.index(name)

    def cell(self, name: str, where: str = "$.columns") -> str:
        return f"c{self.at(name, where)}"

    def text(self, name: str, where: str = "$.columns") -> str:
        return f"CAST({self.cell(name, where)} AS VARCHAR)" if name in self.typed_value else self.cell(name, where)

    @property
    def typed_value(self) -> frozenset[str]:
        return frozenset(self.natives) | self.truths

    def counts(self, name: str) -> bool:
        """Whether a column may hold numbers."""
        return name in self.natives or name in self.shapes

    def shape(self, name: str) -> Shape:
        """The shape of a column's numbers. ``ToolError`` for a column whose type has no numbers, such as dates."""
        shape = self.natives.get(name) or self.shapes.get(name)
        if shape is None:
            raise ToolError.of(COLUMN_NOT_NUMERIC, name=name)
        return shape

    @property
    def rows(self) -> str:
        """The rows of the file: its cells, and for columns with a notation of their own, also the numbers as plain
        text."""
        number_texts = "".join(
            f", {self.notations[n].sql(self.cell(n))} AS {self.number_text(n)}" for n in self.notations
        )
        return f"(SELECT *{number_texts} FROM {{table}})" if number_texts else "{table}"

    def number_text(self, name: str) -> str:
        """The cell with a plainly written number, as a column of :attr:`rows`."""
        at = self.at(name, "$.columns")
        return f"w{at}" if name in self.notations else f"c{at}"

    def number(self, name: str, where: str = "$.columns") -> str:
        """The number in a cell; NULL if it is not a number."""
        column = self.cell(name, where)
        cell = self.number_text(name)
        shape = self.shape(name)
        if name in self.natives:
            return cell if shape.exact else f"CAST({cell} AS DOUBLE)"
        # The first letter of most texts rules out a number; that costs less than a pattern.
        text = f"WHEN {cell} >= ':' THEN NULL"
        double = f"TRY_CAST({cell} AS DOUBLE)"
        number = f"regexp_full_match({cell}, '{NUMBER}') AND isfinite({double})"
        if not shape.exact:
            return f"(CASE {text} WHEN {number} THEN {double} END)"
        digits = 18 if shape.before + shape.behind <= 18 else MOST
        before = digits - shape.behind - 1
        behind = rf"(?:\.[0-9]{{1,{shape.behind}}})?" if shape.behind else ""
        first = f"[1-9][0-9]{{0,{before}}}" if before >= 0 else "0"
        fitting = f"[+-]?(?:0|{first}){behind}"
        kind = f"DECIMAL({digits}, {shape.behind})"
        return (
            f"(CASE {text} WHEN regexp_full_match({cell}, '{fitting}') THEN CAST({cell} AS {kind}) "
            f"WHEN {number} THEN CAST(error('unfit {column} ' || left({cell}, 20)) AS {kind}) END)"
        )

    def numbered_rows(self, names: Sequence[str], where: str = "") -> str:
        """The rows that match ``where``, with the numbers of ``names`` beside their cells, each read once."""
        numbers = "".join(f", {self.number(name)} AS n{self.names.index(name)}" for name in dict.fromkeys(names))
        return f"(SELECT *{numbers} FROM {self.rows}{where})"

    def read(self, name: str) -> str:
        """The number of a cell, as a column of :meth:`numbered_rows`."""
        return f"n{self.at(name, '$.columns')}"

    def digits(self, name: str) -> str:
        """The most digits before and after the point in the numbers of a column, and whether any is written with an
        exponent."""
        cell = self.number_text(name)
        plain = f"regexp_full_match({cell}, '{NUMBER}')"
        return (
            f"max(length(regexp_extract({cell}, '^[+-]?([0-9]+)', 1))) FILTER ({plain}), "
            f"max(length(regexp_extract({cell}, '[.]([0-9]+)', 1))) FILTER ({plain}), "
            f"coalesce(bool_or(contains(lower({cell}), 'e')) FILTER ({plain}), false)"
        )

    # Filters

    def widened_shapes(self, node: Node) -> dict[str, Shape]:
        """The shapes, widened to hold also the numbers that ``node`` compares with."""
        shapes = dict(self.shapes)
        for leaf in leaves(node):
            self.at(leaf.column, "$.filter")
            values = (
                leaf.values
                if isinstance(leaf, ColumnMembership)
                else (leaf.value,)
                if isinstance(leaf, ColumnComparison)
                else ()
            )
            for value in values:
                if isinstance(value, Decimal) and leaf.column in shapes:
                    shapes[leaf.column] = shapes[leaf.column].wide(_one(format(value, "f")))
        return shapes

    def condition(self, node: Node, values: list[object]) -> str:
        """``node`` as SQL that is true or false, never NULL; its values are added to ``values``."""
        match node:
            case Both(parts):
                return "(" + " AND ".join(self.condition(part, values) for part in parts) + ")"
            case Either(parts):
                return "(" + " OR ".join(self.condition(part, values) for part in parts) + ")"
            case Not(part):
                return f"(NOT {self.condition(part, values)})"
            case Empty(column):
                return f"(coalesce({self.text(column, '$.filter')}, '') = '')"
            case ColumnMembership(column, listed):
                parts = [self._comparison(column, "=", value, values) for value in listed]
                return "(" + " OR ".join(parts) + ")"
            case ColumnSearch(column, how, text):
                values.append(text)
                return f"coalesce({_SEARCHES[how]}({self.text(column, '$.filter')}, CAST(? AS VARCHAR)), false)"
            case ColumnComparison(column, operator, value):
                if operator == "!=":
                    return f"(NOT {self._comparison(column, '=', value, values)})"
                return self._comparison(column, operator, value, values)

    def _comparison(self, column: str, operator: str, value: Value, values: list[object]) -> str:
        if isinstance(value, bool):
            values.append(str(value).lower())
            return f"coalesce(lower({self.text(column, '$.filter')}) {operator} CAST(? AS VARCHAR), false)"
        if isinstance(value, str):
            values.append(value)
            return f"coalesce({self.text(column, '$.filter')} {operator} CAST(? AS VARCHAR), false)"
        shape = self.shape(column).wide(_one(format(value, "f")))
        values.append(format(value, "f"))
        kind = f"DECIMAL({MOST}, {shape.behind})" if shape.exact else "DOUBLE"
        return f"coalesce({self.number(column, '$.filter')} {operator} CAST(? AS {kind}), false)"


_SEARCHES: Mapping[Search, str] = {
    "contains": "contains",
    "starts with": "starts_with",
    "ends with": "ends_with",
    "matches": "regexp_matches",
}
