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
from tooltrue.host.wording import MODEL_ARGUMENTS_NOT_OBJECT, MODEL_CALLED_MISSING_TOOL, RUN_WITHOUT_USER_TO_ASK
from tooltrue.jsonrpc.messages import Json, decode, is_object
from tooltrue.policy.wording import TOOL_INTERNAL_ERROR
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, Value, replaced
from tooltrue.tools.rounds import Rounds, remembered
from tooltrue.tools.toolset import Toolset
from tooltrue.tools.vocabulary import CallRecord, RequestContext, ToolCall
from tooltrue.tools.wording import USER_QUESTION_IMPOSSIBLE
from tooltrue.wording import REASON_NO_OBJECT, Worded

__all__ = ["EndedCall", "Hooks", "ResolvedCall", "ToolCaller"]

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


Refusal: TypeAlias = "str | None"


def _nothing(*_: Any) -> None: ...


@dataclass(frozen=True, slots=True)
class Hooks:
    """Callbacks of a run. An exception raised by a hook ends the run, and is raised from it.

    ``text`` and ``thinking`` get the model's output as it is streamed; ``turn`` each answer when it is complete.
    ``before`` may be ``async``; if it returns text, the call is refused, and the model reads the text. ``after`` is
    called for every call, refused ones too, and ``progress`` for the progress of one. ``elicit`` answers the questions
    that a tool asks a person; without it, a tool that has to ask fails with an error that says so.
    """

    text: Callable[[str], None] = _nothing
    thinking: Callable[[str], None] = _nothing
    turn: Callable[[Turn], None] = _nothing
    before: Callable[[ResolvedCall], Refusal | Awaitable[Refusal]] = _nothing
    after: Callable[[EndedCall], None] = _nothing
    progress: Callable[[ResolvedCall, float, float | None, str | None], None] = _nothing
    elicit: Elicit | None = None


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
            answer = await self._run(step, names, trail) if refused is None else refusal(use, refused)
        self._hooks.after(EndedCall(answer, perf_counter() - began, trail, step))
        return answer

    async def _run(self, step: ResolvedCall, names: Mapping[str, str], trail: CallRecord) -> ToolReply:
        try:
            return reply(step.use, await self._outcome(step, trail))
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

    async def _outcome(self, step: ResolvedCall, trail: CallRecord) -> CallToolResult:
        """The result after all questions are answered: each round runs the call from its start (tools/rounds.py)."""
        rounds, channel = Rounds(), _Channel(step, self._hooks)
        while True:
            trail.claimed = False  # each round is the same operation
            context = replaced(self._context, channel=channel, rounds=rounds, trail=trail, stored=[])
            outcome = await self._toolset.call_tool(ToolCall(step.tool, step.arguments, context))
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
