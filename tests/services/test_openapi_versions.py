"""ETags of a described API, on the wire: an unchanged answer is not sent again, and a change is bound to a version."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from services.calling import call, calls
from services.openapi import Judge, api_tools
from support.website import Asked, Said, running
from tooltrue import Client
from tooltrue.policy.pipeline import standard
from tooltrue.protocol.types import CallToolResult
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import Principal, RequestContext, ToolCall
from tooltrue.transport.fetch import FetchResponse
from tooltrue_toolbox.openapi.answer_cache import AnswerCache


@pytest.fixture
def described(tmp_path: Path) -> Path:
    identifier = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    version = {"name": "If-Match", "in": "header", "schema": {"type": "string"}}
    known = {"name": "If-None-Match", "in": "header", "schema": {"type": "string"}}
    body = {"content": {"application/json": {"schema": {"type": "object"}}}}
    responses = {"200": {"description": "The note", "content": {"application/json": {"schema": {"type": "object"}}}}}
    note: dict[str, Any] = {
        "parameters": [identifier],
        "get": {"operationId": "getNote", "responses": responses},
        "put": {"operationId": "setNote", "parameters": [version], "requestBody": body, "responses": responses},
    }
    other = {"get": {"operationId": "getOther", "parameters": [known], "responses": responses}}
    file = tmp_path / "notes.json"
    file.write_text(
        json.dumps(
            {
                "openapi": "3.0.3",
                "info": {"title": "Notes", "version": "1"},
                "paths": {"/notes/{id}": note, "/other": other},
            }
        )
    )
    return file


class Notes:
    """An API of notes with versions; it says nothing about a note that its caller has already."""

    def __init__(self, *headers: tuple[str, str]) -> None:
        self.version = 1
        self._headers = headers

    def __call__(self, asked: Asked) -> Said:
        etag = f'"v{self.version}"'
        if asked.method == "PUT" and asked.headers.get("if-match", etag) != etag:
            return Said(412, {"message": "The note has changed"})
        if asked.method == "GET" and asked.headers.get("if-none-match") == etag:
            return Said(304, headers=(("etag", etag),))
        self.version += asked.method == "PUT"
        return Said(200, {"version": self.version}, (("etag", etag), *self._headers))


def test_an_unchanged_answer_is_not_sent_again(described: Path):
    judge = Judge(described)
    judge.answer = notes = Notes()

    async def use(client: Client) -> list[Any]:
        values = [(await client.call_tool("get_note", {"id": "7"})).value for _ in range(2)]
        notes.version += 1
        values.append((await client.call_tool("get_note", {"id": "7"})).value)
        values.append((await client.call_tool("get_note", {"id": "8"})).value)
        return values

    with running(judge) as site:
        values = calls(api_tools(site, described), use)
    assert values == [{"version": 1}, {"version": 1}, {"version": 2}, {"version": 2}]
    assert [one.headers.get("if-none-match") for one in site.asked] == [None, '"v1"', '"v1"', None]
    assert judge.faults == []


def test_an_answer_that_may_not_be_stored_is_asked_for_anew(described: Path):
    with running(Notes(("cache-control", "private, No-Store"))) as site:
        tools = api_tools(site, described)
        assert [call(tools, "get_note", id="7").value for _ in range(2)] == [{"version": 1}] * 2
    assert ["if-none-match" in one.headers for one in site.asked] == [False, False]


def test_a_change_is_bound_to_the_version_that_was_read(described: Path):
    judge = Judge(described)
    judge.answer = Notes()

    async def use(client: Client) -> list[str]:
        read = await client.call_tool("get_note", {"id": "7"})
        change = {"id": "7", "body": {}, "If-Match": '"v1"'}
        return [read.text, *[(await client.call_tool("set_note", change)).text for _ in range(2)]]

    with running(judge) as site:
        read, changed, refused = calls(api_tools(site, described), use)
    assert 'The ETag of this version is "v1": a call with it as If-Match' in read
    assert changed == '{"version":2}'
    assert refused.endswith("[TT6959]")
    assert "The note has changed" in refused
    assert judge.faults == []


@pytest.mark.parametrize("responses", ["log", "strict"])
def test_a_condition_of_the_caller_is_its_own(described: Path, responses: str):
    with running(Notes()) as site:
        tools = api_tools(site, described, responses=responses)
        result = call(tools, "get_other", **{"If-None-Match": '"v1"'})
        assert "the present version" in result.text
        assert call(tools, "get_other", **{"If-None-Match": '"v0"'}).value == {"version": 1}
    assert [one.headers["if-none-match"] for one in site.asked] == ['"v1"', '"v0"']


def test_no_caller_gets_the_answer_of_another(described: Path):
    async def texts(provider: Any) -> list[str]:
        made = list[str]()
        for caller in (Principal("ann"), Principal("bob"), Principal("ann", client="other"), Principal("ann")):
            outcome = await provider.call_tool(ToolCall("get_note", {"id": "7"}, RequestContext(caller, SILENT)))
            assert isinstance(outcome, CallToolResult)
            made.append(str(outcome.structuredContent))
        return made

    with running(Notes()) as site:
        provider = standard(api_tools(site, described), facts=MemoryFacts())
        assert asyncio.run(texts(provider)) == ["{'version': 1}"] * 4
    assert ["if-none-match" in one.headers for one in site.asked] == [False, False, False, True]


def test_the_oldest_answers_make_room():
    cache = AnswerCache(max_bytes=100)
    ann = Principal("ann")
    for number in range(5):
        answer = FetchResponse(f"/{number}", 200, {"etag": f'"{number}"'}, b"x" * 30)
        cache.put(ann, f"/{number}", {}, answer)
    assert [cache.get(ann, f"/{number}", {}) is not None for number in range(5)] == [False, False, True, True, True]
    cache.put(ann, "/4", {}, FetchResponse("/4", 200, {"etag": '"4"'}, b"x" * 101))
    cache.put(ann, "/3", {}, FetchResponse("/3", 200, {"etag": "broken"}, b"x"))
    assert [cache.get(ann, f"/{number}", {}) is not None for number in (2, 3, 4)] == [True, False, False]
