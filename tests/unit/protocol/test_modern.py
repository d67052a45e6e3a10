"""The modern wire: facts of a request, parameters, results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tooltrue.errors import InvalidParams
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol import modern, versions
from tooltrue.protocol.types import CallToolResult, Implementation, InputRequiredResult, TextContent, ToolDefinition

INFO = Implementation(name="disk", version="1")
RESULTS = modern.Results(INFO)
META = {"io.modelcontextprotocol/serverInfo": {"name": "disk", "version": "1"}}


def facts(**meta: Any) -> modern.RequestFacts:
    return modern.read_facts({"_meta": {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}, **meta}})


def refusal(params: Any) -> InvalidParams:
    with pytest.raises(InvalidParams) as caught:
        modern.read_facts(params)
    return caught.value


# -- facts -------------------------------------------------------------------------------------------------------------


def test_the_meta_of_our_own_requests_holds_the_facts():
    meta = json.loads(encode(modern.request_meta(versions.LATEST, INFO, {"roots": {}})))
    read = modern.read_facts({"_meta": meta})
    assert (read.version, read.capabilities, read.client) == (
        versions.LATEST,
        {"roots": {}},
        {"name": "disk", "version": "1"},
    )


@pytest.mark.requirement("META-04")
def test_the_keys_that_are_ours_have_the_specifications_domain_before_them():
    keys = {modern.VERSION, modern.CAPABILITIES, modern.CLIENT_INFO, modern.LOG_LEVEL}
    keys |= {modern.SERVER_INFO, modern.SUBSCRIPTION_ID}
    assert {key.partition("/")[0] for key in keys} == {"io.modelcontextprotocol"}


@pytest.mark.requirement("META-09")
@pytest.mark.parametrize(
    "meta", [None, "x", [], {}, {modern.VERSION: 7, modern.CAPABILITIES: []}, {modern.VERSION: None}]
)
def test_each_fact_that_is_missing_is_named_with_the_versions_there_are(meta: Any):
    error = refusal({"_meta": meta})
    assert error.code == "TT1013"
    assert modern.VERSION in str(error)
    assert modern.CAPABILITIES in str(error)
    assert error.data == {"supported": list(versions.ALL)}


def test_a_refusal_names_only_the_missing_meta_fields():
    error = refusal({"_meta": {modern.VERSION: versions.LATEST}})
    assert modern.CAPABILITIES in str(error)
    assert modern.VERSION not in str(error)


@pytest.mark.parametrize("token", [1, "1", "", 0])
def test_b34_twin_a_progress_token_is_a_string_or_an_integer(token: Any):
    assert facts(progressToken=token).progress_token == token


@pytest.mark.parametrize("token", [True, 1.0, [], {}])
def test_b34_anything_else_is_no_progress_token(token: Any):
    assert refusal(
        {"_meta": {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}, "progressToken": token}}
    ).code == ("TT1012")


@pytest.mark.requirement("LOG-04")
def test_a_log_level_is_one_of_eight():
    assert facts(**{modern.LOG_LEVEL: "notice"}).log_level == "notice"
    for level in ("verbose", "INFO", 7, [], {}):
        meta = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}, modern.LOG_LEVEL: level}
        assert refusal({"_meta": meta}).code == "TT1024", level


def test_a_request_is_modern_when_its_meta_names_a_version():
    assert modern.carries_version({"_meta": {modern.VERSION: None}})
    for params in ({}, {"_meta": None}, {"_meta": {}}, {"_meta": [modern.VERSION]}):
        assert not modern.carries_version(params)


# -- parameters --------------------------------------------------------------------------------------------------------


def test_parameters_are_converted_and_unknown_members_ignored():
    got = modern.convert({"name": "a", "new": 1, "_meta": {}}, modern.CallParams, "tools/call")
    assert got == modern.CallParams("a")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 7},
        {"name": "a", "arguments": None},
        {"name": "a", "arguments": []},
        {"name": "a", "arguments": "{}"},
    ],
)
def test_parameters_of_another_shape_are_invalid(params: Any):
    with pytest.raises(InvalidParams) as caught:
        modern.convert(params, modern.CallParams, "tools/call")
    assert caught.value.code == "TT1012"
    assert "tools/call" in str(caught.value)


def test_arguments_of_two_calls_are_two_objects():
    one, two = (modern.convert({"name": "a"}, modern.CallParams, "m") for _ in range(2))
    assert one.arguments is not two.arguments


# -- results -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("BASE-09", "META-15")
def test_a_result_says_that_it_is_complete_and_names_its_server():
    said = json.loads(RESULTS.outcome(CallToolResult([TextContent(text="hi")], {"a": None})))
    assert said == {
        "resultType": "complete",
        "content": [{"type": "text", "text": "hi"}],
        "structuredContent": {"a": None},
        "isError": False,
        "_meta": META,
    }


def test_structured_null_is_there_and_absent_is_absent():
    assert json.loads(RESULTS.call(CallToolResult([], None)))["structuredContent"] is None
    assert "structuredContent" not in json.loads(RESULTS.call(CallToolResult([])))


def test_an_encoded_result_is_not_encoded_again():
    said = json.loads(RESULTS.call(CallToolResult([], {"a": 1}, isError=True, encoded=b'{"once":1}')))
    assert said["structuredContent"] == {"once": 1}
    assert said["isError"] is True


@pytest.mark.requirement("META-15")
def test_the_meta_of_a_tool_result_is_preserved_but_cannot_override_the_server_info():
    said = json.loads(RESULTS.call(CallToolResult([], meta={"trace": 1, modern.SERVER_INFO: "me"})))
    assert said["_meta"] == {"trace": 1, **META}


def test_a_question_has_only_the_members_it_has():
    assert json.loads(RESULTS.outcome(InputRequiredResult({"q": {}}))) == {
        "resultType": "input_required",
        "inputRequests": {"q": {}},
        "_meta": META,
    }
    assert "inputRequests" not in json.loads(RESULTS.outcome(InputRequiredResult(requestState="s")))


@pytest.mark.requirement("CACHE-01")
def test_a_page_of_tools_has_its_cache_hints():
    tool = ToolDefinition("a", {"type": "object"})
    assert json.loads(RESULTS.page("tools", [tool], "next", 5, "private")) == {
        "resultType": "complete",
        "tools": [{"name": "a", "inputSchema": {"type": "object"}}],
        "ttlMs": 5,
        "cacheScope": "private",
        "nextCursor": "next",
        "_meta": META,
    }


@pytest.mark.requirement("META-18", "SUB-07")
def test_a_message_of_a_subscription_carries_the_subscription_id():
    assert modern.stamp({"a": 1}, "s") == {"a": 1, "_meta": {modern.SUBSCRIPTION_ID: "s"}}
    assert json.loads(RESULTS.closed(7))["_meta"] == {**META, modern.SUBSCRIPTION_ID: 7}
