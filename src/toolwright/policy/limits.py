"""How long a call may take. An operation without a limit of its own has the server's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from toolwright.deadline import Deadline
from toolwright.errors import ToolTimeout
from toolwright.tools.toolset import Layer, Provider, ResourceRead, ToolCall

__all__ = ["timeout"]

OperationT = TypeVar("OperationT")
OutcomeT = TypeVar("OutcomeT")


def timeout(seconds: float) -> Callable[[Provider], Provider]:
    """An answer within ``seconds``, or within the tool's own limit: an async tool is cancelled, a thread given up.

    An async tool that blocks the event loop, or that goes on after its cancellation, is answered when it ends.
    """
    return lambda inner: _Timeout(inner, seconds)


@dataclass(frozen=True)
class _Timeout(Layer):
    seconds: float

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        seconds = _own_limit(operation) or self.seconds
        deadline = Deadline(seconds)
        try:
            outcome = await proceed(operation)
        except BaseException:
            if deadline.was_the_reason():  # also when the tool has made another error of its cancellation
                raise _late(operation, seconds) from None
            raise
        finally:
            deadline.end()
        if deadline.was_the_reason():  # the tool did not let itself be cancelled; its answer is late all the same
            raise _late(operation, seconds)
        return outcome


def _own_limit(operation: object) -> float | None:
    return operation.tool.seconds if isinstance(operation, ToolCall) and operation.tool else None


def _late(operation: object, seconds: float) -> ToolTimeout:
    if isinstance(operation, ToolCall):
        stoppable = operation.tool is None or operation.tool.stoppable
        return ToolTimeout.of("TW2002" if stoppable else "TW2003", tool=operation.name, seconds=seconds)
    name = operation.uri if isinstance(operation, ResourceRead) else getattr(operation, "name", "the request")
    return ToolTimeout.of("TW2002", tool=name, seconds=seconds)
