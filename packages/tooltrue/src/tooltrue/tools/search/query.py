"""A query as terms: stop words left out, Chinese cut into words, and each word with its alternatives in the lexicon.

Most definitions are in English, and queries are not: the lexicon has the vocabulary of tools in both languages, a row
for each meaning. A word of a query also finds the words of its rows, with less weight than itself where it is of the
same language.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

from tooltrue.tools.search.words import HAN, apart, stem

__all__ = ["STOP_WORDS", "query_terms"]

_LISTS: Final = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text("utf-8"))

STOP_WORDS: Final = frozenset[str](_LISTS["stop_words"])
"""Words that do not show the subject of a query."""

_MAX_QUERY: Final = 1_000
_SAME_LANGUAGE: Final = 0.6
_TRANSLATED: Final = 0.9
_PIECE: Final = re.compile(rf"[{HAN}]+|(?:(?![{HAN}])[^\W_])+")
_IS_CHINESE: Final = re.compile(rf"[{HAN}]")

Alternatives = tuple[tuple[str, float], ...]


def query_terms(query: str) -> list[Alternatives]:
    """Return the terms of a query, each as alternatives with their weights; all words if they are all stop words."""
    plain = unicodedata.normalize("NFKC", query[:_MAX_QUERY])
    every = list(_words(plain))
    words = dict.fromkeys(every)
    telling = dict.fromkeys((*_phrases(every), *(word for word in words if word not in STOP_WORDS)))
    return [_alternatives(word) for word in telling or words]


def _words(text: str) -> Iterator[str]:
    for piece in _PIECE.findall(apart(text)):
        yield from _cut(piece) if len(piece) > 1 and _IS_CHINESE.match(piece) else (piece.casefold(),)


def _phrases(words: Sequence[str]) -> Iterator[str]:
    """Yield the English phrases of the lexicon that the words contain, such as ``mind map``."""
    rows = _lexicon().rows_of
    for size in (3, 2):
        for at in range(len(words) - size + 1):
            phrase = " ".join(words[at : at + size])
            if phrase.isascii() and _key(phrase) in rows:
                yield phrase


def _cut(run: str) -> Iterator[str]:
    """Cut Chinese into the longest words of the lexicon; the text between two of them into pairs of characters."""
    chinese, longest = _lexicon().chinese, _lexicon().longest
    at = begin = 0
    while at < len(run):
        word = next((run[at : at + n] for n in range(longest, 0, -1) if run[at : at + n] in chinese), "")
        if word:
            yield from _pairs(run[begin:at])
            at = begin = at + len(word)
            yield word
        else:
            at += 1
    yield from _pairs(run[begin:])


def _pairs(run: str) -> Iterator[str]:
    # One character between two words tells little.
    yield from (run[at : at + 2] for at in range(len(run) - 1))


def _alternatives(word: str) -> Alternatives:
    terms = {word: 1.0}
    is_chinese = _IS_CHINESE.match(word) is not None
    for row in _lexicon().rows_of.get(_key(word), ()):
        for other in row:
            same = (_IS_CHINESE.match(other) is not None) == is_chinese
            terms.setdefault(other, _SAME_LANGUAGE if same else _TRANSLATED)
    return tuple(terms.items())


def _key(word: str) -> str:
    return " ".join(map(stem, word.split()))


class _Lexicon:
    """The rows by their words; ``chinese`` has the Chinese words, stop words included, at most ``longest`` long."""

    def __init__(self, rows: Sequence[str]) -> None:
        self.rows_of: dict[str, list[tuple[str, ...]]] = {}
        chinese = {word for word in STOP_WORDS if _IS_CHINESE.match(word)}
        for row in rows:
            words = tuple(word.replace("_", " ") for word in row.split())
            for word in words:
                if _IS_CHINESE.match(word):
                    chinese.add(word)
                self.rows_of.setdefault(_key(word), []).append(words)
        self.chinese = frozenset(chinese)
        self.longest = max(map(len, chinese), default=0)


@cache
def _lexicon() -> _Lexicon:
    return _Lexicon(_LISTS["meanings"])
