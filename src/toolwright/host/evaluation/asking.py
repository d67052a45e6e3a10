"""All questions, some at once: what is known is not asked again, and what fails in passing is no answer.

A busy or unreachable endpoint is asked again after a while. When that does not help, the question has no answer: it
counts neither as right nor as wrong, and is asked the next time. An endpoint that has never been heard of is not waited
for: nothing listens there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from toolwright.contract.contract import digest
from toolwright.errors import ModelAway, ModelBusy, ModelError, ToolwrightError
from toolwright.host.evaluation.answers import Answer, Kept
from toolwright.host.evaluation.choosing import Asks
from toolwright.host.evaluation.questions import Question
from toolwright.protocol.types import Value

__all__ = ["Asked", "Ways", "ask_all"]

_FORM: Final = 1  # grows when the same answers would be had in another way
_PASSING: Final = (408, 409, 425, 429)
_HOPELESS: Final = (401, 403, 404)  # of every question alike


class Asked(Value, frozen=True):
    """``round`` counts from 1. Without an ``answer``, ``why`` says what failed."""

    question: Question
    round: int
    answer: Answer | None
    why: ToolwrightError | None = None


Told: TypeAlias = Callable[[int, int], None]


def _untold(done: int, all: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Ways:
    """How questions are asked: so many ``rounds`` of each, so many ``at_once``, each tried so often, with no pause
    longer than ``pause`` seconds. ``told`` hears how many are done, of how many."""

    rounds: int = 1
    at_once: int = 4
    tries: int = 5
    pause: float = 60.0
    told: Told = _untold
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep


async def ask_all(asks: Asks, questions: Sequence[Question], kept: Kept, ways: Ways | None = None) -> list[Asked]:
    """Every question in every round, in the order of the questions. ``ModelError`` where none can be answered, since
    the endpoint is not there, or does not know the key or the model; ``ConfigurationError`` where an answer cannot be
    kept. What was answered before that is kept."""
    return await _Asking(asks, kept, ways or Ways()).all(questions)


class _Asking:
    def __init__(self, asks: Asks, kept: Kept, ways: Ways) -> None:
        self._asks = asks
        self._kept = kept
        self._ways = ways
        self._done: dict[int, Asked] = {}
        self._stopped: ToolwrightError | None = None
        self._is_heard = False

    async def all(self, questions: Sequence[Question]) -> list[Asked]:
        wanted = [(one, round) for one in questions for round in range(1, self._ways.rounds + 1)]
        turns = iter(enumerate(wanted))
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self._ways.at_once, len(wanted))):
                group.create_task(self._work(turns, len(wanted)))
        if self._stopped is not None:
            raise self._stopped
        return [self._done[number] for number in range(len(wanted))]

    async def _work(self, turns: Iterator[tuple[int, tuple[Question, int]]], count: int) -> None:
        for number, (question, round) in turns:
            self._done[number] = await self._one(question, round)
            if self._stopped is not None:
                return
            self._ways.told(len(self._done), count)

    async def _one(self, question: Question, round: int) -> Asked:
        key = digest([_FORM, self._asks.key, question.data(), round])
        if (known := self._kept.get(key)) is not None:
            return Asked(question, round, known)
        try:
            answer = await self._answered(question)
            self._kept.add(key, answer)
        except ToolwrightError as error:
            if not isinstance(error, ModelError) or error.status in _HOPELESS or self._is_nobody(error):
                self._stopped = error
            return Asked(question, round, None, error)
        return Asked(question, round, answer)

    async def _answered(self, question: Question) -> Answer:
        for number in range(1, self._ways.tries):
            try:
                return await self._heard(question)
            except ModelError as error:
                if not _passes(error) or self._is_nobody(error):
                    raise
                await self._ways.sleep(self._pause(error, number))
        return await self._heard(question)

    async def _heard(self, question: Question) -> Answer:
        try:
            answer = await self._asks.answer(question)
        except ModelError as error:
            self._is_heard |= not isinstance(error, ModelAway)
            raise
        self._is_heard = True
        return answer

    def _is_nobody(self, error: ModelError) -> bool:
        """Whether it says that nobody is there, and nobody ever was: an endpoint that starts anew was heard before."""
        return isinstance(error, ModelAway) and not self._is_heard

    def _pause(self, error: ModelError, number: int) -> float:
        said = error.seconds if isinstance(error, ModelBusy) else None
        return min(self._ways.pause, float(2**number) if said is None else said)


def _passes(error: ModelError) -> bool:
    return error.status is None or error.status in _PASSING or error.status >= 500
