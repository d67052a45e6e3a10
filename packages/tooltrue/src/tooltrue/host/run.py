"""The agent loop: a model answers, its tool calls run, it reads their results, until it makes no more calls.

However a run ends, the conversation can go on: every call in it has its reply.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeAlias

from tooltrue.contract.portable import fitting
from tooltrue.contract.profile import profile
from tooltrue.errors import ToolError
from tooltrue.host.calls import BackgroundCall, Hooks, ToolCaller
from tooltrue.host.exposed_tools import ExposedTools, Fit, exposed
from tooltrue.host.models.model import (
    Delta,
    Message,
    Model,
    ModelInput,
    ModelMessage,
    Stop,
    ToolMessage,
    ToolReply,
    ToolUse,
    Turn,
    Usage,
    UserMessage,
    read_messages,
)
from tooltrue.host.replies import refusal
from tooltrue.host.wording import (
    MODEL_ANSWER_CUT,
    RUN_CALL_INTERRUPTED,
    RUN_TASK_ENDED,
    RUN_TOKENS_EXHAUSTED,
    TOO_MANY_CALLS_IN_ANSWER,
)
from tooltrue.jsonrpc.messages import encode
from tooltrue.policy.tasks.labels import without_delimiters
from tooltrue.protocol.types import Value, replaced
from tooltrue.tools.null import SILENT
from tooltrue.tools.tasks import Task, TaskTaint
from tooltrue.tools.toolset import Toolset
from tooltrue.tools.vocabulary import LOCAL, RequestContext, Tool
from tooltrue.wording import sentence

__all__ = ["Conversation", "RunLimits", "RunResult", "run"]

_EARLIER = "(an earlier run)"  # a source that is no server

_Calling: TypeAlias = Callable[[ToolUse], Awaitable[ToolReply]]
Why: TypeAlias = Stop | Literal["steps", "tokens", "time", "stopped"]


MakeContext: TypeAlias = Callable[[], RequestContext]
"""Makes the context of one request of the user; the contexts of its calls derive from it."""


def local() -> RequestContext:
    """The context of the user who runs this process."""
    return RequestContext(LOCAL, SILENT)


class RunLimits(Value, frozen=True):
    """Limits of one run: answers of the model (``steps``), tokens and seconds; calls in one answer, and how many of
    them run at once. ``None`` is no limit."""

    steps: int = 32
    tokens: int | None = None
    seconds: float | None = None
    calls: int = 64
    at_once: int = 8


class RunResult(Value, frozen=True):
    """The result of a run. ``text`` is the model's last text. ``stop`` is the model's own reason (``end``, ``length``,
    ``refused``), or the limit that was reached: ``steps``, ``tokens`` or ``time``; ``stopped`` if the task of the
    context was stopped (:class:`tooltrue.tools.tasks.Task`), with ``reason``. ``messages`` is the whole conversation,
    from which another run can continue."""

    text: str
    stop: Why
    usage: Usage
    steps: int
    messages: tuple[Message, ...]
    reason: str = ""


async def run(
    model: Model,
    messages: ModelInput,
    toolset: Toolset,
    *,
    hooks: Hooks | None = None,
    limits: RunLimits | None = None,
    context: MakeContext = local,
    fit: Fit | None = None,
    language: str = "en",
) -> RunResult:
    """Let ``model`` answer ``messages`` with the tools of ``toolset``. Raises ``ModelError``, and any exception of a
    hook.

    Cancelling it also cancels the answer and the calls in progress.
    """
    talk = Conversation(model, toolset, hooks=hooks, limits=limits, context=context, fit=fit, language=language)
    return await talk.say(messages)


class Conversation:
    """A model, tools, and the messages so far. One run at a time.

    ``messages`` stays a conversation that can go on when a run fails or is cancelled: unfinished calls get a reply that
    says so. ``usage`` is the total of all runs. ``background`` are the calls that go on as tasks (:attr:`Hooks.task`),
    in the order in which they began, until :meth:`go_on` has told the model how they ended.
    """

    def __init__(
        self,
        model: Model,
        toolset: Toolset,
        *,
        hooks: Hooks | None = None,
        limits: RunLimits | None = None,
        context: MakeContext = local,
        fit: Fit | None = None,
        language: str = "en",
    ) -> None:
        self.model = model
        self.messages: list[Message] = []
        self.usage = Usage()
        self._hooks = hooks or Hooks()
        self._limits = limits or RunLimits()
        self._toolset = toolset
        self._context = context
        self._catalogue = _Catalogue(toolset, model.tool_format, fit or fitting(profile(model.profile)))
        self._language = language
        self._task: Task | None = None
        self.background: list[BackgroundCall] = []
        if (becomes_task := self._hooks.task) is not None:
            self._hooks = dataclasses.replace(self._hooks, task=partial(self._becomes_task, becomes_task))

    async def exposed(self) -> ExposedTools:
        """The tools as the model is shown them."""
        return await self._catalogue.exposed(self._context())

    async def say(self, messages: ModelInput) -> RunResult:
        """Add messages, and run until the model makes no more calls or a limit is reached. Raises ``ModelError``."""
        self.messages += read_messages(messages)
        return await self._answered(self._new_context())

    async def go_on(self) -> RunResult | None:
        """Tell the model the results of calls in the background that have ended, all for one request of the user, and
        run as :meth:`say` does, as part of that request. ``None`` if none has ended. Raises ``ModelError``."""
        results = [call for call in self.background if call.is_ended]
        if not results:
            return None
        task = results[0].context.task
        results = [call for call in results if call.context.task is task]
        self.background = [call for call in self.background if call not in results]
        parts = [part for call in results for part in (self._introduction(call), *call.reply.parts)]
        self.messages.append(
            UserMessage(tuple(parts), _unknown(results[0].step.use.name) if task is None else task.current_taint())
        )
        context = self._new_context()
        if task is not None and context.task is not None:
            context.task.share_taint(task)
            context = replaced(context, task=task)
        return await self._answered(context)

    def _introduction(self, call: BackgroundCall) -> str:
        facts = {"name": call.step.use.name, "arguments": without_delimiters(encode(call.step.arguments).decode())}
        return sentence(RUN_TASK_ENDED, self._language, facts)

    def _becomes_task(self, report: Callable[[BackgroundCall], None], call: BackgroundCall) -> None:
        self.background.append(call)
        report(call)

    async def close(self) -> None:
        """Cancel the tasks that still run."""
        running = [call.running for call in self.background if not call.is_ended]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def _answered(self, context: RequestContext) -> RunResult:
        """Run until the model makes no more calls or a limit is reached."""
        self._task = context.task
        caller = ToolCaller(self._toolset, self._hooks, context, self._language)
        progress, clock = _RunProgress(Usage()), asyncio.timeout(self._limits.seconds)
        try:
            async with clock:
                return self._run(await self._until_done(caller, context, progress), progress)
        except TimeoutError:
            if not clock.expired():
                raise
            return self._run("time", progress)

    def _new_context(self) -> RequestContext:
        """The context of another run. Its task carries the taint of the messages."""
        context = self._context()
        if (task := context.task) is not None:
            for message in self.messages:
                if isinstance(message, ToolMessage):
                    task.add_all_taint(
                        message.taint or _unknown(message.replies[0].use.name[:128] if message.replies else "-")
                    )
                elif isinstance(message, UserMessage) and message.taint is not None:
                    task.add_all_taint(message.taint)
        return context

    def _run(self, stop: Why, progress: _RunProgress) -> RunResult:
        return RunResult(progress.text, stop, progress.used, progress.steps, tuple(self.messages), progress.reason)

    async def _until_done(self, caller: ToolCaller, context: RequestContext, progress: _RunProgress) -> Why:
        most = self._limits.tokens
        while progress.steps < self._limits.steps:
            exposed_tools = await self._catalogue.exposed(context)
            turn = await self.model.answer(self.messages, exposed_tools.tools, self._pass_on)
            self.usage += turn.usage
            progress.add(turn)
            if context.task is not None:
                context.task.note(tokens=turn.usage.total)
            self._hooks.turn(turn)
            if not turn.message.uses:
                self.messages.append(turn.message)
                return turn.stop
            if most is not None and progress.used.total >= most:
                self._close(turn.message, {}, RUN_TOKENS_EXHAUSTED)
                return "tokens"
            await self._call(turn, lambda use, names=exposed_tools.names: caller.call(use, names))
            if context.task is not None and context.task.stopped:
                progress.reason = context.task.stopped
                return "stopped"
        return "steps"

    def _pass_on(self, delta: Delta) -> None:
        (self._hooks.text if delta.kind == "text" else self._hooks.thinking)(delta.text)

    async def _call(self, turn: Turn, call: _Calling) -> None:
        """Run the calls of the model. The message and the replies are added together, however the calls end."""
        uses, done = turn.message.uses, dict[int, ToolReply]()
        try:
            if turn.stop != "length":
                await self._call_all(uses[: self._limits.calls], call, done)
        except BaseException:
            self._close(turn.message, done, RUN_CALL_INTERRUPTED)
            raise
        self._close(turn.message, done, MODEL_ANSWER_CUT if turn.stop == "length" else TOO_MANY_CALLS_IN_ANSWER)

    async def _call_all(self, uses: Sequence[ToolUse], call: _Calling, done: dict[int, ToolReply]) -> None:
        slots = asyncio.Semaphore(self._limits.at_once)

        async def one(number: int, use: ToolUse) -> None:
            async with slots:
                done[number] = await call(use)

        try:
            async with asyncio.TaskGroup() as group:
                for number, use in enumerate(uses):
                    group.create_task(one(number, use))
        except BaseExceptionGroup as several:
            raise _first(several) from None  # raised by a hook; calls raise nothing

    def _close(self, message: ModelMessage, done: dict[int, ToolReply], code: str) -> None:
        """Add a message with a reply to each of its calls; ``code`` explains why some were not run, or did not end."""

        def unanswered(use: ToolUse) -> ToolReply:
            error = ToolError.of(code, name=use.name[:128], most=self._limits.calls)
            return refusal(use, error.say(self._language))

        replies = tuple(done.get(number) or unanswered(use) for number, use in enumerate(message.uses))
        self.messages += [message, ToolMessage(replies, None if self._task is None else self._task.current_taint())]


def _unknown(name: str) -> TaskTaint:
    """The taint of calls made elsewhere is unknown, so it counts as both private and untrusted."""
    return TaskTaint({"private": name, "untrusted": name}, frozenset({_EARLIER}))


@dataclass(slots=True)
class _RunProgress:
    """The progress of a run."""

    used: Usage
    steps: int = 0
    text: str = ""
    reason: str = ""

    def add(self, turn: Turn) -> None:
        self.used += turn.usage
        self.steps += 1
        self.text = turn.message.text


class _Catalogue:
    """The tools in the form the model is shown, converted again only when the list has changed."""

    def __init__(self, toolset: Toolset, tool_format: str, fit: Fit) -> None:
        self._toolset = toolset
        self._tool_format = tool_format
        self._fit = fit
        self._listed: tuple[Tool, ...] | None = None
        self._exposed = ExposedTools((), {})

    async def exposed(self, context: RequestContext) -> ExposedTools:
        listed = await self._toolset.list_tools(context)
        if listed is not self._listed:
            self._listed = listed
            self._exposed = exposed((tool.definition for tool in listed), self._tool_format, self._fit)
        return self._exposed


def _first(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return error  # pyright: ignore[reportUnknownVariableType]
