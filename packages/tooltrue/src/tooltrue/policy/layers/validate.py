"""Validation of arguments against the published schema, before they are authorized; defaults are filled in first."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

from tooltrue.errors import InvalidArguments
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.wording import REDACTION_MASK_IN_ARGUMENTS, SECRET_IN_ARGUMENTS
from tooltrue.protocol.modern import require_tasks
from tooltrue.protocol.schema import ProblemLines
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import Principal, Tool, ToolCall
from tooltrue.tools.wording import LABEL_CORRECT_AND_REPEAT, TOOL_ARGUMENTS_INVALID
from tooltrue.wording import Worded

__all__ = ["MAX_EXPLANATION", "check_arguments", "validate"]

MAX_EXPLANATION = 600
_NEXT = Worded(LABEL_CORRECT_AND_REPEAT, {})


def validate(inner: Provider) -> Provider:
    return _Validate(inner)


class _Validate(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        accepts, is_simple = tool.input.accepts, not tool.defaults and tool.effect == "read" and not tool.sends
        needs_tasks = tool.task == "required"

        def before(call: ToolCall) -> None:
            if call.admit is not None:
                call.admit(tool)
            if needs_tasks and call.wish is None and not _is_of_task(call):
                require_tasks(call.context.capabilities, tool.name)
            if is_simple and accepts(call.arguments):
                call.checked = (tool.input, call.arguments)
                return
            try:
                call.arguments = check_arguments(tool, call.arguments)
                call.checked = (tool.input, call.arguments)
            except InvalidArguments as error:
                if call.context.trail is not None:
                    call.context.trail.wrong = error.facts.get("wrong", ())
                raise

        return Step(before)


def _is_of_task(call: ToolCall) -> bool:
    rounds = call.context.rounds
    return rounds is not None and rounds.of_task


def check_arguments(tool: Tool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with the defaults of those that were left out. ``InvalidArguments`` explains each
    problem."""
    filled = _filled(tool.defaults, arguments)
    if not tool.input.accepts(filled):
        raise _invalid(tool, filled)
    if tool.effect != "read":
        _check_masks(tool, filled)
    if tool.sends:
        _check_secrets(tool, filled)
    return filled


def _check_masks(tool: Tool, arguments: dict[str, Any]) -> None:
    """Refuse a mask, which would overwrite its secret."""
    from tooltrue.policy.sanitize.secrets import mask_in  # noqa: PLC0415 - loaded with the first call

    if mask := mask_in(arguments):
        raise InvalidArguments.of(REDACTION_MASK_IN_ARGUMENTS, tool=tool.name, mask=mask)


def _check_secrets(tool: Tool, arguments: dict[str, Any]) -> None:
    from tooltrue.policy.sanitize.outgoing_secrets import kinds_sent  # noqa: PLC0415 - loaded with the first call

    if kinds := kinds_sent(arguments):
        raise InvalidArguments.of(SECRET_IN_ARGUMENTS, tool=tool.name, kinds=", ".join(kinds))


def _filled(defaults: Mapping[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    if all(name in arguments for name in defaults):
        return arguments
    return {**copy.deepcopy(dict(defaults)), **arguments}  # the tool may change a list of defaults


def _invalid(tool: Tool, arguments: Mapping[str, Any]) -> InvalidArguments:
    room = MAX_EXPLANATION - len(
        InvalidArguments.of(TOOL_ARGUMENTS_INVALID, tool=tool.name, problems="", next=_NEXT).say()
    )
    problems = tool.input.problems(arguments)
    wrong = tuple(f"{problem.path} {problem.rule}" for problem in problems)
    return InvalidArguments.of(
        TOOL_ARGUMENTS_INVALID, tool=tool.name, problems=ProblemLines(problems, room), next=_NEXT, wrong=wrong
    )
