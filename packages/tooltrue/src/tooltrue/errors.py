"""All exceptions of tooltrue, in one hierarchy.

::

    TooltrueError
    ├── RpcError                  the caller broke the protocol; has a JSON-RPC wire form
    │   ├── ParseError            -32700  not JSON
    │   ├── InvalidRequest        -32600  JSON, but not a JSON-RPC message
    │   ├── MethodNotFound        -32601
    │   ├── InvalidParams         -32602
    │   │   ├── UnknownTool               hidden tools look the same
    │   │   ├── UnknownEntry              resources, templates, prompts: hidden ones look the same
    │   │   └── ScopeNeeded               the caller lacks scopes that it could get; 403 on HTTP
    │   ├── InternalError         -32603  has only an id, which the log explains
    │   ├── HeaderMismatch        -32020  HTTP only
    │   ├── MissingCapability     -32021  the client did not declare a capability that the request needs
    │   ├── UnsupportedVersion    -32022
    │   └── TaskFailed                    a task of another server has ended with an error of this code
    ├── ToolError                 the model can correct it: becomes a result with ``isError``
    │   ├── InvalidArguments
    │   ├── NeedsAgreement                a person must approve first, and the tool could not ask
    │   ├── ToolTimeout
    │   ├── Unreachable                   the transport failed during a call
    │   ├── TaskCancelled                 the call ran as a task, which was cancelled
    │   └── InvalidResult                 the tool broke its own contract; the model cannot correct it
    ├── DefinitionError           a tool is defined wrongly; for its author, at registration
    │   └── SchemaError                   not JSON Schema, not of a supported dialect, or beyond the bounds
    ├── ConfigurationError        a setting or command is wrong; for the operator, at start
    ├── StateError                shared state or records cannot be read or written now; no change was made
    ├── ModelError                a model's endpoint refuses, fails, or sends an invalid answer
    │   ├── ModelUnavailable              the address has no listener, or its host is unknown
    │   └── ModelRateLimited              rate-limited or overloaded; it may answer later
    └── TransportError            the transport failed; never confused with an answer of the peer
        ├── ConnectionLost
        │   └── SessionLost               a session-based server has ended the session; a new one can begin
        ├── RequestTimeout
        ├── InvalidAnswer             the peer's answer cannot be used
        └── AuthorizationFailed       a server requires authorization that could not be obtained

Each has a stable ``code`` (``TT…``), and :mod:`tooltrue.wording` has its sentence in English and Chinese. Authors
raise ``ToolError("…")`` with their own text.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from tooltrue.wording import INSUFFICIENT_SCOPE, TOOL_NOT_FOUND, Worded, sentence

__all__ = [
    "AuthorizationFailed",
    "ConfigurationError",
    "ConnectionLost",
    "DefinitionError",
    "HeaderMismatch",
    "InternalError",
    "InvalidAnswer",
    "InvalidArguments",
    "InvalidParams",
    "InvalidRequest",
    "InvalidResult",
    "MethodNotFound",
    "MissingCapability",
    "ModelError",
    "ModelRateLimited",
    "ModelUnavailable",
    "NeedsAgreement",
    "ParseError",
    "RequestTimeout",
    "RpcError",
    "ScopeNeeded",
    "SessionLost",
    "StateError",
    "TaskCancelled",
    "TaskFailed",
    "ToolError",
    "ToolTimeout",
    "TooltrueError",
    "TransportError",
    "UnknownEntry",
    "UnknownTool",
    "Unreachable",
    "UnsupportedVersion",
    "fact_of",
]


class TooltrueError(Exception):
    """Base of all errors of this package.

    ``code`` is stable across releases; ``str(error)`` is the English sentence, ``error.say("zh")`` the Chinese one.
    """

    def __init__(self, text: str = "", *, code: str = "", facts: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.facts = facts or {}

    @classmethod
    def of(cls, code: str, **facts: Any) -> Self:
        """Create the error with the sentence of ``code`` in the wording table, filled with ``facts``."""
        return cls(sentence(code, "en", facts), code=code, facts=facts)

    def say(self, language: str = "en") -> str:
        """The sentence in ``language`` (``en`` or ``zh``), followed by the code if there is one."""
        text = sentence(self.code, language, self.facts) if self.code else str(self)
        return f"{text} [{self.code}]" if self.code else text


def fact_of(error: BaseException, *, is_clause: bool = True) -> str | Worded:
    """Return the text of ``error`` as a fact of another message, in the language of that message if it has one.

    The text is the sentence of the error's code, or the message that the error was raised with; for others, ``str()``
    of the error, or the name of its type if that is empty. With ``is_clause``, the full stop is left out.
    """
    if isinstance(error, TooltrueError) and error.code and str(error) == sentence(error.code, "en", error.facts):
        return Worded(error.code, error.facts, is_clause=is_clause)
    match error.args:
        case (Worded() as problem,):
            return Worded(problem.code, problem.facts, is_clause=is_clause)
        case _:
            text = str(error) or type(error).__name__
            return text.rstrip(".") if is_clause else text


class RpcError(TooltrueError):
    """An error with a JSON-RPC wire form: ``{"code": number, "message": say(), "data": data}``.

    ``number`` is the JSON-RPC error code and ``data`` the data that the specification defines for it (2026-07-28, basic
    "Error codes"); an error from a peer keeps the peer's number, message and data.
    """

    number: int = -32603
    data: Any = None

    @classmethod
    def received(cls, number: int, message: str, data: Any = None) -> RpcError:
        """The error that a peer sent, as an instance of the class for its number if there is one."""
        error = _BY_NUMBER.get(number, RpcError)(message)
        error.number = number
        error.data = data
        return error


class ParseError(RpcError):
    number = -32700


class InvalidRequest(RpcError):
    """Not a JSON-RPC message. ``id`` is its id, if readable. ``is_answer``: it looks like the answer to a request;
    ``answers`` is the id of that request, if it can be determined."""

    number = -32600
    id: int | str | None = None
    is_answer: bool = False
    answers: int | str | None = None


class MethodNotFound(RpcError):
    number = -32601


class InvalidParams(RpcError):
    number = -32602


class UnknownTool(InvalidParams):
    """The caller has no such tool: unknown, removed and hidden tools look the same."""

    def __init__(self, text: str = "", *, code: str = TOOL_NOT_FOUND, facts: dict[str, Any] | None = None) -> None:
        Exception.__init__(self)  # at once: toolsets of several parts raise and catch it in every call
        self.code = code
        self.facts = facts or {"name": text}

    def __str__(self) -> str:
        # Toolsets of several parts catch most of these, and need no sentence. A text that was set since, as by
        # redaction, is the text.
        return super().__str__() or sentence(self.code, "en", self.facts)


class UnknownEntry(InvalidParams):
    """The caller has no such resource, template or prompt: unknown, removed and hidden ones look the same."""


class ScopeNeeded(InvalidParams):
    """The request requires all of ``scopes``, and the caller lacks some that it could obtain.

    Any layer may raise it. Over HTTP it becomes a challenge, if no stream has begun (2026-07-28, basic/authorization
    "Scope Challenge Handling").
    """

    scopes: tuple[str, ...] = ()

    @classmethod
    def needing(cls, scopes: Iterable[str]) -> Self:
        needed = tuple(sorted(set(scopes)))
        error = cls.of(INSUFFICIENT_SCOPE, scopes=", ".join(needed))
        error.scopes = needed
        return error


class InternalError(RpcError):
    number = -32603


class HeaderMismatch(RpcError):
    number = -32020


class MissingCapability(RpcError):
    number = -32021


class UnsupportedVersion(RpcError):
    number = -32022


_BY_NUMBER: dict[int, type[RpcError]] = {
    kind.number: kind
    for kind in (
        ParseError,
        InvalidRequest,
        MethodNotFound,
        InvalidParams,
        InternalError,
        HeaderMismatch,
        MissingCapability,
        UnsupportedVersion,
    )
}
_BY_NUMBER[-32002] = UnknownEntry  # servers before 2026-07-28 send it for an unknown resource; reserved since then


class ToolError(TooltrueError):
    """An error that the model can correct, worded for the model.

    Raise it from a tool: the text becomes the content of a result with ``isError: true``. Name the problem and the next
    step; leave out information that the caller may not see.
    """

    untrusted: bool = False
    """Whether the tool that raised it returns untrusted text, which the message may quote."""


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's input schema."""


class NeedsAgreement(ToolError):
    """A person must approve this exact call, and the tool could not ask; no action was taken.

    ``reason`` informs that person. If approvals are stored, the call gets a ticket instead of this refusal.
    """

    reason: str = ""

    def because(self, reason: str) -> Self:
        self.reason = reason
        return self


class ToolTimeout(ToolError):
    """The tool did not return within its time limit."""


class Unreachable(ToolError):
    """The transport failed during a call; the call may have run. It is retried only if a second run is harmless."""


class TaskCancelled(ToolError):
    """The call ran as a task at its server, which was cancelled before its end; it may have had effects.

    In a client, ``status`` is the last one of the task, with the server's own words.
    """

    status: Any = None


class TaskFailed(RpcError):
    """A call that another server has run as a task ended with this error instead of a result; ``number`` is its code
    there."""


class InvalidResult(ToolError):
    """The tool's result does not match its output schema, or exceeds its limits.

    In a client, ``result`` is the result nevertheless.
    """

    result: Any = None


class DefinitionError(TooltrueError):
    """A tool cannot be registered as defined; the message names the tool, its location, and the fix."""

    where: str = ""

    def locate(self, where: str) -> Self:
        """Add a location to the error and return it. The innermost location is kept."""
        if not self.where:
            self.where = where
            self.args = (f"{where}: {self.args[0]}",)
        return self

    def say(self, language: str = "en") -> str:
        text = super().say(language)
        return f"{self.where}: {text}" if self.where and self.code else text


class SchemaError(DefinitionError):
    """An invalid schema, or one that could cost more than its bounds allow."""


class ConfigurationError(TooltrueError):
    """A setting, target or command line is wrong; the message has the problem, its location and the fix."""


class StateError(TooltrueError):
    """The store of facts or records failed: locked, full, damaged, closed. The requested change was not made."""


class ModelError(TooltrueError):
    """The endpoint of a model refused, failed, or sent an invalid answer. ``status`` is the HTTP status, if there is
    one. The conversation so far can be sent again."""

    status: int | None = None


class ModelUnavailable(ModelError):
    """No connection could be made: the address has no listener, or its host does not resolve."""


class ModelRateLimited(ModelError):
    """Rate-limited or overloaded, after the SDK's own retries. ``seconds`` is the delay until a retry, if given."""

    seconds: float | None = None


class TransportError(TooltrueError):
    """The transport failed. The error is local, so it has no JSON-RPC number."""


class ConnectionLost(TransportError):
    """The peer is gone; pending requests have no answer and may have had effects."""


class SessionLost(ConnectionLost):
    """A session-based server no longer knows the session. ``refused`` requests were not processed by it."""

    refused: bool = False


class RequestTimeout(TransportError):
    """No answer within the timeout of this request; it was cancelled as the transport prescribes."""


class InvalidAnswer(TransportError):
    """The peer's answer violates the protocol, or asks a question that no one here can be asked."""


class AuthorizationFailed(TransportError):
    """A server requires authorization, and it could not be obtained: a person declined, or must not be asked."""
