"""A query as terms: stop words left out, Chinese cut into words, and each word with its alternatives in the lexicon.

Definitions use the words of their authors, most of them in English; queries use those of users. The lexicon has two
tables. A row of ``meanings`` has words of one meaning in both languages: a word also finds the others of its rows. A
row of ``everyday`` leads one way, from the words of users to the words of tools, the best first. Other words have less
weight than the word itself, and words that tell little of the subject have less weight than others.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence, Set
from typing import Final

from tooltrue.caching import made_once
from tooltrue.tools.search.index import SearchIndex
from tooltrue.tools.search.lexicon import STOP_WORDS, WEAK_WORDS, rows
from tooltrue.tools.search.words import HAN, apart, joined_names, stem, without_possessives

__all__ = ["STOP_WORDS", "query_terms", "search"]

_MAX_QUERY: Final = 1_000
_WEAK_WORD: Final = 0.3
_SAME_LANGUAGE: Final = 0.6
_TRANSLATED: Final = 0.67
_EVERYDAY: Final = 0.5
_FADING: Final = 0.6  # of the weight of other words, over the first of them
_FADE_LENGTH: Final = 8
_PART: Final = 0.5  # a word of a phrase, beside the phrase
_LONGEST_PHRASE: Final = 4
_PIECE: Final = re.compile(rf"[{HAN}]+|(?:(?![{HAN}])[^\W_])+")
_IS_CHINESE: Final = re.compile(rf"[{HAN}]")
_URL: Final = re.compile(r"(?:https?://|www\.)\S+", re.IGNORECASE)

Alternatives = tuple[tuple[str, float], ...]


def search(index: SearchIndex, query: str) -> list[tuple[int, float]]:
    """Return the places of the tools that fit a query, each with its score, the best first; see ``ranked``."""
    return index.ranked(query_terms(query))


def query_terms(query: str) -> list[Alternatives]:
    """Return the terms of a query in order, each as alternatives with their weights, the word itself first. A phrase of
    the lexicon, and a name such as ``GitHub``, is one term. If all words are stop words, they are the terms.
    """
    plain = unicodedata.normalize("NFKC", query[:_MAX_QUERY])
    text = without_possessives(_URL.sub(" url ", plain))
    words, names = list(_words(text)), frozenset(joined_names(text))
    terms = dict[str, Alternatives]()
    at = 0
    while at < len(words):
        size = _phrase_at(words, at, names)
        term = " ".join(words[at : at + size])
        if size > 1:
            terms.setdefault(term, _phrase(words[at : at + size], names))
        elif term not in STOP_WORDS:
            terms.setdefault(term, _alternatives(term, _weight(term)))
        at += size
    return list(terms.values()) or [_alternatives(word, 1.0) for word in dict.fromkeys(words)]


def _words(text: str) -> Iterator[str]:
    for piece in _PIECE.findall(apart(text)):
        yield from _cut(piece) if len(piece) > 1 and _IS_CHINESE.match(piece) else (piece.casefold(),)


def _phrase_at(words: Sequence[str], at: int, names: Set[str]) -> int:
    """Return the number of words of the longest phrase of the lexicon, such as ``mind map``, or of the name that begins
    here; 1 if none does."""
    others = _lexicon().others
    for size in range(min(_LONGEST_PHRASE, len(words) - at), 1, -1):
        part = words[at : at + size]
        phrase = " ".join(part)
        if phrase.isascii() and (_key(phrase) in others or "".join(part) in names):
            return size
    return 1


def _phrase(words: Sequence[str], names: Set[str]) -> Alternatives:
    phrase, joined = " ".join(words), "".join(words)
    terms = dict(_alternatives(phrase, 1.0))
    if joined in names:
        for other, weight in _alternatives(joined, 1.0):
            terms.setdefault(other, weight)
        return tuple(terms.items())
    for word in words:
        if word not in STOP_WORDS and word not in WEAK_WORDS:
            for other, weight in _alternatives(word, _PART):
                terms.setdefault(other, weight)
    return tuple(terms.items())


def _weight(word: str) -> float:
    return _WEAK_WORD if word in WEAK_WORDS or word.isdigit() or (len(word) == 1 and word.isascii()) else 1.0


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


def _alternatives(word: str, weight: float) -> Alternatives:
    others = (pair for pair in _lexicon().others.get(_key(word), {}).items() if pair[0] != word)
    return ((word, weight), *((other, weight * part * _fade(rank)) for rank, (other, part) in enumerate(others)))


def _fade(rank: int) -> float:
    """Return the part that remains of the weight of the other word with this number: rows have the best ones first."""
    return 1 - _FADING * min(rank, _FADE_LENGTH) / _FADE_LENGTH


def _key(word: str) -> str:
    return " ".join(map(stem, word.casefold().split()))


def _is_chinese(word: str) -> bool:
    return _IS_CHINESE.match(word) is not None


class _Lexicon:
    """The other words for a word, with their weights; ``chinese`` has the Chinese words, stop words included, at most
    ``longest`` long."""

    def __init__(self, meanings: Sequence[str], everyday: Sequence[str]) -> None:
        self.others: dict[str, dict[str, float]] = {}
        words = [*STOP_WORDS, *WEAK_WORDS]
        for row in map(_row, meanings):
            words += row
            for word in row:
                for other in row:
                    self._add(word, other, _SAME_LANGUAGE if _is_chinese(word) is _is_chinese(other) else _TRANSLATED)
        for users, tools in (map(_row, row.split(" > ")) for row in everyday):
            words += users
            for word in users:
                for other in tools:
                    self._add(word, other, _TRANSLATED if _is_chinese(word) else _EVERYDAY)
        self.chinese = frozenset(word for word in words if _is_chinese(word))
        self.longest = max(map(len, self.chinese), default=0)

    def _add(self, word: str, other: str, weight: float) -> None:
        others = self.others.setdefault(_key(word), {})
        if _key(other) != _key(word):
            others[other] = max(others.get(other, 0.0), weight)


def _row(text: str) -> list[str]:
    return [word.replace("_", " ") for word in text.split()]


@made_once
def _lexicon() -> _Lexicon:
    return _Lexicon(*rows())
