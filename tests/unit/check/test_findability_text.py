"""The text output of a search for tools."""

from __future__ import annotations

from tooltrue_check.findability import SearchQuestion, find, findability
from tooltrue_check.findability_text import hit_lines, lines
from tooltrue_check.subject import Subject


def tool(name: str, description: str, server: str = "ours") -> Subject:
    return Subject(server, {"name": name, "description": description, "inputSchema": {"type": "object"}})


NOTE = tool("get_note", "Read a note by its key.")
MAIL = tool("send_mail", "Send a mail to somebody.")
RIVAL = tool("remember", "Recall from memory a note.", "theirs")


def test_a_question_that_finds_another_tool_is_shown_with_the_words_that_decide():
    found = findability([NOTE, MAIL], [SearchQuestion(NOTE, "recall my\nnote"), SearchQuestion(MAIL, "mail")], [RIVAL])
    assert list(lines(found)) == [
        "ours/get_note: place 2, for “recall my note”",
        "    before it: theirs/remember (recall)",
        "    words that it does not have: recall",
        "1 of 2 questions find their tool first, 2 among the first five, of 3 tools.",
    ]
    assert list(lines(found, "zh")) == [
        "ours/get_note：第 2 位，问题“recall my note”",
        "    排在它前面的：theirs/remember (recall)",
        "    它没有的词：recall",
        "2 个问题中，1 个的工具排在首位，2 个排在前五；共有 3 个工具。",
    ]


def test_unfound_tools_and_tools_hard_to_tell_apart_are_reported():
    twin = tool("mail", "Send a mail to somebody.", "theirs")
    found = findability([MAIL], [SearchQuestion(MAIL, "天气")], [twin])
    assert next(lines(found)) == "ours/send_mail: not found, for “天气”"
    assert "Hard to tell apart: ours/send_mail and theirs/mail" in list(lines(found))


def test_hits_show_the_score_of_each_word():
    (line,) = hit_lines(find("reads notes", [NOTE, MAIL]))
    assert line.startswith(" 1  ")
    assert "ours/get_note  notes " in line
    assert ", reads " in line
    assert list(hit_lines([], "zh")) == ["一无所获。"]
