"""Calls that become tasks, and requests about tasks.

Its place is right above the run: a call is authorized, approved and recorded, and its grant is consumed, before it
becomes a task; the rounds of the task then pass through to the tool. A request about a task of another server is a call
of its tool that passes the layers below, as the call would have whose result it brings.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from tooltrue.errors import InternalError, MissingCapability, RpcError, TaskFailed, TooltrueError, UnknownTool
from tooltrue.policy.layers.errors_as_results import as_result
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.protocol.modern import declares_tasks, without_tasks
from tooltrue.protocol.types import (
    CallToolResult,
    InputRequiredResult,
    ReadOutcome,
    ReadResourceResult,
    TaskCreated,
    ToolOutcome,
    replaced,
)
from tooltrue.tools.null import SILENT
from tooltrue.tools.rounds import BecomesTask, Rounds, sent_mark
from tooltrue.tools.toolset import Provider, Wrapper, unknown
from tooltrue.tools.vocabulary import (
    Entry,
    LibraryOperation,
    Principal,
    ProviderChange,
    RemoteTask,
    ResourceRead,
    TaskRequest,
    Tool,
    ToolCall,
    Unwatch,
)

if TYPE_CHECKING:  # few servers run tasks
    from tooltrue.tasks.service import TaskService
    from tooltrue.tasks.upstream import UpstreamTask, UpstreamTasks

__all__ = ["tasks"]


def tasks(
    service: TaskService | None, upstream: UpstreamTasks | None = None, language: str = "en"
) -> Callable[[Provider], Provider]:
    """Begin tasks for tools that want them, where the client supports them and the engine of ``service`` runs. Those of
    the servers of a gateway become ``upstream`` tasks."""
    if service is None and upstream is None:
        return Wrapper
    return lambda inner: _Tasks(inner, service, upstream, language)


class _Tasks(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    service: TaskService | None
    upstream: UpstreamTasks | None
    language: str

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        if tool.task is not None and self.service is not None:
            return self._beginning(tool, self.service)
        if tool.server and self.upstream is not None:
            return self._passing(tool, self.upstream)
        return None

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        unwatch, service = self.inner.watch(changed), self.service
        if service is None:
            return unwatch
        service.watchers.append(changed)

        def end() -> None:
            unwatch()
            service.watchers.remove(changed)

        return end

    # --- calls --------------------------------------------------------------------------------------------------------

    def _beginning(self, tool: Tool, service: TaskService) -> Step:
        """Begin tasks of this server."""
        from tooltrue.policy.audit.argument_masking import secret_names  # noqa: PLC0415 - few servers run tasks

        secret = secret_names(tool)

        def before(call: ToolCall) -> Awaitable[ToolOutcome | None] | None:
            context = call.context
            rounds = context.rounds
            if tool.server and rounds is not None and rounds.of_task:
                _withhold(call)
                return _once(call, tool, rounds)
            if service.engine is None or rounds is None or rounds.of_task or rounds.is_nested:
                if tool.server:
                    _withhold(call)
                return None
            if call.wish is not None:
                return service.start(call, tool, secret)
            if not declares_tasks(context.capabilities):
                return None
            if tool.task == "manual":
                rounds.may_become_task = True
                return None
            return service.start(call, tool, secret)

        def failed(call: ToolCall, error: BaseException) -> BaseException | Awaitable[ToolOutcome]:
            return service.start(call, tool, secret) if isinstance(error, BecomesTask) else error

        return Step(before, failed=failed)

    def _passing(self, tool: Tool, upstream: UpstreamTasks) -> Step:
        """Pass the tasks of another server on to the caller, under ids of its own."""

        def before(call: ToolCall) -> Awaitable[None] | None:
            context = call.context
            if not declares_tasks(context.capabilities):
                return None
            rounds = context.rounds
            if rounds is None or rounds.of_task or rounds.is_nested:
                _withhold(call)
            elif upstream.may_be_full(context.principal):
                return withhold_if_full(call)
            return None

        async def withhold_if_full(call: ToolCall) -> None:
            if await upstream.is_full(call.context.principal):
                _withhold(call)
                call.keep(_FULL, True)

        def after(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome | Awaitable[ToolOutcome]:
            return pass_on(call, outcome) if type(outcome) is TaskCreated else outcome

        async def pass_on(call: ToolCall, created: TaskCreated) -> TaskCreated:
            task, principal = upstream.task_of(tool, created.taskId), call.context.principal
            try:
                await upstream.admit(principal, task, created.ttlMs)
            except TooltrueError:
                with contextlib.suppress(TooltrueError):
                    await self._ask(task, tool, TaskRequest("", call.context, "cancel", {}, {}))
                raise
            if call.on_task is not None:
                call.on_task(task.key)
            return replaced(created, taskId=upstream.seal(task, principal))

        def failed(call: ToolCall, error: BaseException) -> BaseException:
            is_withheld = isinstance(error, MissingCapability) and call.recall(_FULL)
            return upstream.too_many(tool.name) if is_withheld else error

        return Step(before, after, failed)

    # --- requests about tasks -----------------------------------------------------------------------------------------

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        if not isinstance(operation, TaskRequest):
            return await self.inner.find_entries(operation)
        if operation.verb == "list":
            return ()
        if (task := self._upstream_task(operation)) is not None:
            return (await self._tool_of(task, operation),)
        if self.service is None:
            raise unknown(operation)
        tool = await self._tool((await self.service.find(operation)).record.tool, operation)
        return () if tool is None else (tool,)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        if not isinstance(request, TaskRequest):
            return await self.inner.read_resource(request)
        if self.upstream is not None and (task := self._upstream_task(request)) is not None:
            await self._answer(request, task, self.upstream)
            return ReadResourceResult([])
        if (service := self.service) is None:
            raise unknown(request)
        if request.verb == "list":
            await service.list_own(request)
            return ReadResourceResult([])
        own = await service.find(request)
        is_offered = await self._tool(own.record.tool, request) is not None
        await service.answer(request, own, is_offered=is_offered)
        return ReadResourceResult([])

    async def _tool(self, name: str, request: TaskRequest) -> Tool | None:
        try:
            return await self.inner.find_tool(name, request.context)
        except UnknownTool:
            return None

    # --- about tasks of other servers

    def _upstream_task(self, request: TaskRequest) -> UpstreamTask | None:
        if self.upstream is None or request.verb == "list":
            return None
        return self.upstream.find(request.uri, request.context.principal)

    async def _tool_of(self, task: UpstreamTask, request: TaskRequest) -> Tool:
        """Return the tool that the task runs. ``UnknownEntry`` if the caller has it no longer: only the same server
        learns of the task. ``ToolError`` if that is not known yet."""
        tool = await self._tool(task.tool, request)
        if tool is None and self.upstream is not None:
            self.upstream.check_present(task)
        if tool is None or not task.is_of(tool):
            raise unknown(request)
        return tool

    async def _answer(self, request: TaskRequest, task: UpstreamTask, upstream: UpstreamTasks) -> None:
        """Ask the server of the task, and fill in the reply to ``get``."""
        tool = await self._tool_of(task, request)
        if request.follow is not None:
            request.follow.task = task.key
        match request.verb:
            case "update":
                await self._update(request, task, tool, upstream)
            case "cancel":
                await self._ask(task, tool, request)
                with contextlib.suppress(TooltrueError):  # the end is seen with a later request otherwise
                    await self._status(request, task, tool, upstream)
            case _:
                status, outcome = await self._status(request, task, tool, upstream)
                request.reply.update(upstream.members(request.uri, status, outcome, request.context, tool))

    async def _update(self, request: TaskRequest, task: UpstreamTask, tool: Tool, upstream: UpstreamTasks) -> None:
        """Send the answers to questions that are open, each of them once."""
        _, outcome = await self._status(request, task, tool, upstream)
        questions = outcome.inputRequests if isinstance(outcome, InputRequiredResult) else None
        answers = upstream.answers(task, tool, questions or {}, request.responses)
        async with upstream.answering(task, answers) as keys:
            if keys:
                await self._ask(task, tool, replaced(request, responses={key: answers[key] for key in keys}))

    async def _status(
        self, request: TaskRequest, task: UpstreamTask, tool: Tool, upstream: UpstreamTasks
    ) -> tuple[TaskCreated, ToolOutcome | RpcError]:
        """Return the status of the task and what goes with it: as the layers below let it pass, or their refusal."""
        remote = RemoteTask(task.id, follow=request.follow)
        call = _call(tool, remote, request)
        outcome: ToolOutcome | RpcError
        try:
            outcome = await self.inner.call_tool(call)
        except TaskFailed as error:
            outcome = error
        except Exception as error:
            if remote.status is None or remote.status.status != "completed":
                raise
            refused = as_result(self.language, call, error)
            if not isinstance(refused, CallToolResult):
                raise
            outcome = refused
        assert remote.status is not None  # as the server has answered
        if remote.status.status in ENDS and await upstream.end(request.context.principal, task):
            _note(request, f"task {task.key[:8]} {remote.status.status}")
        return remote.status, outcome

    async def _ask(self, task: UpstreamTask, tool: Tool, request: TaskRequest) -> None:
        verb = "update" if request.verb == "update" else "cancel"
        await self.inner.call_tool(_call(tool, RemoteTask(task.id, verb, request.responses), request))


_FULL = "tasks full"
ENDS = frozenset({"completed", "failed", "cancelled"})


async def _once(call: ToolCall, tool: Tool, rounds: Rounds) -> None:
    """Have a call at another server sent once. Raises ``InternalError`` in a round that begins again, because its
    process has ended: that may have sent the call."""
    own = secrets.token_hex(8)

    async def mark() -> str:
        return own

    if await rounds.once(sent_mark(rounds.number), mark, retry=True) != own:
        from tooltrue.tasks.wording import TASK_CALL_INTERRUPTED  # noqa: PLC0415 - few servers run tasks

        raise InternalError.of(TASK_CALL_INTERRUPTED, tool=tool.name, server=tool.server)


def _withhold(call: ToolCall) -> None:
    """Have the server answer without a task."""
    call.context = replaced(call.context, capabilities=without_tasks(call.context.capabilities))


def _call(tool: Tool, task: RemoteTask, request: TaskRequest) -> ToolCall:
    """The call by which the layers below are asked about a task. Its context is that of the request, with results of
    its own."""
    context = replaced(request.context, channel=SILENT, rounds=None, stored=[], slices=[])
    return ToolCall(tool.name, {}, context, tool=tool, task=task)


def _note(request: TaskRequest, text: str) -> None:
    if (trail := request.context.trail) is not None:
        trail.note(text)
