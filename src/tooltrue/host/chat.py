"""A conversation of a person, a model and tools, reported as events: plain JSON objects.

The caller decides how to display them: a terminal, or a program that reads lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from tooltrue.client.answers import Elicit
from tooltrue.errors import TooltrueError, UnknownTool
from tooltrue.host.calls import Ended, Hooks, Step
from tooltrue.host.exposed import Fit
from tooltrue.host.models.model import Given, Model, Turn
from tooltrue.host.run import Conversation, MakeContext, Run, RunLimits, local
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import Value
from tooltrue.tools.toolset import Toolset
from tooltrue.tools.vocabulary import Tool

__all__ = ["Chat", "Event", "Offered", "Told"]

Event: TypeAlias = dict[str, Json]
"""``event`` is the kind: tools, text, thinking, call, progress, result, turn, ended or failed."""
Told: TypeAlias = Callable[[Event], None]


class Offered(Value, frozen=True):
    """A tool that the model may call: its name, its server, its effect; or ``why`` it is not shown."""

    name: str
    server: str
    effect: str
    description: str
    why: str = ""


class Origin(Protocol):
    """Returns the server of a tool by its name here; empty if there is only one server."""

    def __call__(self, name: str, /) -> str: ...


def _of_one(name: str, /) -> str:
    return ""


class Chat:
    """A conversation whose events go to ``told``. ``calls`` are those of the whole conversation, in the order in which
    they ended."""

    def __init__(
        self,
        model: Model,
        toolset: Toolset,
        told: Told,
        *,
        origin: Origin = _of_one,
        elicit: Elicit | None = None,
        limits: RunLimits | None = None,
        context: MakeContext = local,
        fit: Fit | None = None,
        language: str = "en",
    ) -> None:
        self.calls: list[Ended] = []
        self._toolset = toolset
        self._told = told
        self._origin = origin
        self._context = context
        self._language = language
        hooks = Hooks(
            text=lambda text: told({"event": "text", "text": text}),
            thinking=lambda text: told({"event": "thinking", "text": text}),
            turn=self._turned,
            before=self._begins,
            after=self._ended,
            progress=self._progressed,
            elicit=elicit,
        )
        self._talk = Conversation(
            model, toolset, hooks=hooks, limits=limits, context=context, fit=fit, language=language
        )

    async def offered(self) -> list[Offered]:
        """All tools, both those that the model is shown and those left out."""
        shown = await self._talk.exposed()
        alias = {name: called for called, name in shown.names.items()}
        why = {one.name: one.why.say(self._language) for one in shown.left_out}
        tools = await self._toolset.list_tools(self._context())
        return [self._offer(tool, alias.get(tool.name, tool.name), why.get(tool.name, "")) for tool in tools]

    def _offer(self, tool: Tool, alias: str, why: str) -> Offered:
        return Offered(alias, self._origin(tool.name), tool.effect, tool.definition.description or "", why)

    async def say(self, given: Given) -> Run:
        """Let the model answer. Raises ``ModelError`` after reporting it as an event."""
        try:
            run = await self._talk.say(given)
        except TooltrueError as error:
            self._told({"event": "failed", "code": error.code, "message": error.say(self._language)})
            raise
        usage = {"input": run.usage.input, "output": run.usage.output, "cached": run.usage.cached}
        facts = {"stop": run.stop, "reason": run.reason, "steps": run.steps, "text": run.text, "usage": usage}
        self._told({"event": "ended", **facts})
        return run

    def _turned(self, turn: Turn) -> None:
        self._told({"event": "turn", "stop": turn.stop, "calls": len(turn.message.uses)})

    async def _begins(self, step: Step) -> None:
        try:
            effect = (await self._toolset.find_tool(step.tool, self._context())).effect
        except UnknownTool:
            effect = ""
        self._told(
            {
                "event": "call",
                "id": step.use.id,
                "tool": step.use.name,
                "server": self._origin(step.tool),
                "effect": effect,
                "arguments": step.arguments,
            }
        )

    def _progressed(self, step: Step, progress: float, total: float | None, message: str | None) -> None:
        facts = {"id": step.use.id, "tool": step.use.name, "progress": progress, "total": total, "message": message}
        self._told({"event": "progress", **facts})

    def _ended(self, ended: Ended) -> None:
        self.calls.append(ended)
        use, trail = ended.reply.use, ended.trail
        self._told(
            {
                "event": "result",
                "id": use.id,
                "tool": use.name,
                "is_error": ended.reply.is_error,
                "text": ended.reply.text,
                "bytes": ended.size,
                "seconds": round(ended.seconds, 3),
                "decision": trail.decision,
                "rule": trail.rule,
                "code": trail.code,
            }
        )
