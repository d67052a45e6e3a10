"""Request size limit and timeout. A tool without limits of its own has the server's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import ClassVar, TypeVar

from tooltrue._internal.deadline import Deadline
from tooltrue.errors import InvalidArguments, ToolTimeout
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.wording import (
    ARGUMENTS_TOO_LARGE,
    LABEL_UNNAMED_REQUEST,
    TOOL_TIMEOUT_STILL_RUNNING,
    TOOL_TIMEOUT_STOPPED,
)
from tooltrue.protocol.types import ToolOutcome
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import OnTask, Principal, ResourceRead, Tool, ToolCall
from tooltrue.wording import Worded

__all__ = ["sizes", "timeout"]

OperationT = TypeVar("OperationT")
OutcomeT = TypeVar("OutcomeT")


def sizes(max_argument_bytes: int) -> Callable[[Provider], Provider]:
    """Refuse arguments that are larger as JSON, before a layer walks through them."""
    return lambda inner: _Sizes(inner, max_argument_bytes)


class _Sizes(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    max_bytes: int

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        limit = tool.max_argument_bytes or self.max_bytes

        def before(call: ToolCall) -> None:
            if (size := len(call.text or call.own_text())) > limit:
                raise InvalidArguments.of(ARGUMENTS_TOO_LARGE, tool=tool.name, size=size, limit=limit)

        return Step(before)


def timeout(seconds: float, task_seconds: float = 3_600.0) -> Callable[[Provider], Provider]:
    """Answer within ``seconds``, or within the tool's own limit: an async tool is cancelled, a thread abandoned. Rounds
    of tasks have ``task_seconds``, and so has a call that another server runs as a task, without the time of a person's
    answers.

    An async tool that blocks the event loop, or that goes on after its cancellation, is answered when it ends.
    """
    return lambda inner: _Timeout(inner, seconds, task_seconds)


class _Timeout(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    seconds: float
    task_seconds: float

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        seconds = tool.seconds or self.seconds

        def before(call: ToolCall) -> None:
            call.deadline = Deadline(seconds)

        def before_remote(call: ToolCall) -> None:
            call.deadline = deadline = Deadline(limit_of(call))
            call.on_task = partial(self._becomes_task, deadline, call.on_task)

        def before_round(call: ToolCall) -> None:
            call.deadline = Deadline(limit_of(call))

        def limit_of(call: ToolCall) -> float:
            rounds = call.context.rounds
            return self.task_seconds if tool.task and rounds is not None and rounds.of_task else seconds

        def after(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
            # A tool that has suppressed its cancellation is late all the same.
            if call.deadline is not None and call.deadline.end_late():
                raise _late(tool, limit_of(call))
            return outcome

        def failed(call: ToolCall, error: BaseException) -> BaseException:
            # Late also if the tool has turned its cancellation into another error.
            return _late(tool, limit_of(call)) if call.deadline is not None and call.deadline.end_late() else error

        return Step(before_remote if tool.server else before_round if tool.task else before, after, failed)

    def _becomes_task(self, deadline: Deadline, on_task: OnTask | None, id: str) -> float:
        deadline.end()
        if on_task is not None:
            on_task(id)
        return self.task_seconds

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        seconds = self.seconds
        deadline = Deadline(seconds)
        try:
            outcome = await proceed(operation)
        except BaseException:
            if deadline.was_the_reason():  # also if the tool has turned its cancellation into another error
                raise _late(operation, seconds) from None
            raise
        finally:
            deadline.end()
        if deadline.was_the_reason():  # the tool suppressed its cancellation; its answer is late all the same
            raise _late(operation, seconds)
        return outcome


def _late(operation: object, seconds: float) -> ToolTimeout:
    if isinstance(operation, Tool):
        code = TOOL_TIMEOUT_STOPPED if operation.stoppable else TOOL_TIMEOUT_STILL_RUNNING
        return ToolTimeout.of(code, tool=operation.name, seconds=seconds)
    name = (
        operation.uri
        if isinstance(operation, ResourceRead)
        else getattr(operation, "name", Worded(LABEL_UNNAMED_REQUEST, {}))
    )
    return ToolTimeout.of(TOOL_TIMEOUT_STOPPED, tool=name, seconds=seconds)
