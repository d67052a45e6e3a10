"""The way of an operation to a server: over the connection that its definitions came by, or as a gateway sends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from tooltrue.client.answers import Answerer
from tooltrue.client.client import Client, Result, Target
from tooltrue.client.config import ServerConfig
from tooltrue.client.notifications import LogMessage
from tooltrue.client.task_status import TaskStatus
from tooltrue.client.tasks import followed
from tooltrue.errors import ConnectionLost, RpcError, ToolError
from tooltrue.host.inspection import PublishedDefinitions
from tooltrue.protocol.types import (
    Completion,
    InputRequiredResult,
    Prompt,
    PromptOutcome,
    ReadOutcome,
    ReadResourceResult,
    ResourceTemplate,
    Value,
)
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import (
    CompletionGet,
    PromptGet,
    RemoteTask,
    RequestContext,
    ResourceFollow,
    ResourceRead,
    ToolCall,
)
from tooltrue.transport.carrier import Auth

__all__ = [
    "CallerRefused",
    "CallerTargets",
    "DirectCalls",
    "ListsOfCallers",
    "ListsRefused",
    "OpenConnection",
    "Relay",
    "ServerRelay",
    "TaskAnswer",
    "Updated",
    "UpstreamCalls",
]


class CallerRefused(Exception):
    """A server refuses a request for a reason that lies with the caller of a gateway, which gets ``error``."""

    def __init__(self, error: RpcError) -> None:
        super().__init__(str(error))
        self.error = error


class ListsRefused(Exception):
    """A server does not list anything for a caller of a gateway, which gets ``error`` when it uses a name there."""

    def __init__(self, error: ToolError) -> None:
        super().__init__(str(error))
        self.error = error


class ListsOfCallers(Protocol):
    """Reads the lists of one server with the credentials of each caller. ``idle_seconds`` is how long those of a caller
    are of use after it has used them. ``connects``: a caller can obtain credentials by :meth:`connect`."""

    @property
    def idle_seconds(self) -> float: ...

    @property
    def connects(self) -> bool: ...

    def reader(self, context: RequestContext) -> Hashable:
        """A key that tells the credentials of this caller from those of all others."""
        ...

    async def published(self, context: RequestContext, before: PublishedDefinitions) -> PublishedDefinitions:
        """As :func:`tooltrue.host.inspection.published`, with the credentials of this caller. Raises ``ListsRefused``
        where the server does not admit them; then it is no longer certain that earlier lists are still for it."""
        ...

    async def connect(self, context: RequestContext) -> InputRequiredResult | None:
        """Have the caller asked for what its credentials need. ``None`` where nothing is missing. ``ToolError`` where
        it declines, or cannot be asked."""
        ...


Updated: TypeAlias = Callable[[str, str], None]
"""Called with the URI that has changed, and with the caller in whose session it has; empty for one that all share."""


class TaskAnswer(Value, frozen=True):
    """The answer of a server to a request about a task: its ``status``, and the ``result`` of a completed one."""

    status: TaskStatus
    result: Result | None = None


class PassedTasks(Protocol):
    """Sends requests about tasks that callers follow themselves."""

    async def ask_task(
        self, client: Client | None, call: ToolCall, task: RemoteTask, seconds: float | None
    ) -> TaskAnswer | None:
        """Ask the server about a task of this caller, or answer or cancel it. ``None`` for an acknowledgement."""
        ...


class UpstreamCalls(Protocol):
    """Sends operations to one server. ``client`` is the connection over which its definitions were read; there may be
    none if callers have ``lists`` of their own. Names are those of the server. Errors are those of the client,
    ``ToolError`` and ``CallerRefused``."""

    @property
    def lists(self) -> ListsOfCallers | None: ...

    @property
    def passed_tasks(self) -> PassedTasks | None:
        """The requests about tasks of the server, if a caller that declares the extension gets these tasks itself."""
        ...

    async def call_tool(
        self, client: Client | None, call: ToolCall, arguments: Mapping[str, Any], seconds: float | None
    ) -> Result | InputRequiredResult | TaskStatus: ...

    async def read_resource(self, client: Client | None, request: ResourceRead) -> ReadOutcome: ...

    async def follow(self, client: Client | None, request: ResourceFollow, updated: Updated) -> None:
        """Have ``updated`` called when the resource changes."""
        ...

    async def get_prompt(self, client: Client | None, get: PromptGet) -> PromptOutcome: ...

    async def complete(
        self, client: Client | None, entry: Prompt | ResourceTemplate, get: CompletionGet
    ) -> Completion: ...


class ServerRelay(UpstreamCalls, Protocol):
    """Passes on, between one server and the callers of a gateway, what a host answers itself: ``answers`` gets the
    questions that come over the connection of the definitions, ``on_log`` its log messages. ``close`` ends all other
    connections to the server."""

    @property
    def answers(self) -> Answerer: ...

    @property
    def is_busy(self) -> bool:
        """Whether an operation runs, or is held for the answer of its caller to a question."""
        ...

    def on_log(self, message: LogMessage) -> None: ...

    def watch_lists(self, changed: Callable[[str], None]) -> None:
        """Have ``changed`` called with the id of a caller when the server announces over a connection of this caller
        that a list has changed."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class CallerTargets(Protocol):
    """The target of a client that is to know for which caller of a gateway a connection is made."""

    def for_caller(self, caller: str) -> Target: ...


class OpenConnection(Protocol):
    """Opens another connection to the server for ``caller``, the id of a principal, with the same consent of a person,
    and the same credentials unless ``auth`` has others."""

    async def __call__(
        self,
        caller: str,
        answers: Answerer,
        on_log: Callable[[LogMessage], None],
        on_lost: Callable[[Exception], None],
        on_lists_changed: Callable[[], None],
        *,
        auth: Auth | None = None,
    ) -> Client: ...


Relay: TypeAlias = Callable[[ServerConfig, OpenConnection], ServerRelay]
"""Makes the relay of each server of a host."""

Reconnected: TypeAlias = Callable[[Client], Awaitable[Client | None]]
"""Waits for the connection that replaces a lost one, and returns it; ``None`` if none does."""


class DirectCalls:
    """Sends all operations over the connection of the definitions; the client answers the questions of the server, and
    a call that the server runs as a task is followed to its end, over the next connection if this one is lost."""

    lists: ListsOfCallers | None = None
    passed_tasks: PassedTasks | None = None

    def __init__(self, reconnected: Reconnected) -> None:
        self._reconnected = reconnected

    async def call_tool(
        self, client: Client | None, call: ToolCall, arguments: Mapping[str, Any], seconds: float | None
    ) -> Result:
        client, channel = _present(client), call.context.channel
        progress = None if channel is SILENT else channel.progress
        task = await client.start_task(call.name, arguments, timeout=seconds, progress=progress)
        if (id := task.id) is None:
            return await task.result()
        limit = None if call.on_task is None else call.on_task(id)
        clock = asyncio.get_running_loop().time
        began = clock()
        while True:
            try:
                return await followed(task, limit and max(0.0, limit - (clock() - began)), progress)
            except ConnectionLost:
                next_client = await self._reconnected(client)
                if next_client is None:
                    raise
            client, task = next_client, next_client.task(id, tool=call.name, timeout=seconds)

    async def read_resource(self, client: Client | None, request: ResourceRead) -> ReadResourceResult:
        return ReadResourceResult(list(await _present(client).read_resource(request.uri)))

    async def follow(self, client: Client | None, request: ResourceFollow, updated: Updated) -> None:
        await _present(client).subscribe(request.uri, lambda uri: updated(uri, ""))

    async def get_prompt(self, client: Client | None, get: PromptGet) -> PromptOutcome:
        return await _present(client).get_prompt(get.name, get.arguments)

    async def complete(self, client: Client | None, entry: Prompt | ResourceTemplate, get: CompletionGet) -> Completion:
        return await _present(client).complete(entry, get.argument, get.value, get.arguments)


def _present(client: Client | None) -> Client:
    assert client is not None  # callers of a host have no lists of their own
    return client
