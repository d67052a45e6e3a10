"""Forms: conversion of a type or schema to fields that every client supports, and of answers back."""

import enum
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal, NotRequired

import pydantic
import pytest
from pydantic import Field
from typing_extensions import TypedDict

import official
from tooltrue import DefinitionError, Form, Link, Roots, Sampling
from tooltrue.protocol.input_requests import check_form, check_request, lacking, malformed


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class All(TypedDict):
    text: Annotated[str, Field(min_length=1, max_length=9, title="Text", description="Some text")]
    whole: Annotated[int, Field(ge=1, le=9)]
    number: float
    yes: bool
    one: Literal["a", "b"]
    size: Size
    several: Annotated[list[Literal["x", "y"]], Field(min_length=1, max_length=2)]
    day: date
    maybe: NotRequired[str | None]


def schema_of(fields: Any) -> dict[str, Any]:
    return Form("?", fields).request["params"]["requestedSchema"]


def test_every_kind_of_field_has_its_form():
    assert schema_of(All) == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 1, "maxLength": 9, "title": "Text", "description": "Some text"},
            "whole": {"type": "integer", "minimum": 1, "maximum": 9},
            "number": {"type": "number"},
            "yes": {"type": "boolean"},
            "one": {"type": "string", "enum": ["a", "b"]},
            "size": {"type": "string", "enum": ["small", "large"]},
            "several": {
                "type": "array",
                "minItems": 1,
                "maxItems": 2,
                "items": {"type": "string", "enum": ["x", "y"]},
            },
            "day": {"type": "string", "format": "date"},
            "maybe": {"type": "string"},
        },
        "required": ["text", "whole", "number", "yes", "one", "size", "several", "day"],
    }


def test_an_answer_is_of_the_type_that_was_asked_for():
    @dataclass
    class Point:
        x: int
        when: date = date(2026, 1, 2)

    form = Form("?", Point)
    assert form.read({"action": "accept", "content": {"x": 1}}).value == Point(1)
    assert form.read({"action": "accept", "content": {"x": 1, "when": "2026-03-04"}}).value.when == date(2026, 3, 4)
    assert schema_of(Point)["properties"]["when"]["default"] == "2026-01-02"


def test_a_whole_float_is_an_integer_in_a_form_as_it_is_in_arguments():
    @dataclass
    class Trip:
        days: int
        rate: float

    answer = Form("?", Trip).read({"action": "accept", "content": {"days": 3.0, "rate": 2.0}})
    assert answer.value == Trip(3, 2.0)
    assert (type(answer.value.days), type(answer.value.rate)) == (int, float)
    with pytest.raises(ValueError, match="days"):
        Form("?", Trip).read({"action": "accept", "content": {"days": 3.5, "rate": 2.0}})


@pytest.mark.requirement("ELIC-42")
def test_a_model_keeps_its_own_rules_although_a_form_cannot_say_them():
    class Even(pydantic.BaseModel):
        number: Annotated[int, Field(multiple_of=2)]

    assert schema_of(Even)["properties"] == {"number": {"type": "integer"}}
    with pytest.raises(ValueError, match="multiple of 2"):
        Form("?", Even).read({"action": "accept", "content": {"number": 3}})


@pytest.mark.requirement("ELIC-23", "ELIC-24")
@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_an_answer_that_was_not_accepted_has_no_value_and_is_falsy(action: str):
    answer = Form("?", All).read({"action": action})
    assert not answer
    assert (answer.action, answer.value) == (action, None)


def test_without_fields_it_is_a_yes_or_no():
    assert schema_of(None) == {"type": "object", "properties": {}}
    assert Form("?").read({"action": "accept"})


TITLED = [{"const": "a", "title": "A"}]
KINDS = [
    {"type": "string", "format": "email", "default": "a@b.c"},
    {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
    {"type": "integer", "default": 3},
    {"type": "boolean", "default": True},
    {"type": "string", "enum": ["a", "b"], "default": "a"},
    {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    {"type": "string", "oneOf": TITLED},
    {"type": "array", "items": {"type": "string", "enum": ["a"]}, "default": ["a"]},
    {"type": "array", "items": {"anyOf": TITLED}, "minItems": 1, "maxItems": 1},
]


@pytest.mark.requirement("ELIC-06")
@pytest.mark.parametrize("field", KINDS, ids=str)
def test_every_kind_that_the_specification_has_can_be_written_as_a_schema(field: dict[str, Any]):
    schema = {"type": "object", "properties": {"f": field}}
    assert schema_of(schema) == schema
    official.check("2026-07-28", "ElicitRequest", Form("?", schema).request)


BAD = [
    {"type": "object", "properties": {"f": {"type": "object"}}},
    {"type": "object", "properties": {"f": {"type": "string", "pattern": "a"}}},
    {"type": "object", "properties": {"f": {"type": "string", "format": "ipv4"}}},
    {"type": "object", "properties": {"f": {"type": "array", "items": {"type": "string"}}}},
    {"type": "object", "properties": {"f": {"type": "string", "enum": [1]}}},
    {"type": "object", "properties": {"f": {"type": "string", "enum": ["a"], "enumNames": []}}},
    {"type": "object", "properties": {"f": {"type": "string", "oneOf": [{"const": "a"}]}}},
    {"type": "object", "properties": {"f": {"type": "string", "description": "see https://example.com"}}},
    {"type": "object", "properties": {"f": True}},
    {"type": "object", "properties": {}, "required": ["f"]},
    {"type": "object"},
    {"type": "array"},
]


@pytest.mark.requirement("ELIC-06", "ELIC-31")
@pytest.mark.parametrize("schema", BAD, ids=str)
def test_a_schema_that_a_form_cannot_express_is_refused_at_its_definition(schema: dict[str, Any]):
    with pytest.raises(DefinitionError, match="form cannot be asked so"):
        check_form(schema)


@pytest.mark.parametrize("fields", [dict[str, int], str, list[int], ["low", "high"]])
def test_a_type_without_fields_of_its_own_is_no_form(fields: Any):
    with pytest.raises(DefinitionError, match="form cannot be asked so"):
        Form("?", fields)


@pytest.mark.requirement("ELIC-08", "ELIC-09")
@pytest.mark.parametrize("name", ["password", "API-Key", "access_token", "ssn"])
def test_a_secret_is_not_asked_for_in_a_form(name: str):
    with pytest.raises(DefinitionError, match="with a Link"):
        Form("?", {"type": "object", "properties": {name: {"type": "string"}}})


@pytest.mark.parametrize("name", ["tokens", "secretary", "key"])
def test_a_field_that_only_sounds_like_a_secret_is_asked_for(name: str):
    assert Form("?", {"type": "object", "properties": {name: {"type": "string"}}})


@pytest.mark.requirement("ELIC-07", "ELIC-32")
@pytest.mark.parametrize(
    "url",
    [
        "http://example.com",
        "https://me:pw@example.com/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "/a",
        "",
        "https://",
    ],
)
def test_a_link_with_an_invalid_or_unsafe_url_is_refused(url: str):
    with pytest.raises(DefinitionError, match="cannot be sent"):
        Link("?", url)


@pytest.mark.parametrize("url", ["https://example.com/a?b=c", "http://localhost:8080/a", "http://127.0.0.1/"])
def test_a_page_is_https_or_on_this_machine(url: str):
    assert Link("?", url).request["params"]["url"] == url


TEXT = {"type": "text", "text": "x"}
USE = {"type": "tool_use", "id": "1", "name": "t", "input": {}}
RESULT = {"type": "tool_result", "toolUseId": "1", "content": []}


@pytest.mark.requirement("SAMP-08", "SAMP-09", "SAMP-10", "SAMP-15")
@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "system", "content": TEXT}],
        [{"role": "user"}],
        [{"role": "user", "content": []}],
        [{"role": "assistant", "content": USE}],
        [{"role": "assistant", "content": USE}, {"role": "user", "content": TEXT}],
        [{"role": "assistant", "content": USE}, {"role": "user", "content": [RESULT, TEXT]}],
        [{"role": "user", "content": RESULT}],
    ],
    ids=str,
)
def test_messages_that_no_model_could_be_given_are_refused(messages: list[dict[str, Any]]):
    with pytest.raises(DefinitionError, match="cannot be sampled"):
        Sampling(messages, 5)


@pytest.mark.requirement("SAMP-09")
def test_every_use_of_a_tool_has_its_result():
    messages = [{"role": "assistant", "content": [TEXT, USE]}, {"role": "user", "content": [RESULT]}]
    assert Sampling(messages, 5).request["params"]["messages"] == messages


@pytest.mark.requirement("SAMP-05")
def test_a_completion_is_asked_for_without_the_context_of_others_unless_somebody_wants_that():
    assert "includeContext" not in Sampling("?", 5).request["params"]


FORM, VISIT = Form("?").request, Link("?", "https://example.com").request
TOOLS = Sampling("?", 5, {"tools": []}).request
CONTEXT = Sampling("?", 5, {"includeContext": "allServers"}).request


@pytest.mark.requirement("ELIC-03", "SAMP-03", "SAMP-06")
@pytest.mark.parametrize(
    ("requests", "declared", "missing"),
    [
        ([FORM], {"elicitation": {}}, {}),
        ([FORM], {"elicitation": {"form": {}}}, {}),
        ([FORM], {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ([FORM], {}, {"elicitation": {"form": {}}}),
        ([VISIT], {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ([VISIT, FORM], {}, {"elicitation": {"url": {}, "form": {}}}),
        ([Sampling("?", 5).request], {}, {"sampling": {}}),
        ([Sampling("?", 5).request], {"sampling": {}}, {}),
        ([TOOLS], {"sampling": {}}, {"sampling": {"tools": {}}}),
        ([TOOLS], {"sampling": {"tools": {}}}, {}),
        ([CONTEXT], {"sampling": {"tools": {}}}, {"sampling": {"context": {}}}),
        ([FORM], {"elicitation": True}, {"elicitation": {"form": {}}}),
    ],
)
def test_the_capabilities_that_a_client_lacks_for_a_request_are_listed(
    requests: list[Any], declared: dict[str, Any], missing: dict[str, Any]
):
    assert lacking(requests, declared) == missing


# -- outgoing requests and incoming answers ---------------------------------------------------------------------------


def elicit(**params: Any) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": params}


def sample(*messages: Any, **params: Any) -> dict[str, Any]:
    return {"method": "sampling/createMessage", "params": {"messages": list(messages), "maxTokens": 5, **params}}


SAID = {"role": "user", "content": TEXT}


@pytest.mark.parametrize("request_", [FORM, VISIT, TOOLS, CONTEXT, Roots().request, sample(SAID)], ids=str)
def test_a_request_built_from_a_question_is_valid(request_: Any):
    check_request(request_)


@pytest.mark.requirement("ELIC-04", "ELIC-06", "ELIC-07", "ELIC-08", "SAMP-08", "SAMP-09", "SAMP-10", "SAMP-15")
@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"method": "tools/list"},
        elicit(requestedSchema={"type": "object", "properties": {}}),
        elicit(message=5, requestedSchema={"type": "object", "properties": {}}),
        elicit(message="?"),
        elicit(message="?", requestedSchema=[]),
        elicit(message="?", requestedSchema={"type": "object", "properties": {"password": {"type": "string"}}}),
        elicit(message="?", mode="dance", requestedSchema={"type": "object", "properties": {}}),
        elicit(message="?", mode="url"),
        elicit(message="?", mode="url", url="http://example.com"),
        elicit(mode="url", url="https://example.com"),
        sample(),
        sample("hello"),
        sample(SAID, maxTokens="5"),
        sample({"role": "system", "content": TEXT}),
        sample({"role": "user", "content": [RESULT, TEXT]}),
    ],
    ids=str,
)
def test_a_request_that_matches_no_kind_of_question_is_refused(request_: Any):
    with pytest.raises(DefinitionError):
        check_request(request_)


@pytest.mark.requirement("SAMP-10", "SAMP-15")
@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"role": "system", "content": TEXT, "model": "m"},
        {"role": "assistant", "content": [], "model": "m"},
        {"role": "assistant", "content": "x", "model": "m"},
        {"role": "assistant", "content": TEXT},
    ],
    ids=str,
)
def test_a_completion_that_is_none_is_not_read(answer: Any):
    assert malformed(sample(SAID), answer)
    assert malformed(sample(SAID), {"role": "assistant", "content": TEXT, "model": "m"}) is None


@pytest.mark.requirement("ELIC-19")
def test_a_visit_brings_back_nothing_but_whether_somebody_went():
    answer = Link("?", "https://example.com").read({"action": "accept", "content": {"token": "hunter2"}})
    assert (answer.action, answer.value) == ("accept", None)


@pytest.mark.parametrize("roots", [None, 5, [5], [{}], [{"uri": 5}]])
def test_roots_that_are_none_are_not_read(roots: Any):
    assert malformed(Roots().request, {"roots": roots})


def test_roots_that_are_no_files_are_left_out():
    there = [{"uri": "file:///home", "name": "Home"}, {"uri": "https://example.com"}, {"uri": "../etc"}]
    assert [(root.uri, root.name) for root in Roots().read({"roots": there})] == [("file:///home", "Home")]
