"""Calls that become tasks, and requests about tasks.

Its place is right above the run: a call is authorized, approved and recorded, and its grant is consumed, before it
becomes a task; the rounds of the task then pass through to the tool.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from tooltrue.errors import UnknownTool
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.protocol.modern import declares_tasks
from tooltrue.protocol.types import ReadOutcome, ReadResourceResult, ToolOutcome
from tooltrue.tools.rounds import BecomesTask
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import (
    Entry,
    LibraryOperation,
    Principal,
    ProviderChange,
    ResourceRead,
    TaskRequest,
    Tool,
    ToolCall,
    Unwatch,
)

if TYPE_CHECKING:  # few servers run tasks
    from tooltrue.tasks.service import TaskService

__all__ = ["tasks"]


def tasks(service: TaskService | None) -> Callable[[Provider], Provider]:
    """Begin tasks for tools that want them, where the client supports them and the engine runs."""
    return Wrapper if service is None else lambda inner: _Tasks(inner, service)


class _Tasks(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    service: TaskService

    def for_tool(self, tool: Tool, principal: Principal) -> Step | None:
        if tool.task is None:
            return None
        from tooltrue.policy.audit.argument_masking import secret_names  # noqa: PLC0415 - few servers run tasks

        service, secret = self.service, secret_names(tool)

        def before(call: ToolCall) -> Awaitable[ToolOutcome] | None:
            context = call.context
            rounds = context.rounds
            if service.engine is None or rounds is None or rounds.of_task or rounds.is_nested:
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

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        unwatch, service = self.inner.watch(changed), self.service
        service.watchers.append(changed)

        def end() -> None:
            unwatch()
            service.watchers.remove(changed)

        return end

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        if not isinstance(operation, TaskRequest):
            return await self.inner.find_entries(operation)
        if operation.verb == "list":
            return ()
        tool = await self._tool((await self.service.find(operation)).record.tool, operation)
        return () if tool is None else (tool,)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        if not isinstance(request, TaskRequest):
            return await self.inner.read_resource(request)
        if request.verb == "list":
            await self.service.list_own(request)
            return ReadResourceResult([])
        own = await self.service.find(request)
        is_offered = await self._tool(own.record.tool, request) is not None
        await self.service.answer(request, own, is_offered=is_offered)
        return ReadResourceResult([])

    async def _tool(self, name: str, request: TaskRequest) -> Tool | None:
        try:
            return await self.inner.find_tool(name, request.context)
        except UnknownTool:
            return None
