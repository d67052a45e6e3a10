"""Budgets of a task: calls, bytes, time, and the cost of its model.

A task near the end of a budget is warned once. At its end, calls are refused with a note on the remaining budgets,
and a task that continues is stopped.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.sanitize.result_bytes import scannable_bytes
from tooltrue.policy.wording import (
    RUN_STOPPED_BUDGET_EXHAUSTED,
    TASK_BUDGET_EXHAUSTED,
    TASK_BUDGET_NEARLY_EXHAUSTED,
    TASK_TOOLS_DISABLED,
)
from tooltrue.protocol.types import CallToolResult, TextContent, ToolOutcome, replaced
from tooltrue.tools.tasks import Task
from tooltrue.tools.toolset import Layer, Provider
from tooltrue.tools.vocabulary import CompletionGet, Operation, PromptGet, ResourceRead, ToolCall
from tooltrue.wording import sentence

__all__ = ["enforce_budget", "remaining", "stop", "with_note"]

OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet, CompletionGet)
OutcomeT = TypeVar("OutcomeT")

_NEAR = 0.9
_STRIKES = 3


def enforce_budget(language: str) -> Callable[[Provider], Provider]:
    """Refuse operations beyond the budget of their task. An operation without a task has no budget."""

    return lambda inner: _EnforceBudget(inner, language)


class _EnforceBudget(Layer, frozen=True):
    language: str

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        outcome = await self.around(call, self.inner.call_tool)
        task = call.context.task
        if task is None or not isinstance(outcome, CallToolResult):
            return outcome
        task.bytes += scannable_bytes(outcome)[1]
        return _warned(task, outcome, self.language)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        task = operation.context.task
        if task is None or isinstance(operation, CompletionGet):
            return await proceed(operation)
        rounds = operation.context.rounds
        if rounds is None or not rounds.number:
            _take(task, operation)
        outcome = await proceed(operation)
        if not isinstance(operation, ToolCall):
            task.bytes += len(encode(outcome))
        return outcome


def remaining(task: Task) -> str:
    """Format the rest of each limit, in a few words that need no translation."""
    shares = task.shares().items()
    return ", ".join(f"{name}: {max(0, limit - used):g} / {limit:g}" for name, (used, limit) in shares) or "-"


def stop(task: Task, operation: Operation, error: ToolError) -> ToolError:
    """End the task for this reason; the error tells the model."""
    task.stopped = task.stopped or error.say()
    with_note(operation, f"run stopped: {error.code}")
    return error


def _take(task: Task, operation: Operation) -> None:
    """Count the operation. ``ToolError`` if the task is stopped, or a budget is used up."""
    if task.stopped:
        raise ToolError.of(TASK_TOOLS_DISABLED, reason=task.stopped)
    over = [name for name, (used, limit) in task.shares().items() if used >= limit]
    if not over:
        task.calls += 1
        return
    task.strikes += 1
    what = ", ".join(over)
    if task.strikes >= _STRIKES:
        raise stop(task, operation, ToolError.of(RUN_STOPPED_BUDGET_EXHAUSTED, what=what))
    with_note(operation, f"budget: {what}")
    raise ToolError.of(TASK_BUDGET_EXHAUSTED, what=what, left=remaining(task), more=_STRIKES - task.strikes)


def _warned(task: Task, result: CallToolResult, language: str) -> CallToolResult:
    near = [
        name
        for name, (used, limit) in task.shares().items()
        if used >= _NEAR * limit and name not in task.warned_limits
    ]
    if not near:
        return result
    task.warned_limits.update(near)
    notice = sentence(TASK_BUDGET_NEARLY_EXHAUSTED, language, {"what": ", ".join(near), "left": remaining(task)})
    return replaced(result, content=[*result.content, TextContent(text=notice)])


def with_note(operation: Operation, text: str) -> None:
    """Add a note to the audit record of an operation."""
    if operation.context.trail is not None:
        operation.context.trail.note(text)
