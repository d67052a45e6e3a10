"""Random compositions of views against a simple model: all that is listed can be found and called, and all else is
unknown. A hidden argument is neither published nor settable."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue import Argument, Audit, Server, Transform, combined, filtered, prefixed, renamed, transformed
from tooltrue.errors import DefinitionError, UnknownTool
from tooltrue.policy.guard import Guard
from tooltrue.policy.pipeline import standard
from tooltrue.protocol.types import CallToolResult
from tooltrue.server.service import SILENT
from tooltrue.tools.toolset import Provider, provider_of
from tooltrue.tools.vocabulary import Principal, RequestContext, Tool, ToolCall

CALLERS = tuple(RequestContext(Principal(name), SILENT) for name in ("ann", "bob"))
NAMES = ("read", "seek", "wipe")
ARGUMENTS: tuple[str, ...] = ("path_arg", "query_arg", "token_arg")
NEW_ARGUMENTS = ("where_arg", "words_arg", *ARGUMENTS)
TAGS = ("admin", "beta")
EVIL = "set by a caller"


@dataclass(frozen=True)
class Model:
    """The model of a listed tool: its own name at its server, its visible arguments (outer → own), the values of the
    others, and the callers that see it."""

    server: int
    own: str
    tags: frozenset[str]
    arguments: Mapping[str, str]
    values: Mapping[str, Any]
    required: frozenset[str]
    callers: frozenset[str]
    is_open: bool

    def called_with(self, outer: Mapping[str, Any]) -> dict[str, Any]:
        return {**self.values, **{self.arguments.get(name, name): value for name, value in outer.items()}}


Models = dict[str, Model]


def made_server(number: int, data: st.DataObject) -> tuple[Server, Models]:
    server, models = Server(f"server{number}", audit=False), Models()
    for name in sorted(data.draw(st.sets(st.sampled_from(NAMES), min_size=1))):
        tags = data.draw(st.sets(st.sampled_from(TAGS)))
        required = sorted(data.draw(st.sets(st.sampled_from(ARGUMENTS))))
        is_open = data.draw(st.booleans())
        properties: dict[str, Any] = {argument: {"type": "string"} for argument in ARGUMENTS}
        for argument in set(ARGUMENTS) - set(required):
            properties[argument]["default"] = f"default of {argument}"
        schema = {"type": "object", "properties": properties, "required": required}
        if not is_open:
            schema["additionalProperties"] = False
        server.add_raw_tool(name, schema, answering(number, name), effect="read", blocking=False, tags=tags)
        defaults = {key: one["default"] for key, one in properties.items() if "default" in one}
        everyone = frozenset(context.principal.id for context in CALLERS)
        own = {argument: argument for argument in ARGUMENTS}
        models[name] = Model(number, name, frozenset(tags), own, defaults, frozenset(required), everyone, is_open)
    return server, models


def answering(server: int, name: str) -> Any:
    return lambda arguments: json.dumps([server, name, arguments], sort_keys=True)


def by_prefix(source: Any, models: Models, data: st.DataObject) -> tuple[Provider, Models]:
    prefix = data.draw(st.sampled_from(["x", "y", "read"]))
    return prefixed(source, prefix), {f"{prefix}_{name}": model for name, model in models.items()}


def by_names(source: Any, models: Models, data: st.DataObject) -> tuple[Provider, Models]:
    chosen = data.draw(st.sets(st.sampled_from(sorted(models)))) if models else set[str]()
    swapped = dict(zip(sorted(chosen), data.draw(st.permutations(sorted(chosen))), strict=True))
    if chosen and data.draw(st.booleans()):
        swapped[min(chosen)] = "fresh"
        taken = {swapped.get(name, name) for name in models}
        if len(taken) < len(models):
            return renamed(source, {}), models
    return renamed(source, swapped), {swapped.get(name, name): model for name, model in models.items()}


def by_tags(source: Any, models: Models, data: st.DataObject) -> tuple[Provider, Models]:
    tags, without = data.draw(st.sets(st.sampled_from(TAGS))), data.draw(st.sets(st.sampled_from(TAGS)))
    rest = {
        name: model for name, model in models.items() if (not tags or tags & model.tags) and not (without & model.tags)
    }
    return filtered(source, tags=tags, without_tags=without), rest


def by_caller(source: Any, models: Models, data: st.DataObject) -> tuple[Provider, Models]:
    hidden = data.draw(st.sets(st.sampled_from(sorted(models)))) if models else set[str]()
    made = filtered(source, lambda tool, context: context.principal.id == "ann" or tool.name not in hidden)
    return made, {
        name: replace(model, callers=model.callers & {"ann"}) if name in hidden else model
        for name, model in models.items()
    }


def by_transformation(source: Any, models: Models, data: st.DataObject) -> tuple[Provider, Models]:
    transforms, made = dict[str, Transform](), dict(models)
    for name in data.draw(st.sets(st.sampled_from(sorted(models)))) if models else ():
        changes, model = changed(models[name], data)
        wrap = passing if data.draw(st.booleans()) else None
        transforms[name], made[name] = Transform(arguments=changes, description="Transformed.", wrap=wrap), model
    return transformed(source, transforms), made


async def passing(call: ToolCall, proceed: Any) -> Any:
    return await proceed(call)


def changed(model: Model, data: st.DataObject) -> tuple[dict[str, Argument], Model]:
    changes, arguments, values, required = (
        dict[str, Argument](),
        dict[str, str](),
        dict(model.values),
        set(model.required),
    )
    for outer, own in model.arguments.items():
        kind = data.draw(st.sampled_from(["keep", "value", "factory", "hidden", "name", "default"]))
        shown = outer
        if kind in ("value", "factory"):
            values[own] = f"{kind} of {own}"
            changes[outer] = (
                Argument(value=values[own])
                if kind == "value"
                else Argument(factory=lambda own=own: f"factory of {own}")
            )
            required.discard(own)
            continue
        if kind == "hidden" and own not in required:
            changes[outer] = Argument(hidden=True)
            continue
        if kind == "name":
            free = [name for name in NEW_ARGUMENTS if name not in {*model.arguments, *arguments}]
            if free:
                shown = data.draw(st.sampled_from(free))
                changes[outer] = Argument(name=shown)
        if kind == "default":
            values[own] = f"new default of {own}"
            changes[outer] = Argument(default=values[own])
            required.discard(own)
        arguments[shown] = own
    is_open = model.is_open and arguments == dict(model.arguments)
    return changes, replace(model, arguments=arguments, values=values, required=frozenset(required), is_open=is_open)


VIEWS = (by_prefix, by_names, by_tags, by_caller, by_transformation, by_transformation)


def composed(data: st.DataObject) -> tuple[Any, Models, list[Server]]:
    stack: list[tuple[Any, Models]] = []
    servers: list[Server] = []
    for number in range(data.draw(st.integers(1, 3))):
        server, models = made_server(number, data)
        servers.append(server)
        source: Any = server
        for view in data.draw(st.lists(st.sampled_from(VIEWS), max_size=3)):
            source, models = view(source, models, data)
        stack.append((source, models))
    while len(stack) > 1:
        (one, first), (other, second) = stack.pop(), stack.pop()
        if first.keys() & second.keys():
            one, first = (
                prefixed(one, f"p{len(stack)}"),
                {f"p{len(stack)}_{name}": model for name, model in first.items()},
            )
        joined: Any
        if data.draw(st.booleans()):
            joined = Server("outer", toolsets=[one])
            joined.mount(other)
        else:
            joined = combined(one, other)
        source, models = joined, {**first, **second}
        for view in data.draw(st.lists(st.sampled_from(VIEWS), max_size=2)):
            source, models = view(source, models, data)
        stack.append((source, models))
    return *stack[0], servers


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_all_that_is_listed_is_found_and_called_and_all_else_is_unknown(data: st.DataObject):
    source, models, servers = composed(data)
    number, tag = data.draw(st.integers(0, len(servers) - 1)), data.draw(st.sampled_from(TAGS))
    asyncio.run(through_changes(provider_of(source), models, servers[number], tag))


async def through_changes(provider: Provider, models: Models, server: Server, tag: str) -> None:
    """Tools that are disabled at a server disappear from each view of it, and come back."""
    await checked(provider, models)
    server.disable(tags={tag})
    rest = {name: one for name, one in models.items() if server.name != f"server{one.server}" or tag not in one.tags}
    await checked(provider, rest, frozenset(models))
    server.enable(tags={tag})
    await checked(provider, models)


async def checked(provider: Provider, models: Models, others: frozenset[str] = frozenset()) -> None:
    guarded = standard(provider, Guard(audit=Audit(is_on=False)))
    for context in CALLERS:
        seen = {name: model for name, model in models.items() if context.principal.id in model.callers}
        tools = await provider.list_tools(context)
        assert [tool.name for tool in tools] == sorted(seen)
        for one in CALLERS:
            await provider.list_tools(one)
        assert await provider.list_tools(context) is tools
        for tool in tools:
            assert await provider.find_tool(tool.name, context) is tool
            assert provider.known_tool(tool.name, context) is tool
            await check_tool(guarded, tool.name, tool.definition.inputSchema, seen[tool.name], context)
        for name in {*NAMES, *others, *models, "x_read", "read_read", "none"} - seen.keys():
            with pytest.raises(UnknownTool):
                await provider.find_tool(name, context)
            assert known(provider, name, context) is None
            with pytest.raises(UnknownTool):
                await provider.call_tool(ToolCall(name, {}, context))
            with pytest.raises(UnknownTool):
                await guarded.call_tool(ToolCall(name, {}, context))


def known(provider: Provider, name: str, context: RequestContext) -> Tool | None:
    try:
        return provider.known_tool(name, context)
    except UnknownTool:
        return None


async def check_tool(
    guarded: Provider, name: str, schema: dict[str, Any], model: Model, context: RequestContext
) -> None:
    assert set(schema["properties"]) == set(model.arguments)
    text = json.dumps(schema)
    shown = {
        *model.arguments,
        *(own for own in model.values if f"default of {own}" in text and own in model.arguments.values()),
    }
    for hidden in {*NEW_ARGUMENTS} - shown:
        assert f'"{hidden}"' not in text
    needed = {outer: "given" for outer, own in model.arguments.items() if own in model.required}
    assert set(schema.get("required", ())) == set(needed)
    for outer in (needed, dict.fromkeys(model.arguments, "given")):
        outcome = await guarded.call_tool(ToolCall(name, dict(outer), context))
        assert said(outcome) == json.dumps([model.server, model.own, model.called_with(outer)], sort_keys=True)
    for hidden in {*NEW_ARGUMENTS} - model.arguments.keys():
        outcome = await guarded.call_tool(ToolCall(name, {**needed, hidden: EVIL}, context))
        assert isinstance(outcome, CallToolResult)
        if model.is_open and hidden not in ARGUMENTS:
            assert not outcome.isError
        else:
            assert outcome.isError
            assert EVIL not in said(outcome)
    for missing in needed:
        outcome = await guarded.call_tool(ToolCall(name, {key: "" for key in needed if key != missing}, context))
        assert f"$.{missing} is required" in said(outcome)


def said(outcome: Any) -> str:
    assert isinstance(outcome, CallToolResult)
    return "".join(block.text for block in outcome.content)


def test_two_arguments_of_one_name_are_refused():
    server = Server("s", audit=False)
    server.add_raw_tool("t", {"type": "object", "properties": {"a": {}, "b": {}}}, lambda arguments: "")
    with pytest.raises(DefinitionError) as caught:
        transformed(server, {"t": Transform(arguments={"a": Argument(name="b")})})
    assert caught.value.code == "TT3445"
