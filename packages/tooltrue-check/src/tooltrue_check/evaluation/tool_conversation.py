"""Puts one question to a model whose calls run: behind the guard that the toolset already has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from tooltrue.contract.digests import digest
from tooltrue.host.calls import Hooks
from tooltrue.host.exposed_tools import LeftOut
from tooltrue.host.models.model import Model, Turn
from tooltrue.host.run import Conversation, MakeContext, RunLimits, local
from tooltrue.jsonrpc.messages import Json
from tooltrue.tools.toolset import Toolset
from tooltrue_check.evaluation.argument_verdicts import Schemas
from tooltrue_check.evaluation.model_answers import ModelAnswer
from tooltrue_check.evaluation.question_file import EvaluationQuestion
from tooltrue_check.evaluation.tool_choice import made, opening_messages

__all__ = ["ToolConversation"]


class ToolConversation:
    """A model that uses ``toolset``. ``names`` maps its names of tools to those used in questions. Each question is a
    conversation of its own, limited to ``steps`` answers of the model."""

    def __init__(
        self,
        model: Model,
        toolset: Toolset,
        names: Mapping[str, str],
        *,
        context: MakeContext = local,
        system: str = "",
        steps: int = 32,
    ) -> None:
        self._model = model
        self._toolset = toolset
        self._names = names
        self._context = context
        self._system = system
        self._limits = RunLimits(steps=steps)
        self.left_out: tuple[LeftOut, ...] = ()
        self.schemas: Schemas = {}
        self.key = ""

    async def listed(self, settings: Json = None) -> Self:
        """Load the tools, and return this object. To be awaited before the first question."""
        exposed_tools = await self._talk(Hooks()).exposed()
        tools = [tool.definition for tool in await self._toolset.list_tools(self._context())]
        self.left_out = exposed_tools.left_out
        self.schemas = {self._names.get(tool.name, tool.name): tool.inputSchema for tool in tools}
        subject = [self._model.name, self._model.tool_format, self._system, settings, [*exposed_tools.tools]]
        self.key = digest([*subject, "run", self._limits.steps])
        return self

    async def answer(self, question: EvaluationQuestion) -> ModelAnswer:
        """All calls of the model, in the order in which it made them. Raises ``ModelError``."""
        turns = list[Turn]()
        talk = self._talk(Hooks(turn=turns.append))
        exposed_tools = await talk.exposed()
        done = await talk.say(opening_messages(question, self._system))
        calls = tuple(call for turn in turns for call in made(turn, exposed_tools, self._names))
        return ModelAnswer(calls, done.text, done.usage.input, done.usage.output)

    def _talk(self, hooks: Hooks) -> Conversation:
        return Conversation(self._model, self._toolset, hooks=hooks, limits=self._limits, context=self._context)
