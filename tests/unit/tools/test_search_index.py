"""The index of tools: words and pairs of characters, an order that never changes, and bounded work."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue.errors import ConfigurationError
from tooltrue.tools.search import index
from tooltrue.tools.search.index import MAX_TERMS, SearchIndex, SearchText, search_text
from tooltrue.tools.search.lexicon import rows
from tooltrue.tools.search.query import query_terms, search
from tooltrue.tools.search.words import text_tokens

TEXTS = (
    SearchText("github_createIssue", description="Open a ticket in a repository."),
    SearchText("mail-send", title="Send a message", description="To one or more people."),
    SearchText("weather.get", description="查询某个城市的天气。"),
    SearchText("drive_delete_file", description="Move it to the trash.", parameters="file_id The document"),
)


def found(query: str, *texts: SearchText) -> list[str]:
    texts = texts or TEXTS
    return [texts[place].name for place, _ in SearchIndex(texts).ranked(query_terms(query))]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("create an issue", "github_createIssue"),
        ("createissue", "github_createIssue"),
        ("repositories", "github_createIssue"),
        ("messages", "mail-send"),
        ("城市天气", "weather.get"),
        ("气", "weather.get"),
        ("documents", "drive_delete_file"),
    ],
)
def test_a_tool_is_found_by_its_name_its_texts_and_its_parameters(query: str, name: str):
    assert found(query)[0] == name


@pytest.mark.parametrize(("query", "name"), [("删除文件", "drive_delete_file"), ("发送消息", "mail-send")])
def test_the_lexicon_leads_from_chinese_to_english(query: str, name: str):
    assert found(query)[0] == name


def test_a_phrase_of_the_lexicon_is_found_in_two_words():
    assert found("a mind map", SearchText("a", description="Make a mindmap.")) == ["a"]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("get rid of the file", "drive_delete_file"),
        ("把这个文件扔掉", "drive_delete_file"),
        ("do I need an umbrella", "weather.get"),
        ("forward this to my boss", "mail-send"),
        ("报告一个毛病", "github_createIssue"),
    ],
)
def test_the_words_of_users_lead_to_those_of_tools(query: str, name: str):
    assert found(query)[0] == name


def test_a_word_that_tells_little_counts_less():
    texts = SearchText("a", description="Show the next one."), SearchText("b", description="Tides of the sea.")
    assert found("show me the next tides", *texts) == ["b", "a"]


def test_a_name_is_one_term_also_in_two_words():
    for query in ("issues of GitHub", "issues of GitHub's"):
        words = [[word for word, _ in alternatives] for alternatives in query_terms(query)]
        assert [("github" in term, "hub" in term, "s" in term) for term in words] == [
            (False, False, False),
            (True, False, False),
        ]


def test_the_words_of_a_phrase_of_the_lexicon_count_once():
    (term,) = query_terms("a mind map")
    weights = dict(term)
    assert (term[0], weights["mindmap"] > weights["mind"] > 0) == (("mind map", 1.0), True)


def test_a_url_is_a_url_and_not_its_words():
    assert [term[0][0] for term in query_terms("read https://example.com/deleted/files")] == ["read", "url"]


def test_the_best_other_words_of_a_row_come_first():
    weights = [weight for _, weight in query_terms("scrap")[0]]
    assert len(weights) > 3
    assert weights == sorted(weights, reverse=True)


def test_a_synonym_counts_more_if_no_tool_has_the_word_itself():
    terms = [(("scrap", 1.0), ("delete", 0.5))]
    one, other = (SearchText("a", description="Delete it."), SearchText("b", description="Scrap metal."))
    alone = dict(SearchIndex([one, SearchText("b")]).ranked(terms))[0]
    both = dict(SearchIndex([one, other]).ranked(terms))
    assert both[1] > both[0]
    assert alone / SearchIndex([one, SearchText("b")]).ranked([(("delete", 1.0),)])[0][1] == pytest.approx(0.75)


def test_a_word_of_the_name_and_of_the_first_sentence_counts_more_than_one_of_the_rest():
    rest = " ".join(f"Word {number}." for number in range(20))
    texts = (
        SearchText("parameters", description=rest, parameters="harbour"),
        SearchText("rest", description=f"{rest} Of a harbour."),
        SearchText("lead", description=f"Of a harbour. {rest}"),
        SearchText("harbour", description=f"Of this. {rest}"),
    )
    assert found("harbour", *texts) == ["harbour", "lead", "rest", "parameters"]


def test_a_description_without_a_sentence_has_a_beginning():
    text = SearchText("a", description="word " * 1_000 + "harbour")
    assert found("harbour", text, SearchText("b", description="Of a harbour. " + "word " * 1_000)) == ["b", "a"]


def test_a_search_gives_the_same_hits_again_after_others():
    index_of_four = SearchIndex(TEXTS)
    first = search(index_of_four, "delete a file")
    for number in range(2_000):
        search(index_of_four, f"w{number}")
    assert search(index_of_four, "delete a file") == first != []


def test_the_rows_of_the_lexicon_have_words_on_both_sides():
    meanings, everyday = rows()
    for row in everyday:
        left, right = (side.split() for side in row.split(" > "))
        assert (left, right) == (list(dict.fromkeys(left)), list(dict.fromkeys(right)))
        assert left
        assert right
    assert all(len(row.split()) > 1 and ">" not in row for row in meanings)


def test_equal_tools_keep_their_order():
    texts = tuple(SearchText(name, description="The same.") for name in ("b", "a", "c"))
    assert found("same", *texts) == ["b", "a", "c"]


def test_characters_begin_tokens_and_pairs_are_tokens():
    assert list(text_tokens("读文件")) == ["读文", "文件", "件"]
    assert list(text_tokens("readFile of GitHub's")) == ["read", "fil", "of", "git", "hub", "readfil", "github"]


@given(st.text(max_size=60))
def test_no_query_is_syntax(query: str):
    SearchIndex(TEXTS).ranked(query_terms(query))


@pytest.mark.parametrize(
    "query", ['" OR name:*', "name:send", "NEAR(a b)", "a* AND NOT b", "{name rest}: x", "^mail", '""', "*", "\0"]
)
def test_the_syntax_of_the_engine_is_only_text(query: str):
    index_of_one = SearchIndex([SearchText("a", description="Nothing of it.")])
    assert index_of_one.ranked(query_terms(query)) == [] or query == "a* AND NOT b"


@given(st.lists(st.text(max_size=30), max_size=5), st.text(max_size=30))
def test_the_same_texts_and_query_give_the_same_hits(names: list[str], query: str):
    texts = [SearchText(name, description=query) for name in names]
    terms = query_terms(query)
    hits = SearchIndex(texts).ranked(terms)
    assert SearchIndex(texts).ranked(terms) == hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))


def test_a_long_query_and_a_long_definition_cost_no_more_than_their_limits():
    asked = list[str]()

    class Counting(SearchIndex):
        def scores(self, term: str) -> Mapping[int, float]:
            asked.append(term)
            return super().scores(term)

    counting = Counting([SearchText("a" * 10**6, description="word " * 10**6)])
    assert counting.ranked(query_terms("word " * 10_000)) != []
    asked.clear()
    counting.ranked(query_terms(" ".join(f"w{number}" for number in range(10_000))))
    assert len(asked) <= MAX_TERMS


def test_the_parameters_of_a_hostile_schema_are_bounded():
    wide = {"properties": {f"p{number}": {"description": "d" * 100} for number in range(100_000)}}
    assert search_text("a", None, None, wide).parameters.count("\n") < 256
    deep: dict[str, object] = {"properties": {"innermost": {}}}
    for _ in range(100):
        deep = {"properties": {"outer": deep}}
    assert "innermost" not in search_text("a", None, None, deep).parameters
    odd = {"properties": {"a": 1, "b": {"description": 2, "properties": []}}, "items": []}
    assert search_text("a", None, None, odd).parameters == "b "


def test_without_the_full_text_search_of_sqlite_one_sentence_says_so():
    with pytest.raises(ConfigurationError, match=r"no such module: missing.*FTS5") as raised:
        index._connected("missing")  # pyright: ignore[reportPrivateUsage]
    assert raised.value.code == "TT3429"
