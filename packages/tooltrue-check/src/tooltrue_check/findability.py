"""Findability of tools by a search: the rank of the tool, the tools ranked before it, and the words that decide."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from tooltrue.jsonrpc.messages import Json
from tooltrue_check.language import words
from tooltrue_check.search import SearchHit, ToolIndex, content_words, query_terms
from tooltrue_check.similar_tools import Pair, confusable
from tooltrue_check.subject import Subject

__all__ = [
    "Findability",
    "QuestionOrigin",
    "QuestionResult",
    "Rival",
    "SearchQuestion",
    "description_questions",
    "find",
    "findability",
]

_RIVALS: Final = 3
_WORDS: Final = 5
_FEWEST: Final = 3
_WHEN: Final = re.compile(
    r"\b(?:use (?:this|it|when|for|to)|when (?:you|the user|a user|asked)|useful|helps?|ideal|suitable)\b"
    r"|当[^。；\n]{1,40}时|用于|适用|适合|用来|以便|如果|需要[^。；\n]{1,40}时",
    re.IGNORECASE,
)


class QuestionOrigin(Enum):
    """The origin of a question."""

    USER = "given"
    USE = "use"
    """The first sentence of the description that says when to use the tool."""
    PURPOSE = "purpose"
    """The first sentence of the description."""


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """A question that a user would ask, and the tool that should be found."""

    tool: Subject
    text: str
    source: QuestionOrigin = QuestionOrigin.USER


@dataclass(frozen=True, slots=True)
class Rival:
    """A tool ranked before the expected one. ``words`` are the words of the question for which it scores higher."""

    tool: Subject
    score: float
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of a question. ``rank`` starts at 1, ties count as lost, and it is ``None`` if the tool has no word of
    the question. ``missing`` are the words that the tool lacks, ``rivals`` the best tools ranked before it."""

    question: SearchQuestion
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

    answers: tuple[QuestionResult, ...]
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
                {
                    "tools": [_tool_keys(one.first), _tool_keys(one.second)],
                    "like": round(one.like, 2),
                    "apart": list(one.apart),
                }
                for one in self.pairs
            ],
        }


def _answer(one: QuestionResult) -> dict[str, Json]:
    return {
        **_tool_keys(one.question.tool),
        "query": one.question.text,
        "source": one.question.source.value,
        "rank": one.rank,
        "score": round(one.score, 3),
        "missing": list(one.missing),
        "rivals": [
            {**_tool_keys(rival.tool), "score": round(rival.score, 3), "words": list(rival.words)}
            for rival in one.rivals
        ],
    }


def _tool_keys(tool: Subject) -> dict[str, Json]:
    return {"server": tool.server, "tool": tool.name}


def description_questions(tool: Subject) -> list[SearchQuestion]:
    """Questions made from the tool's own description: a tool that is not found by its own words is found by no others.
    Empty if the description is."""
    first, *others = tool.text.sentences or ("",)
    when = next(
        (sentence for sentence in others if _WHEN.search(sentence) and len(content_words(words(sentence))) >= _FEWEST),
        "",
    )
    questions = (SearchQuestion(tool, first, QuestionOrigin.PURPOSE), SearchQuestion(tool, when, QuestionOrigin.USE))
    return [question for question in questions if query_terms(question.text)]


def findability(
    tools: Sequence[Subject], questions: Iterable[SearchQuestion] | None = None, among: Iterable[Subject] = ()
) -> Findability:
    """Search for all ``questions``, or those of :func:`description_questions` if None, in ``tools`` together with
    ``among``.

    Tools in ``among`` with the definition of one of ``tools`` are left out: they are the same tool.
    """
    every = (*tools, *_others(tools, among))
    index = ToolIndex(every)
    if questions is None:
        questions = [question for tool in tools for question in description_questions(tool)]
    ours = set(map(id, tools))
    pairs = [pair for pair in confusable(every) if id(pair.first) in ours or id(pair.second) in ours]
    return Findability(tuple(_answer_to(index, question) for question in questions), tuple(pairs), len(every))


def find(query: str, tools: Sequence[Subject], among: Iterable[Subject] = ()) -> list[SearchHit]:
    """Search for the words of a query, best hit first. Each word is reported as it is written in the query."""
    terms = query_terms(query)
    hits = ToolIndex((*tools, *_others(tools, among))).hits(terms)
    return [replace(hit, words={terms[root]: share for root, share in hit.words.items()}) for hit in hits]


def _others(tools: Sequence[Subject], among: Iterable[Subject]) -> Iterator[Subject]:
    ours: dict[str, list[Subject]] = {}
    for tool in tools:
        ours.setdefault(tool.name, []).append(tool)
    for one in among:
        if all(one.definition != tool.definition for tool in ours.get(one.name, ())):
            yield one


def _answer_to(index: ToolIndex, question: SearchQuestion) -> QuestionResult:
    terms = query_terms(question.text)
    hits = index.hits(terms)
    own = next((hit for hit in hits if hit.tool is question.tool), SearchHit(question.tool, 0.0, {}))
    before = [hit for hit in hits if hit.score >= own.score and hit is not own]
    return QuestionResult(
        question,
        own.score,
        len(before) + 1 if own.words else None,
        tuple(_rival(hit, own, terms) for hit in before[:_RIVALS]),
        tuple(word for root, word in terms.items() if root not in own.words),
    )


def _rival(hit: SearchHit, own: SearchHit, terms: dict[str, str]) -> Rival:
    more = {root: score - own.words.get(root, 0.0) for root, score in hit.words.items()}
    deciding = sorted((root for root in more if more[root] > 0), key=lambda root: -more[root])
    return Rival(hit.tool, hit.score, tuple(terms[root] for root in deciding[:_WORDS]))
