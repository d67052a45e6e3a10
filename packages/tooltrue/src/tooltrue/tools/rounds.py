"""Questions from inside of a tool, answered by replay: one function body for stateless and session-based clients.

A body cannot be suspended between two requests, so a question *ends* its round: the call returns the question, and when
the answers are there the body runs again from its start, and finds them (2026-07-28, basic/patterns/mrtr). Answers, and
values from :meth:`Rounds.once`, are the :class:`Memory` that a handler carries from one round to the next: sealed
through the client in stateless revisions, in the running request in session-based ones.

Theory of operation. One question, identified by its key, goes through these states; a round is one run of the body::

                 the body asks          the next round has a response
      unknown -----------------> asked ------------------------------> read
                                   ^                                    |
                                   |  does not fit (fewer than          | fits
                                   |  MAX_MISFITS times): asked again   v
                                   +-------------------------------- answered

An answer counts for the exact question only: ``asked`` and ``answered`` hold a digest beside the key. A body that asks
something else under the same key in a later round asks anew, and a response to the former question is ignored. A
malformed response (the wrong shape, not a wrong value) is an error of the client, and the round is repeated from its
former state.

:class:`InputRequired` carries a question out of the body. It is not an ``Exception``, so that a body that catches those
does not swallow it; :func:`how_it_ended` takes it out of exception groups as well, because a body may ask in a task
group. Then the first question counts, and the others are asked in later rounds.

Two rules hold for every change of this module. A round must reach its question in the same way each time, so
everything that a body may use before it (answers, ``once``) is deterministic for a given memory; every value is stored
as JSON and decoded again, in the first round too. And the memory of a call is bounded by its handler
(:mod:`tooltrue.server.request_state`), not here; ``MAX_ROUNDS`` bounds the number of rounds. A nested call has its own
keys under a prefix (:class:`_Within`) in the same memory, since there is one round for the whole call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar, cast

from tooltrue.errors import DefinitionError, InvalidParams, ParseError, RpcError, ToolError
from tooltrue.jsonrpc.messages import Json, canonical, decode, encode
from tooltrue.protocol.input_requests import InputRequest, malformed
from tooltrue.protocol.types import InputRequiredResult, Value, replaced
from tooltrue.tools.wording import (
    INVALID_INPUT_RESPONSE,
    ONCE_VALUE_NOT_JSON,
    QUESTION_ANSWERS_INVALID,
    TOO_MANY_QUESTION_ROUNDS,
)

__all__ = [
    "MAX_MISFITS",
    "MAX_ROUNDS",
    "BecomesTask",
    "ClientQuestion",
    "InputRequired",
    "Memory",
    "Rounds",
    "how_it_ended",
    "remembered",
    "sent_mark",
]

MAX_ROUNDS = 32
MAX_MISFITS = 3

T = TypeVar("T")


class Memory(Value, frozen=True):
    """The memory of a call over its rounds; plain JSON.

    ``answered``: key → the question's digest and its answer. ``asked``: key → digest, of open questions. ``once``:
    values that were made only once, and whether they were awaited. ``own``: the ``requestState`` of a handler that
    keeps its own. ``misfits``: key → digest, and the number of answers that did not fit. ``cut``: steps of a task that
    were cut by the question of another part of its function.
    """

    round: int = 0
    answered: Mapping[str, tuple[str, Json]] = {}
    asked: Mapping[str, str] = {}
    once: Mapping[str, tuple[bool, Json]] = {}
    own: str | None = None
    misfits: Mapping[str, tuple[str, int]] = {}
    cut: tuple[str, ...] = ()


# --- questions -------------------------------------------------------------------------------------


class ClientQuestion(Generic[T]):
    """A question to the client. ``request`` is its wire form, ``read`` interprets an answer to it.

    ``read`` raises ``ValueError``, in words for the person, if the answer does not fit the question.
    """

    request: InputRequest

    def read(self, answer: Mapping[str, Json]) -> T:
        raise NotImplementedError

    def again(self, problem: str) -> InputRequest:
        """Return the question once more, with the problem of the last answer."""
        params = self.request["params"]
        return {**self.request, "params": {**params, "message": f"{params['message']}\n\n{problem}"}}


# --- rounds ----------------------------------------------------------------------------------------------------------


class InputRequired(BaseException):
    """Ends a round: with a question, or with an error of the protocol, such as an invalid answer. Not an ``Exception``,
    so that a body that catches those does not swallow it.
    """

    def __init__(self, outcome: InputRequiredResult | RpcError) -> None:
        super().__init__("the round ends here; an answer starts the next")
        self.outcome = outcome


def how_it_ended(error: BaseException) -> InputRequiredResult:
    """Return the question with which a round ended. Its error and other exceptions are raised.

    Of several that were asked side by side (a task group), the first counts; the others are asked in later rounds. An
    error counts before them: there is no later round.
    """
    questions = list[InputRequiredResult]()
    failures = list[RpcError]()
    for leaf in _leaves(error):
        match leaf:
            case InputRequired(outcome=RpcError() as failure):
                failures.append(failure)
            case InputRequired(outcome=InputRequiredResult() as question):
                questions.append(question)
            case _:
                raise error
    if failures:
        raise failures[0]
    return questions[0]


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in cast("BaseExceptionGroup[BaseException]", error).exceptions for leaf in _leaves(one)]


class BecomesTask(BaseException):
    """Ends a call that goes on as a task, from its start. Not an ``Exception``, as :class:`InputRequired`."""


class Rounds:
    """One round of a call: the answers so far, and the client's new responses.

    ``number`` is that of earlier rounds: 0 for the call itself, which is when it is counted and recorded.
    ``responses`` are the client's, in any shape: they are checked when the body asks for them. ``state`` identifies the
    state in which the client returned the memory; empty if it never left. ``is_taken``: they belong to a call already;
    a nested call of its tool gets them by :meth:`within`.
    """

    __slots__ = ("_memory", "_once", "_unnamed", "is_taken", "may_become_task", "number", "responses", "state")
    is_nested = False
    """Whether they belong to a call that a tool makes with its own context."""
    of_task = False
    """Whether the rounds are those of a task, which a durable engine runs."""

    def __init__(
        self, memory: Memory | None = None, responses: Mapping[str, Json] | None = None, state: str = ""
    ) -> None:
        self._memory = memory
        self._once: dict[str, tuple[bool, bytes]] | None = None
        self._unnamed = 0
        self.number = 0 if memory is None else memory.round
        self.is_taken = False
        self.may_become_task = False
        self.responses: Mapping[str, Json] = responses or {}
        self.state = state

    def become_task(self) -> None:
        """End this round if the call may go on as a task; see :meth:`Context.become_task`."""
        if self.may_become_task:
            raise BecomesTask

    def within(self, scope: str) -> Rounds:
        """Return the rounds for a nested call, whose keys all begin with ``scope``."""
        return _Within(self, scope)

    @property
    def own(self) -> str | None:
        """The ``requestState`` that the handler itself returned last."""
        return None if self._memory is None else self._memory.own

    def memory(self) -> Memory | None:
        """The memory of the earlier rounds, with the values that were made once in this one; ``None`` if there is
        nothing to remember."""
        if self._memory is None and not self._once:
            return None
        return replaced(self._memory or _NOTHING, once=self._made_once())

    def ask(self, question: ClientQuestion[T], key: str | None = None) -> T:
        """Return the answer to one question; ends the round if there is none yet."""
        if key is None:
            self._unnamed += 1
            key = f"question-{self._unnamed}"
        return self.ask_all({key: question})[key]

    def ask_all(self, questions: Mapping[str, ClientQuestion[Any]]) -> dict[str, Any]:
        """Return the answers to all questions; missing ones are asked together.

        Raises ``ToolError`` once ``MAX_MISFITS`` answers to one question did not fit.
        """
        memory = self._memory or _NOTHING
        answers, missing, values = dict(memory.answered), dict[str, InputRequest](), dict[str, Any]()
        misfits = dict(memory.misfits)
        for key, question in questions.items():
            digest = _digest(question.request)
            has_answer, answer = self._answer(memory, key, question.request, digest)
            if not has_answer:
                missing[key] = question.request
                continue
            try:
                values[key] = question.read(answer)
                answers[key] = (digest, answer)
            except ValueError as error:
                misfits[key] = (digest, _one_more(misfits.get(key), key, digest, str(error)))
                missing[key] = question.again(str(error))
        self._memory = replaced(memory, answered=answers, misfits=misfits)
        if not missing:
            return values
        digests = {key: _digest(questions[key].request) for key in missing}
        raise InputRequired(InputRequiredResult(dict(missing), memory=self.after(digests)))

    def _answer(self, memory: Memory, key: str, request: InputRequest, digest: str) -> tuple[bool, Any]:
        """Return whether this exact question has been answered, and the answer."""
        earlier = memory.answered.get(key)
        if earlier is not None and earlier[0] == digest:
            return True, earlier[1]
        if key not in self.responses or memory.asked.get(key) != digest:
            return False, None
        answer = self.responses[key]
        if problem := malformed(request, answer):
            raise InputRequired(InvalidParams.of(INVALID_INPUT_RESPONSE, key=key[:80], problem=problem))
        return True, answer

    def once(self, key: str, make: Callable[[], Any], *, retry: bool = False) -> Any:
        """Return the value that ``make`` gave in the first round that came here; see :meth:`Context.once`."""
        made = self._made()
        if key in made:
            awaited, encoded = made[key]
            return _ready(decode(encoded)) if awaited else decode(encoded)
        value = make()
        if isinstance(value, Awaitable):
            return self._keep_later(key, cast("Awaitable[Any]", value))
        return self._keep(key, value, awaited=False)

    async def _keep_later(self, key: str, value: Awaitable[Any]) -> Any:
        return self._keep(key, await value, awaited=True)

    def _keep(self, key: str, value: Any, *, awaited: bool) -> Any:
        """Store a value as JSON. The first round, too, gets the decoded value, and each round a copy of its own."""
        try:
            encoded = encode(value)
            value = decode(encoded)
        except (TypeError, ValueError, RecursionError, ParseError):
            raise DefinitionError.of(ONCE_VALUE_NOT_JSON, key=key) from None
        self._made()[key] = (awaited, encoded)
        return value

    def _made(self) -> dict[str, tuple[bool, bytes]]:
        if self._once is None:
            once = () if self._memory is None else self._memory.once.items()
            self._once = {key: (awaited, encode(value)) for key, (awaited, value) in once}
        return self._once

    def after(self, digests: Mapping[str, str], own: str | None = None) -> Memory:
        """Return the memory of the next round. Raises ``ToolError`` if there have been too many."""
        memory = self._memory or _NOTHING
        if memory.round + 1 >= MAX_ROUNDS:
            raise ToolError.of(TOO_MANY_QUESTION_ROUNDS, limit=MAX_ROUNDS)
        return Memory(memory.round + 1, memory.answered, dict(digests), self._made_once(), own, memory.misfits)

    def _made_once(self) -> dict[str, tuple[bool, Json]]:
        return {key: (awaited, decode(encoded)) for key, (awaited, encoded) in self._made().items()}


class _Within(Rounds):
    """Delegates to ``outer``, under prefixed keys."""

    __slots__ = ("_outer", "_scope", "of_task")
    is_nested = True

    def __init__(self, outer: Rounds, scope: str) -> None:
        super().__init__(None, outer.responses, outer.state)
        self._outer = outer
        self._scope = scope
        self.number = outer.number
        self.of_task = outer.of_task

    @property
    def own(self) -> str | None:
        return self._outer.own

    def ask_all(self, questions: Mapping[str, ClientQuestion[Any]]) -> dict[str, Any]:
        answers = self._outer.ask_all({self._scope + key: question for key, question in questions.items()})
        return {key: answers[self._scope + key] for key in questions}

    def once(self, key: str, make: Callable[[], Any], *, retry: bool = False) -> Any:
        return self._outer.once(self._scope + key, make, retry=retry)

    def after(self, digests: Mapping[str, str], own: str | None = None) -> Memory:
        return self._outer.after(digests, own)


_NOTHING = Memory()


async def _ready(value: Any) -> Any:
    return value


def _one_more(previous: tuple[str, int] | None, key: str, digest: str, problem: str) -> int:
    """Return the number of invalid answers to this question so far. Raises ``ToolError`` at the limit."""
    count = previous[1] + 1 if previous is not None and previous[0] == digest else 1
    if count >= MAX_MISFITS:
        raise ToolError.of(QUESTION_ANSWERS_INVALID, key=key, count=count, problem=problem)
    return count


def _digest(request: InputRequest) -> str:
    """Identify a question, so that an answer counts for exactly the question that was asked."""
    return hashlib.sha256(canonical(request)).hexdigest()[:32]


def sent_mark(number: int) -> str:
    """Return the key of the checkpoint before the call of a round is sent to another server."""
    return f"sent {number}"


def remembered(outcome: InputRequiredResult, rounds: Rounds) -> Memory:
    """Return the memory for the round after ``outcome``, even if a handler made that itself."""
    if outcome.memory is not None:
        return cast("Memory", outcome.memory)
    requests: Iterable[tuple[str, InputRequest]] = (outcome.inputRequests or {}).items()
    return rounds.after({key: _digest(request) for key, request in requests}, outcome.requestState)
