"""Messages of a server that are not answers: progress, changes, logs; and questions of a session-based server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from tooltrue.client.answers import Answerer
from tooltrue.client.question_limits import TokenBucket
from tooltrue.jsonrpc.messages import Id, Json, Notification, RpcRequest, encode, is_id, is_number, is_object
from tooltrue.jsonrpc.peer import NotificationChannel, internal_error
from tooltrue.protocol.modern import SUBSCRIPTION_ID

__all__ = [
    "LISTS",
    "CallProgress",
    "Changed",
    "Log",
    "LogMessage",
    "NotificationCallbacks",
    "NotificationRouter",
    "Progress",
    "Updated",
    "Watch",
]

Progress: TypeAlias = Callable[[float, float | None, str | None], None]
"""``(progress, total, message)``, as the server reports it: 100 at once and then at most 20 a second; a newest report
that was left out follows when the call ends. A message has at most 2,000 characters.
"""

Changed: TypeAlias = Callable[[], None]
Updated: TypeAlias = Callable[[str], None]
"""Called with the URI that has changed, which may be below the subscribed one."""


@dataclass(frozen=True, slots=True)
class LogMessage:
    """A log message of a server. ``data`` is any JSON; none of it is to be trusted."""

    level: str
    data: Json
    logger: str | None = None


Log: TypeAlias = Callable[[LogMessage], None]


@dataclass(frozen=True, slots=True)
class Watch:
    """A list that may change: the methods that read it, its capability, and its name in the subscription filter."""

    methods: tuple[str, ...]
    capability: str
    filter: str


LISTS: Mapping[str, Watch] = {
    "notifications/tools/list_changed": Watch(("tools/list",), "tools", "toolsListChanged"),
    "notifications/prompts/list_changed": Watch(("prompts/list",), "prompts", "promptsListChanged"),
    "notifications/resources/list_changed": Watch(
        ("resources/list", "resources/templates/list"), "resources", "resourcesListChanged"
    ),
}


@dataclass(slots=True)
class NotificationCallbacks:
    """The callbacks. ``changed`` has an entry for each of :data:`LISTS` with a callback."""

    changed: Mapping[str, Changed]
    stale: Callable[[str], None]
    log: Log | None = None


class Calls(Protocol):
    """The open requests."""

    def extend_deadline(self, id: Id) -> None: ...

    def cancel(self, id: Id) -> bool: ...

    def answering(self) -> AbstractContextManager[None]: ...

    def may_be_asked(self) -> bool: ...


@dataclass(slots=True)
class CallProgress:
    """Follows one call, which may run as several requests, or as a task. Reports beyond the rate limit are left out."""

    on_progress: Progress
    ids: list[Id] = field(default_factory=list[Id])
    _bucket: TokenBucket = field(default_factory=lambda: TokenBucket(_BURST, _PER_SECOND))
    _pending: dict[str, Json] | None = None

    def report(self, params: dict[str, Json]) -> None:
        if self._bucket.take():
            self._pending = None
            self._deliver(params)
        else:
            self._pending = params

    def end(self) -> None:
        """Deliver the newest report, if it was left out."""
        if self._pending is not None:
            try:
                self._deliver(self._pending)
            except Exception as error:  # noqa: BLE001 - as for every notification: the answer must not be lost
                internal_error(error)

    def _deliver(self, params: dict[str, Json]) -> None:
        progress, total, message = params.get("progress"), params.get("total"), params.get("message")
        if is_number(progress):
            text = message[:_MAX_MESSAGE] if isinstance(message, str) else None
            self.on_progress(progress, total if is_number(total) else None, text)


_BURST = 100
_PER_SECOND = 20.0
_MAX_MESSAGE = 2_000


class NotificationRouter:
    """The client's handler of its peer. Unknown messages, and those that belong to no request, are ignored."""

    takes_batches = True

    def __init__(self, calls: Calls, answers: Answerer, callbacks: NotificationCallbacks) -> None:
        self._calls = calls
        self._answers = answers
        self._callbacks = callbacks
        self._progress: dict[Id, CallProgress] = {}
        self._tokens = 0
        self._subscriptions: dict[Id, Callable[[Json], None]] = {}
        self._acknowledgements: set[Id] = set()
        self.updated: dict[str, Updated] = {}
        self.tasks: dict[str, Callable[[dict[str, Json]], None]] = {}
        self._notes: Mapping[str, Callable[[dict[str, Json]], None]] = {
            "notifications/progress": self._progressed,
            "notifications/cancelled": self._cancelled,
            "notifications/message": self._logged,
            "notifications/subscriptions/acknowledged": self._acknowledged,
            "notifications/resources/updated": self._resource_updated,
            "notifications/tasks": self._task_changed,
        }

    def expect(self, progress: Progress) -> Id:
        """Return the progress token of a call."""
        self._tokens += 1
        self._progress[self._tokens] = CallProgress(progress)
        return self._tokens

    def runs_as(self, token: Id, id: Id) -> None:
        """Record that the call with this token runs as the request ``id``."""
        self._progress[token].ids.append(id)

    def forget(self, token: Id) -> None:
        """Record that the call with this token has ended."""
        if (following := self._progress.pop(token, None)) is not None:
            following.end()

    def subscribe(self, id: Id, acknowledged: Callable[[Json], None]) -> None:
        """Record that the request ``id`` opens a subscription; ``acknowledged`` is called with the accepted part of its
        filter.
        """
        self._subscriptions[id] = acknowledged

    def unsubscribe(self, id: Id) -> bool:
        """Record that a subscription has ended. Returns whether the server had acknowledged it."""
        self._subscriptions.pop(id, None)
        was_heard = id in self._acknowledgements
        self._acknowledgements.discard(id)
        return was_heard

    async def on_request(self, request: RpcRequest, exchange: NotificationChannel) -> bytes:
        if request.method == "ping":
            return b"{}"
        method = request.method
        if self._answers.puts(method) and not self._calls.may_be_asked():
            raise self._answers.gate.unasked(method)
        with self._answers.asking([method]), self._calls.answering():
            return encode(await self._answers.to({"method": method, "params": request.params}))

    def on_notification(self, notification: Notification) -> None:
        method, params = notification.method, notification.params
        if method in self._notes:
            self._notes[method](params)
        elif method in LISTS and self._is_ours(params):
            self._callbacks.stale(method)
            if method in self._callbacks.changed:
                self._callbacks.changed[method]()

    def everything_may_have_changed(self) -> None:
        """Report every list and resource as changed, after a time without notifications."""
        for method in LISTS:
            self.on_notification(Notification(method, {}))
        for uri, updated in tuple(self.updated.items()):
            updated(uri)

    def _is_ours(self, params: Mapping[str, Json]) -> bool:
        """Whether it belongs to a subscription of ours, or to none (session-based servers send no subscription id)."""
        id = _subscription(params)
        return id is None or (is_id(id) and id in self._subscriptions)

    def _progressed(self, params: dict[str, Json]) -> None:
        token = params.get("progressToken")
        expected = self._progress.get(token) if is_id(token) else None
        if expected is not None:
            for id in expected.ids:
                self._calls.extend_deadline(id)
            expected.report(params)

    def _cancelled(self, params: dict[str, Json]) -> None:
        id = params.get("requestId")
        if is_id(id):
            self._calls.cancel(id)

    def _logged(self, params: dict[str, Json]) -> None:
        if self._callbacks.log is not None:
            level, logger = params.get("level"), params.get("logger")
            name = logger if isinstance(logger, str) else None
            self._callbacks.log(LogMessage(level if isinstance(level, str) else "info", params.get("data"), name))

    def _acknowledged(self, params: dict[str, Json]) -> None:
        id = _subscription(params)
        if is_id(id) and id in self._subscriptions:
            self._acknowledgements.add(id)
            self._subscriptions[id](params.get("notifications"))

    def _resource_updated(self, params: dict[str, Json]) -> None:
        uri = params.get("uri")
        if isinstance(uri, str) and self._is_ours(params):
            for followed, updated in tuple(self.updated.items()):
                if uri == followed or uri.startswith(followed.rstrip("/") + "/"):
                    updated(uri)

    def _task_changed(self, params: dict[str, Json]) -> None:
        id = params.get("taskId")
        if isinstance(id, str) and id in self.tasks and self._is_ours(params):
            self.tasks[id](params)


def _subscription(params: Mapping[str, Json]) -> Any:
    meta = params.get("_meta")
    return meta.get(SUBSCRIPTION_ID) if is_object(meta) else None
