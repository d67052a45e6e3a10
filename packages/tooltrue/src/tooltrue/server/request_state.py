"""Questions to the client: sealed into ``requestState`` (stateless), or pushed to a waiting client (session-based).

The memory of a call between its rounds travels through the client, encrypted and bound to the principal, the call and
the tool's definition; it expires (2026-07-28, basic/patterns/mrtr "Security"). A session-based client is asked while
its request runs, and the memory stays here.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from tooltrue.contract.digests import digest, pin
from tooltrue.errors import (
    DefinitionError,
    HeaderMismatch,
    InvalidParams,
    InvalidResult,
    MissingCapability,
    RpcError,
    ToolError,
    TransportError,
)
from tooltrue.jsonrpc.messages import Json, decode, encode, is_object
from tooltrue.jsonrpc.peer import Dialogue, internal_error
from tooltrue.protocol.input_requests import InputRequest, check_request, lacking, malformed
from tooltrue.protocol.name_rules import check_meta
from tooltrue.protocol.types import InputRequiredResult, Value, replaced
from tooltrue.server.sealed_tokens import BadSeal
from tooltrue.server.service import ServedProvider, one_line
from tooltrue.server.wording import (
    CLIENT_CANNOT_ASK_USER,
    CLIENT_CAPABILITY_MISSING,
    INVALID_REQUEST_STATE,
    LABEL_REVISION,
    ONCE_VALUES_TOO_LARGE,
    QUESTION_TO_CLIENT_FAILED,
    REQUEST_STATE_REUSED,
    STORED_ANSWERS_TOO_LARGE,
)
from tooltrue.tools.rounds import Memory, Rounds, remembered
from tooltrue.tools.vocabulary import Principal, Tool
from tooltrue.tools.wording import INVALID_INPUT_RESPONSE
from tooltrue.wording import REASON_NO_REASON_GIVEN, Worded

if TYPE_CHECKING:  # most clients open no session
    from tooltrue.protocol.legacy import Projection

__all__ = ["RequestStates", "RequestSubject", "Round", "for_callers", "push", "run_with_questions"]

_MAX_STATE = 65_536

OutcomeT = TypeVar("OutcomeT")


class RequestSubject(Value, frozen=True):
    """The request that asks: its method, name and arguments, and its principal."""

    method: str
    name: str
    arguments: Mapping[str, Json]
    principal: Principal

    def binding(self) -> tuple[str, ...]:
        return (self.principal.id, self.method, self.name, digest(self.arguments))


class Round(Value, frozen=True):
    """One round of a stateless request. Responses that arrive without a state belong to no question: ``ask`` ignores
    them, and only a handler that builds its own questions can read them from ``responses``.

    ``pin`` is the digest that the tool's definition must still have; empty for resources and prompts. ``claim`` is the
    key that marks a single-use state as used; empty for a reusable one.
    """

    rounds: Rounds
    pin: str = ""
    claim: str = ""

    def check(self, tool: Tool) -> None:
        """Raise ``InvalidParams`` if the tool's definition differs from that of the tool that asked."""
        if self.pin and pin(tool.definition) != self.pin:
            raise InvalidParams.of(INVALID_REQUEST_STATE)


class RequestStates:
    """Questions in the stateless protocol: the question is the result, and the client repeats the request with the
    responses.
    """

    def __init__(self, served: ServedProvider) -> None:
        self._served = served

    async def resume(self, subject: RequestSubject, state: str, responses: Mapping[str, Json] | None) -> Round:
        """Return the round that a request with this state begins.

        Raises ``InvalidParams`` for a state that belongs to another request, was not sealed by us, or has been used up.
        """
        try:
            payload = self._served.sealer.reveal("requestState", subject.binding(), state)
        except BadSeal:
            raise InvalidParams.of(INVALID_REQUEST_STATE) from None
        memory, pinned, single = decode(payload)
        name = hashlib.sha256(state.encode()).hexdigest()
        claim = f"request-state:{name}" if single else ""
        if claim and not await self._served.facts.put_if_absent(claim, b"1", self._served.question_seconds):
            raise InvalidParams.of(REQUEST_STATE_REUSED)
        return Round(Rounds(Memory(**memory), responses, name), pinned, claim)

    async def give_back(self, round: Round, error: RpcError | None = None) -> None:
        """Release the single-use state of a round that asked again, or was refused before it began."""
        if round.claim and (error is None or isinstance(error, HeaderMismatch) or error.code in _NOT_BEGUN):
            await self._served.facts.remove(round.claim)

    def put(
        self,
        outcome: InputRequiredResult,
        rounds: Rounds,
        subject: RequestSubject,
        capabilities: Mapping[str, Json],
        tool: Tool | None = None,
    ) -> InputRequiredResult:
        """Return the question for the client, with the memory for the next round sealed into its state.

        Raises ``MissingCapability`` if the request did not declare a capability that an answer needs (basic "_meta").
        """
        _check(outcome)
        if missing := lacking((outcome.inputRequests or {}).values(), capabilities):
            error = MissingCapability.of(
                CLIENT_CAPABILITY_MISSING, subject=subject.name, missing=_capability_names(missing)
            )
            error.data = {"requiredCapabilities": missing}
            raise error
        # One consent is for one effect; a tool that only reads or is idempotent may be called again after a failure.
        single = tool is not None and tool.effect != "read" and not _is_idempotent(tool)
        memory = remembered(outcome, rounds)
        payload = encode([memory, pin(tool.definition) if tool is not None else "", single])
        _check_size(subject.name, memory, payload)
        state = self._served.sealer.hide("requestState", subject.binding(), payload, self._served.question_seconds)
        return replaced(outcome, requestState=state)


@contextlib.contextmanager
def for_callers() -> Generator[None]:
    """Turn ``ToolError`` into ``InvalidParams``: no model reads the failure of a resource or prompt."""
    try:
        yield
    except ToolError as error:
        raise InvalidParams(str(error), code=error.code, facts=error.facts) from None


_NOT_BEGUN = (INVALID_REQUEST_STATE, INVALID_INPUT_RESPONSE)


def _check_size(name: str, memory: Memory, payload: bytes) -> None:
    """Limit the size of the memory. The author is responsible for the size of ``once``; the client sent the answers."""
    size = len(encode(memory.once))
    try:
        decode(payload)
    except RpcError as error:
        raise internal_error(error) from None
    if size > _MAX_STATE:
        raise internal_error(InvalidResult.of(ONCE_VALUES_TOO_LARGE, size=size, limit=_MAX_STATE))
    if len(payload) > _MAX_STATE:
        raise ToolError.of(STORED_ANSWERS_TOO_LARGE, subject=name, size=len(payload), limit=_MAX_STATE)


def _is_idempotent(tool: Tool) -> bool:
    hints = tool.definition.annotations
    return hints is not None and hints.idempotentHint is True


def _capability_names(missing: Mapping[str, Json]) -> str:
    """``elicitation.url, sampling``"""
    return ", ".join(f"{name}.{mode}" if mode else name for name, modes in missing.items() for mode in (modes or ("",)))


def _check(outcome: InputRequiredResult) -> None:
    """Raise an internal error for malformed questions of a handler: the author's mistake, which no client has to
    see.
    """
    requests = outcome.inputRequests
    if requests is None and outcome.requestState is None and outcome.memory is None:
        raise internal_error(InvalidResult("input is required, and nothing is asked"))
    try:
        check_meta(outcome.meta or ())
        for request in (requests or {}).values():
            check_request(request)
    except DefinitionError as error:
        raise internal_error(error) from None


# --- session-based ---------------------------------------------------------------------------------------------------

Run: TypeAlias = Callable[[Rounds], Awaitable[OutcomeT]]


async def run_with_questions(
    run: Run[OutcomeT | InputRequiredResult],
    dialogue: Dialogue,
    projection: Projection,
    capabilities: Mapping[str, Json],
    name: str,
    seconds: float,
) -> OutcomeT:
    """Run ``run`` until it asks no more, and return its outcome; each question is pushed to the waiting client.

    Raises ``ToolError`` if the client cannot be asked, or does not answer within ``seconds``.
    """
    rounds = Rounds()
    while isinstance(outcome := await run(rounds), InputRequiredResult):
        _check(outcome)
        requests, memory = outcome.inputRequests or {}, remembered(outcome, rounds)
        rounds = Rounds(memory, await push(requests, dialogue, projection, capabilities, name, seconds))
    return outcome


async def push(
    requests: Mapping[str, InputRequest],
    dialogue: Dialogue,
    projection: Projection,
    capabilities: Mapping[str, Json],
    name: str,
    seconds: float,
    meta: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    """Push each question to the waiting client, with ``meta`` in its parameters, and return the answers by key. Raises
    ``ToolError`` as :func:`run_with_questions`."""
    if missing := lacking(requests.values(), capabilities):
        raise ToolError.of(CLIENT_CANNOT_ASK_USER, subject=name, missing=_capability_names(missing))
    questions = {key: _worded(request, projection, name) for key, request in requests.items()}
    return {key: await _push(_with(question, meta), dialogue, name, seconds) for key, question in questions.items()}


def _with(question: InputRequest, meta: Mapping[str, Json] | None) -> InputRequest:
    if not meta:
        return question
    params = question.get("params")
    members: Mapping[str, Json] = params if is_object(params) else {}
    return {**question, "params": {**members, "_meta": {**members.get("_meta", {}), **meta}}}


def _worded(request: InputRequest, projection: Projection, name: str) -> InputRequest:
    question = projection.question(request, secrets.token_hex(16))
    if question is None:
        raise ToolError.of(
            CLIENT_CANNOT_ASK_USER, subject=name, missing=Worded(LABEL_REVISION, {"name": projection.revision.name})
        )
    return question


async def _push(question: InputRequest, dialogue: Dialogue, name: str, seconds: float) -> Json:
    try:
        answer = await dialogue.ask(question["method"], question.get("params", {}), seconds)
    except (RpcError, TransportError) as error:
        raise ToolError.of(
            QUESTION_TO_CLIENT_FAILED, subject=name, problem=one_line(str(error)) or Worded(REASON_NO_REASON_GIVEN, {})
        ) from None
    if problem := malformed(question, answer):
        raise ToolError.of(QUESTION_TO_CLIENT_FAILED, subject=name, problem=problem)
    return answer
