"""The catalog tool: its matches, their order, and that a model's words are never query syntax of the engine."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tooltrue import Client, Server
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.catalog import SAMPLE, Catalog, read_products, toolset

USUAL = {"sort": "relevance", "limit": 10, "in_stock": False}
SHOP = Catalog(read_products(SAMPLE.read_text("utf-8"), "sample"))


def search(query: str, **more: Any) -> dict[str, Any]:
    return SHOP.search_products({**USUAL, "query": query, **more})


def ids(query: str, **more: Any) -> list[str]:
    return [product["id"] for product in search(query, **more)["products"]]


def called(tools: LocalToolset, **arguments: Any) -> Any:
    async def conversation() -> Any:
        async with Client(Server("shop", toolsets=[tools])) as client:
            return await client.call_tool("search_products", arguments)

    return asyncio.run(conversation())


async def published(tools: LocalToolset) -> Any:
    async with Client(Server("shop", toolsets=[tools])) as client:
        [tool] = await client.list_tools()
        return tool


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("wireless headphones", {"E-100"}),
        ("WIRELESS headphone", {"E-100"}),
        ("无线耳机", {"E-100"}),
        ("耳机", {"E-100", "E-101", "E-102"}),
        ("phone 12", {"E-110", "E-111"}),
        ("USB-C", {"E-140", "E-141"}),
        ("chef's knife", {"H-301"}),
        ("T恤", {"C-220"}),
    ],
)
def test_words_are_found_in_any_form_and_in_writing_without_spaces(query: str, found: set[str]) -> None:
    assert set(ids(query)) == found


def test_a_better_match_comes_first() -> None:
    assert ids("jacket")[0] == "C-201"
    assert search("jacket")["matched"] == "all words"


def test_a_search_without_full_matches_returns_partial_matches_and_reports_it() -> None:
    result = search("waterproof laptop")
    assert result["matched"] == "some words"
    assert {"E-120", "E-121", "E-150"} <= {product["id"] for product in result["products"]}


def test_a_filter_excludes_products_outside_its_bounds() -> None:
    assert ids("jacket", max_price=79) == ["C-200"]
    assert ids("jacket", max_price=78.999) == []
    assert ids("jacket", min_price=79.001) == ["C-201"]
    assert ids("waterproof", category="clothing", sort="price_low") == ["C-200", "C-241"]
    assert ids("chair") == ["H-350"]
    assert ids("chair", in_stock=True) == []


def test_an_empty_search_result_suggests_a_next_step() -> None:
    assert "more general" in search("submarine")["next_step"]
    assert search("jacket", max_price=1)["next_step"].startswith("2 products have such words")
    with pytest.raises(ToolError) as caught:
        search("?!")
    assert caught.value.code == "TT6601"
    with pytest.raises(ToolError) as caught:
        search("jacket", min_price=2, max_price=1)
    assert caught.value.code == "TT6603"


@pytest.mark.parametrize("sort", ["relevance", "price_low", "price_high", "name"])
def test_pages_have_every_product_once_and_in_order(sort: str) -> None:
    whole = search("a", sort=sort, limit=50)
    assert whole["total"] == len(whole["products"]) > 5
    pages: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        page = search("a", sort=sort, limit=2, **cursor)
        pages += [product["id"] for product in page["products"]]
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert pages == [product["id"] for product in whole["products"]]


@pytest.mark.parametrize(
    "said", ["", "!!", "AAAA", "bnVsbA==", base64.urlsafe_b64encode(b'["x", 1, "E-100"]').decode()]
)
def test_a_cursor_that_is_not_of_this_search_is_refused(said: str) -> None:
    with pytest.raises(ToolError) as caught:
        search("a", cursor=said)
    assert caught.value.code == "TT6602"
    other = search("a", limit=1)["next_cursor"]
    with pytest.raises(ToolError) as caught:
        search("a", limit=1, sort="name", cursor=other)
    assert caught.value.code == "TT6602"


@pytest.mark.parametrize("place", [(1 << 63, "E-100"), (-(1 << 63) - 1, ""), (1, "\ud800"), ("\ud800", "E-100")])
def test_a_cursor_that_somebody_has_made_up_is_refused(place: tuple[Any, str]) -> None:
    digest = json.loads(base64.urlsafe_b64decode(search("a", limit=1)["next_cursor"]))[0]
    made_up = base64.urlsafe_b64encode(json.dumps([digest, *place]).encode()).decode()
    with pytest.raises(ToolError) as caught:
        search("a", limit=1, cursor=made_up)
    assert caught.value.code == "TT6602"


@given(st.text(min_size=1, max_size=50))
@example("_")
def test_k08_no_text_is_a_query_of_the_engine(query: str) -> None:
    try:
        assert search(query)["total"] >= 0
    except ToolError as error:
        assert error.code == "TT6601"  # noqa: PT017 - the one that is meant


@pytest.mark.parametrize(
    "query", ['"', "jacket OR 1", "name:jacket", "jacket*", "NEAR(jacket down)", "NOT jacket", "a\x00b"]
)
def test_k08_operators_of_the_engine_are_words_or_nothing(query: str) -> None:
    assert search(query)["matched"] in ("all words", "some words") if query != '"' else True


def test_k08_twin_words_with_signs_in_them_are_found() -> None:
    assert ids("(rain-jacket)") == ["C-200"]
    assert ids('"down jacket"') == ["C-201"]


def test_full_width_words_are_the_words(tmp_path: Path) -> None:
    assert ids("ｒａｉｎ ｊａｃｋｅｔ") == ids("rain jacket")
    shop = tmp_path / "shop.jsonl"
    shop.write_text('{"id": "1", "name": "ＵＳＢ２ cable", "category": "c", "price": 1}')
    assert called(toolset(shop), query="usb2").value["products"][0]["name"] == "ＵＳＢ２ cable"


def test_a_file_may_begin_with_a_mark_and_hold_any_separator_in_its_texts(tmp_path: Path) -> None:
    shop = tmp_path / "shop.jsonl"
    line = '{"id": "1", "name": "Tea\u2028green\x85", "category": "c", "price": 1}\r\n'
    shop.write_bytes(b"\xef\xbb\xbf" + line.encode())
    assert called(toolset(shop), query="green").value["total"] == 1


def test_the_categories_that_there_are_are_the_enum(tmp_path: Path) -> None:
    shop = tmp_path / "shop.jsonl"
    shop.write_text(
        '{"id": "1", "name": "Tea", "category": "茶", "price": 4.1, "stock": 2}\n\n'
        '{"id": "2", "name": "Cup", "category": "cups", "price": "3"}\n'
    )
    tools = toolset(shop, currency="CNY")
    properties = asyncio.run(published(tools)).inputSchema["properties"]
    assert properties["category"]["enum"] == ["cups", "茶"]
    assert "CNY" in properties["max_price"]["description"]
    result = called(tools, query="tea")
    assert result.value["products"] == [
        {"id": "1", "name": "Tea", "category": "茶", "description": "", "price": 4.1, "currency": "CNY", "stock": 2}
    ]
    assert 'must be one of "cups", "茶"' in called(tools, query="tea", category="tea").text


@pytest.mark.parametrize(
    ("text", "code", "facts"),
    [
        ('{"id": "1"}', "TT6610", {"line": 1}),
        ('\n{"id": "1", "name": "a", "category": "c", "price": 1.001}', "TT6610", {"line": 2}),
        ("no json", "TT6610", {"line": 1}),
        ('{"id": "1", "name": "a", "category": "c", "price": 1}\n' * 2, "TT6611", {"id": "1"}),
        ("", "TT6612", {"count": 0}),
        (
            "\n".join(json.dumps({"id": str(n), "name": "a", "category": f"c{n}", "price": 1}) for n in range(101)),
            "TT6612",
            {"count": 101},
        ),
    ],
)
def test_a_file_that_is_no_catalog_is_refused_with_the_place(
    tmp_path: Path, text: str, code: str, facts: dict[str, Any]
) -> None:
    file = tmp_path / "shop.jsonl"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        toolset(file)
    assert caught.value.code == code
    assert facts.items() <= caught.value.facts.items()
    with pytest.raises(ConfigurationError):
        toolset(tmp_path / "missing.jsonl")
