"""The filter expressions of the tables tools: a small language of our own, parsed to a tree, never to code.

.. code-block:: text

    either      = both { "or" both }
    both        = negated { "and" negated }
    negated     = "not" negated | "(" either ")" | test
    test        = column ( "=" | "!=" | "<" | "<=" | ">" | ">=" ) value
                | column [ "not" ] "in" "(" value { "," value } ")"
                | column [ "not" ] ( "contains" | "starts with" | "ends with" | "matches" ) text
                | column "is" [ "not" ] "empty"
    column      = a word, or any name between `backticks`
    value       = text in 'single' or "double" quotes (doubled inside), a number, true or false

The type of the value decides how a cell is compared: with a number as a number, with text as text. A cell that is empty
or no number satisfies no comparison, and hence every negation of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NoReturn

from tooltrue.errors import ToolError
from tooltrue.wording import Worded
from tooltrue_toolbox.tables.wording import (
    FILTER_NESTED_TOO_DEEPLY,
    FILTER_PATTERN_TOO_LONG,
    FILTER_SYNTAX_ERROR,
    FILTER_TOO_LONG,
    FILTER_TOO_MANY_VALUES,
    LABEL_AND_OR_END,
    LABEL_FILTER_COMPARISON,
    LABEL_FILTER_START,
    LABEL_FILTER_TOKEN,
    LABEL_FILTER_VALUE,
    LABEL_TEXT_IN_QUOTES,
    LABEL_THE_END,
)

__all__ = [
    "Both",
    "ColumnComparison",
    "ColumnMembership",
    "ColumnSearch",
    "Either",
    "Empty",
    "Node",
    "Not",
    "Search",
    "Value",
    "columns_of",
    "leaves",
    "parse",
]

LENGTH = 2000
DEPTH = 50
VALUES = 200
PATTERN = 200

Value = str | Decimal | bool
Comparison = Literal["=", "!=", "<", "<=", ">", ">="]
Search = Literal["contains", "starts with", "ends with", "matches"]


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    column: str
    operator: Comparison
    value: Value


@dataclass(frozen=True, slots=True)
class ColumnMembership:
    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class ColumnSearch:
    column: str
    how: Search
    text: str


@dataclass(frozen=True, slots=True)
class Empty:
    column: str


@dataclass(frozen=True, slots=True)
class Not:
    part: Node


@dataclass(frozen=True, slots=True)
class Both:
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    parts: tuple[Node, ...]


Leaf = ColumnComparison | ColumnMembership | ColumnSearch | Empty
Node = Leaf | Not | Both | Either


def leaves(node: Node) -> Iterator[Leaf]:
    """The tests in ``node``, from left to right."""
    match node:
        case Both(parts) | Either(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case _:
            yield node


def columns_of(node: Node) -> tuple[str, ...]:
    """The columns that ``node`` tests, each once."""
    return tuple(dict.fromkeys(leaf.column for leaf in leaves(node)))


_TOKEN = re.compile(
    r"""\s+
    | (?P<number>[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)(?!\w)
    | '(?P<single>(?:[^']|'')*)'
    | "(?P<double>(?:[^"]|"")*)"
    | `(?P<name>[^`]+)`
    | (?P<sign><=|>=|!=|<>|==|[=<>(),])
    | (?P<word>[^\W\d]\w*)""",
    re.VERBOSE,
)
_SIGNS: dict[str, Comparison] = {
    "=": "=", "==": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
}  # fmt: skip
_WORDS = frozenset(
    ("and", "or", "not", "in", "is", "empty", "contains", "starts", "ends", "with", "matches", "true", "false")
)
_SEARCHES = frozenset(("contains", "starts", "ends", "matches"))


@dataclass(frozen=True, slots=True)
class _FilterToken:
    kind: Literal["value", "name", "sign", "word", "end"]
    text: str
    place: int
    value: Value = ""


def _tokens(text: str) -> Iterator[_FilterToken]:
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ToolError.of(
                FILTER_SYNTAX_ERROR,
                place=place + 1,
                found=text[place : place + 20],
                wanted=Worded(LABEL_FILTER_TOKEN, {}),
            )
        if match.lastgroup is not None:
            yield _token(match.lastgroup, match[match.lastgroup], place)
        place = match.end()
    yield _FilterToken("end", "the end", len(text))


def _token(kind: str, text: str, place: int) -> _FilterToken:
    match kind:
        case "number":
            return _FilterToken("value", text, place, Decimal(text))
        case "single":
            return _FilterToken("value", text, place, text.replace("''", "'"))
        case "double":
            return _FilterToken("value", text, place, text.replace('""', '"'))
        case "name":
            return _FilterToken("name", text, place)
        case "sign":
            return _FilterToken("sign", text, place)
        case _:
            word = text.lower()
            if word in ("true", "false"):
                return _FilterToken("value", text, place, word == "true")
            return _FilterToken("word", word, place) if word in _WORDS else _FilterToken("name", text, place)


def parse(text: str) -> Node:
    """The tree of a filter. ``ToolError`` names the position, the text found there, and the accepted alternatives."""
    if len(text) > LENGTH:
        raise ToolError.of(FILTER_TOO_LONG, length=len(text), limit=LENGTH)
    return _Parser(list(_tokens(text))).whole()


class _Parser:
    """A parser by recursive descent, at most :data:`DEPTH` levels deep."""

    def __init__(self, tokens: list[_FilterToken]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._values = 0

    def whole(self) -> Node:
        node = self._either()
        if self._next.kind != "end":
            self._fail(Worded(LABEL_AND_OR_END, {}))
        return node

    @property
    def _next(self) -> _FilterToken:
        return self._tokens[self._at]

    def _take(self) -> _FilterToken:
        token = self._next
        self._at += 1
        return token

    def _is(self, *texts: str) -> bool:
        return self._next.kind in ("word", "sign") and self._next.text in texts

    def _skip(self, text: str) -> bool:
        here = self._is(text)
        self._at += here
        return here

    def _expect(self, text: str) -> None:
        if not self._skip(text):
            self._fail(f'"{text}"')

    def _fail(self, expected: str | Worded) -> NoReturn:
        found = Worded(LABEL_THE_END, {}) if self._next.kind == "end" else self._next.text[:20]
        raise ToolError.of(FILTER_SYNTAX_ERROR, place=self._next.place + 1, found=found, wanted=expected)

    def _either(self) -> Node:
        parts = [self._both()]
        while self._skip("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _both(self) -> Node:
        parts = [self._negation()]
        while self._skip("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else Both(tuple(parts))

    def _negation(self) -> Node:
        self._depth += 1
        if self._depth > DEPTH:
            raise ToolError.of(FILTER_NESTED_TOO_DEEPLY, limit=DEPTH)
        try:
            if self._skip("not"):
                return Not(self._negation())
            if self._skip("("):
                node = self._either()
                self._expect(")")
                return node
            return self._test()
        finally:
            self._depth -= 1

    def _test(self) -> Node:
        if self._next.kind != "name":
            self._fail(Worded(LABEL_FILTER_START, {}))
        column = self._take().text
        if self._is(*_SIGNS):
            return ColumnComparison(column, _SIGNS[self._take().text], self._value())
        if self._skip("is"):
            negated = self._skip("not")
            self._expect("empty")
            return Not(Empty(column)) if negated else Empty(column)
        negated = self._skip("not")
        test = self._column_test(column)
        return Not(test) if negated else test

    def _column_test(self, column: str) -> Leaf:
        if self._skip("in"):
            return ColumnMembership(column, self._list())
        if not self._is(*_SEARCHES):
            self._fail(Worded(LABEL_FILTER_COMPARISON, {}))
        return self._text_search(column)

    def _text_search(self, column: str) -> ColumnSearch:
        how = self._search(self._take().text)
        text = self._value()
        if not isinstance(text, str):
            self._at -= 1
            self._fail(Worded(LABEL_TEXT_IN_QUOTES, {}))
        if how == "matches" and len(str(text)) > PATTERN:
            raise ToolError.of(FILTER_PATTERN_TOO_LONG, limit=PATTERN)
        return ColumnSearch(column, how, str(text))

    def _search(self, word: str) -> Search:
        match word:
            case "starts":
                self._expect("with")
                return "starts with"
            case "ends":
                self._expect("with")
                return "ends with"
            case "contains":
                return "contains"
            case _:
                return "matches"

    def _list(self) -> tuple[Value, ...]:
        self._expect("(")
        values = [self._value()]
        while self._skip(","):
            values.append(self._value())
        self._expect(")")
        return tuple(values)

    def _value(self) -> Value:
        if self._next.kind != "value":
            self._fail(Worded(LABEL_FILTER_VALUE, {}))
        self._values += 1
        if self._values > VALUES:
            raise ToolError.of(FILTER_TOO_MANY_VALUES, limit=VALUES)
        return self._take().value
