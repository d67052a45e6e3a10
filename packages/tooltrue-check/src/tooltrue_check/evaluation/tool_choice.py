"""Puts one question to a model without executing its calls: their results come from the question's file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tooltrue.contract.digests import digest
from tooltrue.contract.portable import fitting
from tooltrue.contract.profile import profile
from tooltrue.errors import ParseError
from tooltrue.host.exposed_tools import ExposedTools, exposed
from tooltrue.host.models.model import (
    Message,
    Model,
    SystemMessage,
    ToolMessage,
    ToolReply,
    ToolUse,
    Turn,
    Usage,
    UserMessage,
)
from tooltrue.host.models.tool_uses import as_written
from tooltrue.jsonrpc.messages import Json, decode, is_object
from tooltrue.protocol.types import ToolDefinition
from tooltrue_check.evaluation.argument_verdicts import Schemas, reached
from tooltrue_check.evaluation.model_answers import ModelAnswer, ModelCall
from tooltrue_check.evaluation.question_file import EvaluationQuestion

__all__ = ["EvaluationSubject", "ToolChoice", "made", "opening_messages"]


class EvaluationSubject(Protocol):
    """A subject that can be asked. ``key`` identifies all that an answer depends on beside the question."""

    @property
    def key(self) -> str: ...

    @property
    def schemas(self) -> Schemas: ...

    async def answer(self, question: EvaluationQuestion) -> ModelAnswer: ...


class ToolChoice:
    """A model that is shown ``tools`` and chooses which to call. ``settings`` are the other settings that influence its
    answers; they are part of the key. ``left_out`` are tools that its provider does not accept, and why."""

    def __init__(self, model: Model, tools: Iterable[ToolDefinition], system: str = "", settings: Json = None) -> None:
        listed = tuple(tools)
        self._model = model
        self._system = system
        self._exposed = exposed(listed, model.tool_format, fitting(profile(model.profile)))
        self.left_out = self._exposed.left_out
        self.schemas = {tool.name: tool.inputSchema for tool in listed}
        self.key = digest([model.name, model.tool_format, system, settings, [*self._exposed.tools]])

    async def answer(self, question: EvaluationQuestion) -> ModelAnswer:
        """Collect the model's calls until one differs from the expected call, or there are no more. Raises
        ``ModelError``."""
        messages, calls, used = opening_messages(question, self._system), list[ModelCall](), Usage()
        while True:
            turn = await self._model.answer(messages, self._exposed.tools)
            used += turn.usage
            before = len(calls)
            calls += made(turn, self._exposed)
            if len(calls) == before or not self._goes_on(question, calls):
                return ModelAnswer(tuple(calls), turn.message.text, used.input, used.output)
            messages += [turn.message, _tool_results(question, turn.message.uses, before)]

    def _goes_on(self, question: EvaluationQuestion, calls: Sequence[ModelCall]) -> bool:
        """Whether more is expected, and the question has a result for every call so far."""
        is_on_its_way = reached(question, tuple(calls), self.schemas) == len(calls)
        return is_on_its_way and (len(calls) < len(question.calls) or question.answer is not None)


def opening_messages(question: EvaluationQuestion, system: str) -> list[Message]:
    messages: list[Message] = [SystemMessage(system)] if system else []
    return [*messages, UserMessage((question.text,))]


def made(turn: Turn, exposed_tools: ExposedTools, names: Mapping[str, str] | None = None) -> list[ModelCall]:
    """The calls of an answer, by the names of the tools; empty for one that was cut, since its calls may be
    incomplete."""
    if turn.stop == "length":
        return []
    called = [(exposed_tools.names.get(use.name, use.name), use) for use in turn.message.uses]
    return [ModelCall((names or {}).get(name, name), _arguments(use)) for name, use in called]


def _arguments(use: ToolUse) -> dict[str, Json] | str:
    """The arguments as execution would decode them, or the raw text if they are not an object."""
    with contextlib.suppress(ParseError, UnicodeError):
        arguments = decode(as_written(use))
        if is_object(arguments):
            return arguments
    return str(use.arguments).encode(errors="replace").decode()


def _tool_results(question: EvaluationQuestion, uses: Sequence[ToolUse], first: int) -> ToolMessage:
    return ToolMessage(
        tuple(ToolReply(use, (question.calls[first + number].result,)) for number, use in enumerate(uses))
    )
