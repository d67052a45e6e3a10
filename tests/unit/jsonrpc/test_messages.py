"""Messages: decoding, refusals, and encoding."""

from __future__ import annotations

import gc
import json
from typing import Any

import msgspec
import pytest

from tooltrue.errors import InvalidParams, InvalidRequest, ParseError, RpcError, UnknownTool
from tooltrue.jsonrpc.messages import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    Failure,
    Notification,
    RpcRequest,
    RpcResponse,
    decode,
    encode_answer,
    encode_failure,
    encode_notification,
    encode_request,
    parse,
)


def refusal(data: bytes) -> str:
    """The code of the refusal; empty when it decodes."""
    try:
        decode(data)
    except ParseError as error:
        return error.code
    return ""


def call(**members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", **members}


# -- bytes → values ----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("BASE-02")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"{} x",
        b"01",
        b"'a'",
        b"[1,]",
        b"\xff",
        b'"\xc3\x28"',
        b"\xef\xbb\xbf{}",
        b'"a\nb"',
        '{"a":1}'.encode("utf-16"),
    ],
)
def test_invalid_json_is_a_parse_error(data: bytes):
    assert refusal(data) == "TT1001"


@pytest.mark.parametrize(
    "data",
    [
        b'{"path":"ok","path":"/etc/passwd"}',
        b'{"path":"ok","\\u0070ath":"/etc/passwd"}',
        b'[{"a":{"b":1,"b":1}}]',
        b'{"a":1,"b":2,"a":1}',
        b'{ "a": 1, "a": 1 }',
    ],
)
def test_b08_a_key_that_stands_twice_is_refused(data: bytes):
    assert refusal(data) == "TT1003"


def test_b08_twin_the_same_key_in_two_objects_passes():
    assert decode(b'{"a":{"a":1},"b":{"a":2}}') == {"a": {"a": 1}, "b": {"a": 2}}


@pytest.mark.parametrize("data", [b"NaN", b"[Infinity]", b'{"n":-Infinity}', b"1e999", b"-1E400", b"nan"])
def test_b09_numbers_that_json_does_not_have_are_refused(data: bytes):
    assert refusal(data) == "TT1001"


def test_b09_twin_large_and_small_numbers_pass():
    assert decode(b"[1e308,-1e-320,18446744073709551616]") == [1e308, -1e-320, 2**64]


@pytest.mark.parametrize("data", [b"1" * 4_301, b"-" + b"1" * 5_000, b'{"n": ' + b"9" * 100_000 + b"}"])
def test_b10_an_endless_integer_is_refused(data: bytes):
    assert refusal(data) == "TT1001"


def test_b10_twin_a_long_integer_is_read_exactly():
    assert decode(b"9" * 300) == int("9" * 300)


@pytest.mark.parametrize("data", [b'"\\ud800"', b'"\\udc00x"', b'{"\\ud83d":1}', b'"\\ud83d\\u0041"'])
def test_b11_a_lone_surrogate_is_refused(data: bytes):
    assert refusal(data) == "TT1001"


def test_b11_twin_a_pair_of_surrogates_is_one_character():
    assert decode(b'"\\ud83d\\ude00"') == "😀"


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_b12_bottomless_nesting_is_refused(opening: bytes):
    assert refusal(opening * 100_000) == "TT1004"


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_b12_twin_the_deepest_level_that_passes_is_max_depth(opening: bytes, closing: bytes):
    def nested(depth: int) -> bytes:
        return opening * depth + (b"1" if opening != b"[" else b"") + closing * depth

    assert refusal(nested(MAX_DEPTH)) == ""
    assert refusal(nested(MAX_DEPTH + 1)) == "TT1004"


def test_b12_twin_many_brackets_side_by_side_are_not_deep():
    assert len(decode(b"[" + b"[]," * 500 + b'"[[[["]')) == 501


@pytest.mark.parametrize(
    "data",
    [b'"' + b"[" * 500 + b'"', b'["' + b"\\" * 7 + b'"' + b"[" * 500 + b'"]', b'{"' + b"{" * 500 + b'":1}'],
)
def test_b12_twin_brackets_within_strings_are_letters(data: bytes):
    assert refusal(data) == ""


@pytest.mark.parametrize("data", [b'"' + b"[" * 500, rb'["a\"' + b"[" * 500, b"]" * 500 + b"[" * 500])
def test_b12_brackets_in_invalid_json_are_refused_as_well(data: bytes):
    assert refusal(data) in ("TT1001", "TT1004")


@pytest.mark.parametrize("item", [b"[]", b"{}", b"[" * 50 + b"]" * 50, b'{"a": [{}]}'])
def test_b12_more_lists_and_objects_than_anybody_needs_are_refused_before_they_are_built(item: bytes):
    number = 2 * MAX_CONTAINERS // (item.count(b"[") + item.count(b"{"))
    data = b"[" + b",".join([item] * number) + b"]"
    gc.disable()  # a collection would reset the count
    try:
        before = gc.get_count()[0]
        assert refusal(data) == "TT1060"
        assert gc.get_count()[0] - before < 100
    finally:
        gc.enable()


def test_b12_twin_the_largest_number_of_lists_that_passes_is_max_containers():
    def flat(number: int) -> bytes:
        return b"[" + b",".join([b"[]"] * (number - 1)) + b"]"

    assert refusal(flat(MAX_CONTAINERS)) == ""
    assert refusal(flat(MAX_CONTAINERS + 1)) == "TT1060"


def test_b14_twin_control_characters_pass_when_they_are_escaped():
    assert decode(b'"a\\u0000b"') == "a\x00b"


def test_spaces_and_escapes_change_nothing():
    assert decode(b'{ "a" : [ 1.50 , "\\u00e9" ] }\r\n') == {"a": [1.5, "é"]}


# -- values → messages -------------------------------------------------------------------------------------------------


def test_each_kind_of_message_is_recognised():
    assert parse(call(id=1, method="a", params={"x": 1})) == RpcRequest(1, "a", {"x": 1})
    assert parse(call(id="1", method="a")) == RpcRequest("1", "a", {})
    assert parse(call(method="a")) == Notification("a", {})
    assert parse(call(id=1, result=None)) == RpcResponse(1, None)


def test_unknown_members_are_ignored():
    assert parse(call(id=1, method="a", extra=True)) == RpcRequest(1, "a", {})


def test_an_error_keeps_number_message_and_data_of_the_peer():
    failure = parse(call(id=7, error={"code": -32602, "message": "no", "data": {"a": 1}}))
    assert isinstance(failure, Failure)
    assert failure.id == 7
    assert type(failure.error) is InvalidParams
    assert (failure.error.number, str(failure.error), failure.error.data) == (-32602, "no", {"a": 1})


@pytest.mark.parametrize("members", [{"id": None}, {}])
def test_an_error_may_come_without_an_id(members: dict[str, Any]):
    failure = parse(call(error={"code": 1, "message": "unknown"}, **members))
    assert isinstance(failure, Failure)
    assert failure.id is None
    assert type(failure.error) is RpcError


@pytest.mark.requirement("BASE-01", "BASE-13", "BASE-14", "BASE-15", "LIFE-15")
@pytest.mark.parametrize(
    ("value", "id"),
    [
        (7, None),
        ("a", None),
        ([], None),
        ({"id": 1, "method": "a"}, 1),
        ({"jsonrpc": "1.0", "id": "x", "method": "a"}, "x"),
        ({"jsonrpc": 2.0, "id": 1, "method": "a"}, 1),
        (call(id=1), 1),
        (call(id=1, method=7), 1),
        (call(id=1, method="a", params=[1]), 1),
        (call(id=1, method="a", params=None), 1),
        (call(id=1, result={}, error={}), 1),
        (call(result={}), None),
        (call(id=1, error="x"), 1),
        (call(id=1, error={"code": "1", "message": "x"}), 1),
        (call(id=1, error={"code": True, "message": "x"}), 1),
        (call(id=1, error={"code": 1, "message": None}), 1),
    ],
)
def test_json_that_is_not_a_valid_message_is_refused_with_its_id(value: Any, id: Any):
    with pytest.raises(InvalidRequest) as caught:
        parse(value)
    assert caught.value.code == "TT1002"
    assert caught.value.id == id


@pytest.mark.parametrize("params", [[1], [], "x", 7, None, False])
def test_a_notification_with_params_that_are_no_object_has_none(params: Any):
    """It is never answered, so not refused either (JSON-RPC 2.0, section 4.1)."""
    assert parse(call(method="a", params=params)) == Notification("a", {})


@pytest.mark.requirement("BASE-04", "BASE-05")
@pytest.mark.parametrize("id", [None, 1.0, 1.5, True, False, [], {}, [1]])
def test_b34_an_id_is_a_string_or_an_integer_and_nothing_like_it(id: Any):
    for members in ({"method": "a"}, {"result": {}}):
        with pytest.raises(InvalidRequest) as caught:
            parse(call(id=id, **members))
        assert caught.value.id is None


# -- messages → bytes --------------------------------------------------------------------------------------------------


def test_encoded_messages_parse_back_to_the_same_messages():
    raw = msgspec.Raw(b'{"a":1}')
    assert parse(decode(encode_request("x", "m", raw))) == RpcRequest("x", "m", {"a": 1})
    assert parse(decode(encode_notification("m", {"é": "\n"}))) == Notification("m", {"é": "\n"})
    assert parse(decode(encode_answer(1, b"[]"))) == RpcResponse(1, [])


@pytest.mark.requirement("BASE-02")
def test_each_kind_of_message_is_encoded_as_utf_8():
    text = "Zoë 世界 🫖"
    error = RpcError(text)
    error.data = text
    sent = [
        encode_request(text, text, {text: text}),
        encode_notification(text, {text: [text]}),
        encode_failure(text, error),
    ]
    assert [frame.count(text.encode("utf-8")) for frame in sent] == [4, 3, 3]


@pytest.mark.requirement("STDIO-01")
def test_no_message_holds_a_line_break():
    assert b"\n" not in encode_notification("a\nb", {"k\n": "v\n\r"})


def test_an_error_says_its_sentence_its_code_and_its_data():
    error = UnknownTool("wipe")
    error.data = {"x": 1}
    assert json.loads(encode_failure(3, error)) == {
        "jsonrpc": "2.0",
        "id": 3,
        "error": {
            "code": -32602,
            "message": "Unknown tool: 'wipe'. Ask tools/list for the tools there are. [TT1010]",
            "data": {"x": 1},
        },
    }


def test_an_error_without_an_id_has_no_member_of_that_name():
    assert set(json.loads(encode_failure(None, ParseError.of("TT1001", problem="x"), "zh"))) == {"jsonrpc", "error"}
