"""Pages of a described API, on the wire: a model asks for the next one in one way, whatever the way of the API is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.calling import calls
from services.openapi import Judge, api_tools
from support.website import Asked, Said, running
from tooltrue import Client
from tooltrue.client.call_results import Result

NUMBERS = list(range(1, 8))


def described(tmp_path: Path, *parameters: str, security: bool = False) -> Path:
    names = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in parameters]
    operation: dict[str, Any] = {
        "operationId": "listThings",
        "parameters": names,
        "responses": {"200": {"description": "The things"}},
    }
    file = tmp_path / "things.json"
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "key"}}
    file.write_text(
        json.dumps(
            {
                "openapi": "3.0.3",
                "info": {"title": "Things", "version": "1"},
                "paths": {
                    "/things": {"get": operation},
                    "/others": {"get": {**operation, "operationId": "listOthers"}},
                },
                **({"security": [{"key": []}], "components": {"securitySchemes": schemes}} if security else {}),
            }
        )
    )
    return file


def all_pages(file: Path, answer: Callable[[Asked], Said], **arguments: Any) -> tuple[list[Result], list[Asked]]:
    """The results of a call and of its next pages, as the note of each result says."""
    judge = Judge(file)
    judge.answer = answer

    async def use(client: Client) -> list[Result]:
        results = [await client.call_tool("list_things", arguments)]
        while (uri := next_page(results[-1])) is not None:
            assert len(results) < 10
            results.append(await client.call_tool("list_things", {**arguments, "next_page": uri}))
        return results

    with running(judge) as site:
        results = calls(api_tools(site, file), use)
    assert judge.faults == []
    return results, site.asked


def next_page(result: Result) -> str | None:
    match = re.search(r"next_page (kept:\S+)\.", result.text)
    return None if match is None else match[1]


def by_link(asked: Asked) -> Said:
    page = int(asked.query.get("page", "1"))
    last = f'<https://{asked.headers["host"]}/v1/things?page=1>; rel="first"'
    link = f'<http://{asked.headers["host"]}/repositories/7/things?limit=3&page={page + 1}>; rel="next", {last}'
    return Said(200, NUMBERS[page * 3 - 3 : page * 3], (("link", link),) if page < 3 else ())


def by_cursor(asked: Asked) -> Said:
    begin = int(asked.query.get("cursor", "c0")[1:])
    more = f"c{begin + 3}" if begin + 3 < len(NUMBERS) else ""
    return Said(200, {"items": NUMBERS[begin : begin + 3], "response_metadata": {"next_cursor": more}})


def by_offset(asked: Asked) -> Said:
    begin = int(asked.query.get("offset", "0"))
    return Said(200, {"items": NUMBERS[begin : begin + 3], "total": len(NUMBERS)})


def by_url(asked: Asked) -> Said:
    begin = int(asked.query.get("after", "0"))
    more = f"/v1/things?limit=3&after={begin + 3}" if begin + 3 < len(NUMBERS) else None
    return Said(200, {"items": NUMBERS[begin : begin + 3], "next": more})


def by_last_id(asked: Asked) -> Said:
    begin = int(asked.query.get("starting_after", "0"))
    items = [{"id": str(number)} for number in NUMBERS[begin : begin + 3]]
    return Said(200, {"data": items, "has_more": begin + 3 < len(NUMBERS)})


def by_page(asked: Asked) -> Said:
    page = int(asked.query.get("page", "1"))
    return Said(200, {"items": NUMBERS[page * 3 - 3 : page * 3], "total_pages": 3})


@pytest.mark.parametrize(
    ("answer", "parameters"),
    [
        (by_link, ("page", "limit")),
        (by_cursor, ("cursor", "limit")),
        (by_offset, ("offset", "limit")),
        (by_url, ("after", "limit")),
        (by_last_id, ("starting_after", "limit")),
        (by_page, ("page", "limit")),
    ],
)
def test_every_way_of_pages_is_one_for_a_model(tmp_path: Path, answer: Any, parameters: tuple[str, ...]):
    results, asked = all_pages(described(tmp_path, *parameters), answer, limit="3")
    values = [
        result.value if isinstance(result.value, list) else next(iter(result.value.values())) for result in results
    ]
    items = [int(item["id"]) if isinstance(item, dict) else item for page in values for item in page]
    assert items == NUMBERS
    assert [one.path for one in asked] == ["/v1/things"] * 3
    assert [one.query["limit"] for one in asked] == ["3"] * 3


def test_a_page_that_is_too_large_is_cut_and_still_names_the_next(tmp_path: Path):
    def large(asked: Asked) -> Said:
        return Said(200, {"items": ["a word " * 100] * 5_000, "next_cursor": "c1"})

    judge = Judge(described(tmp_path, "cursor"))
    judge.answer = large

    async def use(client: Client) -> Result:
        return await client.call_tool("list_things", {})

    with running(judge) as site:
        result = calls(api_tools(site, described(tmp_path, "cursor")), use)
    assert not result.is_error
    assert 1_000 < len(result.value["items"]) < 5_000
    assert next_page(result) is not None
    assert "This is not all: $.items" in result.text


def test_a_next_page_belongs_to_its_operation_and_its_caller(tmp_path: Path):
    file = described(tmp_path, "cursor")
    judge = Judge(file)
    judge.answer = by_cursor

    async def use(client: Client) -> list[str]:
        page = next_page(await client.call_tool("list_things", {}))
        made_up = ("kept:AAAAAAAAAAAAAAAAAAAAAA", "/v1/others?cursor=c3", "cursor=c3", "http://evil.example/")
        others = [await client.call_tool("list_things", {"next_page": one}) for one in made_up]
        return [(await client.call_tool("list_others", {"next_page": page})).text, *(one.text for one in others)]

    with running(judge) as site:
        texts = calls(api_tools(site, file), use)
    assert [text[-8:] for text in texts] == ["[TT6946]"] * 5
    assert len(site.asked) == 1


def test_a_secret_in_the_url_of_the_next_page_is_not_stored(tmp_path: Path):
    file = described(tmp_path, "cursor", security=True)

    def echoing(asked: Asked) -> Said:
        more = f"?cursor=c3&key={asked.query['key']}" if "cursor" not in asked.query else None
        return Said(200, {"items": [], "next": more})

    judge = Judge(file)
    judge.answer = echoing

    async def use(client: Client) -> list[str]:
        page = next_page(await client.call_tool("list_things", {})) or ""
        (stored,) = await client.read_resource(page)
        await client.call_tool("list_things", {"next_page": page})
        return [str(stored)]

    with running(judge) as site:
        (stored,) = calls(api_tools(site, file), use)
    assert "of-the-test" not in stored
    assert [one.raw_query for one in site.asked] == ["key=key%3Aof-the-test", "cursor=c3&key=key%3Aof-the-test"]


def test_an_operation_without_pages_has_no_argument_for_them(tmp_path: Path):
    async def names(client: Client) -> list[list[str]]:
        return [list(tool.inputSchema["properties"]) for tool in await client.list_tools()]

    with running(lambda asked: Said(200, {"next_cursor": "c1"})) as site:
        assert calls(api_tools(site, described(tmp_path, "colour")), names) == [["colour"]] * 2
        assert (
            calls(api_tools(site, described(tmp_path, "next_page", "limit")), names)
            == [["next_page", "limit", "next_page_2"]] * 2
        )
