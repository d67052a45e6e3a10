"""The stateless wire format (2026-07-28): the method table, and the translation to and from :mod:`protocol.types`.

Requests are self-contained: their context is in ``params._meta`` (basic "_meta").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from tooltrue.errors import InvalidParams, MissingCapability, RpcError
from tooltrue.jsonrpc.messages import Id, Json, decode, encode, is_id, is_object
from tooltrue.protocol import versions
from tooltrue.protocol.content_encoding import content_pieces
from tooltrue.protocol.types import (
    CallToolResult,
    Completion,
    Implementation,
    InputRequiredResult,
    PromptOutcome,
    ReadOutcome,
    TaskCreated,
    ToolOutcome,
)
from tooltrue.protocol.wording import (
    INVALID_METHOD_PARAMS,
    LABEL_BOTH,
    LABEL_MEMBER_OBJECT,
    LABEL_MEMBER_STRING,
    LABEL_THE_REQUEST,
    REASON_META_NO_OBJECT,
    REASON_PROGRESS_TOKEN_INVALID,
    REQUEST_META_MISSING,
    TASKS_NOT_DECLARED,
    UNKNOWN_LOG_LEVEL,
)
from tooltrue.wording import Worded

__all__ = [
    "CAPABILITIES",
    "CLIENT_INFO",
    "LOG_LEVEL",
    "LOG_LEVELS",
    "METHODS",
    "OPEN_ENDED",
    "SERVER_INFO",
    "SUBSCRIPTION_ID",
    "TASKS",
    "VERSION",
    "CallParams",
    "CompleteParams",
    "GetPromptParams",
    "KnownFacts",
    "ListParams",
    "ListenFilter",
    "ListenParams",
    "PromptRef",
    "ReadParams",
    "RequestFacts",
    "Results",
    "RoundParams",
    "TaskParams",
    "TemplateRef",
    "carries_version",
    "convert",
    "declares_tasks",
    "read_facts",
    "request_meta",
    "require_tasks",
    "stamp",
    "without_tasks",
]

_PREFIX = "io.modelcontextprotocol/"
VERSION = _PREFIX + "protocolVersion"
CAPABILITIES = _PREFIX + "clientCapabilities"
CLIENT_INFO = _PREFIX + "clientInfo"
LOG_LEVEL = _PREFIX + "logLevel"
SERVER_INFO = _PREFIX + "serverInfo"
SUBSCRIPTION_ID = _PREFIX + "subscriptionId"
TASKS = _PREFIX + "tasks"  # the extension, by which it is declared in `capabilities.extensions`

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

T = TypeVar("T")


class ListParams(msgspec.Struct, frozen=True):
    cursor: str | None = None


class RoundParams(msgspec.Struct, frozen=True, kw_only=True):
    """The parameters that a request adds when it is retried with input (basic/patterns/mrtr)."""

    inputResponses: dict[str, Any] | None = None
    requestState: str | None = None


class CallParams(RoundParams, frozen=True):
    name: str
    arguments: dict[str, Any] = {}


class TaskParams(msgspec.Struct, frozen=True):
    """The parameters of ``tasks/get``, ``tasks/update`` and ``tasks/cancel``; the second has responses."""

    taskId: str
    inputResponses: dict[str, Any] = {}


class ReadParams(RoundParams, frozen=True):
    uri: str


class GetPromptParams(RoundParams, frozen=True):
    name: str
    arguments: dict[str, str] = {}


class PromptRef(msgspec.Struct, frozen=True, tag_field="type", tag="ref/prompt"):
    name: str


class TemplateRef(msgspec.Struct, frozen=True, tag_field="type", tag="ref/resource"):
    uri: str


class CompletedArgument(msgspec.Struct, frozen=True):
    name: str
    value: str


class CompletionContext(msgspec.Struct, frozen=True):
    arguments: dict[str, str] = {}


class CompleteParams(msgspec.Struct, frozen=True):
    ref: PromptRef | TemplateRef
    argument: CompletedArgument
    context: CompletionContext = CompletionContext()


class ListenFilter(msgspec.Struct, frozen=True):
    toolsListChanged: bool = False
    promptsListChanged: bool = False
    resourcesListChanged: bool = False
    resourceSubscriptions: list[str] = []
    taskIds: list[str] = []


class ListenParams(msgspec.Struct, frozen=True):
    notifications: ListenFilter


# method → (parameters, the server capability that must be advertised, or None: tools are always available)
METHODS: Mapping[str, tuple[type[msgspec.Struct], str | None]] = {
    "server/discover": (ListParams, None),
    "tools/list": (ListParams, None),
    "tools/call": (CallParams, None),
    "resources/list": (ListParams, "resources"),
    "resources/templates/list": (ListParams, "resources"),
    "resources/read": (ReadParams, "resources"),
    "prompts/list": (ListParams, "prompts"),
    "prompts/get": (GetPromptParams, "prompts"),
    "completion/complete": (CompleteParams, "completions"),
    "subscriptions/listen": (ListenParams, None),
    "tasks/get": (TaskParams, "tasks"),
    "tasks/update": (TaskParams, "tasks"),
    "tasks/cancel": (TaskParams, "tasks"),
}


# Methods whose result marks the end of a stream.
OPEN_ENDED = frozenset({"subscriptions/listen"})


class RequestFacts(msgspec.Struct, frozen=True):
    """The ``_meta`` of a stateless request. ``client`` is for display only and never affects a decision."""

    version: str
    capabilities: Mapping[str, Json]
    client: Mapping[str, Json]
    meta: Mapping[str, Json]
    progress_token: Id | None = None
    log_level: str | None = None


def carries_version(params: Mapping[str, Json]) -> bool:
    """Whether a request is stateless, that is, its ``_meta`` names a protocol version (basic/versioning)."""
    meta = params.get("_meta")
    return is_object(meta) and VERSION in meta


def read_facts(params: Mapping[str, Json]) -> RequestFacts:
    """Read the ``_meta`` of a stateless request. ``InvalidParams`` (TT1013) names each missing required field."""
    declared = params.get("_meta")
    meta = declared if is_object(declared) else {}
    version, capabilities = meta.get(VERSION), meta.get(CAPABILITIES)
    if not isinstance(version, str) or not is_object(capabilities):
        raise _missing(version, capabilities)
    return RequestFacts(
        version,
        capabilities,
        _client_info(meta),
        meta,
        _token(meta),
        _log_level(meta),
    )


class KnownFacts:
    """The facts of ``_meta`` that came before, by its bytes: a client sends the same ones with each request."""

    def __init__(self) -> None:
        self._facts: dict[bytes, RequestFacts] = {}

    def of(self, meta: bytes) -> RequestFacts | None:
        """Return the facts of a stateless request that wants neither progress nor logs. ``None`` for all others, and
        for those that have to be refused."""
        facts = self._facts.get(meta)
        return self._learn(meta) if facts is None else facts

    def _learn(self, meta: bytes) -> RequestFacts | None:
        try:
            facts = read_facts({"_meta": decode(meta)})
        except RpcError:
            return None
        if facts.version not in versions.MODERN or facts.progress_token is not None or facts.log_level is not None:
            return None
        if len(meta) <= _MAX_META:
            if len(self._facts) >= _KNOWN:
                self._facts.clear()
            self._facts[meta] = facts
        return facts


_KNOWN = 64
_MAX_META = 4_096


def _missing(version: Json, capabilities: Json) -> InvalidParams:
    missing = Worded(LABEL_MEMBER_OBJECT, {"name": CAPABILITIES})
    if not isinstance(version, str):
        lacks_version = Worded(LABEL_MEMBER_STRING, {"name": VERSION})
        lacks_both = Worded(LABEL_BOTH, {"one": lacks_version, "other": missing})
        missing = lacks_version if is_object(capabilities) else lacks_both
    error = InvalidParams.of(REQUEST_META_MISSING, missing=missing, supported=", ".join(versions.ALL))
    error.data = {"supported": list(versions.ALL)}
    return error


def _client_info(meta: Mapping[str, Json]) -> Mapping[str, Json]:
    info = meta.get(CLIENT_INFO, {})
    if not is_object(info):
        raise InvalidParams.of(
            INVALID_METHOD_PARAMS,
            method=Worded(LABEL_THE_REQUEST, {}),
            problem=Worded(REASON_META_NO_OBJECT, {"key": CLIENT_INFO}),
        )
    return info


def _token(meta: Mapping[str, Json]) -> Id | None:
    token = meta.get("progressToken")
    if token is not None and not is_id(token):
        raise InvalidParams.of(
            INVALID_METHOD_PARAMS,
            method=Worded(LABEL_THE_REQUEST, {}),
            problem=Worded(REASON_PROGRESS_TOKEN_INVALID, {}),
        )
    return token


def _log_level(meta: Mapping[str, Json]) -> str | None:
    level = meta.get(LOG_LEVEL)
    if level is not None and level not in LOG_LEVELS:
        raise InvalidParams.of(UNKNOWN_LOG_LEVEL, level=str(level)[:20], allowed=", ".join(LOG_LEVELS))
    return level


def convert(params: Mapping[str, Json], shape: type[T], method: str) -> T:
    """Convert ``params`` to ``shape``. Raises ``InvalidParams`` with the JSON path. Unknown members are ignored."""
    try:
        return msgspec.convert(params, shape)
    except msgspec.ValidationError as error:
        raise InvalidParams.of(INVALID_METHOD_PARAMS, method=method, problem=_in_json_words(str(error))) from None


_JSON_WORDS = {"str": "string", "dict": "object", "int": "integer", "bool": "boolean", "float": "number", "`": ""}


def _in_json_words(problem: str) -> str:
    return re.sub(r"\b(str|dict|int|bool|float)\b|`", lambda match: _JSON_WORDS[match[0]], problem)


_OF_TASK = ("taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs")
_BEFORE_CONTENT = b'{"resultType":"complete","content":'


class Results:
    """Encodes the results of one server. Every result carries ``serverInfo`` (basic "_meta", SHOULD)."""

    def __init__(self, info: Implementation) -> None:
        self._meta = {SERVER_INFO: info}
        self._tail = b',"_meta":%b}' % encode(self._meta)

    def outcome(self, outcome: ToolOutcome) -> bytes:
        if type(outcome) is CallToolResult:
            return self.call(outcome)
        return self._question(outcome) if type(outcome) is InputRequiredResult else self._task(outcome)

    def call(self, result: CallToolResult) -> bytes:
        pieces = content_pieces(result.content)
        if result.undecoded is msgspec.UNSET and not (result.isError or result.meta):
            return b"".join((_BEFORE_CONTENT, *pieces, b',"isError":false', self._tail))
        parts = [_BEFORE_CONTENT, *pieces]
        if result.undecoded is not msgspec.UNSET:
            parts += (b',"structuredContent":', result.encoded or encode(result.undecoded))
        parts += (b',"isError":true' if result.isError else b',"isError":false', self._close(result.meta))
        return b"".join(parts)

    def _question(self, question: InputRequiredResult) -> bytes:
        body: dict[str, Json] = {"resultType": "input_required"}
        if question.inputRequests is not None:
            body["inputRequests"] = question.inputRequests
        if question.requestState is not None:
            body["requestState"] = question.requestState
        return encode(body)[:-1] + self._close(question.meta)

    def _task(self, task: TaskCreated) -> bytes:
        body: dict[str, Json] = {"resultType": "task"}
        body |= {name: getattr(task, name) for name in _OF_TASK}
        if task.statusMessage is not None:
            body["statusMessage"] = task.statusMessage
        return encode(body)[:-1] + self._close(task.meta)

    def _close(self, meta: Mapping[str, Json] | None) -> bytes:
        return self._tail if not meta else b',"_meta":%b}' % encode({**meta, **self._meta})

    def members(self, members: Mapping[str, Json], meta: Mapping[str, Json] | None = None) -> bytes:
        """A complete result with these members. Values may be ``msgspec.Raw``."""
        return encode({"resultType": "complete", **members})[:-1] + self._close(meta)

    def page(self, member: str, items: Sequence[object], next_cursor: str | None, ttl_ms: int, scope: str) -> bytes:
        """One page of a list with its cache hints, both mandatory (server/utilities/caching)."""
        members: dict[str, Json] = {member: items, "ttlMs": ttl_ms, "cacheScope": scope}
        if next_cursor is not None:
            members["nextCursor"] = next_cursor
        return self.members(members)

    def contents(self, outcome: ReadOutcome, ttl_ms: int, scope: str) -> bytes:
        """The contents of a resource with their cache hints; a question has no hints (server/utilities/caching)."""
        if isinstance(outcome, InputRequiredResult):
            return self._question(outcome)
        return self.members({"contents": outcome.contents, "ttlMs": ttl_ms, "cacheScope": scope}, outcome.meta)

    def prompt(self, outcome: PromptOutcome) -> bytes:
        if isinstance(outcome, InputRequiredResult):
            return self._question(outcome)
        members: dict[str, Json] = {"messages": outcome.messages}
        if outcome.description is not None:
            members["description"] = outcome.description
        return self.members(members, outcome.meta)

    def completion(self, completion: Completion) -> bytes:
        return self.members({"completion": completion})

    def closed(self, subscription: Id) -> bytes:
        """The final result of a subscription (basic/patterns/subscriptions)."""
        meta = {**self._meta, SUBSCRIPTION_ID: subscription}
        return encode({"resultType": "complete", "_meta": meta})


def stamp(params: Mapping[str, Json], subscription: Id) -> dict[str, Json]:
    """Add the subscription id to the params of a notification."""
    return {**params, "_meta": {SUBSCRIPTION_ID: subscription}}


def declares_tasks(capabilities: Mapping[str, Json]) -> bool:
    """Whether a client with these ``capabilities`` takes a task for the answer to a call (extension tasks)."""
    extensions = capabilities.get("extensions")
    return is_object(extensions) and is_object(extensions.get(TASKS))


def require_tasks(capabilities: Mapping[str, Json], subject: str) -> None:
    """Raise ``MissingCapability`` (-32021) unless these capabilities of a request declare the extension for tasks."""
    if not declares_tasks(capabilities):
        error = MissingCapability.of(TASKS_NOT_DECLARED, subject=subject, extension=TASKS)
        error.data = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
        raise error


def without_tasks(capabilities: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return ``capabilities`` without the extension for tasks."""
    extensions = capabilities.get("extensions")
    if not is_object(extensions) or TASKS not in extensions:
        return capabilities
    return {**capabilities, "extensions": {name: extensions[name] for name in extensions if name != TASKS}}


def request_meta(version: str, client: Implementation, capabilities: Mapping[str, Json]) -> dict[str, Json]:
    """The ``_meta`` of a client's request."""
    return {VERSION: version, CAPABILITIES: dict(capabilities), CLIENT_INFO: client}
