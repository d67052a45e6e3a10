"""Properties of every header value."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue.errors import HeaderMismatch
from tooltrue.protocol import versions
from tooltrue.protocol.headers import (
    check_call,
    check_mirrored,
    check_params,
    check_present,
    decode_value,
    encode_value,
    find_mirrors,
    param_headers,
)

texts = st.text(st.characters(codec="utf-8"), max_size=30)
tricky = texts | st.sampled_from(
    ["=?base64?", "?=", "=?base64?eA==?=", " ", "\t", "\r\n", "a\r\nSet-Cookie: b", "\x7f"]
)

safe = st.integers(-(2**53) + 1, 2**53 - 1)
SCHEMA = {
    "type": "object",
    "properties": {
        "s": {"type": "string", "x-mcp-header": "S"},
        "i": {"type": "integer", "x-mcp-header": "I"},
        "o": {"type": "object", "properties": {"b": {"type": "boolean", "x-mcp-header": "B"}}},
    },
}


@settings(deadline=None)
@given(st.lists(tricky, max_size=3).map("".join))
def test_a_value_comes_back_as_it_was(value: str):
    assert decode_value("X", encode_value(value)) == value


def refusal(check: Callable[[], None]) -> tuple[str, str] | None:
    try:
        check()
    except HeaderMismatch as error:
        return error.code, str(error)
    return None


names = st.lists(tricky | st.sampled_from(["a", "b-c.d", "=?", "é"]), max_size=3).map("".join)


@given(st.data(), names, st.sampled_from(versions.MODERN))
def test_the_headers_of_a_call_are_checked_as_those_of_any_request(data: st.DataObject, name: str, version: str):
    values = {
        "mcp-name": [name, name, encode_value(name), f" {name}\t", name.upper(), ""],
        "mcp-method": ["tools/call", "tools/call", " tools/call", "tools/list"],
        "mcp-protocol-version": [version, version, f"{version}\t", "2025-06-18"],
    }
    headers = {header: data.draw(st.sampled_from(of)) for header, of in values.items()}
    headers.pop(data.draw(st.sampled_from(["", "", "", *values])), None)

    def one_by_one() -> None:
        check_present(headers, "tools/call")
        check_mirrored(headers, "tools/call", {"name": name}, version)

    assert refusal(lambda: check_call(headers, name, version)) == refusal(one_by_one)


@settings(deadline=None)
@given(st.lists(tricky, max_size=3).map("".join))
def test_no_value_becomes_anything_but_printable_ascii_without_blanks_at_its_ends(value: str):
    encoded = encode_value(value)
    assert re.fullmatch(r"[\x20-\x7e]*", encoded)
    assert encoded == encoded.strip()


@settings(deadline=None)
@given(st.lists(tricky, max_size=3).map("".join) | st.text(st.characters(max_codepoint=127), max_size=9))
def test_a_value_is_encoded_only_if_it_has_to_be(value: str):
    is_plain = re.fullmatch(r"[\x20-\x7e]*", value) and value == value.strip(" ")
    is_sentinel = re.fullmatch(r"=\?base64\?.*\?=", value, re.DOTALL)
    assert (encode_value(value) == value) == bool(is_plain and not is_sentinel)


@settings(deadline=None)
@given(st.text(st.characters(max_codepoint=255), max_size=40))
def test_any_header_decodes_or_is_a_mismatch(value: str):
    with contextlib.suppress(HeaderMismatch):
        decode_value("X", value)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "s": st.none() | tricky,
            "i": st.none() | safe | safe.map(float),
            "o": st.none() | st.fixed_dictionaries({}, optional={"b": st.booleans() | st.none()}),
        },
    )
)
def test_the_headers_of_a_call_agree_with_its_arguments(arguments: dict[str, Any]):
    mirrors = find_mirrors(SCHEMA)
    check_params(param_headers(mirrors, arguments), mirrors, arguments)
