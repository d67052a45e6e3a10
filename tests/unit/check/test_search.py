"""A question finds tools by the words that both have."""

from __future__ import annotations

from typing import Any

from tooltrue_check.search import ToolIndex, query_terms
from tooltrue_check.subject import Subject


def tool(name: str, description: str, *, title: str | None = None, **parameters: str) -> Subject:
    properties = {each: {"type": "string", "description": said} for each, said in parameters.items()}
    definition: dict[str, Any] = {"name": name, "description": description, "inputSchema": {"properties": properties}}
    return Subject("server", definition if title is None else {**definition, "title": title})


def found(question: str, *tools: Subject) -> list[str]:
    return [hit.tool.name for hit in ToolIndex(tools).hits(query_terms(question))]


def test_a_tool_is_found_by_its_name_its_title_its_text_and_its_parameters():
    tools = (
        tool("read_invoice", "Open one."),
        tool("b", "Opens a ledger."),
        tool("c", "Does it.", title="Print a receipt"),
        tool("d", "Does it.", currency="As in ISO 4217"),
        tool("e", "Does it.", code="Of a currency"),
    )
    assert found("invoice", *tools) == ["read_invoice"]
    assert found("ledgers", *tools) == ["b"]
    assert found("receipts", *tools) == ["c"]
    assert set(found("currency", *tools)) == {"d", "e"}


def test_a_word_that_few_tools_have_decides():
    tools = [tool(f"get_{word}", f"Get a {word} of the account.") for word in ("note", "call", "mail")]
    assert found("the call of an account", *tools) == ["get_call", "get_note", "get_mail"]


def test_a_word_of_the_name_counts_more_than_one_of_the_text():
    assert found("weather", tool("a", "Weather of a place."), tool("weather", "Of a place.")) == ["weather", "a"]


def test_chinese_is_cut_into_words():
    tools = (tool("get_weather", "查询某个城市的天气。"), tool("get_stock", "查询仓库中的库存。"))
    assert found("今天天气怎么样", *tools) == ["get_weather"]


def test_a_name_of_two_words_is_found_written_as_one():
    assert found("github issues", tool("a", "List what is open on GitHub.")) == ["a"]
    assert found("GitHub", tool("github_open", "Does it.")) == ["github_open"]


def test_words_that_tell_nothing_find_nothing_unless_there_are_no_others():
    tools = (tool("a", "The one."), tool("b", "What to do with it."))
    assert found("the weather", *tools) == []
    assert found("what to do with it", *tools) == ["b"]


def test_of_two_that_are_equal_the_first_comes_first_and_each_word_has_its_share():
    tools = (tool("a", "Send mail now."), tool("b", "Send mail now."))
    first, second = ToolIndex(tools).hits(query_terms("send mail"))
    assert [first.tool.name, second.tool.name] == ["a", "b"]
    assert first.score == second.score == sum(first.words.values())
    assert set(first.words) == {"send", "mail"}


def test_an_empty_index_and_an_empty_question_give_no_hits():
    assert ToolIndex(()).hits(query_terms("weather")) == []
    assert found("", tool("a", "Does it.")) == []
