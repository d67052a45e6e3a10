"""Executes a call as a model wrote it. The answer is always a reply that the model can continue from, never an
exception."""

from __future__ import annotations

import asyncio
import difflib
import inspect
import logging
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

from tooltrue.client.answers import Answers, Elicit
from tooltrue.crashes import log_crash
from tooltrue.errors import MethodNotFound, ParseError, ToolError, TooltrueError, UnknownTool, fact_of
from tooltrue.host.models.model import ToolReply, ToolUse, Turn
from tooltrue.host.models.tool_uses import as_written
from tooltrue.host.replies import refusal, reply
from tooltrue.host.wording import (
    MODEL_ARGUMENTS_NOT_OBJECT,
    MODEL_CALLED_MISSING_TOOL,
    RUN_CALL_BECAME_TASK,
    RUN_TASK_CANCELLED,
    RUN_WITHOUT_USER_TO_ASK,
)
from tooltrue.jsonrpc.messages import Json, decode, is_object
from tooltrue.policy.wording import TOOL_INTERNAL_ERROR
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, Value, replaced
from tooltrue.tools.rounds import Rounds, remembered
from tooltrue.tools.toolset import Toolset
from tooltrue.tools.vocabulary import CallRecord, OnTask, RequestContext, ToolCall
from tooltrue.tools.wording import USER_QUESTION_IMPOSSIBLE
from tooltrue.wording import REASON_NO_OBJECT, Worded, coded_sentence

__all__ = ["BackgroundCall", "EndedCall", "Hooks", "ResolvedCall", "ToolCaller"]

_log = logging.getLogger("tooltrue")


class ResolvedCall(Value, frozen=True):
    """A call that is about to run: the model's own call, and the tool and arguments it resolves to."""

    use: ToolUse
    tool: str
    arguments: dict[str, Json]


class EndedCall(Value, frozen=True):
    """A call that has been answered. ``step`` is ``None`` where the model's call could not be read. ``trail`` is the
    record that the layers have made of it: the deciding rule, and any failure."""

    reply: ToolReply
    seconds: float
    trail: CallRecord
    step: ResolvedCall | None = None

    @property
    def size(self) -> int:
        """The size of the reply in bytes: its text, and its pictures as they are sent."""
        parts = self.reply.parts
        return sum(len(part.encode(errors="replace") if isinstance(part, str) else part.data) for part in parts)


@dataclass(slots=True, eq=False)
class BackgroundCall:
    """A call that goes on as a task of its server while the conversation does. ``id`` is the server's own for the task,
    ``context`` that of the request of the user that the call is part of, and ``progress`` the newest message."""

    id: str
    step: ResolvedCall
    context: RequestContext
    running: asyncio.Task[ToolReply]
    progress: str = ""

    @property
    def is_ended(self) -> bool:
        return self.running.done()

    @property
    def reply(self) -> ToolReply:
        """The reply, once the call has ended. Raises any exception of a hook."""
        return self.running.result()

    def cancel(self) -> None:
        """Cancel the task. The call ends once the server has been asked to do so."""
        self.running.cancel()


Refusal: TypeAlias = "str | None"


def _nothing(*_: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks of a run. An exception raised by a hook ends the run, and is raised from it.

    ``text`` and ``thinking`` get the model's output as it is streamed; ``turn`` each answer when it is complete.
    ``before`` may be ``async``; if it returns text, the call is refused, and the model reads the text. ``after`` is
    called for every call, refused ones too, and ``progress`` for the progress of one. ``elicit`` answers the questions
    that a tool asks a person; without it, a tool that has to ask fails with an error that says so. With ``task``, a
    call that its server runs as a task goes on in the background: ``task`` is called with it, and the model reads that
    its result comes later. Without it, the task is followed to its end as part of the call.
    """

    text: Callable[[str], None] = _nothing
    thinking: Callable[[str], None] = _nothing
    turn: Callable[[Turn], None] = _nothing
    before: Callable[[ResolvedCall], Refusal | Awaitable[Refusal]] = _nothing
    after: Callable[[EndedCall], None] = _nothing
    progress: Callable[[ResolvedCall, float, float | None, str | None], None] = _nothing
    elicit: Elicit | None = None
    task: Callable[[BackgroundCall], None] | None = None


@dataclass(frozen=True, slots=True)
class _Channel:
    """Passes the progress of a running call to the hooks."""

    step: ResolvedCall
    hooks: Hooks

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.hooks.progress(self.step, progress, total, message)

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


class ToolCaller:
    """Calls tools of ``toolset`` for a model. Every call gets ``context`` with its own channel and rounds."""

    def __init__(self, toolset: Toolset, hooks: Hooks, context: RequestContext, language: str) -> None:
        self._toolset = toolset
        self._hooks = hooks
        self._answers = Answers(hooks.elicit, None, None)
        self._context = replaced(context, capabilities={**context.capabilities, **self._answers.capabilities})
        self._language = language

    async def call(self, use: ToolUse, names: Mapping[str, str]) -> ToolReply:
        """The reply to a call. Raises any exception of a hook."""
        began, step, trail = perf_counter(), None, CallRecord()
        try:
            step = _read(use, names)
        except ToolError as error:
            answer = refusal(use, error.say(self._language))
        else:
            decision = self._hooks.before(step)
            refused = await decision if inspect.isawaitable(decision) else decision
            if refused is not None:
                answer = refusal(use, refused)
            elif self._hooks.task is None:
                answer = await self._run(step, names, trail)
            else:
                return await self._until_task(step, names, trail, began, self._hooks.task)
        self._hooks.after(EndedCall(answer, perf_counter() - began, trail, step))
        return answer

    async def _until_task(
        self,
        step: ResolvedCall,
        names: Mapping[str, str],
        trail: CallRecord,
        began: float,
        becomes_task: Callable[[BackgroundCall], None],
    ) -> ToolReply:
        """The reply, or a provisional one as soon as the call has become a task."""
        task: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def run() -> ToolReply:
            try:
                answer = await self._run(step, names, trail, on_task)
            except asyncio.CancelledError:
                if not task.done():
                    raise
                answer = refusal(step.use, ToolError.of(RUN_TASK_CANCELLED, name=step.use.name).say(self._language))
            self._hooks.after(EndedCall(answer, perf_counter() - began, trail, step))
            return answer

        def on_task(id: str) -> None:
            if not task.done():
                task.set_result(id)

        running = asyncio.create_task(run())
        try:
            await asyncio.wait((running, task), return_when="FIRST_COMPLETED")
        except asyncio.CancelledError:
            running.cancel()
            await asyncio.wait((running,))
            raise
        if running.done():
            return running.result()
        becomes_task(BackgroundCall(task.result(), step, self._context, running))
        return ToolReply(step.use, (coded_sentence(RUN_CALL_BECAME_TASK, self._language, {"name": step.use.name}),))

    async def _run(
        self, step: ResolvedCall, names: Mapping[str, str], trail: CallRecord, on_task: OnTask | None = None
    ) -> ToolReply:
        try:
            return reply(step.use, await self._outcome(step, trail, on_task))
        except UnknownTool:
            return refusal(step.use, _unknown(step.use, names).say(self._language))
        except TooltrueError as error:
            return refusal(step.use, error.say(self._language))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return self._crashed(step, error)  # a cancellation of the tool's own making
        except Exception as error:  # noqa: BLE001 - whatever a tool raises, the model gets an answer
            return self._crashed(step, error)

    async def _outcome(self, step: ResolvedCall, trail: CallRecord, on_task: OnTask | None) -> CallToolResult:
        """The result after all questions are answered: each round runs the call from its start (tools/rounds.py)."""
        rounds, channel = Rounds(), _Channel(step, self._hooks)
        while True:
            trail.claimed = False  # each round is the same operation
            context = replaced(self._context, channel=channel, rounds=rounds, trail=trail, stored=[])
            outcome = await self._toolset.call_tool(ToolCall(step.tool, step.arguments, context, on_task=on_task))
            if isinstance(outcome, CallToolResult):
                return outcome
            if not isinstance(outcome, InputRequiredResult):
                raise ToolError.of(USER_QUESTION_IMPOSSIBLE)
            rounds = Rounds(remembered(outcome, rounds), await self._input_responses(step, outcome))

    async def _input_responses(self, step: ResolvedCall, outcome: InputRequiredResult) -> dict[str, Json]:
        try:
            return {key: await self._answers.to(request) for key, request in (outcome.inputRequests or {}).items()}
        except MethodNotFound:
            raise ToolError.of(RUN_WITHOUT_USER_TO_ASK, name=step.use.name) from None

    def _crashed(self, step: ResolvedCall, error: BaseException) -> ToolReply:
        id = secrets.token_hex(4)
        log_crash("tool %s failed, error %s", step.tool, id, error=error)
        return refusal(step.use, ToolError.of(TOOL_INTERNAL_ERROR, tool=step.use.name, id=id).say(self._language))


def _read(use: ToolUse, names: Mapping[str, str]) -> ResolvedCall:
    """Raises ``ToolError`` for an unknown tool, and for arguments that are not a JSON object, or an ambiguous one: with
    duplicate keys, other parsers take the last."""
    if use.name not in names:
        raise _unknown(use, names)
    try:
        arguments = decode(as_written(use))
    except (ParseError, UnicodeError) as error:
        raise ToolError.of(MODEL_ARGUMENTS_NOT_OBJECT, name=use.name, problem=fact_of(error)) from None
    if not is_object(arguments):
        raise ToolError.of(MODEL_ARGUMENTS_NOT_OBJECT, name=use.name, problem=Worded(REASON_NO_OBJECT, {}))
    return ResolvedCall(use, names[use.name], arguments)


def _unknown(use: ToolUse, names: Mapping[str, str]) -> ToolError:
    near = difflib.get_close_matches(use.name[:128], names, 3, 0.4) or sorted(names)[:5]
    return ToolError.of(MODEL_CALLED_MISSING_TOOL, name=use.name[:128], near=", ".join(near) or "-")
