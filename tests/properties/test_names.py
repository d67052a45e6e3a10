"""Properties of names: views translate them one to one, and a view calls only the names that it lists."""

from __future__ import annotations

import asyncio
import string
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue import LocalToolset, filtered, prefixed, renamed
from tooltrue.errors import DefinitionError, UnknownTool
from tooltrue.protocol.name_rules import is_name
from tooltrue.protocol.types import CallToolResult
from tooltrue.server.service import SILENT
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

CONTEXT = RequestContext(LOCAL, SILENT)
letters = string.ascii_letters + string.digits + "_.-"
names = st.sampled_from(["a", "b", "a_b", "a_a", "b_a_b", "a_a_b", "A", "a.b", "-"])


def toolset(names: set[str]) -> LocalToolset:
    tools = LocalToolset()
    for name in names:
        tools.add_raw(name, {"type": "object"}, named(name), blocking=False)
    return tools


def named(name: str) -> Callable[[dict[str, Any]], str]:
    return lambda arguments: name


async def called(provider: Provider, name: str) -> str | None:
    """The answer of the tool with this name; ``None`` for an unknown tool."""
    try:
        outcome = await provider.call_tool(ToolCall(name, {}, CONTEXT))
    except UnknownTool:
        return None
    assert isinstance(outcome, CallToolResult)
    return outcome.content[0].text


async def listed(provider: Provider) -> list[str]:
    tools = await provider.list_tools(CONTEXT)
    assert await provider.list_tools(CONTEXT) is tools, "the same tuple while nothing changes"
    return [tool.name for tool in tools]


async def check(provider: Provider, expected: dict[str, str], others: set[str]) -> None:
    assert await listed(provider) == sorted(expected)
    for name, inner in expected.items():
        assert await called(provider, name) == inner
    for name in others - expected.keys():
        assert await called(provider, name) is None


@settings(deadline=None)
@given(st.text(max_size=130))
def test_a_name_is_made_of_the_allowed_letters_and_of_nothing_else(text: str):
    assert is_name(text) == (0 < len(text) <= 128 and all(letter in letters for letter in text))


@settings(deadline=None)
@given(st.sets(names), st.sets(names), names)
def test_a_prefix_is_put_on_and_taken_off_once(own: set[str], asked: set[str], prefix: str):
    view = prefixed(toolset(own), prefix)
    asyncio.run(check(view, {f"{prefix}_{name}": name for name in own}, own | asked))


@settings(deadline=None)
@given(st.sets(names), st.dictionaries(names, names, max_size=4))
def test_a_renamed_tool_answers_to_its_new_name_only(own: set[str], new: dict[str, str]):
    try:
        view = renamed(toolset(own), new)
    except DefinitionError:
        assert len(set(new.values())) < len(new)
        return
    targets = [new.get(name, name) for name in own]
    if len(set(targets)) < len(targets):  # two tools of one name: listing says so
        return
    asyncio.run(check(view, {new.get(name, name): name for name in own}, own | set(new)))


@settings(deadline=None)
@given(st.sets(names), st.sets(names))
def test_a_filtered_tool_is_neither_listed_nor_called(own: set[str], hidden: set[str]):
    view = filtered(toolset(own), lambda tool, context: tool.name not in hidden)
    asyncio.run(check(view, {name: name for name in own - hidden}, own | hidden))
