"""Statements made by chance from ``statements.grammar``, which has a place for everything that a statement may have."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import strategies as st

from support.sql.slots import NAMES, SLOTS, TEXTS

__all__ = ["HIDDEN_WORDS", "changes", "queries"]

HIDDEN_WORDS = ("ledger", "vault", "password_hash", "amount", "note")

_FRAGMENTS = (
    *("'", "''", '"', '""', "`", "``", "]", "\\", "\\'", "$$", "$a$", "*/", "/*", "/*!", "--", "-- ", "#", ";"),
    *(",", "\n", "\t", "(", ")", "))", "'))", "[", "{", "}", "%", "?", ":x", "@x", "@@x", "$1", "’", "＇", "\xa0"),
    *("ſ", "K", "\x02", "\x020\x03", " FROM ledger", " UNION ALL SELECT amount FROM ledger"),
    *("(SELECT max(amount) FROM ledger)", "; DELETE FROM ledger", " OR (SELECT amount FROM ledger) > 0", " AS c"),
    *(" WHERE 1 = 1", "year from now())", " from ledger", "ledger", "public.ledger", "main.ledger"),
    *("users.password_hash", "password_hash", "vault", "SELECT", "x", " x", " ", "year", "int", "1", "a'b", 'a"b'),
    *("a`b", "\\u0027", "E'", "N'", "U&'", "x'", "b'", "_utf8mb4'", "=>", ":=", "::", "||", "AS", "zz"),
)
_VISIBLE = (
    "id",
    "customer",
    "total",
    "state",
    "name",
    "entry",
    "buyer",
    "o.id",
    "u.name",
    "orders.id",
    "o.state",
    "users.id",
    "*",
    "o",
    "u",
    "users",
)
_TABLES = ("orders", "users", "audit", "paid", "notes")

hostile = st.lists(st.sampled_from(_FRAGMENTS), min_size=1, max_size=5).map("".join)


def _quoted_names(dialect: str) -> st.SearchStrategy[str]:
    usual = NAMES["backtick" if dialect == "mysql" else "double"]
    ways = st.one_of(st.just(usual), st.sampled_from([*NAMES.values()]))
    words = st.one_of(hostile, st.sampled_from((*HIDDEN_WORDS, *_VISIBLE, *_TABLES)))
    return st.builds(lambda way, word: way(word), ways, words)


def _names(dialect: str) -> st.SearchStrategy[str]:
    plain = st.sampled_from(("id", "x", "o", "state", "customer", "Id", "ID", "orders", "users", *HIDDEN_WORDS))
    return st.one_of(plain, _quoted_names(dialect), plain)


def _texts(dialect: str) -> st.SearchStrategy[str]:
    quotes = st.one_of(st.just(TEXTS["single"]), st.sampled_from([*TEXTS.values()]))
    plain = st.sampled_from(("'x'", "'year'", "'1'", "'$.a'", "'a.*'", "'%Y'", "'UTC'"))
    return st.one_of(plain, st.builds(lambda quote, word: quote(word), quotes, hostile))


_FILE = Path(__file__).with_name("statements.grammar")
_TITLE = re.compile(r"\[[a-z]+( [a-z]+)?\]")
_SHORT = 2
_PLACE = re.compile(r"(?<!\{)\{([a-z]+)\}(?!\})|\{\{|\}\}")
_DEEP = 4


@functools.cache
def _grammar(dialect: str) -> Mapping[str, Sequence[str]]:
    rules: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in _FILE.read_text().splitlines():
        if line.startswith("[") and line.endswith("]") and _TITLE.fullmatch(line):
            rule, _, where = line[1:-1].partition(" ")
            lines = rules.setdefault(rule, []) if where in ("", dialect) else []
        elif line and not line.startswith("#"):
            lines.append("" if line == "(nothing)" else line)
    return rules


@st.composite
def _statements(draw: st.DrawFn, dialect: str, start: str) -> str:
    grammar, left = _grammar(dialect), [60]
    leaves = {"name": _names(dialect), "text": _texts(dialect)}

    def line_of(rule: str, depth: int) -> str:
        if rule in leaves:
            return draw(leaves[rule])
        left[0] -= 1
        lines = grammar[rule] if depth < _DEEP and left[0] > 0 else grammar[rule][:_SHORT]
        return filled(draw(st.sampled_from(lines)), depth + 1)

    def filled(line: str, depth: int) -> str:
        return _PLACE.sub(lambda place: line_of(place[1], depth) if place[1] else place[0][0], line)

    return line_of(start, 0)


def _slotted(dialect: str) -> st.SearchStrategy[str]:
    """The slots of a list by hand, with other text in each of them."""
    return st.builds(
        lambda slot, name, text: slot.format(name=name, text=text),
        st.sampled_from(SLOTS),
        _names(dialect),
        _texts(dialect),
    )


def queries(dialect: str) -> st.SearchStrategy[str]:
    return st.one_of(
        _statements(dialect, "top"), _statements(dialect, "core"), _slotted(dialect), _statements(dialect, "core")
    )


def changes(dialect: str) -> st.SearchStrategy[str]:
    return st.one_of(_statements(dialect, "change"), _statements(dialect, "change"), _slotted(dialect))
