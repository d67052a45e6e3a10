"""The stored form of a task: how it was called, how its rounds ended, and its id as the client has it. All sealed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

from tooltrue.jsonrpc.messages import Json, decode, encode
from tooltrue.protocol.types import Value
from tooltrue.tools.rounds import Memory
from tooltrue.tools.vocabulary import Principal, Tool, ToolCall
from tooltrue.transport.carrier import CREDENTIAL_HEADERS

__all__ = ["OperatorAct", "TaskRecord", "TaskSeals", "owner_of", "plain_memory"]


class TaskSeals(Protocol):
    """Seals ids for clients and texts for the engine. ``reveal`` and ``open_id`` return ``None`` for anything that was
    not sealed here for this purpose."""

    def seal_id(self, task: str, owner: str) -> str: ...

    def open_id(self, id: str, owner: str) -> str | None: ...

    def hide(self, task: str, text: bytes) -> str: ...

    def reveal(self, task: str, text: str) -> bytes | None: ...


def owner_of(principal: Principal) -> str:
    """A digest of the caller, by which its tasks are counted."""
    return hashlib.sha256(principal.id.encode(errors="surrogatepass")).hexdigest()[:32]


class TaskRecord(Value, frozen=True):
    """The call that became a task. ``memory`` is that of the rounds before, ``carried`` are its headers without
    credentials, and ``created`` is in seconds since 1970. ``id`` is that which the client has, ``ttl`` the seconds from
    its begin until it is removed, and ``secret`` are the names of the arguments that the schema declares secret.
    ``server`` is the label of the server of a gateway whose tool it is, and empty otherwise."""

    tool: str
    arguments: dict[str, Any]
    principal: tuple[str, list[str], str]
    capabilities: Mapping[str, Any]
    meta: Mapping[str, Any]
    memory: Mapping[str, Any] | None
    carried: Mapping[str, str] | None
    language: str
    created: float
    id: str
    ttl: float
    secret: Sequence[str] = ()
    server: str = ""

    @classmethod
    def of(
        cls, call: ToolCall, tool: Tool, created: float, secret: Collection[str], *, id: str, ttl: float
    ) -> TaskRecord:
        context = call.context
        principal, rounds = context.principal, context.rounds
        memory = None if rounds is None else rounds.memory()
        return cls(
            call.name,
            call.arguments,
            (principal.id, sorted(principal.scopes), principal.client),
            context.capabilities,
            {key: context.meta[key] for key in _TRACE if key in context.meta},
            None if memory is None else plain_memory(memory),
            _without_credentials(context.carried),
            context.language,
            created,
            id,
            ttl,
            sorted(secret),
            tool.server,
        )

    def encoded(self) -> bytes:
        return encode([getattr(self, name) for name in self.__struct_fields__])

    @classmethod
    def decoded(cls, text: bytes) -> TaskRecord:
        return cls(*decode(text))

    def caller(self) -> Principal:
        id, scopes, client = self.principal
        return Principal(id, frozenset(scopes), client)


class OperatorAct(Value, frozen=True):
    """The act of an operator on a task of ``tool``, ``at`` a time in seconds since 1970. ``who`` is the user of the
    operating system, and ``questions`` are the keys that were answered."""

    verb: str
    who: str
    tool: str
    questions: Sequence[str]
    at: float

    def encoded(self) -> bytes:
        return encode([getattr(self, name) for name in self.__struct_fields__])

    @classmethod
    def decoded(cls, text: bytes) -> OperatorAct:
        return cls(*decode(text))


def _without_credentials(headers: Mapping[str, str] | None) -> dict[str, str] | None:
    if headers is None:
        return None
    return {name: value for name, value in headers.items() if name not in CREDENTIAL_HEADERS}


_TRACE = ("traceparent", "tracestate")


def plain_memory(memory: Memory) -> dict[str, Json]:
    """The memory of a call as plain JSON."""
    return {name: getattr(memory, name) for name in memory.__struct_fields__}
