"""Mounted servers: their tools, resources and prompts pass the pipeline of the outer server, once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import pytest

from tooltrue import (
    Audit,
    Client,
    Completes,
    Confirm,
    Deny,
    Limits,
    LocalToolset,
    Rate,
    Route,
    RpcError,
    Server,
    TextResource,
    combined,
    filtered,
    prefixed,
)
from tooltrue.errors import ConfigurationError, DefinitionError, UnknownEntry, UnknownTool
from tooltrue.policy.config import read_operator_config
from tooltrue.protocol.types import Value
from tooltrue.server.service import SILENT
from tooltrue.tools.toolset import Layer, Wrapper, servers_in
from tooltrue.tools.vocabulary import LOCAL, ProviderChange, RequestContext, Tool

CONTEXT = RequestContext(LOCAL, SILENT)


def made(name: str, **settings: Any) -> Server:
    server = Server(name, version="1", audit=False, **settings)

    @server.tool(effect="read", tags=["beta"])
    def greet() -> str:
        """Greet."""
        return f"from {name}"

    @server.tool(effect="destructive")
    def wipe(path: str) -> str:
        """Wipe."""
        return path

    @server.resource(f"{name}://guide")
    def guide() -> str:
        return f"guide of {name}"

    @server.prompt(name=f"{name}_prompt")
    def prompt(topic: Annotated[str, Completes(lambda prefix: [f"{prefix} completed"])]) -> str:
        return topic

    return server


def names(server: Server) -> list[str]:
    return [tool.name for tool in asyncio.run(server.provider.list_tools(CONTEXT))]


def asked(server: Server, act: Callable[[Client], Any]) -> Any:
    async def once() -> Any:
        async with Client(server) as client:
            return await act(client)

    return asyncio.run(once())


def test_a_mounted_server_serves_tools_resources_prompts_and_completions():
    outer = made("outer")
    outer.mount(made("inner"), "in")

    async def act(client: Client) -> None:
        assert [tool.name for tool in await client.list_tools()] == ["greet", "in_greet", "in_wipe", "wipe"]
        assert (await client.call_tool("in_greet")).text == "from inner"
        assert [one.uri for one in await client.list_resources()] == ["inner://guide", "outer://guide"]
        [resource] = await client.read_resource("inner://guide")
        assert isinstance(resource, TextResource)
        assert resource.text == "guide of inner"
        prompts = await client.list_prompts()
        assert [one.name for one in prompts] == ["inner_prompt", "outer_prompt"]
        completion = await client.complete(prompts[0], "topic", "x")
        assert completion.values == ["x completed"]

    asked(outer, act)


def test_a_server_may_stand_in_toolsets_and_in_views():
    inner = made("inner")
    assert names(Server("a", audit=False, toolsets=[inner])) == ["greet", "wipe"]
    views = [prefixed(inner, "x"), filtered(inner, tags="beta"), combined(prefixed(inner, "y"))]
    assert names(Server("b", audit=False, toolsets=views)) == ["greet", "x_greet", "x_wipe", "y_greet", "y_wipe"]


def test_a_call_is_recorded_once_by_the_outer_server():
    inner, outer = made("inner"), Server("outer", version="1", audit=Audit("memory:"))
    outer.mount(inner, "in")

    async def act() -> list[Any]:
        async with outer.serving(), Client(outer) as client:
            await client.call_tool("in_greet")
        return [entry.record["subject"] for entry in await outer.audit_log.read()]

    assert asyncio.run(act()) == ["in_greet"]


def test_the_settings_of_a_tool_travel_with_it():
    inner = made("inner")

    @inner.tool(effect="read", rate=Rate(1, 1), requires=["admin"], seconds=3, confirm=True)
    def guarded() -> str:
        return ""

    outer = Server("outer", audit=False)
    outer.mount(inner, "in")
    tool = asyncio.run(outer.provider.find_tool("in_guarded", CONTEXT))
    assert (tool.rate, tool.requires, tool.seconds, tool.confirm) == (Rate(1, 1), frozenset({"admin"}), 3, True)
    result = asked(outer, lambda client: client.call_tool("in_wipe", path="a"))
    assert "was not run" in result.text


def test_later_additions_appear_and_are_told():
    innermost, inner, outer = made("innermost"), Server("inner", audit=False), Server("outer", audit=False)
    outer.mount(inner, "in")
    told: list[ProviderChange] = []
    unwatch = outer.provider.watch(told.append)
    inner.add_tool(lambda: "here", name="later")
    assert names(outer) == ["in_later"]
    inner.mount(innermost, "deep")
    assert names(outer) == ["in_deep_greet", "in_deep_wipe", "in_later"]
    innermost.remove_tool("wipe")
    assert told == [
        ProviderChange("tools"),
        ProviderChange("tools"),
        ProviderChange("prompts"),
        ProviderChange("resources"),
        ProviderChange("tools"),
    ]
    unwatch()
    innermost.add_tool(lambda: "", name="more")
    assert len(told) == 5
    assert servers_in(outer.mountable) == [outer, inner, innermost]


def test_names_that_collide_are_refused_as_by_combined():
    outer = made("outer")
    outer.mount(made("inner"))
    with pytest.raises(DefinitionError) as caught:
        names(outer)
    assert caught.value.code == "TT3021"


def test_a_server_is_never_mounted_in_itself():
    one, two, three = made("one"), made("two"), made("three")
    two.mount(three, "c")
    one.mount(prefixed(two, "x"), "b")
    for server, other in ((one, one), (three, one), (three, filtered(one, tags="beta")), (two, one)):
        with pytest.raises(DefinitionError) as caught:
            server.mount(other, "a")
        assert caught.value.code == "TT3454"


def test_a_server_that_serves_is_not_mounted_into_any_more():
    outer = made("outer")
    names(outer)
    with pytest.raises(ConfigurationError) as caught:
        outer.mount(made("inner"), "in")
    assert caught.value.code == "TT3455"


def deny(subject: object, context: object, arguments: object) -> Deny:
    return Deny("no")


class Nobody(Value, frozen=True):
    """An authentication of its own."""


class Logged(Layer, frozen=True):
    """A layer of the author."""


def unchanged(app: Any) -> Any:
    return app


async def page(request: object) -> Any:
    raise NotImplementedError


@pytest.mark.parametrize(
    ("settings", "lost"),
    [
        ({"decide": deny}, "decide"),
        ({"confirm": Confirm(effects=frozenset({"write", "destructive"}))}, "confirm"),
        ({"personal": "mask"}, "personal"),
        ({"authenticate": Nobody()}, "authenticate"),
        ({"layers": [Logged]}, "layers"),
        ({"middleware": [unchanged]}, "middleware"),
    ],
)
def test_protections_that_would_be_lost_are_refused(settings: dict[str, Any], lost: str):
    inner, outer = made("inner", **settings), made("outer")
    for act in (lambda: outer.mount(inner, "in"), lambda: Server("s", audit=False, toolsets=[prefixed(inner, "in")])):
        with pytest.raises(DefinitionError, match=lost) as caught:
            act()
        assert caught.value.code == "TT3457"
    same = made("same", **settings)
    same.mount(inner, "in")  # they hold there too
    assert "in_greet" in [tool.name for tool in asyncio.run(same.mountable.list_tools(CONTEXT))]
    outer.mount(inner.provider, "in")


def test_a_file_of_the_operator_for_a_mounted_server_is_never_ignored(tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text('[[rules]]\nthen = "allow"\ntools = ["greet"]\n')
    with pytest.raises(DefinitionError, match="operator's file"):
        made("outer").mount(made("inner", rules=str(file)), "in")
    inner, outer = made("inner"), made("outer")
    outer.mount(inner, "in")
    inner.configure(read_operator_config(file))
    with pytest.raises(DefinitionError, match="operator's file"):
        names(outer)


def test_limits_that_do_not_hold_are_logged(caplog: pytest.LogCaptureFixture):
    outer = made("outer")
    inner = made(
        "inner", limits=Limits(seconds=2), secrets="keep", confirm=Confirm.never(), routes=[Route("/page", page)]
    )
    outer.mount(inner, "in")
    names(outer)
    [text] = caplog.messages
    assert text.endswith("these settings of inner do not hold there: limits, routes. [TT3458]")


# --- disabling


def unknown(server: Server, name: str) -> bool:
    try:
        asked(server, lambda client: client.call_tool(name))
    except RpcError as error:
        return error.code == "TT1010" or "TT1010" in str(error)
    return False


def test_a_disabled_tool_is_neither_listed_nor_called():
    server, told = made("s"), list[ProviderChange]()
    server.provider.watch(told.append)
    server.disable("greet")
    assert names(server) == ["wipe"]
    assert unknown(server, "greet")
    with pytest.raises(DefinitionError):
        server.add_tool(lambda: "", name="greet")  # the name is taken
    server.enable("greet")
    assert names(server) == ["greet", "wipe"]
    assert not unknown(server, "greet")
    assert told == [ProviderChange("tools")] * 2


def test_a_client_learns_of_a_tool_that_is_disabled_and_of_one_that_is_added_to_a_mounted_server():
    inner, outer = made("inner"), made("outer")
    outer.mount(inner, "in")

    async def act() -> list[list[str]]:
        told, lists = asyncio.Queue[object](), list[list[str]]()
        async with Client(outer, on_tools_changed=lambda *_: told.put_nowait(None)) as client:
            await client.list_tools()
            for change in (lambda: outer.disable("in_wipe"), lambda: inner.add_tool(lambda: "", name="later")):
                change()
                async with asyncio.timeout(10):
                    await told.get()
                lists.append([tool.name for tool in await client.list_tools()])
        return lists

    before = ["greet", "in_greet", "wipe"]
    assert asyncio.run(act()) == [before, ["greet", "in_greet", "in_later", "wipe"]]


def test_tags_hold_for_later_tools_and_the_later_setting_holds():
    server = made("s")
    server.disable(tags={"beta"})
    server.add_tool(lambda: "", name="new", tags=["beta"])
    assert names(server) == ["wipe"]
    server.enable("new")
    assert names(server) == ["new", "wipe"]
    server.disable(tags="beta")
    assert names(server) == ["wipe"]
    server.disable("wipe")
    server.enable(tags=["beta"])
    assert names(server) == ["greet", "new"]
    server.remove_tool("wipe")
    server.add_tool(lambda: "", name="wiped")


def test_an_own_tool_is_enabled_despite_its_tag_beside_a_mounted_server():
    outer = made("outer")
    outer.mount(made("inner"), "in")
    outer.disable(tags={"beta"})
    outer.add_tool(lambda: "", name="new", tags=["beta"])
    outer.enable("new")
    assert "new" in names(outer)
    outer.disable(tags={"beta"})
    assert "new" not in names(outer)


def test_tools_of_mounted_servers_are_disabled_by_their_outer_names():
    inner, outer = made("inner"), made("outer")
    outer.mount(inner, "in")
    outer.disable("in_wipe", "greet")
    assert names(outer) == ["in_greet", "wipe"]
    assert unknown(outer, "in_wipe")
    assert names(inner) == ["greet", "wipe"]
    outer.disable(tags=["beta"])
    assert names(outer) == ["wipe"]
    outer.enable("in_greet")
    assert names(outer) == ["in_greet", "wipe"]
    assert names(Server("outermost", audit=False, toolsets=[outer])) == ["in_greet", "wipe"]


def test_an_old_name_disables_the_tool_of_a_mounted_server():
    inner, outer = Server("inner", audit=False), Server("outer", audit=False)
    inner.add_tool(lambda: "", name="remove", replaces="rm")
    outer.mount(inner)
    outer.disable("rm")
    assert names(outer) == []
    assert unknown(outer, "remove")
    assert unknown(outer, "rm")


def test_a_rule_may_name_a_tool_that_is_disabled(tmp_path: Path):
    file = tmp_path / "tooltrue.toml"
    file.write_text('[[rules]]\nthen = "allow"\ntools = ["greet", "in_wipe"]\n')
    server = made("s", rules=str(file))
    server.mount(made("inner"), "in")
    server.disable("greet", "in_wipe")

    async def act() -> None:
        async with server.serving():
            """It does not fail."""

    asyncio.run(act())
    assert names(server) == []


def test_resources_and_prompts_are_disabled_too():
    server, told = made("s"), list[ProviderChange]()
    server.provider.watch(told.append)
    server.disable(resources=["s://guide"], prompts=["s_prompt"])
    assert asyncio.run(server.provider.list_resources(CONTEXT)) == ()
    assert asyncio.run(server.provider.list_prompts(CONTEXT)) == ()
    with pytest.raises(RpcError):
        asked(server, lambda client: client.read_resource("s://guide"))
    server.enable(resources=["s://guide"], prompts=["s_prompt"])
    assert asked(server, lambda client: client.read_resource("s://guide"))[0].text == "guide of s"
    assert [change.kind for change in told] == ["resources", "prompts"] * 2


def test_an_unknown_name_changes_nothing():
    server = made("s")
    with pytest.raises(UnknownTool):
        server.disable("greet", "none")
    with pytest.raises(UnknownEntry):
        server.disable("greet", resources=["none://x"])
    with pytest.raises(DefinitionError) as caught:
        server.disable()
    assert caught.value.code == "TT3456"
    assert names(server) == ["greet", "wipe"]


def test_a_call_that_runs_finishes():
    server, started, go = Server("s", audit=False), asyncio.Event(), asyncio.Event()

    @server.tool(effect="read")
    async def slow() -> str:
        started.set()
        await go.wait()
        return "done"

    async def act() -> str:
        async with Client(server) as client:
            running = asyncio.create_task(client.call_tool("slow"))
            await started.wait()
            server.disable("slow")
            go.set()
            return (await running).text

    assert asyncio.run(act()) == "done"


class Elsewhere(Wrapper, frozen=True):
    """A provider whose tools are not known without waiting."""

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        return None


def test_a_tool_elsewhere_can_be_disabled_before_it_is_known():
    tools = LocalToolset()
    tools.add(lambda: "", name="far")
    server = Server("s", audit=False, toolsets=[Elsewhere(tools)])
    server.disable("far")
    assert names(server) == []
