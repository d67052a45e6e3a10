"""The client's side of each era, stateless or session-based: additions to a request, cancellation, reading a result.

It is chosen once, when the connection opens (:mod:`tooltrue.client.negotiation`); no other code branches on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from tooltrue.client.relayed import RelayedRequest
from tooltrue.client.task_status import TaskStarted, created_task
from tooltrue.client.wording import (
    REASON_RESULT_NO_OBJECT,
    REASON_RESULT_TYPE_UNKNOWN,
    REASON_TASK_METHOD,
    REASON_TASK_NOT_DECLARED,
)
from tooltrue.errors import InvalidAnswer
from tooltrue.jsonrpc.messages import EncodedJson, Id, Json, encode, is_object
from tooltrue.jsonrpc.wording import SERVER_RESPONSE_INVALID
from tooltrue.protocol import headers, modern
from tooltrue.protocol.types import Implementation
from tooltrue.version import __version__
from tooltrue.wording import Worded

__all__ = ["CLIENT", "Era", "Legacy", "Modern", "ServerFacts"]

CLIENT = Implementation(name="tooltrue", version=__version__)
_MOST_FACTS, _MOST_FACTS_BYTES = 8, 4_096
"""Of other clients, remembered in a connection."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """A server's description of itself, from when the connection opened."""

    revision: str
    capabilities: Mapping[str, Json]
    name: str = ""
    version: str = ""
    instructions: str | None = None
    supported: tuple[str, ...] = field(default=())


class Era(Protocol):
    """One era, stateless or session-based, from the client's side."""

    @property
    def revision(self) -> str: ...

    def params(
        self, params: Mapping[str, Json], token: Id | None, relayed: RelayedRequest | None = None
    ) -> dict[str, Json]:
        """Return the parameters of a request with the additions of the era; ``token`` asks for progress. The
        A ``_meta`` may be encoded already."""
        ...

    def headers(self, method: str, params: Mapping[str, Json]) -> dict[str, str]: ...

    @property
    def cancels_by_closing(self) -> bool:
        """Whether closing an answer stream cancels its request. A shared channel always needs a notification."""
        ...

    @property
    def listens_by_asking(self) -> bool:
        """Whether change notifications need a request of their own."""
        ...

    @property
    def mirrors_parameters(self) -> bool:
        """Whether HTTP headers repeat the parameters that a schema marks for it."""
        ...

    @property
    def has_tasks(self) -> bool:
        """Whether a task may answer a call, because the client has declared the extension."""
        ...

    @property
    def sign_of_life(self) -> str:
        """The method of the smallest request, to check that the server answers."""
        ...

    def asks(self, result: Json) -> bool:
        """Whether a result asks for input, and the request is to be sent again with it."""
        ...

    def finished(self, result: Json, method: str) -> dict[str, Json]:
        """Return a complete result, or raise ``TransportError`` for one that this era does not allow, and
        ``TaskStarted`` for a task in place of the result of a call."""
        ...


def _object(result: Json, method: str) -> dict[str, Json]:
    if not is_object(result):
        raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=Worded(REASON_RESULT_NO_OBJECT, {}))
    return result


@dataclass(frozen=True, slots=True)
class Modern:
    revision: str
    capabilities: Mapping[str, Json] = field(default_factory=dict[str, Json])
    log_level: str | None = None
    cancels_by_closing: bool = True
    listens_by_asking: bool = True
    mirrors_parameters: bool = True
    sign_of_life: str = "server/discover"
    has_tasks: bool = field(init=False)

    _facts: EncodedJson = field(
        init=False, repr=False, compare=False
    )  # the `_meta` of all requests that ask for no progress
    _relayed_facts: list[tuple[Mapping[str, Json], EncodedJson]] = field(
        init=False, repr=False, compare=False, default_factory=list[tuple[Mapping[str, Json], EncodedJson]]
    )  # the same for other clients, whose capabilities are mostly the same few

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_tasks", modern.declares_tasks(self.capabilities))
        object.__setattr__(self, "_facts", EncodedJson(encode(self._meta(None, self.capabilities))))

    def params(
        self, params: Mapping[str, Json], token: Id | None, relayed: RelayedRequest | None = None
    ) -> dict[str, Json]:
        if relayed is not None:
            capabilities = relayed.capabilities if relayed.tasks else modern.without_tasks(relayed.capabilities)
            is_plain = token is None and not relayed.trace
            meta = self._facts_for(capabilities) if is_plain else self._meta(token, capabilities)
            return {**params, **relayed.members, "_meta": meta}
        return {**params, "_meta": self._facts if token is None else self._meta(token, self.capabilities)}

    def _facts_for(self, capabilities: Mapping[str, Json]) -> EncodedJson:
        for others, facts in self._relayed_facts:
            if others == capabilities:
                return facts
        encoded = encode(self._meta(None, capabilities))
        if len(encoded) <= _MOST_FACTS_BYTES:
            self._relayed_facts.insert(0, (capabilities, EncodedJson(encoded)))
            del self._relayed_facts[_MOST_FACTS:]
        return EncodedJson(encoded)

    def _meta(self, token: Id | None, capabilities: Mapping[str, Json]) -> dict[str, Json]:
        meta = modern.request_meta(self.revision, CLIENT, capabilities)
        if token is not None:
            meta["progressToken"] = token
        if self.log_level is not None:
            meta[modern.LOG_LEVEL] = self.log_level
        return meta

    def headers(self, method: str, params: Mapping[str, Json]) -> dict[str, str]:
        return headers.request_headers(method, params, self.revision)

    def asks(self, result: Json) -> bool:
        return is_object(result) and result.get("resultType") == "input_required"

    def finished(self, result: Json, method: str) -> dict[str, Json]:
        members = _object(result, method)
        kind = members.get("resultType", "complete")
        if kind != "complete":
            raise self._unfinished(kind, members, method)
        return members

    def _unfinished(self, kind: Json, members: dict[str, Json], method: str) -> Exception:
        problem = Worded(REASON_RESULT_TYPE_UNKNOWN, {"type": str(kind)[:40]})
        if kind == "task":
            if method == "tools/call" and self.has_tasks:
                return TaskStarted(created_task(members, method))
            problem = Worded(REASON_TASK_METHOD if self.has_tasks else REASON_TASK_NOT_DECLARED, {})
        return InvalidAnswer.of(SERVER_RESPONSE_INVALID, method=method, problem=problem)


@dataclass(frozen=True, slots=True)
class Legacy:
    revision: str
    cancels_by_closing: bool = False
    listens_by_asking: bool = False
    mirrors_parameters: bool = False
    sign_of_life: str = "ping"
    has_tasks: bool = False

    def params(
        self, params: Mapping[str, Json], token: Id | None, relayed: RelayedRequest | None = None
    ) -> dict[str, Json]:
        return dict(params) if token is None else {**params, "_meta": {"progressToken": token}}

    def headers(self, method: str, params: Mapping[str, Json]) -> dict[str, str]:
        return {headers.VERSION_HEADER: self.revision}

    def asks(self, result: Json) -> bool:
        return False  # session-based servers ask by requests of their own

    def finished(self, result: Json, method: str) -> dict[str, Json]:
        return _object(result, method)


def server_info(result: Mapping[str, Any]) -> tuple[str, str]:
    """Return the server's name and version; both may be missing."""
    meta = result.get("_meta")
    info = result.get("serverInfo") or (meta.get(modern.SERVER_INFO) if is_object(meta) else None)
    try:
        implementation = msgspec.convert(info, Implementation)
    except msgspec.ValidationError:
        return "", ""
    return implementation.name, implementation.version
