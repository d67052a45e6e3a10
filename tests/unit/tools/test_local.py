"""Tools of this process."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest

from tooltrue.errors import DefinitionError, UnknownTool
from tooltrue.server.service import SILENT
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.vocabulary import LOCAL, Principal, RequestContext, ToolCall

CONTEXT = RequestContext(LOCAL, SILENT)


def one(name: str = "a") -> str:
    return "one"


def names(tools: LocalToolset) -> list[str]:
    return [tool.name for tool in asyncio.run(tools.list_tools(CONTEXT))]


def call(tools: LocalToolset, name: str) -> Any:
    return asyncio.run(tools.call_tool(ToolCall(name, {}, CONTEXT)))


def test_the_decorator_leaves_the_function_as_it_is():
    tools = LocalToolset()
    assert tools.tool(one) is one
    assert tools.tool(name="two")(one) is one
    assert names(tools) == ["one", "two"]


@pytest.mark.requirement("TOOL-04")
def test_tools_are_listed_by_name_and_as_the_same_tuple():
    tools = LocalToolset()
    for name in ("b", "a", "C"):
        tools.add(one, name=name)
    assert names(tools) == ["C", "a", "b"]
    assert asyncio.run(tools.list_tools(CONTEXT)) is asyncio.run(tools.list_tools(CONTEXT))


@pytest.mark.requirement("TOOL-13")
def test_a_name_that_is_taken_is_refused_and_the_first_stays():
    tools = LocalToolset()
    tools.add_raw("one", {"type": "object"}, lambda arguments: "first", blocking=False)
    with pytest.raises(DefinitionError) as caught:
        tools.add(one)
    assert caught.value.code == "TT3013"
    assert call(tools, "one").content[0].text == "first"


def test_a_tool_that_was_removed_is_unknown_and_its_name_free():
    tools = LocalToolset()
    tools.add(one)
    tools.remove("one")
    for act in (lambda: call(tools, "one"), lambda: tools.remove("one")):
        with pytest.raises(UnknownTool):
            act()
    tools.add(one)
    assert names(tools) == ["one"]


def test_a_watcher_is_notified_of_each_change_until_it_leaves():
    tools, told = LocalToolset(), []
    leave = tools.watch(lambda _: told.append(names(tools)))
    tools.add(one)
    tools.remove("one")
    leave()
    leave()
    tools.add(one)
    assert told == [["one"], []]


def test_a_definition_that_is_refused_changes_nothing():
    tools, told = LocalToolset(), []
    tools.watch(lambda _: told.append(1))
    with pytest.raises(DefinitionError):
        tools.add(one, name="not a name")
    assert (names(tools), told) == ([], [])


def test_tools_that_come_from_threads_while_others_list_are_all_there():
    tools = LocalToolset()
    number = 200

    def come() -> None:
        for one in range(number):
            tools.add(lambda: "", name=f"t{one}")

    async def main() -> int:
        thread = threading.Thread(target=come)
        thread.start()
        while thread.is_alive():
            await tools.list_tools(CONTEXT)
        return len(await tools.list_tools(CONTEXT))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert asyncio.run(main()) == number
    finally:
        sys.setswitchinterval(interval)


ADMIN = Principal("ada", frozenset({"admin"}))


def seen(tools: LocalToolset, principal: Principal) -> list[str]:
    return [tool.name for tool in asyncio.run(tools.list_tools(RequestContext(principal, SILENT)))]


def varying() -> LocalToolset:
    tools = LocalToolset()
    tools.add(one)
    tools.add(one, name="two", visible=lambda principal: "admin" in principal.scopes)
    return tools


def test_a_tool_invisible_to_a_caller_is_neither_listed_nor_found_nor_called():
    tools = varying()
    assert seen(tools, ADMIN) == ["one", "two"]
    assert seen(tools, LOCAL) == ["one"]
    for missing in ("two", "three"):
        with pytest.raises(UnknownTool) as caught:
            call(tools, missing)
        assert str(caught.value) == str(UnknownTool(missing))
        with pytest.raises(UnknownTool):
            asyncio.run(tools.find_tool(missing, CONTEXT))
    assert asyncio.run(tools.call_tool(ToolCall("two", {}, RequestContext(ADMIN, SILENT))))


def test_each_caller_has_the_same_tuple_while_nothing_changes_for_them():
    tools = varying()
    contexts = [RequestContext(principal, SILENT) for principal in (ADMIN, LOCAL)]
    first = [asyncio.run(tools.list_tools(context)) for context in contexts]
    second = [asyncio.run(tools.list_tools(context)) for context in contexts]
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, True]


def test_a_visibility_flag_applies_at_once_to_lists_and_calls_and_watchers_can_be_notified():
    tools, flags, told = LocalToolset(), set[str](), list[int]()
    tools.add(one, visible=lambda principal: "on" in flags)
    tools.watch(lambda change: told.append(1))
    assert names(tools) == []
    flags.add("on")
    tools.changed()
    assert names(tools) == ["one"]
    assert told == [1]
    assert call(tools, "one")


def test_a_function_that_fails_hides_its_own_tool_and_no_other(caplog: pytest.LogCaptureFixture):
    tools = LocalToolset()
    tools.add(one, visible=lambda principal: 1 // 0 == 0)
    tools.add(one, name="two")
    assert names(tools) == ["two"]
    with pytest.raises(UnknownTool):
        call(tools, "one")
    assert "visible of tool one failed: hidden" in caplog.text
