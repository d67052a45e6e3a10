"""The report of an evaluation: as text for one screen, and as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from tooltrue.contract.display import display_safe, display_safe_json
from tooltrue.host.evaluation.grading import NONE, Comparison, Evaluation, Graded
from tooltrue.host.evaluation.phrases import phrase
from tooltrue.host.evaluation.statistics import Share
from tooltrue.jsonrpc.messages import Json, encode
from tooltrue.protocol.types import Value

__all__ = [
    "Report",
    "as_json",
    "as_text",
    "compared",
    "lines_of_share",
    "named",
    "tokens",
    "unanswered",
    "wrong_lines",
]

_MOST: Final = 10
_LONGEST: Final = 160
_SURE: Final = 0.05
_FEWEST: Final = 6  # 2 / 2⁶ is the first that is below 0.05


class Report(Value, frozen=True):
    """``old`` is the evaluation to compare ``new`` with, if any."""

    model: str
    new: Evaluation
    old: Evaluation | None = None

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        return (self.new,) if self.old is None else (self.new, self.old)

    @property
    def comparison(self) -> Comparison | None:
        return None if self.old is None else Comparison.of(self.new, self.old)


# -- text --------------------------------------------------------------------------------------------------------------


def as_text(report: Report, language: str = "en") -> str:
    said = [phrase("title", language, model=display_safe(report.model))]
    for one in report.evaluations:
        said += ["", *_lines(one, language)]
    if report.comparison is not None:
        said += ["", *compared(report.comparison, language)]
    return "".join(f"{line}\n" for line in said)


def _lines(found: Evaluation, language: str) -> Iterator[str]:
    questions = len(found.by_question)
    yield phrase("target", language, target=display_safe(found.target), questions=questions, answers=len(found.answers))
    for name, share in lines_of_share(found, language):
        yield f"  {phrase('row', language, name=name, share=share)}"
    yield f"  {tokens(found, language)}"
    if found.unanswered:
        yield f"  {unanswered(found, language)}"
    yield from _block("confusion", _instead(found, language), language)
    yield from _block("fields", _fields(found, language), language)
    yield from _block("wrong", wrong_lines(found, language), language, 3 * _MOST)


def _block(title: str, lines: Iterable[str], language: str, most: int = _MOST) -> Iterator[str]:
    every = [*lines]
    if every:
        yield f"  {phrase('block', language, title=phrase(title, language))}"
        yield from (f"    {line}" for line in every[:most])
    if len(every) > most:
        yield f"    {phrase('more', language, count=len(every) - most)}"


def lines_of_share(found: Evaluation, language: str) -> Iterator[tuple[str, str]]:
    for name, share in (("tool", found.tool), ("arguments", found.arguments), ("right", found.right)):
        yield phrase(name, language), _share(share, language)


def _share(share: Share, language: str) -> str:
    if share.value is None or share.interval is None:
        return phrase("no_share", language)
    low, high = share.interval
    right = f"{share.right:g}"
    return phrase("share", language, right=right, of=share.of, value=share.value, low=low, high=high)


def tokens(found: Evaluation, language: str) -> str:
    given, written = found.tokens
    return phrase("tokens" if given or written else "no_tokens", language, input=given, output=written)


def unanswered(found: Evaluation, language: str) -> str:
    why = next((one.why.say(language) for one in found.unanswered if one.why is not None), "")
    return phrase("unanswered", language, count=len(found.unanswered), why=display_safe(why))


def named(tool: str, language: str) -> str:
    return phrase("none", language) if tool == NONE else display_safe(tool)


def _instead(found: Evaluation, language: str) -> Iterator[str]:
    wrong = [(pair, count) for pair, count in found.confusion.items() if pair[0] != pair[1]]
    for (expected, chosen), count in sorted(wrong, key=lambda one: (-one[1], one[0])):
        facts = {"expected": named(expected, language), "chosen": named(chosen, language), "count": count}
        yield phrase("instead", language, **facts)


def _fields(found: Evaluation, language: str) -> Iterator[str]:
    for (tool, name), counts in found.fields.items():
        if counts.keys() - {"right"}:
            facts = {verdict: counts.get(verdict, 0) for verdict in ("right", "different", "missing", "extra")}
            yield phrase("field", language, tool=display_safe(tool), name=display_safe(name), **facts)


def wrong_lines(found: Evaluation, language: str) -> Iterator[str]:
    """Each question that was not right in every round, the expected calls, and the actual ones."""
    for place, rounds in found.by_question.items():
        did = Counter(_did(one, language) for one in rounds if not one.is_right)
        if did:
            one = rounds[0]
            yield phrase("asked", language, place=display_safe(place), question=_cut(one.question.text))
            yield "  " + phrase("wanted", language, calls=_wanted(one, language))
        for said, count in did.items():
            yield "  " + (said if count == 1 else phrase("often", language, said=said, count=count))


def _did(one: Graded, language: str) -> str:
    if not one.answer.calls or one.reached == len(one.question.calls) > 0:  # then its final text was wrong
        return phrase("said", language, text=_cut(one.answer.text))
    return phrase("made", language, calls=_made(one, language))


def _wanted(one: Graded, language: str) -> str:
    return _calls([(call.tool, call.arguments) for call in one.question.calls], language)


def _made(one: Graded, language: str) -> str:
    return _calls([(call.tool, call.arguments) for call in one.answer.calls], language)


def _calls(calls: Sequence[tuple[str, Json]], language: str) -> str:
    said = [tool if arguments is None else f"{tool} {encode(arguments).decode()}" for tool, arguments in calls]
    return _cut(", ".join(said)) if said else phrase("none", language)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return display_safe(line if len(line) <= _LONGEST else line[:_LONGEST] + "…")


def compared(found: Comparison, language: str) -> Iterator[str]:
    """The difference between the two, and its significance."""
    better, worse, p = len(found.better), len(found.worse), found.p
    new, old = display_safe(found.new.target), display_safe(found.old.target)
    yield phrase("compared", language, new=new, old=old, better=better, worse=worse, same=found.same, p=p)
    if better + worse < _FEWEST:
        yield phrase("few", language)
    elif p < _SURE:
        yield phrase("sure", language, winner=new if better > worse else old, p=p)
    else:
        yield phrase("unsure", language, p=p)


# -- data --------------------------------------------------------------------------------------------------------------


def as_json(report: Report, language: str = "en") -> str:
    said: dict[str, Json] = {
        "model": report.model,
        "evaluations": [_data(one, language) for one in report.evaluations],
    }
    if (found := report.comparison) is not None:
        said["comparison"] = {
            "new": found.new.target,
            "old": found.old.target,
            "better": list(found.better),
            "worse": list(found.worse),
            "same": found.same,
            "p": found.p,
            "meaning": [*islice(compared(found, language), 1, None)],
        }
    return display_safe_json(json.dumps(said, ensure_ascii=False, indent=2)) + "\n"


def _data(found: Evaluation, language: str) -> dict[str, Json]:
    given, written = found.tokens
    return {
        "target": found.target,
        "questions": len(found.by_question),
        "answers": len(found.answers),
        "tool": _share_data(found.tool),
        "arguments": _share_data(found.arguments),
        "right": _share_data(found.right),
        "tokens": {"input": given, "output": written},
        "confusion": [
            {"expected": expected or None, "chosen": chosen or None, "count": count}
            for (expected, chosen), count in sorted(found.confusion.items())
        ],
        "fields": [{"tool": tool, "field": name, **counts} for (tool, name), counts in found.fields.items()],
        "graded": [*map(_graded, found.answers)],
        "unanswered": [
            {"place": one.question.place, "round": one.round, "why": one.why.say(language) if one.why else ""}
            for one in found.unanswered
        ],
    }


def _share_data(share: Share) -> Json:
    low, high = share.interval or (None, None)
    return {"right": share.right, "of": share.of, "share": share.value, "low": low, "high": high}


def _graded(one: Graded) -> Json:
    return {
        "place": one.question.place,
        "round": one.round,
        "right": one.is_right,
        "tool": one.has_tool,
        "arguments": one.has_arguments,
        "reached": one.reached,
        "calls": [{"tool": call.tool, "arguments": call.arguments} for call in one.answer.calls],
        "text": one.answer.text,
    }
