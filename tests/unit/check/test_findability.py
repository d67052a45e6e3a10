"""The rank of a tool for its search questions, the rivals ranked before it, and the words that decide."""

from __future__ import annotations

from tooltrue_check.findability import QuestionOrigin, SearchQuestion, description_questions, find, findability
from tooltrue_check.subject import Subject


def tool(name: str, description: str, server: str = "ours") -> Subject:
    return Subject(server, {"name": name, "description": description, "inputSchema": {"type": "object"}})


NOTE = tool("get_note", "Read a note by its key. Use when the user asks what was noted.")
MAIL = tool("send_mail", "Send a mail to somebody.")


def test_the_best_has_the_first_place():
    found = findability([NOTE, MAIL], [SearchQuestion(MAIL, "mail somebody")])
    (answer,) = found.answers
    assert (answer.rank, answer.rivals, answer.missing) == (1, (), ())
    assert (found.within(1), found.within(5), found.searched) == (1, 1, 2)


def test_a_rival_is_shown_with_the_words_that_decide():
    rival = tool("remember", "Recall what was noted, from memory.", server="theirs")
    found = findability([NOTE, MAIL], [SearchQuestion(NOTE, "recall from memory what was noted")], [rival])
    (answer,) = found.answers
    assert answer.rank == 2
    assert [(one.tool, one.words) for one in answer.rivals] == [(rival, ("recall", "memory"))]
    assert answer.missing == ("recall", "memory")
    assert not answer.is_within(1)


def test_a_tool_that_has_none_of_the_words_has_no_place():
    (answer,) = findability([NOTE, MAIL], [SearchQuestion(MAIL, "查一下天气")]).answers
    assert (answer.rank, answer.score) == (None, 0.0)
    assert answer.missing == ("查", "一下", "天气")


def test_a_draw_is_lost():
    twin = tool("send_mail", "Send a mail to somebody. ", server="theirs")
    (answer,) = findability([MAIL, NOTE], [SearchQuestion(MAIL, "mail")], [twin]).answers
    assert (answer.rank, answer.rivals[0].words) == (2, ())


def test_the_tool_itself_among_the_others_is_no_rival():
    again = Subject("corpus", dict(MAIL.definition))
    found = findability([MAIL], [SearchQuestion(MAIL, "mail")], [again])
    assert (found.answers[0].rank, found.searched, found.pairs) == (1, 1, ())


def test_questions_are_taken_from_the_text_where_none_are_given():
    assert [(one.text, one.source) for one in description_questions(NOTE)] == [
        ("Read a note by its key", QuestionOrigin.PURPOSE),
        ("Use when the user asks what was noted", QuestionOrigin.USE),
    ]
    chinese = tool("get_stock", "查询库存数量。当用户询问某商品还剩多少时使用。")
    assert [one.text for one in description_questions(chinese)] == ["查询库存数量", "当用户询问某商品还剩多少时使用"]
    assert description_questions(tool("a", "")) == []
    assert description_questions(tool("a", "When to use this tool:")) != []
    assert len(findability([NOTE, MAIL]).answers) == 3


def test_pairs_that_a_model_would_confuse_are_those_of_ours():
    one, two = (
        tool("look_up", "Get definitions, examples, synonyms, origin, frequency and register for a word."),
        tool(
            "define", "Get definitions, examples, synonyms, origin, frequency and register for a given word.", "theirs"
        ),
    )
    three = tool("explain", "Get definitions, examples, synonyms, origin, frequency and register for a word.", "theirs")
    assert findability([NOTE], among=[two, three]).pairs == ()
    assert {pair.other(one).name for pair in findability([one], among=[two, three]).pairs} == {"define", "explain"}


def test_words_alone_find_tools():
    assert [hit.tool for hit in find("a note", [NOTE, MAIL])] == [NOTE]


def test_the_data_say_it_all():
    said = findability([NOTE, MAIL], [SearchQuestion(NOTE, "mail a note")]).data()
    assert said["answers"][0] | {"score": 0, "rivals": []} == {
        "server": "ours",
        "tool": "get_note",
        "query": "mail a note",
        "source": "given",
        "rank": 2,
        "score": 0,
        "missing": ["mail"],
        "rivals": [],
    }
    assert said["answers"][0]["rivals"][0]["words"] == ["mail"]
    assert (said["searched"], said["questions"], said["first"], said["first_five"], said["pairs"]) == (2, 1, 0, 1, [])
