"""Request size limit and timeout. A tool without limits of its own has the server's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from tooltrue._internal.deadline import Deadline
from tooltrue.errors import InvalidArguments, ToolTimeout
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.wording import (
    ARGUMENTS_TOO_LARGE,
    LABEL_UNNAMED_REQUEST,
    TOOL_TIMEOUT_STILL_RUNNING,
    TOOL_TIMEOUT_STOPPED,
)
from tooltrue.protocol.types import ToolOutcome
from tooltrue.tools.toolset import Layer, Provider, Wrapper
from tooltrue.tools.vocabulary import ResourceRead, ToolCall
from tooltrue.wording import Worded

__all__ = ["sizes", "timeout"]

OperationT = TypeVar("OperationT")
OutcomeT = TypeVar("OutcomeT")


def sizes(max_argument_bytes: int) -> Callable[[Provider], Provider]:
    """Refuse arguments that are larger as JSON, before a layer walks through them."""
    return lambda inner: _Sizes(inner, max_argument_bytes)


class _Sizes(Wrapper, frozen=True):
    max_bytes: int

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        limit = (call.tool and call.tool.max_argument_bytes) or self.max_bytes
        if (size := len(encode(call.arguments))) > limit:
            raise InvalidArguments.of(ARGUMENTS_TOO_LARGE, tool=call.name, size=size, limit=limit)
        return await self.inner.call_tool(call)


def timeout(seconds: float) -> Callable[[Provider], Provider]:
    """Answer within ``seconds``, or within the tool's own limit: an async tool is cancelled, a thread abandoned.

    An async tool that blocks the event loop, or that goes on after its cancellation, is answered when it ends.
    """
    return lambda inner: _Timeout(inner, seconds)


class _Timeout(Layer, frozen=True):
    seconds: float

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        seconds = _own_limit(operation) or self.seconds
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


def _own_limit(operation: object) -> float | None:
    return operation.tool.seconds if isinstance(operation, ToolCall) and operation.tool else None


def _late(operation: object, seconds: float) -> ToolTimeout:
    if isinstance(operation, ToolCall):
        stoppable = operation.tool is None or operation.tool.stoppable
        return ToolTimeout.of(
            TOOL_TIMEOUT_STOPPED if stoppable else TOOL_TIMEOUT_STILL_RUNNING, tool=operation.name, seconds=seconds
        )
    name = (
        operation.uri
        if isinstance(operation, ResourceRead)
        else getattr(operation, "name", Worded(LABEL_UNNAMED_REQUEST, {}))
    )
    return ToolTimeout.of(TOOL_TIMEOUT_STOPPED, tool=name, seconds=seconds)
