"""Access control by one decision function, asked about the subject first, and again about the arguments that will run.

There are three kinds of refusal. A *hidden* subject reads like one that does not exist. A *scope* that the caller lacks
and could get is a challenge. Any other denial is reported to the model, with the rule and its reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeVar

from tooltrue.errors import InvalidParams, RpcError, ScopeNeeded, ToolError, UnknownEntry, UnknownTool
from tooltrue.policy.plan import Step, StepLayer
from tooltrue.policy.rules.decision import required_only, strictest
from tooltrue.policy.rules.rule import Allow, Ask, Decide, Deny, Subject, Verdict
from tooltrue.policy.wording import (
    AUTHORIZATION_UNDECIDABLE,
    REASON_NEEDS_PERSON,
    REFUSED_BY_DEFAULT,
    REFUSED_BY_RULE,
    REFUSED_BY_RULE_WITH_REASON,
    SUBJECT_REFUSED_WITH_REASON,
    TOOL_CALL_REFUSED,
)
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import Completion, PromptOutcome, ReadOutcome, field
from tooltrue.protocol.uris import read_template
from tooltrue.tools.memo import Remembered
from tooltrue.tools.toolset import Provider, Wrapper, unknown
from tooltrue.tools.views import filtered
from tooltrue.tools.vocabulary import (
    CompletionGet,
    Entry,
    LibraryOperation,
    Principal,
    PromptGet,
    RequestContext,
    ResourceRead,
    TaskRequest,
    Tool,
    ToolCall,
    resource_of,
)
from tooltrue.wording import Worded

__all__ = ["authorize", "authorize_arguments"]


def authorize(decide: Decide) -> Callable[[Provider], Provider]:
    """Authorize the use of tools, resources and prompts. A hidden subject is not listed, and reads like one that does
    not exist."""
    if decide is required_only:
        return _Required

    def visible(subject: Subject, context: RequestContext) -> bool:
        verdict = decide(subject, context, None)
        return not (isinstance(verdict, Deny) and verdict.hidden)

    return lambda inner: _Authorize(inner, decide, filtered(inner, visible))


def authorize_arguments(decide: Decide) -> Callable[[Provider], Provider]:
    """Authorize the arguments of a call, after they have been validated and defaults have been filled in."""
    return Wrapper if decide is required_only else lambda inner: _AuthorizeArguments(inner, decide)


EntryT = TypeVar("EntryT", wire.ResourceDefinition, wire.ResourceTemplate, wire.Prompt)


class _Required(StepLayer, frozen=True):
    """The check that remains without hidden subjects and conditions on arguments: the scopes that a tool requires."""

    same_for_all: ClassVar[bool] = True

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        return _decided_by(required_only, tool) if tool.requires else Step(partial(_found, tool))

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        if isinstance(request, TaskRequest):
            _require(required_only, await self.inner.find_entries(request), request)
        return await self.inner.read_resource(request)


def _found(tool: Tool, call: ToolCall) -> None:
    """Every layer below may take the tool of a call to be found."""
    call.tool = tool
    if call.context.trail is not None:
        call.context.trail.tool = tool


def _decided_by(decide: Decide, tool: Tool) -> Step:
    """Return the step that decides about a tool."""

    def before(call: ToolCall) -> None:
        context = call.context
        _found(tool, call)
        if isinstance(verdict := decide(tool, context, None), Deny):
            _note(context, verdict)
            raise _refused(verdict, call)

    return Step(before)


class _Authorize(StepLayer, frozen=True):
    """``visible`` is the visible part of the tools of ``inner``; a call is decided about once, here.

    A library entry is listed unless it is hidden, and found, read, got and completed only where it is allowed; a
    completion names no resource that may not be read.
    """

    same_for_all: ClassVar[bool] = True
    decide: Decide
    visible: Provider
    _resources: Remembered[wire.ResourceDefinition] = field(default_factory=Remembered[wire.ResourceDefinition])
    _templates: Remembered[wire.ResourceTemplate] = field(default_factory=Remembered[wire.ResourceTemplate])
    _prompts: Remembered[wire.Prompt] = field(default_factory=Remembered[wire.Prompt])

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        return await self.visible.list_tools(context)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return await self.visible.find_tool(name, context)

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        return _decided_by(self.decide, tool)

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        return self._visible_entries(await self.inner.list_resources(context), context, self._resources)

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        return self._visible_entries(await self.inner.list_templates(context), context, self._templates)

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        return self._visible_entries(await self.inner.list_prompts(context), context, self._prompts)

    def _visible_entries(
        self, entries: tuple[EntryT, ...], context: RequestContext, last: Remembered[EntryT]
    ) -> tuple[EntryT, ...]:
        visible_entries = tuple(entry for entry in entries if not self._hides(entry, context))
        return last.same(visible_entries, context.principal.id)

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        entries = await self.inner.find_entries(operation)
        _require(self.decide, entries, operation)
        return entries

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        await self.find_entries(request)
        return await self.inner.read_resource(request)

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        await self.find_entries(get)
        return await self.inner.get_prompt(get)

    async def complete(self, get: CompletionGet) -> Completion:
        [entry] = await self.find_entries(get)
        completion = await self.inner.complete(get)
        if not isinstance(entry, wire.ResourceTemplate):
            return completion
        template = read_template(entry.uriTemplate)
        if not {get.argument, *get.arguments}.issuperset(template.variables):
            return completion  # which resource it will be is still open
        uris = {value: template.expand({**get.arguments, get.argument: value}) for value in completion.values}
        values = [value for value, uri in uris.items() if await self._allows(resource_of(entry, uri), get.context)]
        # This caller may not learn how many more there are: those have not been checked for denials.
        return Completion(values, None if completion.hasMore else len(values), completion.hasMore)

    async def _allows(self, resource: wire.ResourceDefinition, context: RequestContext) -> bool:
        """Return whether a resource of a template may be read, by every entry that would serve it."""
        entries: tuple[Entry, ...] = (resource,)
        with contextlib.suppress(UnknownEntry):
            entries = await self.inner.find_entries(ResourceRead(resource.uri, context))
        return all(isinstance(self.decide(entry, context, None), Allow) for entry in entries)

    def _hides(self, subject: Subject, context: RequestContext) -> bool:
        verdict = self.decide(subject, context, None)
        return isinstance(verdict, Deny) and verdict.hidden


def _require(decide: Decide, entries: tuple[Entry, ...], operation: LibraryOperation) -> None:
    """Raise an error unless this caller may use all of these entries. That of a request about a task is its tool; there
    is none if that tool is not offered any more."""
    if not entries:
        return
    verdict = strictest([decide(entry, operation.context, None) for entry in entries])
    _note(operation.context, verdict)
    match verdict:
        case Allow():
            return
        case Deny(hidden=True):
            raise unknown(operation)
        case Deny() if verdict.scopes:
            raise ScopeNeeded.needing(verdict.scopes)
        case Deny():
            code, facts = _refusal(verdict, SUBJECT_REFUSED_WITH_REASON)
            raise InvalidParams.of(code, subject=entries[0].name, **facts)
        case Ask() if isinstance(operation, TaskRequest):
            return  # a person has been asked before the task began
        case Ask():
            reason = Worded(REASON_NEEDS_PERSON, {})
            raise InvalidParams.of(SUBJECT_REFUSED_WITH_REASON, subject=entries[0].name, reason=reason)


class _AuthorizeArguments(StepLayer, frozen=True):
    same_for_all: ClassVar[bool] = True
    decide: Decide

    def for_tool(self, tool: Tool, principal: Principal) -> Step:
        decide = self.decide

        def before(call: ToolCall) -> None:
            verdict = decide(tool, call.context, call.arguments)
            _note(call.context, verdict)
            match verdict:
                case Deny():
                    raise _refused(verdict, call)
                case Ask(question):
                    call.asks = question
                case Allow():
                    pass

        return Step(before)


def _note(context: RequestContext, verdict: Verdict) -> None:
    """Note the decision and its rule for the audit record."""
    if context.trail is not None:
        context.trail.decision = type(verdict).__name__.lower()
        context.trail.rule = verdict.rule


def _refused(verdict: Deny, call: ToolCall) -> RpcError | ToolError:
    if verdict.hidden:
        return UnknownTool(call.called or call.name)  # a caller that must not see a tool learns no other name of it
    if verdict.scopes:
        return ScopeNeeded.needing(verdict.scopes)
    code, facts = _refusal(verdict, TOOL_CALL_REFUSED)
    return ToolError.of(code, **{"tool" if code == TOOL_CALL_REFUSED else "subject": call.name}, **facts)


def _refusal(verdict: Deny, of_author: str) -> tuple[str, dict[str, Any]]:
    """Return the code of the sentence for a refusal, and its facts. ``of_author`` is the code for a denial that no rule
    made."""
    if verdict.fault:
        return AUTHORIZATION_UNDECIDABLE, {"id": verdict.fault}
    if not verdict.rule:
        return (of_author, {"reason": verdict.reason}) if verdict.reason else (REFUSED_BY_DEFAULT, {})
    if not verdict.reason:
        return REFUSED_BY_RULE, {"rule": verdict.rule}
    return REFUSED_BY_RULE_WITH_REASON, {"rule": verdict.rule, "reason": verdict.reason}
