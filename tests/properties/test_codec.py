"""Properties of the codec for any bytes and any value: no loss, no misreading, and no exception but ``ParseError``."""

from __future__ import annotations

import contextlib
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from properties.judging import Refused, careful
from tooltrue.errors import InvalidRequest, ParseError
from tooltrue.jsonrpc.messages import MAX_DEPTH, decode, encode, parse

texts = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=15
)
tokens = st.sampled_from(
    [
        *(
            b"{",
            b"}",
            b"[",
            b"]",
            b",",
            b":",
            b'"a"',
            b'"\\u0061"',
            b'"\\ud800"',
            b'"\\ud83d\\ude00"',
            b" ",
            b"\n",
            b"1",
        ),
        *(
            b"-0",
            b"1.5",
            b"1e999",
            b"NaN",
            b"Infinity",
            b"null",
            b"true",
            b'"',
            b"\\",
            b"9" * 4_301,
            b"\xff",
            b"\xc3\xa9",
        ),
    ]
)


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    return repr(one) == repr(other)


def agree(data: bytes) -> None:
    try:
        expected = careful(data)
    except Refused:
        try:
            got = decode(data)
        except ParseError:
            return
        raise AssertionError(f"{data!r} was read as {got!r}") from None
    assert same(decode(data), expected)


@settings(deadline=None)
@given(values)
def test_an_encoded_value_decodes_to_the_same_value(value: Any):
    assert same(decode(encode(value)), value)


@settings(deadline=None)
@given(values, st.sampled_from([None, 1]), st.booleans())
def test_other_spellings_of_a_value_decode_to_the_same(value: Any, indent: int | None, ascii: bool):
    assert same(decode(json.dumps(value, indent=indent, ensure_ascii=ascii).encode()), value)


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_any_bytes_are_read_as_a_careful_parser_reads_them_or_refused(data: bytes):
    agree(data)


@settings(deadline=None)
@given(st.lists(tokens, max_size=12).map(b"".join))
def test_any_tokens_are_read_as_a_careful_parser_reads_them_or_refused(data: bytes):
    agree(data)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(['"a"', '"b"', '"\\u0061"', '"c"']), values), max_size=4), st.booleans())
def test_an_object_is_accepted_just_when_its_keys_differ(pairs: list[tuple[str, Any]], blank: bool):
    glue = ", " if blank else ","
    data = "{" + glue.join(f"{key}:{json.dumps(value)}" for key, value in pairs) + "}"
    agree(data.encode())


@settings(deadline=None)
@given(st.integers(MAX_DEPTH - 3, MAX_DEPTH + 3), st.lists(st.booleans(), min_size=1, max_size=5), values)
def test_depth_is_counted_alike_through_lists_and_objects(levels: int, kinds: list[bool], core: Any):
    value = core
    for level in range(levels):
        value = [value] if kinds[level % len(kinds)] else {"k": value}
    agree(json.dumps(value).encode())


@settings(deadline=None)
@given(
    st.lists(st.text('[]{}"\\:,a\n', max_size=6), min_size=1, max_size=6),
    st.integers(MAX_DEPTH - 2, MAX_DEPTH + 2),
    st.booleans(),
    st.binary(max_size=2),
    st.integers(min_value=0),
)
def test_brackets_inside_strings_do_not_count_as_nesting(
    strings: list[str], levels: int, blank: bool, broken: bytes, at: int
):
    members = {f"{number}{text}": [text, {text: text}] for number, text in enumerate(strings)}
    separators = (", ", ": ") if blank else (",", ":")
    data = json.dumps([members, "[" * MAX_DEPTH, {"k": 0}], separators=separators).encode()
    data = b"[" * (levels - 3) + data + b"]" * (levels - 3)
    agree(data)
    at %= len(data)
    agree(data[:at] + broken + data[at:])


@settings(deadline=None)
@given(values | st.dictionaries(st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]), values))
def test_any_value_is_a_message_or_an_invalid_request(value: Any):
    if isinstance(value, dict) and value.get("jsonrpc") is not None:
        value["jsonrpc"] = "2.0"
    with contextlib.suppress(InvalidRequest):
        parse(value)
