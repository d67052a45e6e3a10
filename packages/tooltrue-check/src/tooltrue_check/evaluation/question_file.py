"""Questions and their expected answers, read from a JSON Lines file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from tooltrue.errors import ConfigurationError, ParseError, fact_of
from tooltrue.jsonrpc.messages import Json, decode, is_array, is_object
from tooltrue.protocol.types import Value, replaced
from tooltrue.spelling import closest
from tooltrue.wording import Worded
from tooltrue_check.wording import (
    EVALUATION_QUESTION_INVALID,
    EVALUATION_TOOL_UNKNOWN,
    REASON_ARGUMENTS_NOT_OBJECT,
    REASON_KEY_NOT_KNOWN,
    REASON_KEY_NOT_TEXT,
    REASON_NO_QUESTIONS,
    REASON_STEP_WITHOUT_TOOL,
    REASON_STEPS_NOT_CALLS,
    REASON_TOOL_NOT_NAME,
    REASON_TOOL_OR_STEPS,
)

__all__ = ["EvaluationQuestion", "ExpectedCall", "absent", "check_tools", "questions_in", "renamed"]


class ExpectedCall(Value, frozen=True):
    """An expected call. ``arguments`` of ``None`` are not graded; ``result`` is the model's reply to it, if more calls
    follow."""

    tool: str
    arguments: dict[str, Json] | None = None
    result: str = ""


class EvaluationQuestion(Value, frozen=True):
    """``calls`` are in the expected order, empty if no tool should be called. ``answer`` is text that the model's final
    text has to contain. ``place`` is the line of the file."""

    text: str
    calls: tuple[ExpectedCall, ...]
    answer: str | None = None
    place: str = ""

    def data(self) -> dict[str, Json]:
        """All that the model's answer depends on."""
        calls = [{"tool": one.tool, "arguments": one.arguments, "result": one.result} for one in self.calls]
        return {"question": self.text, "calls": calls, "answer": self.answer}


_CALL: Final = frozenset({"tool", "arguments", "result"})
_LINE: Final = frozenset({"question", "answer"})


def questions_in(text: str, file: str) -> list[EvaluationQuestion]:
    """Parse a file with one question a line: ``{"question": TEXT, "tool": NAME, "arguments": {…}}``, or
    ``"steps": [{"tool": …, "result": …}, …]`` for several calls; ``"tool": null`` for no call; optionally
    ``"answer": TEXT``. The key ``"query"``, as in search tests, is an alias of ``"question"``.
    ``ConfigurationError`` for any other line, and for a file without questions."""
    questions = [_question(line, f"{file}:{number}") for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not questions:
        raise ConfigurationError.of(EVALUATION_QUESTION_INVALID, place=file, problem=Worded(REASON_NO_QUESTIONS, {}))
    return questions


def renamed(
    questions: Collection[EvaluationQuestion], names: Mapping[str, str], tools: Collection[str]
) -> list[EvaluationQuestion]:
    """The questions adapted to ``tools``: a tool that is named differently there is expected by that name. ``names``
    maps old names to new ones, and is read in both directions."""
    every = {**names, **{new: old for old, new in names.items()}}
    other = {name: every[name] for name in every if name not in tools and every[name] in tools}
    return [
        replaced(one, calls=tuple(replaced(call, tool=other.get(call.tool, call.tool)) for call in one.calls))
        for one in questions
    ]


def absent(questions: Collection[EvaluationQuestion], tools: Collection[str]) -> dict[str, int]:
    """The tools that questions expect and that are not among ``tools``: name → number of questions."""
    return Counter(name for one in questions for name in {call.tool for call in one.calls} - {*tools})


def check_tools(questions: Collection[EvaluationQuestion], tools: Collection[str], target: str) -> None:
    """``ConfigurationError`` where a question expects a tool that is not among those of ``target``."""
    for question in questions:
        for call in question.calls:
            if call.tool not in tools:
                nearest = closest(call.tool, tools)
                raise ConfigurationError.of(
                    EVALUATION_TOOL_UNKNOWN, place=question.place, tool=call.tool, target=target, nearest=nearest
                )


def _question(line: str, place: str) -> EvaluationQuestion:
    try:
        fields = _as_asked(decode(line.encode()))
        if problem := next(_problems(fields), None):
            raise ConfigurationError.of(EVALUATION_QUESTION_INVALID, place=place, problem=problem)
    except ParseError as error:
        raise ConfigurationError.of(EVALUATION_QUESTION_INVALID, place=place, problem=fact_of(error)) from None
    steps = fields["steps"] if "steps" in fields else [fields] if fields["tool"] is not None else []
    return EvaluationQuestion(fields["question"], tuple(map(_expected, steps)), fields.get("answer"), place)


def _as_asked(line: Json) -> Json:
    if not is_object(line) or "query" not in line or "question" in line:
        return line
    return {"question": line["query"], **{name: value for name, value in line.items() if name != "query"}}


def _problems(fields: Json) -> Iterator[Worded]:
    if not is_object(fields) or not isinstance(fields.get("question"), str) or not fields["question"].strip():
        yield Worded(REASON_KEY_NOT_TEXT, {"key": "question"})
    elif not isinstance(fields.get("answer", ""), str):
        yield Worded(REASON_KEY_NOT_TEXT, {"key": "answer"})
    elif ("steps" in fields) == ("tool" in fields):
        yield Worded(REASON_TOOL_OR_STEPS, {})
    elif "tool" in fields:
        yield from _problems_of_call({name: fields[name] for name in fields.keys() - _LINE})
    elif not is_array(fields["steps"]) or not fields["steps"]:
        yield Worded(REASON_STEPS_NOT_CALLS, {})
    else:
        yield from (Worded(REASON_KEY_NOT_KNOWN, {"name": name}) for name in sorted(fields.keys() - _LINE - {"steps"}))
        for step in fields["steps"]:
            yield from (
                _problems_of_call(step)
                if is_object(step) and step.get("tool")
                else [Worded(REASON_STEP_WITHOUT_TOOL, {})]
            )


def _problems_of_call(call: dict[str, Json]) -> Iterator[Worded]:
    yield from (Worded(REASON_KEY_NOT_KNOWN, {"name": name}) for name in sorted(call.keys() - _CALL))
    if not isinstance(call["tool"], str | None):
        yield Worded(REASON_TOOL_NOT_NAME, {})
    if not is_object(call.get("arguments", {})):
        yield Worded(REASON_ARGUMENTS_NOT_OBJECT, {})
    if not isinstance(call.get("result", ""), str):
        yield Worded(REASON_KEY_NOT_TEXT, {"key": "result"})


def _expected(call: dict[str, Json]) -> ExpectedCall:
    return ExpectedCall(call["tool"], call.get("arguments"), call.get("result", ""))
