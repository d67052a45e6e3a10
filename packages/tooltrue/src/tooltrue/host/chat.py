"""A conversation of a person, a model and tools, reported as events: plain JSON objects.

The caller decides how to display them: a terminal, or a program that reads lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from tooltrue.client.answers import Elicit
from tooltrue.errors import TooltrueError, UnknownTool
from tooltrue.host.calls import EndedCall, Hooks, ResolvedCall
from tooltrue.host.exposed_tools import Fit
from tooltrue.host.models.model import Model, ModelInput, Turn
from tooltrue.host.run import Conversation, MakeContext, RunLimits, RunResult, local
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import Value
from tooltrue.tools.toolset import Toolset
from tooltrue.tools.vocabulary import Tool

__all__ = ["ChatSession", "ChatTool", "Event", "OnEvent"]

Event: TypeAlias = dict[str, Json]
"""``event`` is the kind: tools, text, thinking, call, progress, result, turn, ended or failed."""
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
    which they ended."""

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
    ) -> None:
        self.calls: list[EndedCall] = []
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
        try:
            run = await self._talk.say(messages)
        except TooltrueError as error:
            self._on_event({"event": "failed", "code": error.code, "message": error.say(self._language)})
            raise
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
        facts = {"id": step.use.id, "tool": step.use.name, "progress": progress, "total": total, "message": message}
        self._on_event({"event": "progress", **facts})

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
