"""Everything that toolwright raises, as one family.

::

    ToolwrightError
    ├── RpcError                  the caller broke the protocol; has a JSON-RPC wire form
    │   ├── ParseError            -32700  not JSON
    │   ├── InvalidRequest        -32600  JSON, but not a JSON-RPC message
    │   ├── MethodNotFound        -32601
    │   ├── InvalidParams         -32602
    │   │   ├── UnknownTool               hidden tools read the same
    │   │   ├── UnknownEntry              resources, templates, prompts: hidden ones read the same
    │   │   └── ScopeNeeded               the caller lacks scopes that it could get; 403 on HTTP
    │   ├── InternalError         -32603  says nothing but an id that the log explains
    │   ├── HeaderMismatch        -32020  HTTP only
    │   ├── MissingCapability     -32021  the client did not declare what the request needs
    │   └── UnsupportedVersion    -32022
    ├── ToolError                 the model can mend it: becomes a result with ``isError``
    │   ├── InvalidArguments
    │   ├── NeedsAgreement                a person has to agree first, and the tool could not ask
    │   ├── ToolTimeout
    │   ├── Unreachable                   the carrier failed under a call
    │   └── InvalidResult                 the tool broke its own contract; the model cannot mend it
    ├── DefinitionError           a tool is defined wrongly; for its author, at registration
    │   └── SchemaError                   not JSON Schema, not of a dialect we know, or beyond the bounds
    ├── ConfigurationError        a setting or command is wrong; for the operator, at start
    ├── StateError                what workers share or record cannot be read or written now; nothing was changed
    ├── ModelError                a model's endpoint refuses, fails, or says what is no answer
    │   ├── ModelAway                     nothing listens there, or nobody knows its host
    │   └── ModelBusy                     too much is asked of it at the moment; later it may answer
    └── TransportError            the carrier failed; never confused with an answer of the peer
        ├── ConnectionLost
        │   └── SessionLost               a legacy server has ended the session; another can be begun
        ├── RequestTimeout
        ├── InvalidAnswer             the peer has answered, and what it says cannot be used
        └── AuthorizationFailed       a server wants to know who asks, and could not be told

Every one has a stable ``code`` (``TW…``) and is worded in English and Chinese by :mod:`toolwright.wording`.
``ToolError("…")`` is also what authors raise, with words of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

from toolwright.wording import sentence

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
    "ModelAway",
    "ModelBusy",
    "ModelError",
    "NeedsAgreement",
    "ParseError",
    "RequestTimeout",
    "RpcError",
    "ScopeNeeded",
    "SessionLost",
    "StateError",
    "ToolError",
    "ToolTimeout",
    "ToolwrightError",
    "TransportError",
    "UnknownEntry",
    "UnknownTool",
    "Unreachable",
    "UnsupportedVersion",
]


class ToolwrightError(Exception):
    """Base of all errors of this package.

    ``code`` is stable over releases; ``str(error)`` is the English sentence, ``error.say("zh")`` the Chinese one.
    """

    def __init__(self, text: str = "", *, code: str = "", facts: dict[str, Any] | None = None) -> None:
        super().__init__(text)
        self.code = code
        self.facts = facts or {}

    @classmethod
    def of(cls, code: str, **facts: Any) -> Self:
        """The error that the wording table knows as ``code``, its sentence filled with ``facts``."""
        return cls(sentence(code, "en", facts), code=code, facts=facts)

    def say(self, language: str = "en") -> str:
        """The sentence in ``language`` (``en`` or ``zh``), ending in the code when there is one."""
        text = sentence(self.code, language, self.facts) if self.code else str(self)
        return f"{text} [{self.code}]" if self.code else text


class RpcError(ToolwrightError):
    """An error with a JSON-RPC wire form: ``{"code": number, "message": say(), "data": data}``.

    ``number`` is the JSON-RPC error code and ``data`` what the specification defines for it (2026-07-28, basic
    "Error codes"); an error that came from a peer keeps the peer's number, message and data.
    """

    number: int = -32603
    data: Any = None

    @classmethod
    def received(cls, number: int, message: str, data: Any = None) -> RpcError:
        """The error that a peer answered, as the class of its number where there is one."""
        error = _BY_NUMBER.get(number, RpcError)(message)
        error.number = number
        error.data = data
        return error


class ParseError(RpcError):
    number = -32700


class InvalidRequest(RpcError):
    """Not a JSON-RPC message. ``id`` is its own where it could be read. ``is_answer``: it looks like the answer to a
    request, that with the id ``answers`` where this can be told."""

    number = -32600
    id: int | str | None = None
    is_answer: bool = False
    answers: int | str | None = None


class MethodNotFound(RpcError):
    number = -32601


class InvalidParams(RpcError):
    number = -32602


class UnknownTool(InvalidParams):
    """No such tool for this caller: unknown, removed and hidden read alike."""

    def __init__(self, text: str = "", *, code: str = "TW1010", facts: dict[str, Any] | None = None) -> None:
        facts = facts or {"name": text}
        super().__init__(sentence(code, "en", facts), code=code, facts=facts)


class UnknownEntry(InvalidParams):
    """No such resource, template or prompt for this caller: unknown, removed and hidden read alike."""


class ScopeNeeded(InvalidParams):
    """What was asked for needs ``scopes``, all of them, and the caller lacks some that it could ask for.

    Any layer may raise it. Over HTTP it is a challenge, as long as no stream has begun (2026-07-28,
    basic/authorization "Scope Challenge Handling").
    """

    scopes: tuple[str, ...] = ()

    @classmethod
    def needing(cls, scopes: Iterable[str]) -> Self:
        needed = tuple(sorted(set(scopes)))
        error = cls.of("TW1100", scopes=", ".join(needed))
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
_BY_NUMBER[-32002] = UnknownEntry  # what servers before 2026-07-28 say of a resource; nobody may say it any more


class ToolError(ToolwrightError):
    """Something that the model can mend, in words for the model.

    Raise it from a tool: the text becomes the content of a result with ``isError: true``. Say what was wrong and
    what to do next; do not put in it what the caller may not see.
    """

    untrusted: bool = False
    """Whether a tool raised it whose text comes from strangers: it may quote them."""


class InvalidArguments(ToolError):
    """The arguments do not fit the tool's input schema."""


class NeedsAgreement(ToolError):
    """A person has to agree to this very call, which the tool could not ask for; nothing has been done.

    ``reason`` is what they have to know. Where approvals are kept, the call gets a ticket instead of this refusal.
    """

    reason: str = ""

    def because(self, reason: str) -> Self:
        self.reason = reason
        return self


class ToolTimeout(ToolError):
    """The tool did not answer within its limit."""


class Unreachable(ToolError):
    """The carrier failed under a call: whether it has run is not known. Made again only where nothing is lost by it."""


class InvalidResult(ToolError):
    """What the tool returned does not fit its output schema, or its limits.

    To a client, ``result`` is what came all the same.
    """

    result: Any = None


class DefinitionError(ToolwrightError):
    """A tool cannot be registered as it is written; the message names the tool, where it is, and the fix."""

    where: str = ""

    def locate(self, where: str) -> Self:
        """The same error, saying where. The innermost place that was told stays."""
        if not self.where:
            self.where = where
            self.args = (f"{where}: {self.args[0]}",)
        return self

    def say(self, language: str = "en") -> str:
        said = super().say(language)
        return f"{self.where}: {said}" if self.where and self.code else said


class SchemaError(DefinitionError):
    """A schema that is not one, or that could cost more than its bounds allow."""


class ConfigurationError(ToolwrightError):
    """A setting, target or command line is wrong; the message says what, where and how to fix it."""


class StateError(ToolwrightError):
    """The store of facts or records failed: locked, full, damaged, closed. What was asked for did not happen."""


class ModelError(ToolwrightError):
    """The endpoint of a model refused, failed, or said what is no answer. ``status`` is that of HTTP, where there is
    one. What has been said so far can be said again."""

    status: int | None = None


class ModelAway(ModelError):
    """No connection was had: nothing listens at the address, or its host has none."""


class ModelBusy(ModelError):
    """Limited, or overloaded, after the SDK has tried again. ``seconds`` is when to come back, where that was said."""

    seconds: float | None = None


class TransportError(ToolwrightError):
    """The carrier failed. Made up locally, so it has no JSON-RPC number."""


class ConnectionLost(TransportError):
    """The peer is gone; requests in flight have no answer and may have had effects."""


class SessionLost(ConnectionLost):
    """A legacy server does not know the session any more. ``refused`` requests have not been looked at by it."""

    refused: bool = False


class RequestTimeout(TransportError):
    """No answer within the limit of this request; it was cancelled as the transport prescribes."""


class InvalidAnswer(TransportError):
    """The peer has answered, and not as the protocol has it, or with a question that nobody here can be asked."""


class AuthorizationFailed(TransportError):
    """A server wants to know who asks, and could not be told: nobody agreed, or nobody should have been asked."""
