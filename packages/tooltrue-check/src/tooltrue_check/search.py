"""Search for tools by the words of a question: the index of a server with many tools, with the share of each word.

The same tools and the same question always give the same result. English words count without their endings, Chinese
words as a dictionary splits them, stop words such as "the" not at all, and a word of the name three times. Each of
these choices finds more of 664 tools of public servers, searched for by their first sentence, which was left out of
their text. The lexicon of the index is not used: a question in one language finds no text in another.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tooltrue.tools.search.index import SearchIndex, SearchText
from tooltrue.tools.search.query import STOP_WORDS as SILENT
from tooltrue.tools.search.words import stem
from tooltrue_check.language import searched
from tooltrue_check.subject import Subject

__all__ = ["SILENT", "SearchHit", "ToolIndex", "content_words", "query_terms"]

_WEIGHTS: Final = (3.0, 1.0, 1.0, 1.0, 1.0)  # the name, and everything else


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
        self._index = SearchIndex(map(_text, self.tools), _WEIGHTS)

    def hits(self, terms: Mapping[str, str]) -> list[SearchHit]:
        """The tools with at least one of the words (see :func:`query_terms`), best first; ties in the order of the
        tools."""
        parts_by_place: dict[int, dict[str, float]] = defaultdict(dict)
        for root, word in terms.items():
            for place, score in self._index.scores(word).items():
                parts_by_place[place][root] = score
        hits = (
            SearchHit(self.tools[place], sum(parts.values()), parts) for place, parts in sorted(parts_by_place.items())
        )
        return sorted(hits, key=lambda hit: -hit.score)


def _text(tool: Subject) -> SearchText:
    title = tool.definition.get("title")
    parameters = (f"{one.name} {one.text.raw}" for one in tool.parameters)
    return SearchText(tool.name, title if isinstance(title, str) else "", tool.text.raw, "\n".join(parameters))
