"""Metrics of each operation, and a log line and a span where these are set up; never its arguments or its result.

Stands right below ``errors_as_results``, where failures are still exceptions, with their reason.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any, ClassVar, TypeVar

from tooltrue.errors import (
    InvalidResult,
    RpcError,
    ToolError,
    ToolTimeout,
    TooltrueError,
)
from tooltrue.observe.meter import Meter
from tooltrue.observe.tracing import OPERATION
from tooltrue.policy.plan import Step
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, ToolOutcome
from tooltrue.tools.toolset import Layer, Provider
from tooltrue.tools.vocabulary import (
    CLEANED,
    CompletionGet,
    Operation,
    Principal,
    PromptGet,
    ResourceFollow,
    ResourceRead,
    TaskRequest,
    Tool,
    ToolCall,
)

__all__ = ["OPERATIONS", "observe"]

OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet, CompletionGet)
OutcomeT = TypeVar("OutcomeT")

OPERATIONS = "tooltrue.operations"
"""The logger that has a line for each operation, where it is set to level INFO."""

_log = logging.getLogger(OPERATIONS)
_log.setLevel(logging.WARNING)  # enabled by this logger's name only: INFO for all loggers does not enable it

_METHODS: dict[type, str] = {
    ToolCall: "tools/call",
    ResourceRead: "resources/read",
    ResourceFollow: "resources/subscribe",
    TaskRequest: "tasks",
    PromptGet: "prompts/get",
    CompletionGet: "completion/complete",
}
_NAMED = (ToolCall, PromptGet)  # the others are about URIs, which may hold the data of a request
_TOOLBOX = "TT6"


def observe(meter: Meter) -> Callable[[Provider], Provider]:
    return lambda inner: _Observed(inner, meter)


class _Observed(Layer, frozen=True):
    same_for_all: ClassVar[bool] = True
    meter: Meter

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        meter, name = self.meter, tool.name
        count, logs = meter.counter("tools/call", name), _log.isEnabledFor

        def before(call: ToolCall) -> None:
            meter.running += 1

        def after(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
            meter.running -= 1
            seconds, how = perf_counter() - call.began, _result(outcome)
            count(how, seconds)
            if OPERATION.get() is not None or (_log.level <= logging.INFO and logs(logging.INFO)):
                self._describe(call, name, how, seconds)
            if outcome.meta:
                self._notice(outcome.meta)
            return outcome

        async def failed(call: ToolCall, error: BaseException) -> BaseException:
            seconds, (how, code) = perf_counter() - call.began, _failure(error)
            meter.running -= 1
            if code:
                meter.refused(code)
            self._report(call, await self._existing_name(call), how, seconds, code)
            return error

        return Step(before, after, failed)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        meter = self.meter
        meter.running += 1
        began = perf_counter()
        try:
            outcome = await proceed(operation)
        except BaseException as error:
            how, code = _failure(error)
            if code:
                meter.refused(code)
            self._report(operation, await self._existing_name(operation), how, perf_counter() - began, code)
            raise
        finally:
            meter.running -= 1
        self._report(operation, _name(operation), _result(outcome), perf_counter() - began)
        if meta := getattr(outcome, "meta", None):
            self._notice(meta)
        return outcome

    async def _existing_name(self, operation: Operation) -> str:
        """Return the name of the operation's subject if it exists, so that a refused caller cannot make up a label."""
        trail = operation.context.trail
        try:
            if isinstance(operation, ToolCall) and trail is None:
                await self.inner.find_tool(operation.name, operation.context)
            elif isinstance(operation, PromptGet):
                await self.inner.find_entries(operation)
        except Exception:  # noqa: BLE001 - the call has its error already
            return ""
        is_unknown = isinstance(operation, ToolCall) and trail is not None and trail.tool is None
        return "" if is_unknown else _name(operation)

    def _notice(self, meta: Mapping[str, Any]) -> None:
        """Count the guard's changes to a result, which its ``_meta`` lists."""
        for kind in meta.get(CLEANED, ()):
            self.meter.count_event(_CHANGES.get(kind, "cleaned"))

    def _report(self, operation: OperationT, name: str, outcome: str, seconds: float, code: str = "") -> None:
        method = _METHODS[type(operation)]
        self.meter.count_operation(method, name, outcome, seconds)
        self._describe(operation, name, outcome, seconds, code)

    def _describe(self, operation: OperationT, name: str, outcome: str, seconds: float, code: str = "") -> None:
        """Trace the operation and log it, where these are set up."""
        if (traced := OPERATION.get()) is not None:
            traced.record_outcome(name, outcome, code)
        if _log.isEnabledFor(logging.INFO):
            _log_operation(operation, _METHODS[type(operation)], outcome, code, seconds)


_CHANGES = {"secrets": "masked", "personal": "masked", "left out": "cut"}


def _name(operation: Operation) -> str:
    return operation.name if isinstance(operation, _NAMED) else ""


def _result(outcome: object) -> str:
    if type(outcome) is CallToolResult:
        return "error" if outcome.isError else "ok"
    return "asked" if isinstance(outcome, InputRequiredResult) else "ok"


def _failure(error: BaseException) -> tuple[str, str]:
    """Return how the operation ended, and the error code if it was refused or timed out."""
    match error:
        case asyncio.CancelledError() | GeneratorExit():
            return "cancelled", ""
        case ToolTimeout():
            return "timeout", error.code
        case InvalidResult():
            return "crashed", ""
        case ToolError() if not error.code or error.code.startswith(_TOOLBOX):
            return "error", ""  # the tool's own error
        case ToolError() | RpcError() | TooltrueError():
            return "refused", error.code
        case _:
            return "crashed", ""


def _log_operation(operation: OperationT, method: str, outcome: str, code: str, seconds: float) -> None:
    facts = {"who": operation.context.principal.id, "method": method, "outcome": outcome, "ms": round(seconds * 1e3, 3)}
    if what := _name(operation):
        facts["what"] = what[:128]
    if code:
        facts["code"] = code
    if (traced := OPERATION.get()) is not None:
        facts["trace"] = traced.trace_id
    _log.info("%s %s", method, outcome, extra={"facts": facts})
