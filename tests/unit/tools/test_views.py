"""Views: a view calls only the tools that it lists, and the caller uses the names of the view."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tooltrue import Server, combined, filtered, prefixed, renamed
from tooltrue.errors import DefinitionError, InvalidParams, UnknownTool
from tooltrue.protocol.types import CallToolResult
from tooltrue.server.service import SILENT
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import (
    LOCAL,
    Principal,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceRead,
    ToolCall,
)

CONTEXT = RequestContext(LOCAL, SILENT)


def toolset(*names: str, says: str = "") -> LocalToolset:
    tools = LocalToolset()

    def handler(name: str) -> Any:
        return lambda arguments: says + name

    for name in names:
        tools.add_raw(name, {"type": "object"}, handler(name), blocking=False)
    return tools


def names(provider: Provider, context: RequestContext = CONTEXT) -> list[str]:
    return [tool.name for tool in asyncio.run(provider.list_tools(context))]


def call(provider: Provider, name: str, context: RequestContext = CONTEXT) -> str:
    outcome = asyncio.run(provider.call_tool(ToolCall(name, {}, context)))
    assert isinstance(outcome, CallToolResult)
    return outcome.content[0].text


def test_a_hidden_tool_reads_like_a_missing_one():
    view = filtered(toolset("read", "wipe"), lambda tool, context: tool.name != "wipe")
    assert names(view) == ["read"]
    texts: list[str] = []
    for name in ("wipe", "none"):
        with pytest.raises(UnknownTool) as caught:
            call(view, name)
        texts.append(str(caught.value).replace(name, "X"))
    assert texts[0] == texts[1]


def test_the_visibility_of_a_tool_may_depend_on_the_caller():
    view = filtered(toolset("wipe"), lambda tool, context: context.principal.id == "root")
    root = RequestContext(Principal("root"), SILENT)
    assert (names(view), names(view, root), names(view)) == ([], ["wipe"], [])
    assert call(view, "wipe", root) == "wipe"


def test_a_prefix_stands_before_every_name():
    view = prefixed(toolset("b", "a"), "disk")
    assert names(view) == ["disk_a", "disk_b"]
    assert call(view, "disk_a") == "a"
    for name in ("a", "disk_", "disk_disk_a", "Disk_a"):
        with pytest.raises(UnknownTool):
            call(view, name)


def test_prefixes_stack():
    assert call(prefixed(prefixed(toolset("a"), "in"), "out"), "out_in_a") == "a"


def test_two_tools_may_change_names():
    view = renamed(toolset("a", "b"), {"a": "b", "b": "a"})
    assert (call(view, "a"), call(view, "b")) == ("b", "a")


def test_a_rename_of_a_tool_that_is_not_there_does_not_break_the_one_of_the_new_name():
    view = renamed(toolset("b"), {"a": "b"})
    assert names(view) == ["b"]
    assert call(view, "b") == "b"


@pytest.mark.requirement("TOOL-13")
def test_two_new_names_that_are_one_are_refused():
    with pytest.raises(DefinitionError) as caught:
        renamed(toolset("a", "b"), {"a": "x", "b": "x"})
    assert caught.value.code == "TT3021"


@pytest.mark.requirement("TOOL-13")
@pytest.mark.parametrize(
    "view", [combined(toolset("a"), toolset("a")), renamed(toolset("a", "b"), {"a": "b"})], ids=["combined", "renamed"]
)
def test_a_name_that_two_tools_have_is_never_the_last_ones(view: Provider):
    with pytest.raises(DefinitionError) as caught:
        names(view)
    assert caught.value.code == "TT3021"


def test_combined_tools_are_one_sorted_list_and_each_part_runs_its_own():
    view = combined(toolset("b", "d"), toolset("a", "c", says="second "))
    assert names(view) == ["a", "b", "c", "d"]
    assert [call(view, name) for name in ("b", "c")] == ["b", "second c"]
    with pytest.raises(UnknownTool):
        call(view, "e")


def test_a_view_returns_the_same_tuple_while_nothing_has_changed():
    tools = toolset("a")
    for view in (
        prefixed(tools, "x"),
        renamed(tools, {"a": "b"}),
        filtered(tools, lambda tool, context: True),
        combined(tools, toolset("z")),
    ):
        before = asyncio.run(view.list_tools(CONTEXT))
        assert asyncio.run(view.list_tools(CONTEXT)) is before
        tools.add_raw("new", {"type": "object"}, lambda arguments: None)
        assert len(asyncio.run(view.list_tools(CONTEXT))) == len(before) + 1
        tools.remove("new")


def test_a_change_is_told_through_every_view():
    tools, told = toolset("a"), []
    view = combined(prefixed(filtered(renamed(tools, {}), lambda tool, context: True), "x"), toolset("b"))
    leave = view.watch(told.append)
    tools.remove("a")
    leave()
    tools.add_raw("c", {"type": "object"}, lambda arguments: None)
    assert told == [ProviderChange("tools")]


def test_without_a_library_there_are_no_resources_and_no_prompts():
    for view in (toolset(), combined(toolset(), toolset()), prefixed(toolset(), "x")):
        assert asyncio.run(view.list_resources(CONTEXT)) == ()
        assert asyncio.run(view.list_prompts(CONTEXT)) == ()
        with pytest.raises(InvalidParams) as caught:
            asyncio.run(view.read_resource(ResourceRead("a:b", CONTEXT)))
        assert caught.value.code == "TT1025"
        with pytest.raises(InvalidParams) as caught:
            asyncio.run(view.get_prompt(PromptGet("a", {}, CONTEXT)))
        assert caught.value.code == "TT1026"


@pytest.mark.requirement("TOOL-11", "TOOL-12")
@pytest.mark.parametrize("name", ["my disk", "disk,", "disk/", "dïsk", "disk\n"])
def test_a_name_that_no_host_would_take_is_refused_where_it_is_made(name: str):
    for make in (lambda: prefixed(toolset("a"), name), lambda: renamed(toolset("a"), {"a": name})):
        with pytest.raises(DefinitionError, match="tool name"):
            make()


@pytest.mark.requirement("TOOL-09")
def test_a_name_that_gets_too_long_or_has_no_letter_left_is_refused():
    assert names(prefixed(toolset("a" * 100), "p" * 27)) == ["p" * 27 + "_" + "a" * 100]
    for view in (prefixed(toolset("a" * 100), "p" * 28), prefixed(prefixed(toolset("a" * 90), "p" * 20), "q" * 20)):
        with pytest.raises(DefinitionError, match="tool name"):
            names(view)
    for name in ("", "a" * 129):
        with pytest.raises(DefinitionError, match="tool name"):
            renamed(toolset("a"), {"a": name})


@pytest.mark.requirement("TOOL-09")
def test_a_name_that_gets_too_long_ends_a_server_before_it_serves():
    server = Server("long", version="1", toolsets=[prefixed(toolset("a" * 100), "p" * 50)])
    with pytest.raises(DefinitionError, match="tool name"):
        asyncio.run(_serve(server))


async def _serve(server: Server) -> None:
    async with server.serving():
        """It does not come to this."""


@pytest.mark.parametrize("view", ["prefixed", "combined"])
def test_a_tool_that_was_exchanged_since_its_arguments_were_checked_is_not_run_through_a_view(view: str):
    tools = toolset("a")
    outer = prefixed(tools, "x") if view == "prefixed" else combined(tools, toolset("z"))
    name = names(outer)[0]
    checked = asyncio.run(outer.find_tool(name, CONTEXT))
    tools.remove("a")
    tools.add_raw("a", {"type": "object", "required": ["path"]}, lambda arguments: arguments["path"], blocking=False)
    with pytest.raises(UnknownTool):
        asyncio.run(outer.call_tool(ToolCall(name, {}, CONTEXT, tool=checked)))


def test_a_tool_that_has_left_its_part_is_not_called_there_again():
    first, second = toolset("a"), toolset("b")
    both = combined(first, second)

    def called() -> str:
        checked = asyncio.run(both.find_tool("a", CONTEXT))
        result = asyncio.run(both.call_tool(ToolCall("a", {}, CONTEXT, tool=checked)))
        assert isinstance(result, CallToolResult)
        return str(result.content)

    assert called() == called()  # the second time its part is known
    checked = asyncio.run(both.find_tool("a", CONTEXT))
    first.remove("a")
    with pytest.raises(UnknownTool):
        asyncio.run(both.call_tool(ToolCall("a", {}, CONTEXT, tool=checked)))
    second.add_raw("a", {"type": "object"}, lambda arguments: "of the second", blocking=False)
    assert "of the second" in called()


def test_a_tool_that_two_parts_have_for_different_callers_is_called_where_its_caller_has_it():
    tools = toolset("a")
    both = combined(
        filtered(tools, lambda tool, context: context.principal.id == "ada"),
        filtered(tools, lambda tool, context: context.principal.id == "bob"),
    )
    for name in ("ada", "bob", "ada"):
        context = RequestContext(Principal(name), SILENT)
        tool = asyncio.run(both.find_tool("a", context))
        result = asyncio.run(both.call_tool(ToolCall("a", {}, context, tool=tool)))
        assert isinstance(result, CallToolResult)


def test_a_part_that_lacks_a_name_has_it_for_no_caller():
    server = Server("own")
    for name, settings in {
        "now": {"replaces": ["old"]},
        "hidden": {"visible": lambda context: False},
        "off": {},
    }.items():
        server.add_raw_tool(name, {"type": "object"}, lambda arguments: "", **settings)
    both = combined(server, toolset("other"))
    server.disable("off")
    every = ("now", "old", "hidden", "off", "other", "none")
    assert [name for name in every if server.tools.lacks(name)] == ["other", "none"]
    for name in ("none", "hidden"):
        with pytest.raises(UnknownTool):
            both.known_tool(name, CONTEXT)
    found = both.known_tool("other", CONTEXT)
    assert found is not None
    server.add_raw_tool("other", {"type": "object"}, lambda arguments: "")
    assert both.known_tool("other", CONTEXT) is None  # two have it: only a search through all can say which is meant


def test_each_caller_has_its_own_list_and_keeps_it():
    tools = toolset("read", "wipe")
    hiding = filtered(tools, lambda tool, context: context.principal.id == "root" or tool.name != "wipe")
    root = RequestContext(Principal("root"), SILENT)
    for view in (prefixed(hiding, "x"), combined(hiding, toolset("z"))):
        lists = [asyncio.run(view.list_tools(context)) for context in (CONTEXT, root) * 2]
        assert lists[0] is lists[2]
        assert lists[1] is lists[3]
        assert [len(one) for one in lists[:2]] == [len(lists[0]), len(lists[0]) + 1]


def test_a_tool_is_selected_by_its_tags():
    tools = LocalToolset()
    for name, tags in {"a": ["admin"], "b": ["admin", "beta"], "c": []}.items():
        tools.add_raw(name, {"type": "object"}, lambda arguments: "", tags=tags)
    assert names(filtered(tools, tags="admin")) == ["a", "b"]
    assert names(filtered(tools, tags={"admin"}, without_tags=["beta"])) == ["a"]
    assert names(filtered(tools, lambda tool, context: tool.name != "a", without_tags=["beta"])) == ["c"]
    assert [tool.definition.meta for tool in asyncio.run(tools.list_tools(CONTEXT))] == [
        {"tooltrue/tags": ["admin"]},
        {"tooltrue/tags": ["admin", "beta"]},
        None,
    ]
