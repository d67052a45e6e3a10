"""Search for tools by the words of a question: BM25, as in hosts that search their tools.

The same tools and the same question always give the same result. English words count without their endings, Chinese
words as a dictionary splits them, stop words such as "the" not at all, and a word of the name three times. Each of
these choices finds more of 664 tools of public servers, searched for by their first sentence, which was left out of
their text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tooltrue_check.language import searched, stem
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Subject

__all__ = ["SILENT", "SearchHit", "ToolIndex", "content_words", "query_terms"]

_NAME: Final = 3
# The parameters k1 (saturation of a word's count) and b (weight of the text's length), with their usual values.
_ENOUGH: Final = 1.2
_LENGTH: Final = 0.75

SILENT: Final = frozenset(word_list("silent"))
"""Stop words, which do not show the subject of a question."""


def content_words(words: Iterable[str]) -> dict[str, str]:
    """The words that are not stop words, by their stems."""
    return {stem(word): word for word in words if word not in SILENT}


def query_terms(question: str) -> dict[str, str]:
    """The words of a question to search for, as :func:`content_words` returns them; all words if they are all stop
    words."""
    every = searched(question)
    return content_words(every) or {stem(word): word for word in every}


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A tool that was found. ``words`` has the part of the score that each word of the question adds."""

    tool: Subject
    score: float
    words: Mapping[str, float]


class ToolIndex:
    """An index of tools by their words: name, title, description, parameters."""

    def __init__(self, tools: Iterable[Subject]) -> None:
        self.tools = tuple(tools)
        texts = [_word_counts(tool) for tool in self.tools]
        self._lengths = [sum(text.values()) for text in texts]
        self._usual = sum(self._lengths) / max(1, len(texts))
        self._having: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for place, text in enumerate(texts):
            for word, count in text.items():
                self._having[word].append((place, count))

    def hits(self, question: Iterable[str]) -> list[SearchHit]:
        """The tools with at least one of the words (see :func:`query_terms`), best first; ties in the order of the
        tools."""
        parts_by_place: dict[int, dict[str, float]] = defaultdict(dict)
        for word in question:
            having = self._having.get(word, ())
            rarity = math.log(1 + (len(self.tools) - len(having) + 0.5) / (len(having) + 0.5))
            for place, count in having:
                length = 1 - _LENGTH + _LENGTH * self._lengths[place] / self._usual
                parts_by_place[place][word] = rarity * count * (_ENOUGH + 1) / (count + _ENOUGH * length)
        hits = (
            SearchHit(self.tools[place], sum(parts.values()), parts) for place, parts in sorted(parts_by_place.items())
        )
        return sorted(hits, key=lambda hit: -hit.score)


def _word_counts(tool: Subject) -> Counter[str]:
    title = tool.definition.get("title")
    counts = Counter((*searched(title if isinstance(title, str) else ""), *searched(tool.text.raw)))
    for one in tool.parameters:
        counts.update((*searched(one.name), *searched(one.text.raw)))
    for word in searched(tool.name):
        counts[word] += _NAME
    roots: Counter[str] = Counter()
    for word, count in counts.items():
        roots[stem(word)] += count
    return roots
