"""Pairs of tools that a model would confuse, by their texts or by their names."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Final

from tooltrue.tools.search.words import stem
from tooltrue_check.lexicon.verbs import READS, WRITES
from tooltrue_check.search import SILENT, content_words
from tooltrue_check.subject import Subject

__all__ = ["Pair", "confusable", "names_alike"]

LIKE: Final = 0.8
_FEWEST: Final = 3
_MOST_APART: Final = 2
_CHANGING: Final = WRITES - READS


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tools that are hard to tell apart. ``like`` is the share of their words that both have, from 0 to 1, rare
    words weighing more. ``apart`` are the words of one description that the other lacks, ``names_apart`` those of the
    names."""

    first: Subject
    second: Subject
    like: float
    apart: tuple[str, ...]
    names_apart: tuple[str, ...]

    @property
    def has_one_text(self) -> bool:
        return self.first.text.words == self.second.text.words

    def other(self, tool: Subject) -> Subject:
        return self.second if tool is self.first else self.first


def confusable(tools: Sequence[Subject]) -> list[Pair]:
    """Find the pairs whose texts are equal or nearly so and do not tell the tools apart: one description has all words
    of the other and at most a word or two more, and these neither distinguish the names nor say that something is
    changed.

    Of many tools with the same words, the first stands for all, so that the number of pairs grows with the number of
    tools and not with its square.
    """
    same: dict[Set[str], list[Subject]] = {}
    for tool in tools:
        if text := _text(tool):
            same.setdefault(text, []).append(tool)
    within = [_pair(first, other, 1.0) for first, *others in same.values() for other in others]
    texts, firsts = list(same), [first for first, *_ in same.values()]
    between = [_pair(firsts[one], firsts[two], like) for one, two, like in sorted(_meeting(texts))]
    return [pair for pair in (*within, *between) if pair is not None]


def names_alike(tools: Sequence[Subject]) -> list[tuple[Subject, Subject]]:
    """Find the pairs on one server whose names differ in endings only, ``get_story`` and ``get_stories``."""
    having: dict[tuple[str, ...], list[Subject]] = defaultdict(list)
    for tool in tools:
        having[tool.server, *map(stem, tool.name_words)].append(tool)
    return [
        (one, two)
        for same in having.values()
        for place, two in enumerate(same)
        for one in same[:place]
        if one.name_words != two.name_words
    ]


def _text(tool: Subject) -> frozenset[str]:
    """The words of its description and the names of its arguments; empty if there are too few to compare."""
    terms = frozenset((*map(stem, tool.text.word_set - SILENT), *(f"{one.name}=" for one in tool.arguments)))
    return terms if len(terms) >= _FEWEST and tool.text.words else frozenset()


def _meeting(texts: Sequence[Set[str]]) -> Iterator[tuple[int, int, float]]:
    """Yield the positions of two similar texts, and their similarity. Similar texts always share one of the rarest
    words of each, so only those pairs are compared (Bayardo, Ma and Srikant: Scaling up all pairs similarity search,
    2007)."""
    often = Counter(word for text in texts for word in text)
    weights = {word: math.log(1 + len(texts) / often[word]) for word in sorted(often, key=lambda w: (often[w], w))}
    order = {word: place for place, word in enumerate(weights)}
    having: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(texts):
        rarest = _rarest(sorted(text, key=order.__getitem__), weights)
        for other in {other for word in rarest for other in having[word]}:
            like = _like(texts[other], text, weights)
            if like >= LIKE:
                yield other, place, like
        for word in rarest:
            having[word].append(place)


def _rarest(text: Sequence[str], weights: Mapping[str, float]) -> Sequence[str]:
    """The rarest words of a text, as many as needed for any similar text to share at least one of them."""
    budget = (1 - LIKE) * sum(map(weights.__getitem__, text)) + 1e-9
    for count, word in enumerate(text, 1):
        budget -= weights[word]
        if budget < 0:
            return text[:count]
    return text


def _like(one: Set[str], two: Set[str], weights: Mapping[str, float]) -> float:
    common, every = (math.fsum(map(weights.__getitem__, words)) for words in (one & two, one | two))
    return common / every


def _pair(first: Subject, second: Subject, like: float) -> Pair | None:
    """The pair; None if its texts tell the tools apart."""
    texts = [content_words(tool.text.words) for tool in (first, second)]
    names = [{stem(word): word for word in tool.name_words} for tool in (first, second)]
    apart, names_apart = _apart(*texts), _apart(*names)
    is_within = texts[0].keys() <= texts[1].keys() or texts[1].keys() <= texts[0].keys()
    if not is_within or len(apart) > _MOST_APART or apart.keys() & names_apart.keys():
        return None
    if not _CHANGING.isdisjoint(apart.values()):
        return None
    return Pair(first, second, like, tuple(apart.values()), tuple(names_apart.values()))


def _apart(one: Mapping[str, str], two: Mapping[str, str]) -> dict[str, str]:
    """The words that only one of them has, in order."""
    return {root: word for root, word in (*one.items(), *two.items()) if (root in one) is not (root in two)}
