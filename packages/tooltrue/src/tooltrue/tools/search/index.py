"""A full-text index of tools: SQLite FTS5 in memory, ranked by BM25.

The same texts and the same terms always give the same result. The work is bounded: long texts are cut, a query has a
limited number of terms, and a term is always a quoted phrase, so that no text becomes query syntax.
"""

from __future__ import annotations

import math
import re
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from tooltrue.caching import cache_short_texts
from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import is_object
from tooltrue.protocol.types import Value
from tooltrue.tools.search.words import is_unspaced, term_tokens, text_tokens
from tooltrue.tools.wording import FULL_TEXT_SEARCH_MISSING

__all__ = ["MAX_TERMS", "SearchIndex", "SearchText", "search_text"]

MAX_TERMS: Final = 128
"""The terms of one query that are searched for."""

_COLUMNS: Final = ("name", "title", "lead", "rest", "parameters")
_WEIGHTS: Final = (4.0, 2.0, 2.0, 1.0, 0.5)
_LEAD: Final = 200  # the first sentence of a description, if it is no longer
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s|[。！？\n]")
_UNKNOWN: Final = 1.5  # synonyms of a word that no text has count so much more, up to the weight of the word itself
_COVERAGE: Final = 0.35
_CACHE_SIZE: Final = 512  # terms whose scores are kept: queries have many of the words of the lexicon in common
_MAX_NAME: Final = 256
_MAX_TEXT: Final = 8_192
_MAX_PARAMETERS: Final = 256
_DEEPEST: Final = 6
_LEAST_RARITY: Final = 1e-6  # that of FTS5 for a term that most texts have


class SearchText(Value, frozen=True):
    """The texts of a tool that are searched."""

    name: str
    title: str = ""
    description: str = ""
    parameters: str = ""


def search_text(name: str, title: str | None, description: str | None, schema: Mapping[str, Any]) -> SearchText:
    """Return the texts of a definition. Of a hostile one, a bounded part."""
    return SearchText(name, title or "", description or "", "\n".join(_parameters(schema)))


def _parameters(schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names and descriptions of the properties, outer ones first."""
    level, matches = [schema], 0
    for _ in range(_DEEPEST):
        inner: list[Mapping[str, Any]] = []
        for one in level:
            for name, text, below in _properties(one):
                yield f"{name} {text}"
                if (matches := matches + 1) >= _MAX_PARAMETERS:
                    return
                inner.append(below)
        level = inner


def _properties(schema: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    items = schema.get("items")
    for part in (schema, items):
        properties = part.get("properties") if is_object(part) else None
        for name, below in properties.items() if is_object(properties) else ():
            if is_object(below):
                text = below.get("description")
                yield name, text if isinstance(text, str) else "", below


class SearchIndex:
    """An index of tools by their words. A tool is its place among the texts. Thread-safe.

    ``weights`` are those of a word in the name, the title, the first sentence, the rest of the description, and the
    parameters. Raises ``ConfigurationError`` if this Python's SQLite has no FTS5.
    """

    def __init__(self, texts: Iterable[SearchText], weights: Sequence[float] = _WEIGHTS) -> None:
        self._lock = threading.Lock()
        self._connection = _connected()
        every = list(texts)
        self._size = len(every)
        self._connection.executemany(_INSERT, (_row(place, text) for place, text in enumerate(every)))
        self._search = (
            f"SELECT rowid, bm25(tools, {', '.join(map(str, weights))}) FROM tools WHERE tools MATCH ? ORDER BY rowid"
        )
        self._score_cache = cache_short_texts(_CACHE_SIZE)(self._read)

    def scores(self, term: str) -> Mapping[int, float]:
        """Return the places of the tools that have a word or phrase, each with the score that it adds."""
        return self._score_cache(term)

    def _read(self, term: str) -> Mapping[int, float]:
        if not (query := _query(term)):
            return {}
        with self._lock:
            matches: list[tuple[int, float]] = self._connection.execute(self._search, (query,)).fetchall()
        # FTS5 gives a term that half of the tools have no weight, which suits long lists of texts. Its own factor is
        # taken out, and the usual one for short lists put in.
        without, having = self._size - len(matches) + 0.5, len(matches) + 0.5
        theirs = max(math.log(without / having), _LEAST_RARITY)
        rarity = math.log(1 + without / having)
        return {place: -score / theirs * rarity for place, score in matches}

    def ranked(self, terms: Iterable[Sequence[tuple[str, float]]]) -> list[tuple[int, float]]:
        """Return the places that have at least one of the terms, the best first, ties in the order of the texts.

        A term is a sequence of alternatives with their weights: the word itself, and other words for it. The best one
        that a tool has counts. The largest weight is that of the term. A tool that has more of the terms precedes one
        with a rare term alone.
        """
        total, matched, whole = dict[int, float](), dict[int, float](), 0.0
        for alternatives in _bounded(terms):
            weight = max(weight for _, weight in alternatives)
            whole += weight
            for place, score in self._best(alternatives, weight).items():
                total[place] = total.get(place, 0.0) + score
                matched[place] = matched.get(place, 0.0) + weight
        hits = ((place, score * (matched[place] / whole) ** _COVERAGE) for place, score in total.items())
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def _best(self, alternatives: Sequence[tuple[str, float]], most: float) -> dict[int, float]:
        """Return for each place the score of the best of the alternatives, whose weights are at most ``most``."""
        (word, own), *others = alternatives
        scores = self.scores(word)
        factor = 1.0 if scores else _UNKNOWN
        best = {place: own * score for place, score in scores.items()}
        for term, weight in others:
            weight = min(factor * weight, most)
            for place, score in self.scores(term).items():
                if weight * score > best.get(place, 0.0):
                    best[place] = weight * score
        return best


def _bounded(terms: Iterable[Sequence[tuple[str, float]]]) -> list[Sequence[tuple[str, float]]]:
    """Return the first terms, with ``MAX_TERMS`` alternatives in all."""
    counted, budget = list[Sequence[tuple[str, float]]](), MAX_TERMS
    for alternatives in terms:
        if budget <= 0:
            break
        counted.append(alternatives[:budget])
        budget -= len(alternatives)
    return counted


_INSERT: Final = f"INSERT INTO tools(rowid, {', '.join(_COLUMNS)}) VALUES (?{', ?' * len(_COLUMNS)})"


def _connected(module: str = "fts5") -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    try:
        connection.execute(
            f"CREATE VIRTUAL TABLE tools USING {module}({', '.join(_COLUMNS)}, content='', "
            "tokenize='porter unicode61 remove_diacritics 0')"
        )
    except sqlite3.OperationalError as error:
        connection.close()
        raise ConfigurationError.of(FULL_TEXT_SEARCH_MISSING, problem=str(error)) from None
    return connection


def _row(place: int, text: SearchText) -> tuple[int | str, ...]:
    """Return the place of a tool and its columns."""
    lead, rest = _divided(text.description[:_MAX_TEXT])
    columns = text.name[:_MAX_NAME], text.title[:_MAX_NAME], lead, rest, text.parameters[:_MAX_TEXT]
    return place, *map(_joined, columns)


def _divided(description: str) -> tuple[str, str]:
    """Return the first sentence of a description, or the beginning of a long one, and the rest."""
    text = description.lstrip()
    end = _SENTENCE.search(text, 0, _LEAD)
    at = end.start() if end else _LEAD
    return text[:at], text[at:]


def _joined(text: str) -> str:
    return " ".join(text_tokens(text))


def _query(term: str) -> str:
    """Return the term as a quoted phrase, empty if it has no words."""
    tokens = term_tokens(term[:_MAX_NAME])
    if not tokens:
        return ""
    phrase = '"' + " ".join(tokens) + '"'
    return f"{phrase} *" if len(tokens) == len(tokens[0]) == 1 and is_unspaced(tokens[0]) else phrase
