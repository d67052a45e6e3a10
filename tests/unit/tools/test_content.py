"""A Python value → the result of a call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tooltrue.errors import InvalidResult
from tooltrue.protocol.types import (
    UNSET,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    TextContent,
    TextResource,
    ToolOutcome,
)
from tooltrue.tools.content import failed, present, structured

PICTURE = ImageContent(data="eA==", mimeType="image/png")


def result(outcome: ToolOutcome) -> CallToolResult:
    assert isinstance(outcome, CallToolResult)
    return outcome


def test_text_is_text_and_nothing_else():
    assert present("null") == CallToolResult([TextContent(text="null")])


def test_none_is_an_empty_result():
    assert present(None) == CallToolResult([])


@pytest.mark.parametrize("make", [present, structured])
def test_an_explicit_result_passes_unchanged_and_its_value_is_validated(make: Any):
    question, failure = InputRequiredResult(requestState="s"), CallToolResult([], isError=True)
    assert make(question) is question
    assert make(failure) == failure
    result = make(CallToolResult([], {"a": 1}))
    assert (result.content, result.structuredContent) == ([], {"a": 1})
    with pytest.raises(InvalidResult):
        make(CallToolResult([], float("nan")))


@pytest.mark.parametrize("value", [PICTURE, [PICTURE], (PICTURE,)])
def test_blocks_are_themselves(value: Any):
    assert present(value) == CallToolResult([PICTURE])


@pytest.mark.requirement("CALL-02", "CALL-03")
@pytest.mark.parametrize(
    "value", [0, 1.5, True, [], {}, [1, "a", None], {"a": {"b": [None]}}, ["nullable"], {"null": 1}]
)
def test_any_other_value_is_structured_and_said_as_text_too(value: Any):
    result = present(value)
    assert isinstance(result, CallToolResult)
    assert result.structuredContent == value
    assert json.loads(result.content[0].text) == value
    assert result.encoded == result.content[0].text.encode()


def test_a_declared_shape_makes_text_and_nothing_values_too():
    assert result(structured("a")).structuredContent == "a"
    assert result(structured(None)).structuredContent is None
    assert result(present(None)).structuredContent is UNSET


def test_blocks_among_other_values_are_values():
    assert result(present([PICTURE, 1])).structuredContent == [PICTURE, 1]


@pytest.mark.parametrize(
    "value",
    [float("nan"), [float("inf")], {"a": -float("inf")}, [None, float("nan")], object(), {"a": object()}, "\ud800"],
)
def test_a_value_without_a_json_form_is_an_invalid_result(value: Any):
    with pytest.raises(InvalidResult):
        structured(value)


@pytest.mark.parametrize("value", [(1, None), {"a": (None,)}, {1: None}])
def test_python_values_with_a_json_form_are_fine_beside_a_null(value: Any):
    assert result(structured(value)).content[0].text == json.dumps(value, separators=(",", ":"))


def test_a_result_that_is_nested_too_deep_is_an_invalid_result_and_not_the_callers_mistake():
    value: Any = None
    for _ in range(150):
        value = [value]
    with pytest.raises(InvalidResult):
        structured(value)


def test_a_failure_says_so():
    assert failed("no") == CallToolResult([TextContent(text="no")], isError=True)


BAD = {"x y": 1}
FINE = {"com.example/x": 1}


def with_meta(meta: dict[str, Any]) -> list[Any]:
    text, resource = TextContent(text="a", meta=meta), TextResource(uri="a:b", text="a", meta=meta)
    return [
        text,
        [PICTURE, text],
        EmbeddedResource(resource=resource),
        CallToolResult([], meta=meta),
        CallToolResult([text]),
    ]


@pytest.mark.requirement("META-02", "META-03", "META-05")
def test_a_result_says_nothing_under_a_key_that_is_none_or_not_its_authors():
    for value in with_meta(FINE):
        present(value)
    for meta in (BAD, {"io.modelcontextprotocol/serverInfo": 1}):
        for value in with_meta(meta):
            with pytest.raises(InvalidResult, match="cannot be used in meta"):
                present(value)
