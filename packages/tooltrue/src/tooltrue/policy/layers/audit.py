"""Audit layers: one record per operation, and another before an operation that may destroy something.

``audit`` stands outermost, so that refusals are recorded too. ``write_ahead_audit``, the write-ahead record, stands
below the layers that refuse: a call that reaches it runs, unless its grant was used up meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from tooltrue.errors import TooltrueError, UnknownEntry
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.wording import TOOL_TIMEOUT_STILL_RUNNING
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, TextContent, ToolOutcome, replaced
from tooltrue.tools.toolset import Layer, Provider, Wrapper
from tooltrue.tools.vocabulary import (
    CallRecord,
    CompletionGet,
    OnTask,
    Operation,
    Principal,
    PromptGet,
    RequestContext,
    ResourceFollow,
    ResourceRead,
    TaskRequest,
    Tool,
    ToolCall,
)

if TYPE_CHECKING:  # loaded with the first call
    from tooltrue.policy.audit.record import Record, RecordSource

__all__ = ["audit", "write_ahead_audit"]

OperationT = TypeVar("OperationT", ToolCall, ResourceRead, PromptGet, CompletionGet)
OutcomeT = TypeVar("OutcomeT")


def audit(recorder: Recorder) -> Callable[[Provider], Provider]:
    """Record each operation when it ends, however it ends."""
    return (lambda inner: _Audit(inner, recorder)) if recorder.audit.is_on else Wrapper


def write_ahead_audit(recorder: Recorder) -> Callable[[Provider], Provider]:
    """Make the record of a destructive operation durable before it runs. For other operations the settings decide."""
    return (lambda inner: _WriteAheadAudit(inner, recorder)) if recorder.audit.is_on else Wrapper


class _Audit(Layer, frozen=True):
    recorder: Recorder

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        from tooltrue.policy.audit.record import MAX_ARGUMENTS, Record, snapshot, snapshot_of  # noqa: PLC0415 - loaded with the first call

        recorder = self.recorder
        source, clock = _source(recorder, "call", tool.name, principal), recorder.clock

        def before(call: ToolCall) -> Awaitable[None] | None:
            if recorder.log.behind:
                return wait(call)
            begin(call)
            return None

        async def wait(call: ToolCall) -> None:
            await recorder.wait()
            begin(call)

        def begin(call: ToolCall) -> None:
            trail = call.context.trail
            if trail is None or trail.claimed:
                trail = CallRecord()
                call.context = replaced(call.context, trail=trail)
            trail.claimed = True
            if tool.server:
                call.on_task = _recording(recorder, call.on_task, partial(recorded, call, trail, ""))
            if call.text is None:
                with contextlib.suppress(TypeError, ValueError):  # from a caller in this process
                    call.own_text()  # now: the tool may change its arguments
            call.at = clock()

        def recorded(call: ToolCall, trail: CallRecord, outcome: str, bytes_out: int = 0) -> Record:
            seconds, context, arguments = perf_counter() - call.began, call.context, call.text
            rounds, meta = context.rounds, context.meta
            if trail.edited is not None:
                arguments, size = snapshot(trail.edited)
            elif arguments is None or (size := len(arguments)) > MAX_ARGUMENTS:
                arguments, size = snapshot_of(call.own_text)
            return Record(
                source,
                arguments,
                size,
                call.at,
                meta.get("traceparent") if meta else None,
                trail,
                0 if rounds is None else rounds.number,
                outcome,
                seconds,
                bytes_out,
            )

        def after(call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
            trail = _trail_of(call)
            if type(outcome) is InputRequiredResult:
                recorder.note_question(recorded(call, trail, "asked"))
            else:
                recorder.note_outcome(recorded(call, trail, _result(outcome, trail), _size(outcome)))
            call.on_task = None  # it holds the call: such a cycle waits for a garbage collection
            return outcome

        def failed(call: ToolCall, error: BaseException) -> BaseException:
            trail = _trail_of(call)
            if isinstance(error, TooltrueError):
                trail.code = error.code
            recorder.note_outcome(recorded(call, trail, _failure(error, trail)))
            call.on_task = None
            return error

        return Step(before, after, failed)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        if self.recorder.log.behind:
            await self.recorder.wait()
        trail, start = operation.context.trail, _start_of(operation, self.recorder)
        if trail is None or trail.claimed:
            trail = CallRecord()
            operation = replaced(operation, context=replaced(operation.context, trail=trail))
        trail.claimed, context = True, operation.context
        began = perf_counter()
        if isinstance(operation, ToolCall):
            on_task = _recording(self.recorder, operation.on_task, partial(_record, context, start, trail))
            operation = replaced(operation, on_task=on_task)
        try:
            outcome = await proceed(operation)
        except BaseException as error:
            seconds = perf_counter() - began
            if isinstance(error, TooltrueError):
                trail.code = error.code
            self.recorder.note_outcome(_record(context, start, trail, _failure(error, trail), seconds))
            raise
        seconds = perf_counter() - began
        if type(outcome) is InputRequiredResult:
            self.recorder.note_question(_record(context, start, trail, "asked", seconds))
        else:
            self.recorder.note_outcome(_record(context, start, trail, _result(outcome, trail), seconds, _size(outcome)))
        return outcome


def _recording(recorder: Recorder, others: OnTask | None, record: Callable[[], Record]) -> OnTask:
    """Return a callback that records the begin of a task at another server."""

    def on_task(id: str) -> float | None:
        recorder.note_task(record(), id)
        return None if others is None else others(id)

    return on_task


def _trail_of(call: ToolCall) -> CallRecord:
    """Return the record of a call that has begun, and so has one."""
    return call.context.trail or CallRecord()


class _WriteAheadAudit(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    recorder: Recorder

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        recorder, effect = self.recorder, tool.effect
        log, must_prove, is_destructive = recorder.log, recorder.must_prove, tool.effect == "destructive"

        def before(call: ToolCall) -> Awaitable[None] | None:
            trail = call.context.trail
            if trail is None:  # always set, unless the layers were composed without `audit`
                return None
            if (is_destructive or log.failing) and must_prove(effect):  # neither: it need not be asked
                return proved(call, trail)
            trail.tool, trail.ran = tool, True
            return None

        async def proved(call: ToolCall, trail: CallRecord) -> None:
            await recorder.prove(_record(call.context, _start_of(call, recorder), trail))
            trail.tool, trail.ran = tool, True

        return Step(before)

    async def around(self, operation: OperationT, proceed: Callable[[OperationT], Awaitable[OutcomeT]]) -> OutcomeT:
        trail = operation.context.trail
        if trail is not None:
            if self.recorder.must_prove("read"):
                await self.recorder.prove(_record(operation.context, _start_of(operation, self.recorder), trail))
            trail.ran = True
        try:
            return await proceed(operation)
        except UnknownEntry:
            if trail is not None:  # the entry does not exist, so it has not run
                trail.ran = False
            raise


_Start: TypeAlias = "tuple[RecordSource, bytes, int, float]"
"""The first members of a record, known when an operation begins."""


def _source(recorder: Recorder, kind: str, subject: str, principal: Principal) -> RecordSource:
    from tooltrue.policy.audit.record import RecordSource  # noqa: PLC0415 - loaded with the first call

    return RecordSource(recorder.masks, recorder.instance, kind, subject, principal)


def _start_of(operation: Operation, recorder: Recorder) -> _Start:
    from tooltrue.policy.audit.record import snapshot  # noqa: PLC0415 - loaded with the first call

    kind, subject, arguments = _facts(operation)
    return _source(recorder, kind, subject, operation.context.principal), *snapshot(arguments), recorder.clock()


def _record(
    context: RequestContext,
    start: _Start,
    trail: CallRecord,
    outcome: str = "",
    seconds: float = 0.0,
    bytes_out: int = 0,
) -> Record:
    from tooltrue.policy.audit.record import Record, snapshot  # noqa: PLC0415 - loaded with the first call

    if trail.edited is not None:  # the arguments that were decided about, and ran
        source, _, _, at = start
        start = source, *snapshot(trail.edited), at
    rounds = 0 if context.rounds is None else context.rounds.number
    # Only this part of `_meta`: a record that waits must not keep a request alive.
    traceparent = context.meta.get("traceparent") if context.meta else None
    return Record(*start, traceparent, trail, rounds, outcome, seconds, bytes_out)


def _facts(operation: Operation) -> tuple[str, str, Mapping[str, Any]]:
    """Return the kind of an operation, its subject and its arguments."""
    match operation:
        case ToolCall():
            return "call", operation.name, operation.arguments
        case ResourceFollow():
            return "follow", operation.uri, {}
        case TaskRequest():
            return f"task {operation.verb}", operation.uri, {}
        case ResourceRead():
            return "read", operation.uri, {}
        case PromptGet():
            return "get", operation.name, operation.arguments
        case CompletionGet():
            return "complete", operation.name, {**operation.arguments, operation.argument: operation.value}


_ABANDONED = TOOL_TIMEOUT_STILL_RUNNING
"""The code of a plain function that continues after its timeout."""


def _failure(error: BaseException, trail: CallRecord) -> str:
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        return "cancelled"
    return "error" if trail.ran else "refused"


def _result(outcome: object, trail: CallRecord) -> str:
    if not trail.ran:
        return "refused"
    if trail.code == _ABANDONED:
        return "abandoned"
    return "error" if type(outcome) is CallToolResult and outcome.isError else "ok"


def _size(outcome: object) -> int:
    """Return the size of the answer in bytes; a value repeated as text counts once."""
    if type(outcome) is not CallToolResult:
        return len(encode(outcome))
    if outcome.encoded is not None:
        return len(outcome.encoded)
    content = outcome.content
    if len(content) == 1 and type(content[0]) is TextContent:
        return _text_size(content[0].text)
    size = 0
    for part in content:
        size += _text_size(part.text) if type(part) is TextContent else len(encode(part))
    return size


def _text_size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
