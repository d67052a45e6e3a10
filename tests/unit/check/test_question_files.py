"""Questions and tools of others, from files."""

from __future__ import annotations

import pytest

from tooltrue.errors import ConfigurationError
from tooltrue_check.question_files import corpus_in, questions_in
from tooltrue_check.subject import Subject

TOOLS = [Subject("a", {"name": "send"}), Subject("b", {"name": "send"}), Subject("b", {"name": "read"})]


def code(text: str) -> str | None:
    with pytest.raises(ConfigurationError) as caught:
        questions_in(text, "questions.jsonl", TOOLS)
    assert "questions.jsonl:2" in str(caught.value)
    return caught.value.code


def test_questions_name_their_tools():
    text = '{"tool": "send", "query": "a mail"}\n\n{"tool": "send", "server": "b", "query": "a letter"}\n'
    assert [(one.tool, one.text) for one in questions_in(text, "file", TOOLS)] == [
        (TOOLS[0], "a mail"),
        (TOOLS[1], "a letter"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        '{"tool": "send"}',
        '{"tool": 1, "query": "a"}',
        '{"tool": "send", "query": 1}',
        '{"tool": "send", "query": " "}',
    ],
)
def test_a_line_that_is_no_question_is_named(line: str):
    assert code(f'{{"tool": "send", "query": "a"}}\n{line}') == "TT9820"


def test_a_file_without_a_question_is_refused():
    with pytest.raises(ConfigurationError) as caught:
        questions_in("\n", "questions.jsonl", TOOLS)
    assert caught.value.code == "TT9820"


@pytest.mark.parametrize("line", ['{"tool": "sned", "query": "a"}', '{"tool": "read", "server": "a", "query": "a"}'])
def test_a_question_for_a_tool_that_is_not_there_is_named_with_those_that_are(line: str):
    assert code(f"\n{line}") == "TT9821"


def test_others_are_read_a_server_a_line():
    text = '{"server": "x", "tools": [{"name": "one"}, 7, {"name": "two"}]}\n{"server": "y", "tools": []}'
    assert [(one.server, one.name) for one in corpus_in(text, "corpus.jsonl")] == [("x", "one"), ("x", "two")]


@pytest.mark.parametrize("line", ["nothing", '{"server": "x"}', '{"tools": []}', '{"server": 1, "tools": []}', "[]"])
def test_a_line_that_is_no_server_is_named(line: str):
    with pytest.raises(ConfigurationError) as caught:
        corpus_in(line, "corpus.jsonl")
    assert caught.value.code == "TT9822"
    assert "corpus.jsonl:1" in str(caught.value)
