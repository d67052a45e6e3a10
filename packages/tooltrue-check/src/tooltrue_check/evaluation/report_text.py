"""The report of an evaluation: as text for one screen, and as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from tooltrue.contract.display import display_safe, display_safe_json
from tooltrue.jsonrpc.messages import Json, encode
from tooltrue.protocol.types import Value
from tooltrue_check.evaluation.grades import NONE, Comparison, Evaluation, GradedAnswer
from tooltrue_check.evaluation.report_phrases import phrase
from tooltrue_check.evaluation.statistics import Share

__all__ = [
    "EvaluationReport",
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


class EvaluationReport(Value, frozen=True):
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


def as_text(report: EvaluationReport, language: str = "en") -> str:
    lines = [phrase("title", language, model=display_safe(report.model))]
    for one in report.evaluations:
        lines += ["", *_lines(one, language)]
    if report.comparison is not None:
        lines += ["", *compared(report.comparison, language)]
    return "".join(f"{line}\n" for line in lines)


def _lines(evaluation: Evaluation, language: str) -> Iterator[str]:
    questions = len(evaluation.by_question)
    yield phrase(
        "target", language, target=display_safe(evaluation.target), questions=questions, answers=len(evaluation.answers)
    )
    for name, share in lines_of_share(evaluation, language):
        yield f"  {phrase('row', language, name=name, share=share)}"
    yield f"  {tokens(evaluation, language)}"
    if evaluation.unanswered:
        yield f"  {unanswered(evaluation, language)}"
    yield from _block("confusion", _instead(evaluation, language), language)
    yield from _block("fields", _fields(evaluation, language), language)
    yield from _block("wrong", wrong_lines(evaluation, language), language, 3 * _MOST)


def _block(title: str, lines: Iterable[str], language: str, most: int = _MOST) -> Iterator[str]:
    every = [*lines]
    if every:
        yield f"  {phrase('block', language, title=phrase(title, language))}"
        yield from (f"    {line}" for line in every[:most])
    if len(every) > most:
        yield f"    {phrase('more', language, count=len(every) - most)}"


def lines_of_share(evaluation: Evaluation, language: str) -> Iterator[tuple[str, str]]:
    for name, share in (("tool", evaluation.tool), ("arguments", evaluation.arguments), ("right", evaluation.right)):
        yield phrase(name, language), _share(share, language)


def _share(share: Share, language: str) -> str:
    if share.value is None or share.interval is None:
        return phrase("no_share", language)
    low, high = share.interval
    right = f"{share.right:g}"
    return phrase("share", language, right=right, of=share.of, value=share.value, low=low, high=high)


def tokens(evaluation: Evaluation, language: str) -> str:
    input_tokens, output_tokens = evaluation.tokens
    return phrase(
        "tokens" if input_tokens or output_tokens else "no_tokens", language, input=input_tokens, output=output_tokens
    )


def unanswered(evaluation: Evaluation, language: str) -> str:
    why = next((one.why.say(language) for one in evaluation.unanswered if one.why is not None), "")
    return phrase("unanswered", language, count=len(evaluation.unanswered), why=display_safe(why))


def named(tool: str, language: str) -> str:
    return phrase("none", language) if tool == NONE else display_safe(tool)


def _instead(evaluation: Evaluation, language: str) -> Iterator[str]:
    wrong = [(pair, count) for pair, count in evaluation.confusion.items() if pair[0] != pair[1]]
    for (expected, chosen), count in sorted(wrong, key=lambda one: (-one[1], one[0])):
        facts = {"expected": named(expected, language), "chosen": named(chosen, language), "count": count}
        yield phrase("instead", language, **facts)


def _fields(evaluation: Evaluation, language: str) -> Iterator[str]:
    for (tool, name), counts in evaluation.fields.items():
        if counts.keys() - {"right"}:
            facts = {verdict: counts.get(verdict, 0) for verdict in ("right", "different", "missing", "extra")}
            yield phrase("field", language, tool=display_safe(tool), name=display_safe(name), **facts)


def wrong_lines(evaluation: Evaluation, language: str) -> Iterator[str]:
    """Each question that was not right in every round, the expected calls, and the actual ones."""
    for place, rounds in evaluation.by_question.items():
        did = Counter(_did(one, language) for one in rounds if not one.is_right)
        if did:
            one = rounds[0]
            yield phrase("asked", language, place=display_safe(place), question=_cut(one.question.text))
            yield "  " + phrase("wanted", language, calls=_expected_calls(one, language))
        for calls, count in did.items():
            yield "  " + (calls if count == 1 else phrase("often", language, calls=calls, count=count))


def _did(one: GradedAnswer, language: str) -> str:
    if not one.answer.calls or one.reached == len(one.question.calls) > 0:  # then its final text was wrong
        return phrase("said", language, text=_cut(one.answer.text))
    return phrase("made", language, calls=_made(one, language))


def _expected_calls(one: GradedAnswer, language: str) -> str:
    return _calls([(call.tool, call.arguments) for call in one.question.calls], language)


def _made(one: GradedAnswer, language: str) -> str:
    return _calls([(call.tool, call.arguments) for call in one.answer.calls], language)


def _calls(calls: Sequence[tuple[str, Json]], language: str) -> str:
    texts = [tool if arguments is None else f"{tool} {encode(arguments).decode()}" for tool, arguments in calls]
    return _cut(", ".join(texts)) if texts else phrase("none", language)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return display_safe(line if len(line) <= _LONGEST else line[:_LONGEST] + "…")


def compared(comparison: Comparison, language: str) -> Iterator[str]:
    """The difference between the two, and its significance."""
    better, worse, p = len(comparison.better), len(comparison.worse), comparison.p
    new, old = display_safe(comparison.new.target), display_safe(comparison.old.target)
    yield phrase("compared", language, new=new, old=old, better=better, worse=worse, same=comparison.same, p=p)
    if better + worse < _FEWEST:
        yield phrase("few", language)
    elif p < _SURE:
        yield phrase("sure", language, winner=new if better > worse else old, p=p)
    else:
        yield phrase("unsure", language, p=p)


# -- data --------------------------------------------------------------------------------------------------------------


def as_json(report: EvaluationReport, language: str = "en") -> str:
    data: dict[str, Json] = {
        "model": report.model,
        "evaluations": [_data(one, language) for one in report.evaluations],
    }
    if (comparison := report.comparison) is not None:
        data["comparison"] = {
            "new": comparison.new.target,
            "old": comparison.old.target,
            "better": list(comparison.better),
            "worse": list(comparison.worse),
            "same": comparison.same,
            "p": comparison.p,
            "meaning": [*islice(compared(comparison, language), 1, None)],
        }
    return display_safe_json(json.dumps(data, ensure_ascii=False, indent=2)) + "\n"


def _data(evaluation: Evaluation, language: str) -> dict[str, Json]:
    input_tokens, output_tokens = evaluation.tokens
    return {
        "target": evaluation.target,
        "questions": len(evaluation.by_question),
        "answers": len(evaluation.answers),
        "tool": _share_data(evaluation.tool),
        "arguments": _share_data(evaluation.arguments),
        "right": _share_data(evaluation.right),
        "tokens": {"input": input_tokens, "output": output_tokens},
        "confusion": [
            {"expected": expected or None, "chosen": chosen or None, "count": count}
            for (expected, chosen), count in sorted(evaluation.confusion.items())
        ],
        "fields": [{"tool": tool, "field": name, **counts} for (tool, name), counts in evaluation.fields.items()],
        "graded": [*map(_graded, evaluation.answers)],
        "unanswered": [
            {"place": one.question.place, "round": one.round, "why": one.why.say(language) if one.why else ""}
            for one in evaluation.unanswered
        ],
    }


def _share_data(share: Share) -> Json:
    low, high = share.interval or (None, None)
    return {"right": share.right, "of": share.of, "share": share.value, "low": low, "high": high}


def _graded(one: GradedAnswer) -> Json:
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
