"""Property: a tool that a view does not show is as unknown there as one that does not exist."""

from __future__ import annotations

import asyncio
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue import Client, Server
from tooltrue.client.config import ServerConfig
from tooltrue.errors import RpcError, UnknownTool
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import OperatorConfig
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

OWN = {"a": ("get", "set"), "b": ("get", "run")}
CATALOGUE = {f"{label}_{name}": label for label, names in OWN.items() for name in names}
NEW = ("get", "a_get", "b_run", "x")

patterns = st.lists(st.sampled_from(["a_*", "*_get", "b_run", "*", "a_set", "z*"]), min_size=1, max_size=2)
views = st.fixed_dictionaries(
    {},
    optional={
        "servers": st.lists(st.sampled_from(["a", "b"]), min_size=1, unique=True),
        "tools": patterns,
        "names": st.dictionaries(st.sampled_from([*CATALOGUE]), st.sampled_from(NEW), max_size=2).filter(
            lambda names: len(set(names.values())) == len(names)
        ),
    },
)


def upstream(label: str) -> Server:
    server = Server(label, confirm=Confirm.never())
    for name in OWN[label]:

        def tell(label: str = label, name: str = name) -> str:
            return f"{label}_{name}"

        server.add_raw_tool(name, {"type": "object"}, lambda arguments, tell=tell: tell(), effect="read")
    return server


def expected(view: dict[str, Any]) -> dict[str, str]:
    """The names in the view, and the tools of the catalogue behind them. A name that the operator gives wins."""
    shown = [
        name
        for name, label in CATALOGUE.items()
        if label in view.get("servers", OWN) and any(fnmatchcase(name, glob) for glob in view.get("tools", ["*"]))
    ]
    names = view.get("names", {})
    given = {names[name]: name for name in shown if name in names}
    return {name: name for name in shown if name not in names and name not in given} | given


async def check(view: dict[str, Any]) -> None:
    servers = {label: ServerConfig(label, label, target=upstream(label), hints=True) for label in OWN}
    operator = OperatorConfig("tooltrue.toml", "", tables={"views": {"v": view}})
    server = Gateway(servers, operator=operator, confirm=Confirm.never(), audit=False).view("v")
    there = expected(view)
    async with Client(server) as client:
        assert {tool.name for tool in await client.list_tools()} == there.keys()
        context = RequestContext(LOCAL, SILENT)
        for name in {*CATALOGUE, *NEW, "none"}:
            if name in there:
                assert (await client.call_tool(name, {})).text == there[name]
                continue
            with pytest.raises(RpcError) as refused:
                await client.call_tool(name, {})
            with pytest.raises(RpcError) as unknown:
                await client.call_tool("no_tool", {})
            assert str(refused.value).replace(name, "no_tool") == str(unknown.value)
            with pytest.raises(UnknownTool):
                await server.provider.find_tool(name, context)
            with pytest.raises(UnknownTool):
                server.provider.known_tool(name, context)
            with pytest.raises(UnknownTool):  # as a nested call, and any other layer, reaches it
                await server.provider.call_tool(ToolCall(name, {}, context))


@given(views)
def test_what_a_view_does_not_show_is_unknown_there(view: dict[str, Any]) -> None:
    asyncio.run(check(view))
