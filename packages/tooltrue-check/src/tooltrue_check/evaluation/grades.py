"""Grades for answers: each on its own, and for all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from tooltrue.protocol.types import Value
from tooltrue_check.evaluation.argument_verdicts import ArgumentVerdict, Schemas, fields, reached, says
from tooltrue_check.evaluation.model_answers import ModelAnswer
from tooltrue_check.evaluation.model_queries import QuestionOutcome
from tooltrue_check.evaluation.question_file import EvaluationQuestion
from tooltrue_check.evaluation.statistics import Share, exact_p

__all__ = ["NONE", "Comparison", "Evaluation", "GradedAnswer", "graded"]

NONE: Final = ""
"""Stands for a tool if none was expected, or none chosen."""


class GradedAnswer(Value, frozen=True):
    """An answer with its grades. ``pairs`` are the tools, expected and chosen, up to the first call that differs;
    ``fields`` the verdict on each argument of calls of the right tool, by tool and name; ``reached`` the number of
    calls that were as expected. ``has_arguments`` says whether the arguments of the first call were right, and is
    ``None`` if they are not graded."""

    question: EvaluationQuestion
    round: int
    answer: ModelAnswer
    pairs: tuple[tuple[str, str], ...]
    fields: tuple[tuple[str, str, ArgumentVerdict], ...]
    reached: int
    has_tool: bool
    has_arguments: bool | None
    is_right: bool


_Grade: TypeAlias = Callable[[GradedAnswer], bool | None]


def graded(question: EvaluationQuestion, round: int, answer: ModelAnswer, schemas: Schemas) -> GradedAnswer:
    """Grade an answer. Surplus calls are not graded."""
    expected_calls, calls = question.calls, answer.calls
    count = reached(question, calls, schemas)
    graded_calls = [*zip(expected_calls, calls, strict=False)][: count + 1]
    pairs = [(expected.tool, made.tool) for expected, made in graded_calls]
    if len(graded_calls) == count < len(expected_calls):
        pairs.append((expected_calls[count].tool, NONE))
    if not expected_calls:
        pairs.append((NONE, calls[0].tool if calls else NONE))
    verdicts: list[tuple[str, str, ArgumentVerdict]] = [
        (expected.tool, name, verdict)
        for expected, made in graded_calls
        if made.tool == expected.tool
        for name, verdict in fields(expected, made, schemas).items()
    ]
    has_tool = pairs[0][0] == pairs[0][1]
    return GradedAnswer(
        question,
        round,
        answer,
        tuple(pairs),
        tuple(verdicts),
        count,
        has_tool,
        (count > 0 if has_tool and expected_calls[0].arguments is not None else None) if expected_calls else None,
        count == len(expected_calls) and has_tool and says(answer, question.answer),
    )


@dataclass(frozen=True)
class Evaluation:
    """All answers about the tools of one target. Shares count questions: a question asked in several rounds counts with
    the fraction of them that was right."""

    target: str
    answers: Sequence[GradedAnswer]
    unanswered: Sequence[QuestionOutcome] = ()

    @classmethod
    def of(cls, target: str, outcomes: Iterable[QuestionOutcome], schemas: Schemas) -> Evaluation:
        every = [*outcomes]
        answers = [graded(one.question, one.round, one.answer, schemas) for one in every if one.answer is not None]
        return cls(target, answers, [one for one in every if one.answer is None])

    @cached_property
    def by_question(self) -> Mapping[str, Sequence[GradedAnswer]]:
        """The rounds of each question that has been answered at least once, by its place in the file."""
        rounds: dict[str, list[GradedAnswer]] = {}
        for one in self.answers:
            rounds.setdefault(one.question.place, []).append(one)
        return rounds

    @cached_property
    def tool(self) -> Share:
        """The share of questions whose first call used the expected tool."""
        return self._share(lambda one: one.has_tool)

    @cached_property
    def arguments(self) -> Share:
        """Of those with expected arguments, the share with the right arguments in the first call."""
        return self._share(lambda one: one.has_arguments)

    @cached_property
    def right(self) -> Share:
        """The share of questions where every call and the final text were as expected."""
        return self._share(lambda one: one.is_right)

    def _share(self, grade: _Grade) -> Share:
        parts = [_part(rounds, grade) for rounds in self.by_question.values()]
        shares = [part for part in parts if part is not None]
        return Share(sum(shares), len(shares))

    @cached_property
    def confusion(self) -> Mapping[tuple[str, str], int]:
        """How often each tool was chosen where another, or the same, was expected; :data:`NONE` stands for no tool."""
        return Counter(pair for one in self.answers for pair in one.pairs)

    @cached_property
    def fields(self) -> Mapping[tuple[str, str], Mapping[ArgumentVerdict, int]]:
        """The verdicts on each argument, by tool and name."""
        counts: dict[tuple[str, str], Counter[ArgumentVerdict]] = {}
        for tool, name, verdict in (field for one in self.answers for field in one.fields):
            counts.setdefault((tool, name), Counter())[verdict] += 1
        return dict(sorted(counts.items()))

    @property
    def tokens(self) -> tuple[int, int]:
        """The totals of input and output tokens."""
        return sum(one.answer.input for one in self.answers), sum(one.answer.output for one in self.answers)

    def wrong(self) -> Iterator[GradedAnswer]:
        return (one for one in self.answers if not one.is_right)


class Comparison(Value, frozen=True):
    """Two evaluations of the same questions. ``better`` are those that ``new`` had right more often than ``old``,
    ``worse`` those that it had right less often; a question that either could not be asked in every round is left
    out."""

    new: Evaluation
    old: Evaluation
    better: tuple[str, ...]
    worse: tuple[str, ...]
    same: int

    @classmethod
    def of(cls, new: Evaluation, old: Evaluation) -> Comparison:
        broken = {one.question.place for one in (*new.unanswered, *old.unanswered)}
        places = [place for place in new.by_question if place in old.by_question and place not in broken]
        gained = {place: _rights(new, place) - _rights(old, place) for place in places}
        better = tuple(place for place, by in gained.items() if by > 0)
        worse = tuple(place for place, by in gained.items() if by < 0)
        return cls(new, old, better, worse, len(places) - len(better) - len(worse))

    @property
    def p(self) -> float:
        """The probability of at least this difference by chance, if both were equally good."""
        return exact_p(len(self.better), len(self.worse))


def _rights(evaluation: Evaluation, place: str) -> int:
    return sum(one.is_right for one in evaluation.by_question[place])


def _part(rounds: Sequence[GradedAnswer], grade: _Grade) -> float | None:
    """The fraction of the rounds that was right, among those that have this grade."""
    grades = [one for one in map(grade, rounds) if one is not None]
    return sum(grades) / len(grades) if grades else None
