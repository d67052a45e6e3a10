"""Which tools a model would take for one another."""

from __future__ import annotations

from tooltrue_check.similar_tools import confusable, names_alike
from tooltrue_check.subject import Subject


def tool(name: str, description: str, *parameters: str, server: str = "server") -> Subject:
    properties = {each: {"type": "string"} for each in parameters}
    return Subject(server, {"name": name, "description": description, "inputSchema": {"properties": properties}})


def pairs(*tools: Subject) -> list[tuple[str, str]]:
    return [(pair.first.name, pair.second.name) for pair in confusable(tools)]


def test_one_text_for_two_tools_tells_nothing():
    assert pairs(tool("a", "Send the mail."), tool("b", "Send the mail.")) == []
    tools = tool("a", "Send the mail to somebody."), tool("b", "Send the mail to somebody.")
    assert pairs(*tools) == [("a", "b")]
    assert confusable(tools)[0].has_one_text


def test_a_word_more_that_says_nothing_of_the_difference():
    one, two = (
        tool("define", "Get definitions, examples, synonyms, origin, frequency and register for a word.", "word"),
        tool(
            "look_up", "Get definitions, examples, synonyms, origin, frequency and register for a given word.", "word"
        ),
    )
    (pair,) = confusable([one, two])
    assert (pair.first, pair.second, pair.apart, pair.has_one_text) == (one, two, ("given",), False)
    assert pair.like >= 0.7
    assert pair.other(one) is two
    assert set(pair.names_apart) == {"define", "look", "up"}


def test_a_description_that_repeats_the_names_tells_the_tools_apart():
    assert (
        pairs(
            tool("list_fees", "List all protocols along with summaries of their fees and revenue."),
            tool("list_fees_by_chain", "List all protocols along with summaries of their fees and revenue by chain."),
        )
        == []
    )


def test_texts_of_which_each_has_a_word_of_its_own_tell_apart():
    assert (
        pairs(
            tool("a", "Download the paper of that number from bioRxiv into a folder."),
            tool("b", "Download the paper of that number from medRxiv into a folder."),
        )
        == []
    )


def test_that_one_of_them_changes_something_tells_them_apart():
    told = "rights of the group that only its owners may send messages."
    assert pairs(tool("get_rights", f"The {told}", "id"), tool("set_rights", f"Updates the {told}", "id")) == []
    assert len(pairs(tool("get_rights", f"The {told}", "id"), tool("rights", f"Shows the {told}", "id"))) == 1


def test_different_parameters_tell_similar_tools_apart():
    assert pairs(tool("a", "Add two numbers.", "a", "b"), tool("b", "Adds two numbers.", "a", "b")) == [("a", "b")]
    assert pairs(tool("a", "Add two numbers.", "a", "b"), tool("b", "Adds two numbers.", "text")) == []


def test_the_first_of_many_stands_for_all():
    tools = [tool(f"t{number}", "Send this mail to everybody.") for number in range(50)]
    assert [pair.first for pair in confusable(tools)] == [tools[0]] * 49


def test_names_that_differ_in_an_ending():
    tools = [tool(name, "…") for name in ("get_story", "get_stories", "story_get", "get_tale")]
    assert [(one.name, two.name) for one, two in names_alike(tools)] == [("get_story", "get_stories")]


def test_one_name_on_two_servers_is_not_two_names_alike():
    assert names_alike([tool("get_story", "…"), tool("get_stories", "…", server="other")]) == []
    assert names_alike([tool("get_story", "…"), tool("getStory", "…")]) == []
