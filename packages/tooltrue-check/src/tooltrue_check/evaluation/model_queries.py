"""Puts all questions to a model, several at once. Stored answers are reused, and transient failures are retried.

A busy or unreachable endpoint is retried after a pause. If that does not help, the question has no answer: it counts
neither as right nor as wrong, and is asked again in the next run. An endpoint that has never answered is not retried:
it is not running.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from tooltrue.contract.digests import digest
from tooltrue.errors import ModelError, ModelRateLimited, ModelUnavailable, TooltrueError
from tooltrue.protocol.types import Value
from tooltrue_check.evaluation.model_answers import ModelAnswer, StoredAnswers
from tooltrue_check.evaluation.question_file import EvaluationQuestion
from tooltrue_check.evaluation.tool_choice import EvaluationSubject

__all__ = ["QuerySettings", "QuestionOutcome", "ask_all"]

_FORM: Final = 1  # to be increased when the same questions would get their answers in another way
_PASSING: Final = (408, 409, 425, 429)
_HOPELESS: Final = (401, 403, 404)  # the same for every question


class QuestionOutcome(Value, frozen=True):
    """The answer to a question in one round. ``round`` counts from 1. Without an ``answer``, ``why`` is the failure."""

    question: EvaluationQuestion
    round: int
    answer: ModelAnswer | None
    why: TooltrueError | None = None


OnQuestionDone: TypeAlias = Callable[[int, int], None]


def _ignore(done: int, all: int) -> None: ...


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """How questions are asked: ``rounds`` of each, ``at_once`` in parallel, ``tries`` per question, with pauses of at
    most ``pause`` seconds. ``on_done`` is called with the number of finished questions, and of all."""

    rounds: int = 1
    at_once: int = 4
    tries: int = 5
    pause: float = 60.0
    on_done: OnQuestionDone = _ignore
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


async def ask_all(
    subject: EvaluationSubject,
    questions: Sequence[EvaluationQuestion],
    store: StoredAnswers,
    settings: QuerySettings | None = None,
) -> list[QuestionOutcome]:
    """Ask every question in every round; results are in the order of the questions. ``ModelError`` where no question
    can be answered, since the endpoint is not running, or does not know the key or the model; ``ConfigurationError``
    where an answer cannot be stored. Answers up to then are stored."""
    return await _QueryQueue(subject, store, settings or QuerySettings()).all(questions)


class _QueryQueue:
    def __init__(self, subject: EvaluationSubject, store: StoredAnswers, settings: QuerySettings) -> None:
        self._subject = subject
        self._store = store
        self._settings = settings
        self._done: dict[int, QuestionOutcome] = {}
        self._stopped: TooltrueError | None = None
        self._is_heard = False

    async def all(self, questions: Sequence[EvaluationQuestion]) -> list[QuestionOutcome]:
        rounds = [(one, round) for one in questions for round in range(1, self._settings.rounds + 1)]
        turns = iter(enumerate(rounds))
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._settings.at_once, len(rounds))):
                group.create_task(self._work(turns, len(rounds)))
        if self._stopped is not None:
            raise self._stopped
        return [self._done[number] for number in range(len(rounds))]

    async def _work(self, turns: Iterator[tuple[int, tuple[EvaluationQuestion, int]]], count: int) -> None:
        for number, (question, round) in turns:
            self._done[number] = await self._one(question, round)
            if self._stopped is not None:
                return
            self._settings.on_done(len(self._done), count)

    async def _one(self, question: EvaluationQuestion, round: int) -> QuestionOutcome:
        key = digest([_FORM, self._subject.key, question.data(), round])
        if (stored := self._store.get(key)) is not None:
            return QuestionOutcome(question, round, stored)
        try:
            answer = await self._answer_with_retries(question)
            self._store.add(key, answer)
        except TooltrueError as error:
            if not isinstance(error, ModelError) or error.status in _HOPELESS or self._is_nobody(error):
                self._stopped = error
            return QuestionOutcome(question, round, None, error)
        return QuestionOutcome(question, round, answer)

    async def _answer_with_retries(self, question: EvaluationQuestion) -> ModelAnswer:
        for number in range(1, self._settings.tries):
            try:
                return await self._answer_once(question)
            except ModelError as error:
                if not _passes(error) or self._is_nobody(error):
                    raise
                await self._settings.sleep(self._pause(error, number))
        return await self._answer_once(question)

    async def _answer_once(self, question: EvaluationQuestion) -> ModelAnswer:
        try:
            answer = await self._subject.answer(question)
        except ModelError as error:
            self._is_heard |= not isinstance(error, ModelUnavailable)
            raise
        self._is_heard = True
        return answer

    def _is_nobody(self, error: ModelError) -> bool:
        """Whether the endpoint is unreachable and has never answered: one that restarts has answered before."""
        return isinstance(error, ModelUnavailable) and not self._is_heard

    def _pause(self, error: ModelError, number: int) -> float:
        retry_after = error.seconds if isinstance(error, ModelRateLimited) else None
        return min(self._settings.pause, float(2**number) if retry_after is None else retry_after)


def _passes(error: ModelError) -> bool:
    return error.status is None or error.status in _PASSING or error.status >= 500
