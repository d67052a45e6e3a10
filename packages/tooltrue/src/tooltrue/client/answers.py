"""A client's answers to questions of a server: the same handlers for stateless and session-based servers."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from tooltrue.client.question_limits import QuestionGate
from tooltrue.client.wording import (
    REASON_MODE_INVALID,
    REASON_NOT_DECLARED,
    REASON_QUESTION_INCOMPLETE,
    REASON_REPLY_MISFIT,
    SAMPLING_DECLINED_BY_USER,
)
from tooltrue.errors import DefinitionError, InvalidParams, MethodNotFound, RpcError
from tooltrue.jsonrpc.messages import Json, encode, is_object
from tooltrue.protocol.characters import check_plain, cleaned
from tooltrue.protocol.input_requests import ELICIT, SAMPLE, InputRequest, check_url, check_words
from tooltrue.protocol.types import Value
from tooltrue.protocol.wording import INVALID_METHOD_PARAMS
from tooltrue.wording import UNKNOWN_METHOD, Worded

if TYPE_CHECKING:
    from tooltrue.protocol.schema import Schema

__all__ = ["Answerer", "Answers", "Elicit", "Elicitation", "Reply", "Sample"]


_log = logging.getLogger("tooltrue")

_DECLINED = -1  # 2025-11-25, client/sampling "Error Handling"


class Elicitation(Value, frozen=True):
    """A server's question to the person: a form of ``fields`` (a flat JSON Schema), or a visit to ``url``.

    All of its text comes from the server. Before opening a page, show the whole URL and ask.
    """

    message: str
    fields: Mapping[str, Json] | None = None
    url: str | None = None


Reply: TypeAlias = Mapping[str, Json] | bool | None
"""The filled-in form; ``True`` accepts it with its defaults, ``False`` declines, ``None`` dismisses it unanswered."""

Elicit: TypeAlias = Callable[[Elicitation], "Reply | Awaitable[Reply]"]
Sampled: TypeAlias = Mapping[str, Json] | None
"""The model's answer, in the form of ``sampling/createMessage``; ``None`` if the person refuses to have it asked."""

Sample: TypeAlias = Callable[[Mapping[str, Json]], "Sampled | Awaitable[Sampled]"]


class Answerer(Protocol):
    """Answers the questions of one server. ``gate`` counts them, and ``capabilities`` are declared to the server."""

    @property
    def gate(self) -> QuestionGate: ...

    @property
    def capabilities(self) -> dict[str, Json]: ...

    def puts(self, method: Json) -> bool:
        """Whether a request of this method is put to a person or to a model, so that it needs an open request of
        ours."""
        ...

    def asking(self, methods: Iterable[Json]) -> AbstractContextManager[None]:
        """Count requests of these methods as open within the context. Raises ``RpcError`` if they exceed the limits."""
        ...

    async def to(self, request: InputRequest) -> Json:
        """Answer one question. Raises ``RpcError``, which the server gets."""
        ...


class Answers:
    """The functions that answer for the client. A capability without a function is not declared, so no server uses it.

    A form with hidden text, or one that asks for a secret, is declined, and a visit to an internal network refused,
    before the person is asked.

    ``elicit`` asks the person. ``sample`` has a model complete ``sampling/createMessage`` parameters. ``roots`` are
    folders that servers may know of. ``gate`` counts the questions to the first two.
    """

    def __init__(
        self,
        elicit: Elicit | None,
        sample: Sample | None,
        roots: Sequence[str | Path] | None,
        gate: QuestionGate | None = None,
    ) -> None:
        self.gate = gate or QuestionGate()
        self._elicit = elicit
        self._sample = sample
        self._roots = None if roots is None else [{"uri": Path(root).resolve().as_uri()} for root in roots]

    @property
    def capabilities(self) -> dict[str, Json]:
        declared: dict[str, Json] = {}
        if self._elicit is not None:
            declared["elicitation"] = {"form": {}, "url": {}}
        if self._sample is not None:
            declared["sampling"] = {}
        if self._roots is not None:
            declared["roots"] = {}
        return declared

    def puts(self, method: Json) -> bool:
        """Whether a request of this method is put to the person or to the model."""
        return (method == ELICIT and self._elicit is not None) or (method == SAMPLE and self._sample is not None)

    def asking(self, methods: Iterable[Json]) -> AbstractContextManager[None]:
        """Count requests of these methods as open within the context. Raises ``RpcError`` if they exceed the limits."""
        return self.gate.asking([method for method in methods if self.puts(method)])

    async def to(self, request: InputRequest) -> Json:
        """Answer one question. Raises ``MethodNotFound`` for an undeclared one, ``InvalidParams`` for a malformed one.

        Exceptions of a handler are passed on.
        """
        raw = request.get("params")
        params = raw if is_object(raw) else {}
        match request.get("method"):
            case "elicitation/create" if self._elicit is not None:
                return await _elicited(self._elicit, params, self.gate)
            case "sampling/createMessage" if self._sample is not None:
                return await _sampled(self._sample, params)
            case "roots/list" if self._roots is not None:
                return {"roots": self._roots}
            case method:
                raise MethodNotFound.of(UNKNOWN_METHOD, method=str(method)[:128])


async def _sampled(sample: Sample, params: dict[str, Json]) -> Json:
    undeclared = [name for name in ("tools", "toolChoice") if name in params]
    if undeclared:
        raise InvalidParams.of(
            INVALID_METHOD_PARAMS,
            method="sampling/createMessage",
            problem=Worded(REASON_NOT_DECLARED, {"name": undeclared[0]}),
        )
    outcome = sample(params)
    message: Any = await outcome if inspect.isawaitable(outcome) else outcome
    if message is None:
        error = RpcError.of(SAMPLING_DECLINED_BY_USER)
        error.number = _DECLINED
        raise error
    return dict(message)


async def _elicited(elicit: Elicit, params: dict[str, Json], gate: QuestionGate) -> Json:
    message, schema, url = params.get("message"), params.get("requestedSchema"), params.get("url")
    is_visit = params.get("mode") == "url"
    if params.get("mode", "form") not in ("form", "url"):
        raise InvalidParams.of(INVALID_METHOD_PARAMS, method=ELICIT, problem=Worded(REASON_MODE_INVALID, {}))
    if not isinstance(message, str) or not (isinstance(url, str) if is_visit else is_object(schema)):
        raise InvalidParams.of(INVALID_METHOD_PARAMS, method=ELICIT, problem=Worded(REASON_QUESTION_INCOMPLETE, {}))
    gate.check_size(len(message) + len(encode(url if is_visit else schema)))
    try:
        if is_object(schema) and not is_visit:
            _compile(schema)
        else:
            check_url(str(url))
    except DefinitionError as error:  # a question that no person may be shown
        raise InvalidParams.of(INVALID_METHOD_PARAMS, method=ELICIT, problem=Worded(error.code, error.facts)) from None
    if not is_visit and not _is_harmless(message, schema, gate):
        return {"action": "decline"}
    message = cleaned(message, {})
    question = Elicitation(message, url=url) if is_visit else Elicitation(message, schema)
    outcome = elicit(question)
    reply: Any = await outcome if inspect.isawaitable(outcome) else outcome
    if reply is None or reply is False:
        return {"action": "cancel" if reply is None else "decline"}
    if is_visit:
        return {"action": "accept"}
    return {"action": "accept", "content": _filled(schema or {}, {} if reply is True else reply)}


def _is_harmless(message: str, schema: Any, gate: QuestionGate) -> bool:
    """Whether a person may be shown a form: it has no hidden text, and asks for no secret. Others are logged."""
    try:
        check_plain("The question", schema)
        if not gate.limits.secrets:
            check_words(message, schema)
    except DefinitionError as error:
        _log.warning("%s asks what no server should: %s", gate.server or "The server", error)
        return False
    return True


def _filled(schema: Mapping[str, Json], content: Mapping[str, Json]) -> dict[str, Json]:
    """Complete the form with its defaults. Raises ``InvalidParams`` if it does not fit, so that no server has to refuse
    it.
    """
    fields = schema.get("properties")
    defaults = {
        name: field["default"]
        for name, field in (fields if is_object(fields) else {}).items()
        if is_object(field) and "default" in field
    }
    filled = {**defaults, **content}
    problems = _compile(schema).problems(filled, 1)
    if problems:
        raise InvalidParams.of(
            INVALID_METHOD_PARAMS, method=ELICIT, problem=Worded(REASON_REPLY_MISFIT, {"problem": problems[0]})
        )
    return filled


def _compile(schema: Mapping[str, Json]) -> Schema:
    from tooltrue.protocol.schema import compile_schema  # noqa: PLC0415 - few clients are asked

    return compile_schema(schema)
