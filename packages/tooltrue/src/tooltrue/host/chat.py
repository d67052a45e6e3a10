"""A conversation of a person, a model and tools, reported as events: plain JSON objects.

The caller decides how to display them: a terminal, or a program that reads lines.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Protocol, TypeAlias

from tooltrue.client.answers import Elicit
from tooltrue.errors import TooltrueError, UnknownTool
from tooltrue.host.calls import BackgroundCall, EndedCall, Hooks, ResolvedCall
from tooltrue.host.exposed_tools import Fit
from tooltrue.host.models.model import Model, ModelInput, Turn
from tooltrue.host.run import Conversation, MakeContext, RunLimits, RunResult, local
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import Value
from tooltrue.tools.toolset import Toolset
from tooltrue.tools.vocabulary import Tool

__all__ = ["ChatSession", "ChatTool", "Event", "OnEvent"]

Event: TypeAlias = dict[str, Json]
"""``event`` is the kind: tools, text, thinking, call, progress, task, result, turn, ended or failed."""
OnEvent: TypeAlias = Callable[[Event], None]


class ChatTool(Value, frozen=True):
    """A tool that the model may call: its name, its server, its effect; or ``why`` it is not shown."""

    name: str
    server: str
    effect: str
    description: str
    why: str = ""


class ServerOfTool(Protocol):
    """Returns the server of a tool by its name here; empty if there is only one server."""

    def __call__(self, name: str, /) -> str: ...


def _of_one(name: str, /) -> str:
    return ""


class ChatSession:
    """A conversation whose events go to ``on_event``. ``calls`` are those of the whole conversation, in the order in
    which they ended.

    With ``news``, a call that its server runs as a task goes on in the background. ``tasks`` are these calls by number,
    until the model has been told their results by :meth:`go_on`; ``news`` is set when one of them ends.
    """

    def __init__(
        self,
        model: Model,
        toolset: Toolset,
        on_event: OnEvent,
        *,
        origin: ServerOfTool = _of_one,
        elicit: Elicit | None = None,
        limits: RunLimits | None = None,
        context: MakeContext = local,
        fit: Fit | None = None,
        language: str = "en",
        news: asyncio.Event | None = None,
    ) -> None:
        self.calls: list[EndedCall] = []
        self._news = news
        self._numbers = count(1)
        self._tasks: dict[int, BackgroundCall] = {}
        self._toolset = toolset
        self._on_event = on_event
        self._origin = origin
        self._context = context
        self._language = language
        hooks = Hooks(
            text=lambda text: on_event({"event": "text", "text": text}),
            thinking=lambda text: on_event({"event": "thinking", "text": text}),
            turn=self._turned,
            before=self._begins,
            after=self._report_result,
            progress=self._progressed,
            elicit=elicit,
            task=None if news is None else self._becomes_task,
        )
        self._talk = Conversation(
            model, toolset, hooks=hooks, limits=limits, context=context, fit=fit, language=language
        )

    async def offered(self) -> list[ChatTool]:
        """All tools, both those that the model is shown and those left out."""
        exposed_tools = await self._talk.exposed()
        alias = {name: called for called, name in exposed_tools.names.items()}
        why = {one.name: one.why.say(self._language) for one in exposed_tools.left_out}
        tools = await self._toolset.list_tools(self._context())
        return [self._offer(tool, alias.get(tool.name, tool.name), why.get(tool.name, "")) for tool in tools]

    def _offer(self, tool: Tool, alias: str, why: str) -> ChatTool:
        return ChatTool(alias, self._origin(tool.name), tool.effect, tool.definition.description or "", why)

    async def say(self, messages: ModelInput) -> RunResult:
        """Let the model answer. Raises ``ModelError`` after reporting it as an event."""
        return await self._reported(self._talk.say(messages))

    @property
    def tasks(self) -> Mapping[int, BackgroundCall]:
        there = self._talk.background
        self._tasks = {number: call for number, call in self._tasks.items() if call in there}
        return self._tasks

    @property
    def has_results(self) -> bool:
        """Whether a task has ended whose result the model does not have."""
        return any(call.is_ended for call in self._talk.background)

    async def go_on(self) -> RunResult:
        """Tell the model the result of a task that has ended, which there is, and let it answer. Raises as
        :meth:`say`."""
        return await self._reported(self._talk.go_on())

    async def close(self) -> None:
        """Cancel the tasks that still run."""
        await self._talk.close()

    async def _reported(self, running: Awaitable[RunResult | None]) -> RunResult:
        try:
            run = await running
        except TooltrueError as error:
            self._on_event({"event": "failed", "code": error.code, "message": error.say(self._language)})
            raise
        assert run is not None  # there is a result
        usage = {"input": run.usage.input, "output": run.usage.output, "cached": run.usage.cached}
        facts = {"stop": run.stop, "reason": run.reason, "steps": run.steps, "text": run.text, "usage": usage}
        self._on_event({"event": "ended", **facts})
        return run

    def _turned(self, turn: Turn) -> None:
        self._on_event({"event": "turn", "stop": turn.stop, "calls": len(turn.message.uses)})

    async def _begins(self, step: ResolvedCall) -> None:
        try:
            effect = (await self._toolset.find_tool(step.tool, self._context())).effect
        except UnknownTool:
            effect = ""
        self._on_event(
            {
                "event": "call",
                "id": step.use.id,
                "tool": step.use.name,
                "server": self._origin(step.tool),
                "effect": effect,
                "arguments": step.arguments,
            }
        )

    def _progressed(self, step: ResolvedCall, progress: float, total: float | None, message: str | None) -> None:
        for call in self._tasks.values():
            if call.step is step:
                call.progress = message or f"{progress:g}"
        facts = {"id": step.use.id, "tool": step.use.name, "progress": progress, "total": total, "message": message}
        self._on_event({"event": "progress", **facts})

    def _becomes_task(self, call: BackgroundCall) -> None:
        assert self._news is not None  # no call becomes a task without it
        number, news = next(self._numbers), self._news
        self._tasks[number] = call
        call.running.add_done_callback(lambda _: news.set())
        use = call.step.use
        self._on_event({"event": "task", "id": use.id, "tool": use.name, "number": number, "task": call.id})

    def _report_result(self, call: EndedCall) -> None:
        self.calls.append(call)
        use, trail = call.reply.use, call.trail
        self._on_event(
            {
                "event": "result",
                "id": use.id,
                "tool": use.name,
                "is_error": call.reply.is_error,
                "text": call.reply.text,
                "bytes": call.size,
                "seconds": round(call.seconds, 3),
                "decision": trail.decision,
                "rule": trail.rule,
                "code": trail.code,
            }
        )
