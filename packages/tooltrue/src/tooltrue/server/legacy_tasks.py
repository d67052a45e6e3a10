"""Requests about tasks in sessions of 2025-11-25 (basic/utilities/tasks): the tasks of the later extension.

Each request passes the layers as those of the extension do. The questions of a task reach the client while it waits in
``tasks/result``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from tooltrue.errors import InvalidParams, MethodNotFound, RpcError
from tooltrue.jsonrpc.messages import Json, decode, encode
from tooltrue.jsonrpc.peer import Dialogue
from tooltrue.protocol import legacy
from tooltrue.protocol.modern import ListParams, TaskParams
from tooltrue.server.request_state import for_callers, push
from tooltrue.server.service import ServedProvider
from tooltrue.server.subscriptions import Follows
from tooltrue.server.wording import (
    SESSION_TASK_CANCELLED,
    TASK_HAS_ENDED,
    TASK_NOT_SUPPORTED_BY_TOOL,
    TASK_REQUIRED_BY_TOOL,
)
from tooltrue.tools.vocabulary import Principal, RequestContext, TaskRequest, TaskWish, Tool

if TYPE_CHECKING:  # few servers run tasks
    from tooltrue.tasks.service import TaskService

__all__ = ["SessionTasks", "TaskFollows", "check_support", "listed_tool", "tells_apart", "wish_of"]


def tells_apart(principal: Principal) -> bool:
    """Whether a principal is one caller. Where it is all programs of a machine, or all callers behind an address, a
    list would show the tasks of each to the others."""
    return not principal.id.startswith(("local:http", "address:"))


def listed_tool(tool: Tool) -> object:
    """The entry of a tool in ``tools/list``: its definition, with the support for tasks."""
    if tool.task is None:
        return tool.definition
    return legacy.TaskTool(tool.definition, "required" if tool.task == "required" else "optional")


def wish_of(params: legacy.AugmentedParams) -> TaskWish | None:
    """The wish for a task that a call declares."""
    if params.task is None:
        return None
    return TaskWish(None if params.task.ttl is None else params.task.ttl / 1000)


def check_support(tool: Tool, wish: TaskWish | None) -> None:
    """Raise ``MethodNotFound`` unless a tool may be called with this wish, or without one."""
    if wish is not None and tool.task is None:
        raise MethodNotFound.of(TASK_NOT_SUPPORTED_BY_TOOL, tool=tool.name)
    if wish is None and tool.task == "required":
        raise MethodNotFound.of(TASK_REQUIRED_BY_TOOL, tool=tool.name)


class SessionTasks:
    """The tasks of the caller of one request. ``context`` makes the context of a request about them."""

    def __init__(
        self,
        served: ServedProvider,
        service: TaskService,
        context: Callable[[], RequestContext],
        dialogue: Dialogue,
        projection: legacy.Projection,
    ) -> None:
        self._served = served
        self._service = service
        self._context = context
        self._dialogue = dialogue
        self._projection = projection

    async def get(self, params: TaskParams) -> bytes:
        return encode(legacy.task(await self._send("get", params.taskId)))

    async def list(self, params: ListParams) -> bytes:
        reply = await self._send("list", params.cursor or "")
        more = {"nextCursor": reply["next"]} if "next" in reply else {}
        return encode({"tasks": [legacy.task(members) for members in reply["tasks"]], **more})

    async def cancel(self, params: TaskParams) -> bytes:
        """Cancel a task that has not ended. ``InvalidParams`` for one that has, also meanwhile."""
        id = params.taskId
        if (status := (await self._send("get", id))["status"]) not in _ENDED:
            await self._send("cancel", id)
            if (members := await self._send("get", id))["status"] == "cancelled":
                return encode(legacy.task(members))
            status = members["status"]
        raise InvalidParams.of(TASK_HAS_ENDED, status=status)

    async def result(self, params: TaskParams) -> bytes:
        """Wait until the task has ended, and return the result of its call, or raise its error. Meanwhile the client is
        asked what the task asks."""
        id = params.taskId
        while (members := await self._send("get", id))["status"] not in _ENDED:
            if members["status"] == "input_required":
                await self._send("update", id, await self._answers(id, members["inputRequests"]))
            else:
                await self._service.wait(id, self._context().principal)
        if members["status"] == "cancelled":
            raise InvalidParams.of(SESSION_TASK_CANCELLED)
        if "error" in members:
            error = decode(encode(members["error"]))
            raise RpcError.received(error["code"], error["message"], error.get("data"))
        tools = await self._served.provider.find_entries(TaskRequest(id, self._context(), "get", {}, {}))
        schema = next((tool.definition.outputSchema for tool in tools if isinstance(tool, Tool)), None)
        return self._projection.call(legacy.task_result(members), schema)

    async def _answers(self, id: str, requests: Mapping[str, Any]) -> dict[str, Json]:
        capabilities, seconds = self._context().capabilities, self._served.question_seconds
        with for_callers():
            return await push(
                requests, self._dialogue, self._projection, capabilities, "tasks/result", seconds, legacy.related(id)
            )

    async def _send(
        self, verb: Literal["get", "update", "cancel", "list"], id: str, responses: Mapping[str, Json] | None = None
    ) -> dict[str, Any]:
        """Send a request about a task through the layers, and return the reply."""
        request = TaskRequest(id, self._context(), verb, responses or {}, {})
        await self._served.provider.read_resource(request)
        return request.reply


_ENDED = ("completed", "failed", "cancelled")


class TaskFollows:
    """The tasks that a session has begun, whose changes it is told of until they have ended
    (``notifications/tasks/status``)."""

    def __init__(self, served: ServedProvider, service: TaskService, follows: Follows, context: RequestContext) -> None:
        self._served = served
        self._service = service
        self._follows = follows
        self._context = context

    async def add(self, id: str) -> None:
        await self._follows.add(_place(self._service.id_of(id, self._context.principal)))

    async def notification_of(self, task: str) -> tuple[str, Json] | None:
        """The notification of a change of a task; ``None`` for tasks of others."""
        if not await self._follows.holds(place := _place(task)):
            return None
        id = self._service.seal_id(task, self._context.principal)
        request = TaskRequest(id, self._context, "get", {}, {})
        await self._served.provider.read_resource(request)
        members = legacy.task(request.reply)
        if members["status"] in _ENDED:
            await self._follows.remove(place)
        return "notifications/tasks/status", members


def _place(task: str) -> str:
    """The name of a task among the resources that a session follows."""
    return f"task {task}"
