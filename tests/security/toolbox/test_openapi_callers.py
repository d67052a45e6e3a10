"""Group L: what tools of an API have kept for one caller, asked for by another."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from services.openapi import api_tools
from support.variants import tried
from support.website import Asked, Said, running
from tooltrue.policy.pipeline import standard
from tooltrue.protocol.types import CallToolResult, ResourceLink, TextContent
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import Principal, RequestContext, ToolCall

OWN = "the data of ann"
ANN = Principal("ann")
OTHERS = [Principal(id) for id in ("bob", "Ann", "ann ", "ann\x00", "", "local", "everyone")]

Call = Callable[..., Coroutine[Any, Any, CallToolResult]]


@pytest.fixture
def described(tmp_path: Path) -> Path:
    responses = {"200": {"description": "ok"}}
    cursor = {"name": "cursor", "in": "query", "schema": {"type": "string"}}
    body = {"required": True, "content": {"application/octet-stream": {}}}
    file = tmp_path / "api.json"
    file.write_text(
        json.dumps(
            {
                "openapi": "3.0.3",
                "info": {"title": "Own", "version": "1"},
                "paths": {
                    "/rows": {"get": {"operationId": "listRows", "parameters": [cursor], "responses": responses}},
                    "/whole": {"get": {"operationId": "getWhole", "responses": responses}},
                    "/file": {"put": {"operationId": "setFile", "requestBody": body, "responses": responses}},
                },
            }
        )
    )
    return file


def answer(asked: Asked) -> Said:
    if asked.path == "/v1/whole":
        return Said(200, OWN.encode(), (("content-type", "application/x-own"), ("etag", '"1"')))
    if asked.headers.get("if-none-match"):
        return Said(304)
    return Said(200, {"rows": [OWN], "next_cursor": "own-cursor"}, (("etag", '"1"'),))


def text_of(result: CallToolResult) -> str:
    return " ".join(block.text for block in result.content if isinstance(block, TextContent))


def with_calls(file: Path, use: Callable[[Call], Coroutine[Any, Any, None]]) -> list[Asked]:
    with running(answer) as site:
        provider = standard(api_tools(site, file), facts=MemoryFacts())

        async def call(principal: Principal, tool: str, **arguments: Any) -> CallToolResult:
            outcome = await provider.call_tool(ToolCall(tool, arguments, RequestContext(principal, SILENT)))
            assert isinstance(outcome, CallToolResult)
            return outcome

        asyncio.run(use(call))
    return site.asked


async def kept(call: Call) -> tuple[str, str]:
    """The next page and the file of ann."""
    page = re.search(r"next_page (kept:\S+)\.", text_of(await call(ANN, "list_rows")))
    link = (await call(ANN, "get_whole")).content[-1]
    assert page is not None
    assert isinstance(link, ResourceLink)
    return page[1], link.uri


@pytest.mark.variants(21)
def test_l09_nothing_that_is_kept_for_a_caller_serves_another(described: Path):
    async def use(call: Call) -> None:
        page, whole = await kept(call)
        for other, (tool, arguments) in itertools.product(
            OTHERS,
            (
                ("list_rows", {"next_page": page}),
                ("set_file", {"body": whole}),
                ("set_file", {"body": f"{whole}/1"}),
            ),
        ):
            tried((other.id, tool, len(str(arguments))))
            result = await call(other, tool, **arguments)
            assert result.isError
            assert OWN not in text_of(result)
        for other in OTHERS:
            await call(other, "list_rows")

    asked = with_calls(described, use)
    assert [one for one in asked if one.method == "PUT" or one.query] == []
    assert [one for one in asked if "if-none-match" in one.headers] == []


def test_l09_twin_what_is_kept_for_a_caller_serves_that_caller(described: Path):
    async def use(call: Call) -> None:
        page, whole = await kept(call)
        assert not (await call(ANN, "list_rows", next_page=page)).isError
        assert not (await call(ANN, "set_file", body=whole)).isError
        assert OWN in text_of(await call(ANN, "list_rows"))

    asked = with_calls(described, use)
    assert [one.body for one in asked if one.method == "PUT"] == [OWN.encode()]
    assert [one.query for one in asked if one.query] == [{"cursor": "own-cursor"}]
    assert [one.path for one in asked if "if-none-match" in one.headers] == ["/v1/rows"]
