"""Tools as the operator declares them: their effects, which the hints of a server on its own tools can only make worse,
and when their calls become tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import CoroutineType
from typing import Any

from tooltrue.policy.rules.globs import Globs
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import ToolOutcome, field, replaced
from tooltrue.tools.memo import DerivedValues, Remembered
from tooltrue.tools.toolset import Provider, Wrapper, resolve_call
from tooltrue.tools.vocabulary import Effect, RequestContext, TaskMode, Tool, ToolCall

__all__ = ["declare_effects", "declare_tasks", "effect_of"]

_KEPT = 10_000
_ORDER: tuple[Effect, ...] = ("read", "write", "open-world", "destructive")


def effect_of(declared: Effect, hints: wire.ToolAnnotations | None) -> Effect:
    """Return the declared effect, or the one that the tool's hints admit, if that is worse."""
    return _worst([declared, _admitted(hints)])


def _worst(effects: Sequence[Effect]) -> Effect:
    return max(effects, key=_ORDER.index)


def _admitted(hints: wire.ToolAnnotations | None) -> Effect:
    if hints is None or hints.readOnlyHint is not False:
        return "destructive" if hints is not None and hints.readOnlyHint is None and hints.destructiveHint else "read"
    if hints.destructiveHint:
        return "destructive"
    return "open-world" if hints.openWorldHint else "write"


def declare_effects(effects: Mapping[Effect, Globs]) -> Callable[[Provider], Provider]:
    """Give tools the effects that the operator has declared for their names; of several, the worst."""
    return (lambda inner: _Declared(inner, partial(_with_effect, effects))) if effects else Wrapper


def declare_tasks(mode_of: Callable[[str], TaskMode | None]) -> Callable[[Provider], Provider]:
    """Have the calls of tools become tasks as the operator says for their server, by its label."""

    def with_mode(tool: Tool) -> Tool:
        mode = mode_of(tool.server)
        return tool if mode is None else replaced(tool, task=mode)

    return lambda inner: _Declared(inner, with_mode)


class _Declared(Wrapper, frozen=True):
    change: Callable[[Tool], Tool]
    _tools: DerivedValues[Tool, Tool] = field(default_factory=lambda: DerivedValues[Tool, Tool](_KEPT))
    _last: Remembered[Tool] = field(default_factory=Remembered[Tool])

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        tools = await self.inner.list_tools(context)
        return self._last.same(tuple(map(self._changed, tools)), context.principal.id)

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        return self._changed(await self.inner.find_tool(name, context))

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        tool = self.inner.known_tool(name, context)
        return None if tool is None else self._tools.of(tool, self.change)

    def call_tool(self, call: ToolCall) -> CoroutineType[Any, Any, ToolOutcome]:
        return self._call_found(call) if call.tool is None else self.inner.call_tool(call)

    async def _call_found(self, call: ToolCall) -> ToolOutcome:
        call, _ = await resolve_call(self, call)
        return await self.inner.call_tool(call)

    def _changed(self, tool: Tool) -> Tool:
        return self._tools.of(tool, self.change)


def _with_effect(effects: Mapping[Effect, Globs], tool: Tool) -> Tool:
    declared: list[Effect] = [effect for effect, names in effects.items() if names.match(tool.name)]
    if not declared:
        return tool
    effect = effect_of(_worst(declared), tool.definition.annotations)
    # An effect other than the author's also overrides `read_when`, the author's exceptions for some calls.
    return tool if effect == tool.effect else replaced(tool, effect=effect, read_when={})
