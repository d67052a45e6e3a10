"""How a client speaks each era."""

from __future__ import annotations

from typing import Any

import pytest

from tooltrue.client.eras import Legacy, Modern, server_info
from tooltrue.errors import TransportError
from tooltrue.protocol import modern, versions

MODERN, LEGACY = Modern(versions.LATEST), Legacy(versions.NEWEST_LEGACY)


def test_a_modern_request_carries_its_facts_and_headers():
    params = MODERN.params({"name": "a"}, 7)
    assert params["name"] == "a"
    assert params["_meta"][modern.VERSION] == versions.LATEST
    assert params["_meta"]["progressToken"] == 7
    assert MODERN.headers("tools/call", params)["mcp-name"] == "a"


def test_a_legacy_request_carries_a_token_at_most():
    assert LEGACY.params({"a": 1}, None) == {"a": 1}
    assert LEGACY.params({"a": 1}, 7) == {"a": 1, "_meta": {"progressToken": 7}}
    assert LEGACY.headers("tools/call", {}) == {"mcp-protocol-version": versions.NEWEST_LEGACY}


def test_the_callers_parameters_are_not_changed():
    params = {"a": 1}
    MODERN.params(params, 1)
    LEGACY.params(params, 1)
    assert params == {"a": 1}


@pytest.mark.requirement("BASE-12")
def test_a_result_without_a_type_is_complete():
    assert MODERN.finished({"a": 1}, "m") == {"a": 1}
    assert MODERN.finished({"resultType": "complete"}, "m") == {"resultType": "complete"}
    assert LEGACY.finished({"resultType": "odd"}, "m") == {"resultType": "odd"}


@pytest.mark.requirement("BASE-10", "BASE-11")
@pytest.mark.parametrize(
    ("result", "code"),
    [({"resultType": "input_required"}, "TT5009"), ({"resultType": "x"}, "TT5009"), ({"resultType": None}, "TT5009")],
)
def test_a_result_of_another_type_is_not_taken_for_complete(result: Any, code: str):
    with pytest.raises(TransportError) as caught:
        MODERN.finished(result, "m")
    assert caught.value.code == code


@pytest.mark.parametrize("era", [MODERN, LEGACY])
@pytest.mark.parametrize("result", [None, [], "a", 1])
def test_a_result_that_is_no_object_is_not_valid(era: Any, result: Any):
    with pytest.raises(TransportError) as caught:
        era.finished(result, "m")
    assert caught.value.code == "TT5009"


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ({"serverInfo": {"name": "a", "version": "1"}}, ("a", "1")),
        ({"_meta": {modern.SERVER_INFO: {"name": "a", "version": "1"}}}, ("a", "1")),
        ({}, ("", "")),
        ({"serverInfo": "a"}, ("", "")),
        ({"serverInfo": {"name": 1}}, ("", "")),
        ({"_meta": None}, ("", "")),
    ],
)
def test_server_info_fields_are_optional(result: Any, expected: Any):
    assert server_info(result) == expected
