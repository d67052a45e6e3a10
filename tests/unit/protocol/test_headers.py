"""The headers that mirror a message."""

from __future__ import annotations

from typing import Any

import pytest

from tooltrue.errors import DefinitionError, HeaderMismatch, InvalidArguments
from tooltrue.protocol import versions
from tooltrue.protocol.headers import (
    check_mirrored,
    check_params,
    check_present,
    decode_value,
    encode_value,
    find_mirrors,
    param_headers,
    request_headers,
)

CALL = {"name": "wipe", "arguments": {}}


def refusal(check: Any, *arguments: Any) -> str:
    try:
        check(*arguments)
    except HeaderMismatch as error:
        return error.code
    return ""


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


# -- values ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["", "a", "us-west1", "a b", "=?base64?", "?=", "42", "~!"])
def test_a_plain_value_is_itself(value: str):
    assert encode_value(value) == value
    assert decode_value("X", value) == value


@pytest.mark.requirement("XHDR-21")
@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("a\r\nb: c", "=?base64?YQ0KYjogYw==?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        ("\x00", "=?base64?AA==?="),
        ("\x7f", "=?base64?fw==?="),
    ],
)
def test_a_value_that_a_header_cannot_carry_is_encoded_and_decoded(value: str, encoded: str):
    assert encode_value(value) == encoded
    assert decode_value("X", encoded) == value


def test_blanks_around_a_value_are_the_carriers():
    assert decode_value("X", " \ta\t ") == "a"


@pytest.mark.parametrize(
    "value", ["=?base64?***?=", "=?base64?YQ?=", "=?base64?/w==?=", "=?base64?Y Q==?=", "é", "a\x00b", "a\rb"]
)
def test_a_broken_value_is_a_mismatch_and_never_a_literal(value: str):
    assert refusal(decode_value, "X", value) == "TT1018"


# -- required headers of a modern request ------------------------------------------------------------------------------


def test_the_headers_of_a_request_pass_their_own_check():
    headers = request_headers("tools/call", CALL, versions.LATEST)
    assert headers == {"mcp-protocol-version": versions.LATEST, "mcp-method": "tools/call", "mcp-name": "wipe"}
    check_present(headers, "tools/call")
    check_mirrored(headers, "tools/call", CALL, versions.LATEST)


@pytest.mark.parametrize("missing", ["mcp-protocol-version", "mcp-method", "mcp-name"])
def test_a_header_that_is_missing_is_named(missing: str):
    headers = request_headers("tools/call", CALL, versions.LATEST)
    del headers[missing]
    with pytest.raises(HeaderMismatch) as caught:
        check_present(headers, "tools/call")
    assert caught.value.code == "TT1016"
    assert missing in str(caught.value).lower()


def test_only_methods_with_a_name_need_a_name_header():
    check_present(request_headers("tools/list", {}, versions.LATEST), "tools/list")


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("mcp-protocol-version", versions.NEWEST_LEGACY),
        ("mcp-method", "tools/list"),
        ("mcp-method", "Tools/Call"),
        ("mcp-name", "read"),
        ("mcp-name", "Wipe"),
    ],
)
def test_a_header_that_says_something_else_than_the_body_is_refused(header: str, value: str):
    headers = {**request_headers("tools/call", CALL, versions.LATEST), header: value}
    assert refusal(check_mirrored, headers, "tools/call", CALL, versions.LATEST) == "TT1017"


def test_a_name_beyond_ascii_compares_decoded():
    params = {"uri": "file:///ü"}
    headers = request_headers("resources/read", params, versions.LATEST)
    check_mirrored(headers, "resources/read", params, versions.LATEST)


# -- x-mcp-header ------------------------------------------------------------------------------------------------------


MIRRORED = schema(
    region={"type": "string", "x-mcp-header": "Region"},
    query=schema(limit={"type": "integer", "x-mcp-header": "Limit"}, dry={"type": "boolean", "x-mcp-header": "Dry"}),
)


@pytest.mark.requirement("XHDR-07")
def test_annotated_properties_are_found_at_any_depth():
    assert find_mirrors(MIRRORED) == (
        ("Region", ("region",), "string"),
        ("Limit", ("query", "limit"), "integer"),
        ("Dry", ("query", "dry"), "boolean"),
    )


@pytest.mark.requirement("XHDR-01", "XHDR-02", "XHDR-03", "XHDR-04", "XHDR-05", "XHDR-08")
@pytest.mark.parametrize(
    "properties",
    [
        {"a": {"type": "string", "x-mcp-header": "X\r\nSet-Cookie"}},
        {"a": {"type": "string", "x-mcp-header": ""}},
        {"a": {"type": "string", "x-mcp-header": "a b"}},
        {"a": {"type": "string", "x-mcp-header": "a:"}},
        {"a": {"type": "string", "x-mcp-header": "ü"}},
        {"a": {"type": "string", "x-mcp-header": 7}},
        {"a": {"type": "object", "x-mcp-header": "A"}},
        {"a": {"type": "array", "x-mcp-header": "A"}},
        {"a": {"type": "number", "x-mcp-header": "A"}},
        {"a": {"type": ["string", "null"], "x-mcp-header": "A"}},
        {"a": {"x-mcp-header": "A"}},
        {"a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"}},
        {"a": {"type": "array", "items": {"type": "string", "x-mcp-header": "A"}}},
        {"a": {"anyOf": [{"type": "string", "x-mcp-header": "A"}]}},
    ],
)
def test_a35_an_annotation_that_breaks_a_rule_is_refused(properties: Any):
    with pytest.raises(DefinitionError) as caught:
        find_mirrors(schema(**properties))
    assert caught.value.code == "TT3020"


ANNOTATED = {"type": "string", "x-mcp-header": "A"}
WITH_IT = schema(b=ANNOTATED)


@pytest.mark.requirement("XHDR-07", "XHDR-08")
@pytest.mark.parametrize(
    "part",
    [
        {"items": WITH_IT},
        {"prefixItems": [WITH_IT]},
        {"contains": ANNOTATED},
        {"allOf": [WITH_IT]},
        {"anyOf": [WITH_IT]},
        {"oneOf": [WITH_IT]},
        {"not": WITH_IT},
        {"if": WITH_IT},
        {"then": WITH_IT},
        {"else": WITH_IT},
        {"additionalProperties": ANNOTATED},
        {"patternProperties": {"^x": ANNOTATED}},
        {"dependentSchemas": {"x": WITH_IT}},
        {"$ref": "#/$defs/x", "$defs": {"x": WITH_IT}},
    ],
    ids=lambda part: next(iter(part)),
)
def test_a35_a_way_through_anything_but_properties_is_refused(part: Any):
    for where in (part, schema(a=part)):
        with pytest.raises(DefinitionError) as caught:
            find_mirrors({"type": "object", **where})
        assert caught.value.code == "TT3020"


def test_a35_twin_a_property_that_is_only_called_so_is_no_annotation():
    assert find_mirrors(schema(**{"x-mcp-header": {"type": "string"}})) == ()
    assert find_mirrors(schema(a={"type": "object", "default": {"x-mcp-header": "A"}})) == ()


@pytest.mark.requirement("XHDR-08")
@pytest.mark.parametrize("name", ["default", "enum", "const", "examples", "x-mcp-header"])
def test_a_property_may_be_called_like_a_keyword_and_is_looked_into(name: str):
    assert find_mirrors(schema(**{name: ANNOTATED})) == (("A", (name,), "string"),)
    with pytest.raises(DefinitionError):
        find_mirrors(schema(**{name: {"type": "array", "items": ANNOTATED}}))


def test_arguments_and_their_headers_agree():
    arguments = {"region": "wést", "query": {"limit": 42, "dry": True}}
    headers = param_headers(find_mirrors(MIRRORED), arguments)
    assert headers["mcp-param-limit"] == "42"
    assert headers["mcp-param-dry"] == "true"
    check_params(headers, find_mirrors(MIRRORED), arguments)


def test_an_absent_or_null_argument_has_no_header():
    assert param_headers(find_mirrors(MIRRORED), {"region": None, "query": 7}) == {}


@pytest.mark.requirement("XHDR-27", "XHDR-28", "XHDR-29")
@pytest.mark.parametrize(
    ("headers", "arguments", "code"),
    [
        ({}, {"region": "a"}, "TT1016"),
        ({"mcp-param-region": "b"}, {"region": "a"}, "TT1017"),
        ({"mcp-param-region": "a"}, {}, "TT1017"),
        ({"mcp-param-region": ""}, {"region": None}, "TT1017"),
        ({"mcp-param-region": "=?base64?!?="}, {"region": "a"}, "TT1018"),
        ({"mcp-param-limit": "43"}, {"query": {"limit": 42}}, "TT1017"),
        ({"mcp-param-limit": "4_2"}, {"query": {"limit": 42}}, "TT1017"),
        ({"mcp-param-limit": "٤٢"}, {"query": {"limit": 42}}, "TT1018"),
        ({"mcp-param-limit": "=?base64?2aTZog==?="}, {"query": {"limit": 42}}, "TT1017"),  # the same, in base64
        ({"mcp-param-dry": "True"}, {"query": {"dry": True}}, "TT1017"),
        ({"mcp-param-dry": "1"}, {"query": {"dry": True}}, "TT1017"),
    ],
)
def test_a_parameter_header_that_does_not_agree_is_refused(headers: Any, arguments: Any, code: str):
    assert refusal(check_params, headers, find_mirrors(MIRRORED), arguments) == code


@pytest.mark.requirement("XHDR-31")
@pytest.mark.parametrize(("said", "value"), [("42.0", 42), ("42", 42.0), ("-7", -7), ("42.000", 42)])
def test_integers_compare_by_number(said: str, value: Any):
    check_params({"mcp-param-limit": said}, find_mirrors(MIRRORED), {"query": {"limit": value}})


LARGEST = 2**53 - 1


@pytest.mark.requirement("XHDR-06")
@pytest.mark.parametrize("value", [LARGEST + 1, -LARGEST - 1, 10**30, float(2**60)])
def test_an_integer_that_not_everybody_reads_exactly_is_refused_at_both_ends(value: Any):
    arguments = {"query": {"limit": value}}
    with pytest.raises(InvalidArguments):
        param_headers(find_mirrors(MIRRORED), arguments)
    assert refusal(check_params, {"mcp-param-limit": str(value)}, find_mirrors(MIRRORED), arguments) == "TT1018"


@pytest.mark.requirement("XHDR-06", "XHDR-31")
@pytest.mark.parametrize("value", [LARGEST, -LARGEST])
def test_the_largest_integers_are_told_from_their_neighbours(value: int):
    mirrors, arguments = find_mirrors(MIRRORED), {"query": {"limit": value}}
    check_params(param_headers(mirrors, arguments), mirrors, arguments)
    for other in (value - 1, value + 1):
        assert refusal(check_params, {"mcp-param-limit": f"{other}.0"}, mirrors, arguments) == "TT1017"
