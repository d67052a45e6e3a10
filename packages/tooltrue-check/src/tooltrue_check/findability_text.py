"""Search results for a person."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tooltrue.contract.display import display_safe
from tooltrue_check.findability import Findability, QuestionResult
from tooltrue_check.search import SearchHit
from tooltrue_check.similar_tools import Pair
from tooltrue_check.subject import Subject

__all__ = ["hit_lines", "lines"]

_LONGEST: Final = 100

_PHRASES: Final = {
    "asked": ("{tool}: {rank}, for “{query}”", "{tool}：{rank}，问题“{query}”"),
    "rank": ("place {rank}", "第 {rank} 位"),
    "nowhere": ("not found", "找不到"),
    "before": ("before it: {rivals}", "排在它前面的：{rivals}"),
    "lacks": ("words that it does not have: {words}", "它没有的词：{words}"),
    "same": ("all the same", "完全一样"),
    "sum": (
        "{first} of {all} questions find their tool first, {five} among the first five, of {searched} tools.",
        "{all} 个问题中，{first} 个的工具排在首位，{five} 个排在前五；共有 {searched} 个工具。",
    ),
    "pair": ("Hard to tell apart: {first} and {second}", "难以区分：{first} 与 {second}"),
    "apart": ("; only one of them says: {words}", "；仅一方写有：{words}"),
    "nothing": ("Nothing is found.", "一无所获。"),
}


def lines(report: Findability, language: str = "en") -> Iterator[str]:
    """Lines on the questions whose tool is not first, the pairs that are hard to tell apart, and the number of
    questions that find their tool."""
    for answer in report.answers:
        if not answer.is_within(1):
            yield from _answer(answer, language)
    yield from (_pair(pair, language) for pair in report.pairs)
    yield _say(
        "sum",
        language,
        first=report.within(1),
        five=report.within(5),
        all=len(report.answers),
        searched=report.searched,
    )


def _answer(answer: QuestionResult, language: str) -> Iterator[str]:
    rank = "nowhere" if answer.rank is None else "rank"
    query = " ".join(answer.question.text.split())
    yield _say(
        "asked",
        language,
        tool=_name(answer.question.tool),
        rank=_say(rank, language, rank=answer.rank),
        query=display_safe(query if len(query) <= _LONGEST else query[:_LONGEST] + "…"),
    )
    same = _say("same", language)
    rivals = [f"{_name(rival.tool)} ({_list(rival.words) or same})" for rival in answer.rivals]
    if rivals:
        yield "    " + _say("before", language, rivals=", ".join(rivals))
    if answer.missing:
        yield "    " + _say("lacks", language, words=_list(answer.missing))


def _pair(pair: Pair, language: str) -> str:
    line = _say("pair", language, first=_name(pair.first), second=_name(pair.second))
    return line + (_say("apart", language, words=_list(pair.apart)) if pair.apart else "")


def hit_lines(hits: Sequence[SearchHit], language: str = "en") -> Iterator[str]:
    """Each tool with its score, and the share of each word in it."""
    if not hits:
        yield _say("nothing", language)
    for number, hit in enumerate(hits, 1):
        words = sorted(hit.words.items(), key=lambda pair: -pair[1])
        shares = ", ".join(f"{word} {share:.2f}" for word, share in words)
        yield f"{number:>2}  {hit.score:5.2f}  {_name(hit.tool)}  {display_safe(shares)}"


def _name(tool: Subject) -> str:
    return display_safe(f"{tool.server}/{tool.name}")


def _list(words: Sequence[str]) -> str:
    return display_safe(", ".join(words))


def _say(phrase: str, language: str, **facts: object) -> str:
    return _PHRASES[phrase][language == "zh"].format(**facts)
