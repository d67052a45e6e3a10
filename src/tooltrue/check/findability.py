"""Findability of tools by a search: the rank of the tool, the tools ranked before it, and the words that decide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from tooltrue.check.alike import Pair, confusable
from tooltrue.check.language import words
from tooltrue.check.search import Hit, Index, asked, telling
from tooltrue.check.subject import Subject
from tooltrue.jsonrpc.messages import Json

__all__ = ["Answer", "Findability", "Question", "Rival", "Source", "derived", "find", "findability"]

_RIVALS: Final = 3
_WORDS: Final = 5
_FEWEST: Final = 3
_WHEN: Final = re.compile(
    r"\b(?:use (?:this|it|when|for|to)|when (?:you|the user|a user|asked)|useful|helps?|ideal|suitable)\b"
    r"|当[^。；\n]{1,40}时|用于|适用|适合|用来|以便|如果|需要[^。；\n]{1,40}时",
    re.IGNORECASE,
)


class Source(Enum):
    """The origin of a question."""

    GIVEN = "given"
    USE = "use"
    """The first sentence of the description that says when to use the tool."""
    PURPOSE = "purpose"
    """The first sentence of the description."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question that a user would ask, and the tool that should be found."""

    tool: Subject
    text: str
    source: Source = Source.GIVEN


@dataclass(frozen=True, slots=True)
class Rival:
    """A tool ranked before the expected one. ``words`` are the words of the question for which it scores higher."""

    tool: Subject
    score: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a question. ``rank`` starts at 1, ties count as lost, and it is ``None`` if the tool has no word of
    the question. ``missing`` are the words that the tool lacks, ``rivals`` the best tools ranked before it."""

    question: Question
    score: float
    rank: int | None
    rivals: tuple[Rival, ...]
    missing: tuple[str, ...]

    def is_within(self, places: int) -> bool:
        return self.rank is not None and self.rank <= places


@dataclass(frozen=True, slots=True)
class Findability:
    """The answers to all questions, and the confusable pairs that include a tool under test. ``searched`` is the number
    of tools searched."""

    answers: tuple[Answer, ...]
    pairs: tuple[Pair, ...]
    searched: int

    def within(self, places: int) -> int:
        """The number of questions whose tool is among the first ``places``."""
        return sum(answer.is_within(places) for answer in self.answers)

    def data(self) -> dict[str, Json]:
        """The result as JSON."""
        return {
            "searched": self.searched,
            "questions": len(self.answers),
            "first": self.within(1),
            "first_five": self.within(5),
            "answers": [_answer(one) for one in self.answers],
            "pairs": [
                {"tools": [_named(one.first), _named(one.second)], "like": round(one.like, 2), "apart": list(one.apart)}
                for one in self.pairs
            ],
        }


def _answer(one: Answer) -> dict[str, Json]:
    return {
        **_named(one.question.tool),
        "query": one.question.text,
        "source": one.question.source.value,
        "rank": one.rank,
        "score": round(one.score, 3),
        "missing": list(one.missing),
        "rivals": [
            {**_named(rival.tool), "score": round(rival.score, 3), "words": list(rival.words)} for rival in one.rivals
        ],
    }


def _named(tool: Subject) -> dict[str, Json]:
    return {"server": tool.server, "tool": tool.name}


def derived(tool: Subject) -> list[Question]:
    """Questions made from the tool's own description: a tool that is not found by its own words is found by no others.
    Empty if the description is."""
    first, *others = tool.text.sentences or ("",)
    when = next((said for said in others if _WHEN.search(said) and len(telling(words(said))) >= _FEWEST), "")
    said = (Question(tool, first, Source.PURPOSE), Question(tool, when, Source.USE))
    return [question for question in said if asked(question.text)]


def findability(
    tools: Sequence[Subject], questions: Iterable[Question] | None = None, among: Iterable[Subject] = ()
) -> Findability:
    """Search for all ``questions``, or those of :func:`derived` if None, in ``tools`` together with ``among``.

    Tools in ``among`` with the definition of one of ``tools`` are left out: they are the same tool.
    """
    every = (*tools, *_others(tools, among))
    index = Index(every)
    if questions is None:
        questions = [question for tool in tools for question in derived(tool)]
    ours = set(map(id, tools))
    pairs = [pair for pair in confusable(every) if id(pair.first) in ours or id(pair.second) in ours]
    return Findability(tuple(_asked(index, question) for question in questions), tuple(pairs), len(every))


def find(query: str, tools: Sequence[Subject], among: Iterable[Subject] = ()) -> list[Hit]:
    """Search for the words of a query, best hit first. Each word is reported as it is written in the query."""
    sought = asked(query)
    hits = Index((*tools, *_others(tools, among))).hits(sought)
    return [replace(hit, words={sought[root]: share for root, share in hit.words.items()}) for hit in hits]


def _others(tools: Sequence[Subject], among: Iterable[Subject]) -> Iterator[Subject]:
    ours: dict[str, list[Subject]] = {}
    for tool in tools:
        ours.setdefault(tool.name, []).append(tool)
    for one in among:
        if all(one.definition != tool.definition for tool in ours.get(one.name, ())):
            yield one


def _asked(index: Index, question: Question) -> Answer:
    sought = asked(question.text)
    hits = index.hits(sought)
    own = next((hit for hit in hits if hit.tool is question.tool), Hit(question.tool, 0.0, {}))
    before = [hit for hit in hits if hit.score >= own.score and hit is not own]
    return Answer(
        question,
        own.score,
        len(before) + 1 if own.words else None,
        tuple(_rival(hit, own, sought) for hit in before[:_RIVALS]),
        tuple(word for root, word in sought.items() if root not in own.words),
    )


def _rival(hit: Hit, own: Hit, sought: dict[str, str]) -> Rival:
    more = {root: score - own.words.get(root, 0.0) for root, score in hit.words.items()}
    deciding = sorted((root for root in more if more[root] > 0), key=lambda root: -more[root])
    return Rival(hit.tool, hit.score, tuple(sought[root] for root in deciding[:_WORDS]))
