"""Questions from inside of a tool, answered by replay: one body for both eras.

A body cannot be suspended between two requests, so a question *ends* its round: the call comes back with what is asked,
and when the answers are there the body runs again from its start, and finds them (2026-07-28, basic/patterns/mrtr).
What has been answered, and what :meth:`Rounds.once` has made, is the :class:`Memory` that a door carries from one round
to the next: sealed through the client in the modern era, in the running request in the legacy one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from typing_extensions import deprecated

from toolwright.errors import DefinitionError, InvalidParams, ParseError, ToolError
from toolwright.jsonrpc.messages import Json, canonical, decode, encode, is_array
from toolwright.protocol.questions import (
    LIST_ROOTS,
    SAMPLE,
    InputRequest,
    check_messages,
    check_url,
    elicitation_url,
    malformed,
)
from toolwright.protocol.types import InputRequiredResult, Value, replaced

__all__ = [
    "MAX_MISFITS",
    "MAX_ROUNDS",
    "Answer",
    "InputRequired",
    "Link",
    "Memory",
    "Question",
    "Root",
    "Roots",
    "Rounds",
    "Sampled",
    "Sampling",
    "how_it_ended",
    "remembered",
]

MAX_ROUNDS = 32
MAX_MISFITS = 3

T = TypeVar("T")


class Memory(Value, frozen=True):
    """What a call remembers over its rounds; plain JSON.

    ``answered``: key → the question's digest and its answer. ``asked``: key → digest, of what waits for an answer.
    ``once``: what was made only once, and whether it was awaited. ``own``: the ``requestState`` of a handler that does
    without us. ``misfits``: key → digest, and how many answers there were that did not fit.
    """

    round: int = 0
    answered: Mapping[str, tuple[str, Json]] = {}
    asked: Mapping[str, str] = {}
    once: Mapping[str, tuple[bool, Json]] = {}
    own: str | None = None
    misfits: Mapping[str, tuple[str, int]] = {}


# --- questions and their answers -------------------------------------------------------------------------------------


class Answer(Value, Generic[T], frozen=True):
    """What a person said: ``action`` is accept, decline or cancel. True when it was accepted, and then only is there a
    ``value``: the filled-in form; ``None`` for a visit, of which it says no more than that the page was opened."""

    action: str
    value: T

    def __bool__(self) -> bool:
        return self.action == "accept"


class Sampled(Value, frozen=True):
    """What a model of the client's said."""

    role: str
    content: list[Any]
    model: str
    stop_reason: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(block.get("text", "") for block in self.content if block.get("type") == "text")


class Root(Value, frozen=True):
    """A folder that the client offers; ``uri`` begins with ``file://``."""

    uri: str
    name: str | None = None


class Question(Generic[T]):
    """Something to ask. ``request`` is its form on the wire, ``read`` what an answer to it means.

    ``read`` raises ``ValueError``, in words for the person, where the answer does not fit the question.
    """

    request: InputRequest

    def read(self, answer: Mapping[str, Json]) -> T:
        raise NotImplementedError

    def again(self, problem: str) -> InputRequest:
        """The question once more, saying what was wrong with the answer."""
        params = self.request["params"]
        return {**self.request, "params": {**params, "message": f"{params['message']}\n\n{problem}"}}


@dataclass(frozen=True)
class Link(Question[Answer[None]]):
    """A page that the person is asked to open: for signing in, paying, and all else that is secret. The answer says
    only whether they agreed to open it; what came of it, the page itself has to tell the server."""

    message: str
    url: str
    request: InputRequest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_url(self.url)
        object.__setattr__(self, "request", elicitation_url(self.message, self.url))

    def read(self, answer: Mapping[str, Json]) -> Answer[None]:
        return Answer(answer["action"], None)


@deprecated("Sampling is deprecated by the protocol: call a model provider directly.")
@dataclass(frozen=True)
class Sampling(Question[Sampled]):
    """A completion of the client's model. Deprecated since 2026-07-28, and there for the clients that have it.

    ``messages``: text, or messages as ``sampling/createMessage`` has them. ``more``: its other parameters.
    """

    messages: str | Sequence[Mapping[str, Json]]
    max_tokens: int
    more: Mapping[str, Json] = field(default_factory=dict[str, Json])
    request: InputRequest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        messages: Sequence[Mapping[str, Json]] = (
            [{"role": "user", "content": {"type": "text", "text": self.messages}}]
            if isinstance(self.messages, str)
            else self.messages
        )
        check_messages(messages)
        params = {"messages": [*messages], "maxTokens": self.max_tokens, **self.more}
        object.__setattr__(self, "request", {"method": SAMPLE, "params": params})

    def read(self, answer: Mapping[str, Json]) -> Sampled:
        content = answer["content"]
        blocks = content if is_array(content) else [content]
        return Sampled(answer["role"], blocks, answer["model"], answer.get("stopReason"))


@deprecated("Roots is deprecated by the protocol: take folders as arguments, or from the configuration.")
@dataclass(frozen=True)
class Roots(Question[list[Root]]):
    """The folders that the client offers. Deprecated since 2026-07-28, and there for the clients that have it."""

    request: InputRequest = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "request", {"method": LIST_ROOTS})

    def read(self, answer: Mapping[str, Json]) -> list[Root]:
        # Others than files mean nothing here, and whoever opens a root has to check it all the same.
        return [Root(one["uri"], one.get("name")) for one in answer["roots"] if one["uri"].startswith("file://")]


# --- rounds ----------------------------------------------------------------------------------------------------------


class InputRequired(BaseException):
    """Ends a round: with a question, or because what came back was no answer. Not an ``Exception``: a body that catches
    those swallows neither."""

    def __init__(self, outcome: InputRequiredResult | InvalidParams) -> None:
        super().__init__("the round ends here; an answer starts the next")
        self.outcome = outcome


def how_it_ended(error: BaseException) -> InputRequiredResult:
    """The question with which a round ended. What was no question is raised as it is.

    Of several that were put side by side (a task group), the first counts; the others are put in later rounds.
    """
    first, *others = _leaves(error)
    if not isinstance(first, InputRequired) or not all(isinstance(other, InputRequired) for other in others):
        raise error
    error = first
    if isinstance(error.outcome, InvalidParams):
        raise error.outcome
    return error.outcome


def _leaves(error: BaseException) -> list[BaseException]:
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for one in cast("BaseExceptionGroup[BaseException]", error).exceptions for leaf in _leaves(one)]


class Rounds:
    """One round of a call: what is known already, and what the client has just answered.

    ``responses`` are the client's, in any shape: they are judged when the body asks for them. ``state`` names what the
    client brought the memory back in; empty where it never left. ``is_taken``: they belong to a call already, and one
    that its tool makes has them :meth:`within`.
    """

    __slots__ = ("_memory", "_once", "_unnamed", "is_taken", "responses", "state")

    def __init__(
        self, memory: Memory | None = None, responses: Mapping[str, Json] | None = None, state: str = ""
    ) -> None:
        self._memory = memory
        self._once: dict[str, tuple[bool, bytes]] | None = None
        self._unnamed = 0
        self.is_taken = False
        self.responses: Mapping[str, Json] = responses or {}
        self.state = state

    def within(self, scope: str) -> Rounds:
        """The same for a call inside of this one, whose keys all begin with ``scope``."""
        return _Within(self, scope)

    @property
    def number(self) -> int:
        """How many rounds there were before: 0 for the call itself, which is when it is counted and recorded."""
        return 0 if self._memory is None else self._memory.round

    @property
    def own(self) -> str | None:
        """The ``requestState`` that the handler itself gave last."""
        return None if self._memory is None else self._memory.own

    def ask(self, question: Question[T], key: str | None = None) -> T:
        """The answer to one question; ends the round where there is none yet."""
        if key is None:
            self._unnamed += 1
            key = f"question-{self._unnamed}"
        return self.ask_all({key: question})[key]

    def ask_all(self, questions: Mapping[str, Question[Any]]) -> dict[str, Any]:
        """The answers to all of them; those that are missing are asked for together.

        ``ToolError`` once so many answers to one question did not fit.
        """
        memory = self._memory or _NOTHING
        answered, missing, values = dict(memory.answered), dict[str, InputRequest](), dict[str, Any]()
        misfits = dict(memory.misfits)
        for key, question in questions.items():
            digest = _digest(question.request)
            known, answer = self._answer(memory, key, question.request, digest)
            if not known:
                missing[key] = question.request
                continue
            try:
                values[key] = question.read(answer)
                answered[key] = (digest, answer)
            except ValueError as error:
                misfits[key] = (digest, _one_more(misfits.get(key), key, digest, str(error)))
                missing[key] = question.again(str(error))
        self._memory = replaced(memory, answered=answered, misfits=misfits)
        if not missing:
            return values
        asked = {key: _digest(questions[key].request) for key in missing}
        raise InputRequired(InputRequiredResult(dict(missing), memory=self.after(asked)))

    def _answer(self, memory: Memory, key: str, request: InputRequest, digest: str) -> tuple[bool, Any]:
        """Whether this very question has been answered, and how."""
        earlier = memory.answered.get(key)
        if earlier is not None and earlier[0] == digest:
            return True, earlier[1]
        if key not in self.responses or memory.asked.get(key) != digest:
            return False, None
        answer = self.responses[key]
        if problem := malformed(request, answer):
            raise InputRequired(InvalidParams.of("TW1032", key=key[:80], problem=problem))
        return True, answer

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """What ``make`` gave in the first round that came here; see :meth:`Context.once`."""
        made = self._made()
        if key in made:
            awaited, kept = made[key]
            return _ready(decode(kept)) if awaited else decode(kept)
        value = make()
        if isinstance(value, Awaitable):
            return self._keep_later(key, cast("Awaitable[Any]", value))
        return self._keep(key, value, awaited=False)

    async def _keep_later(self, key: str, value: Awaitable[Any]) -> Any:
        return self._keep(key, await value, awaited=True)

    def _keep(self, key: str, value: Any, *, awaited: bool) -> Any:
        """What a later round gets has been JSON in between; the first gets the same, and each a copy of its own."""
        try:
            kept = encode(value)
            value = decode(kept)
        except (TypeError, ValueError, RecursionError, ParseError):
            raise DefinitionError.of("TW3205", key=key) from None
        self._made()[key] = (awaited, kept)
        return value

    def _made(self) -> dict[str, tuple[bool, bytes]]:
        if self._once is None:
            once = () if self._memory is None else self._memory.once.items()
            self._once = {key: (awaited, encode(value)) for key, (awaited, value) in once}
        return self._once

    def after(self, asked: Mapping[str, str], own: str | None = None) -> Memory:
        """The memory of the next round. ``ToolError`` when there have been too many."""
        memory = self._memory or _NOTHING
        if memory.round + 1 >= MAX_ROUNDS:
            raise ToolError.of("TW2010", limit=MAX_ROUNDS)
        once = {key: (awaited, decode(kept)) for key, (awaited, kept) in self._made().items()}
        return Memory(memory.round + 1, memory.answered, dict(asked), once, own, memory.misfits)


class _Within(Rounds):
    """What is known and asked is known and asked by ``outer``, under longer keys."""

    __slots__ = ("_outer", "_scope")

    def __init__(self, outer: Rounds, scope: str) -> None:
        super().__init__(None, outer.responses, outer.state)
        self._outer = outer
        self._scope = scope

    @property
    def number(self) -> int:
        return self._outer.number

    @property
    def own(self) -> str | None:
        return self._outer.own

    def ask_all(self, questions: Mapping[str, Question[Any]]) -> dict[str, Any]:
        answers = self._outer.ask_all({self._scope + key: question for key, question in questions.items()})
        return {key: answers[self._scope + key] for key in questions}

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        return self._outer.once(self._scope + key, make)

    def after(self, asked: Mapping[str, str], own: str | None = None) -> Memory:
        return self._outer.after(asked, own)


_NOTHING = Memory()


async def _ready(value: Any) -> Any:
    return value


def _one_more(known: tuple[str, int] | None, key: str, digest: str, problem: str) -> int:
    """How many answers to this very question did not fit by now. ``ToolError`` when nobody should be asked again."""
    count = known[1] + 1 if known is not None and known[0] == digest else 1
    if count >= MAX_MISFITS:
        raise ToolError.of("TW2013", key=key, count=count, problem=problem)
    return count


def _digest(request: InputRequest) -> str:
    """Names a question, so that an answer counts for the question that was put and for no other."""
    return hashlib.sha256(canonical(request)).hexdigest()[:32]


def remembered(outcome: InputRequiredResult, rounds: Rounds) -> Memory:
    """The memory with which the round after ``outcome`` begins, also for one that a handler made by itself."""
    if outcome.memory is not None:
        return cast("Memory", outcome.memory)
    requests: Iterable[tuple[str, InputRequest]] = (outcome.inputRequests or {}).items()
    return rounds.after({key: _digest(request) for key, request in requests}, outcome.requestState)
