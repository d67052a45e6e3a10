"""JSON-RPC 2.0 messages: bytes to typed values, and back.

Incoming bytes are untrusted: :func:`decode` refuses documents that other parsers read in different ways (duplicate
keys, NaN, lone surrogates, unbounded nesting, endless integers), so that every component before and behind us sees the
same message as we do.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, islice
from typing import Any, TypeAlias, TypeGuard, TypeVar

import msgspec

from tooltrue._internal.lazy_pattern import LazyPattern
from tooltrue.errors import InvalidRequest, ParseError, RpcError
from tooltrue.jsonrpc.wording import (
    DUPLICATE_JSON_KEY,
    MESSAGE_NESTED_TOO_DEEPLY,
    MESSAGE_NOT_JSON,
    MESSAGE_NOT_JSONRPC,
    MESSAGE_TOO_MANY_CONTAINERS,
    REASON_ERROR_INVALID,
    REASON_ID_INVALID,
    REASON_METHOD_NOT_TEXT,
    REASON_NO_CALL_OR_ANSWER,
    REASON_NO_JSONRPC_VERSION,
    REASON_PARAMS_NO_OBJECT,
    REASON_RESULT_AND_ERROR,
)
from tooltrue.wording import REASON_NO_OBJECT, Worded

__all__ = [
    "MAX_CONTAINERS",
    "MAX_DEPTH",
    "EncodedJson",
    "Failure",
    "Id",
    "Json",
    "Message",
    "Notification",
    "RpcRequest",
    "RpcResponse",
    "answered_id",
    "answered_ids",
    "canonical",
    "check_depth",
    "datetimes",
    "decode",
    "decoder_of",
    "encode",
    "encode_answer",
    "encode_failure",
    "encode_indented",
    "encode_lines",
    "encode_notification",
    "encode_request",
    "error_members",
    "is_array",
    "is_finite",
    "is_id",
    "is_number",
    "is_object",
    "lines_decoder_of",
    "parse",
]

Id: TypeAlias = int | str
Json: TypeAlias = Any

MAX_DEPTH = 100
MAX_CONTAINERS = 1_000_000

EncodedJson = msgspec.Raw
"""JSON that is encoded already, as a part of a value to encode."""
encode = msgspec.json.Encoder().encode
encode_lines = msgspec.json.Encoder().encode_lines
"""Encode each value of a list, with a line end behind it."""
canonical = msgspec.json.Encoder(order="deterministic").encode
"""Canonical encoding, independent of the order of keys: the input of digests."""
_decode = msgspec.json.Decoder().decode

T = TypeVar("T")


def decoder_of(shape: type[T]) -> Callable[[str], T]:
    """Return a function that decodes JSON as ``shape``, a struct or a list of structs, and skips all other members. It
    is several times as fast as a decoder of everything. It raises ``ValueError`` for text of another shape."""
    decode = msgspec.json.Decoder(shape).decode

    def decoded(text: str) -> T:
        try:
            return decode(text)
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from None

    return decoded


def lines_decoder_of(shape: type[T]) -> Callable[[str], list[T]]:
    """As :func:`decoder_of`, for text with one value of this shape per line."""
    decode = msgspec.json.Decoder(shape).decode_lines

    def decoded(text: str) -> list[T]:
        try:
            return decode(text)
        except msgspec.DecodeError as error:
            raise ValueError(str(error)) from None

    return decoded


def datetimes(seconds: Sequence[float]) -> list[datetime]:
    """Return times since 1970 as UTC datetimes, which are encoded as in RFC 3339. Microseconds are rounded half up."""
    return msgspec.convert(seconds, list[datetime], strict=False)


def is_object(value: object) -> TypeGuard[dict[str, Json]]:
    """Whether a decoded JSON value is an object. The keys of an object are always strings."""
    return isinstance(value, dict)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a decoded JSON value is a number. A boolean is not, although Python's ``bool`` is an ``int``."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(value: Any) -> bool:
    """Whether a Python value holds no NaN and no infinity, which would be encoded as null."""
    if type(value) in _WITHOUT_FLOATS:
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, (dict, Mapping)):  # a dict first: to ask for a Mapping takes ten times as long
        return all(map(is_finite, value.values()))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    return not isinstance(value, list | tuple) or all(map(is_finite, value))  # pyright: ignore[reportUnknownArgumentType]


_WITHOUT_FLOATS = frozenset({str, int, bool, type(None)})


def is_array(value: object) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


class RpcRequest(msgspec.Struct, frozen=True, gc=False):
    """A request: the sender waits for the answer with this ``id``."""

    id: Id
    method: str
    params: dict[str, Json]


class Notification(msgspec.Struct, frozen=True, gc=False):
    """A notification: it has no answer."""

    method: str
    params: dict[str, Json]


class RpcResponse(msgspec.Struct, frozen=True, gc=False):
    """The result of the request with this ``id``."""

    id: Id
    result: Json


class Failure(msgspec.Struct, frozen=True, gc=False):
    """The error of the request with this ``id``; ``None`` when the peer could not read the id."""

    id: Id | None
    error: RpcError


Message: TypeAlias = RpcRequest | Notification | RpcResponse | Failure


def decode(data: bytes) -> Json:
    """Decode the JSON value in ``data``; raise ``ParseError`` if it is refused.

    Refused are data other than UTF-8 JSON, duplicate keys, NaN and infinities, numbers out of range (among them
    integers of more than 4,300 digits), lone surrogates, nesting deeper than ``MAX_DEPTH``, and more than
    ``MAX_CONTAINERS`` arrays and objects.
    """
    if data.count(b"[") + data.count(b"{") > MAX_DEPTH:
        _check_nesting(data)
    try:
        value = _decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ParseError.of(MESSAGE_NOT_JSON, problem=str(error).removeprefix("JSON is malformed: ")) from None
    # A value that encodes to the same bytes again has lost no information. For compact JSON, which nearly every client
    # sends, this proves that no key is duplicated.
    if (again := encode(value)) != data:
        _check_keys(data, again)
    return value


# The effect of each bracket on the depth: 1 for an opening one, -1 (as an unsigned byte) for a closing one.
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_ALL_BUT_BRACKETS, _ALL_BUT_COLONS = (bytes(set(range(256)) - set(signs)) for signs in (b'[]{}"', b':"'))


def _check_nesting(data: bytes) -> None:
    """Refuse costly structures before they are built: a bracket takes one byte, the list that it opens sixty-four.

    Exact for JSON. Invalid JSON may pass; the decoder refuses it at the point where it ceases to be JSON.
    """
    steps = _outside_strings(data, _ALL_BUT_BRACKETS).translate(_STEPS)
    if steps.count(1) > MAX_CONTAINERS:
        raise ParseError.of(MESSAGE_TOO_MANY_CONTAINERS, limit=MAX_CONTAINERS)
    if max(accumulate(memoryview(steps).cast("b")), default=0) > MAX_DEPTH:
        raise ParseError.of(MESSAGE_NESTED_TOO_DEEPLY, limit=MAX_DEPTH)


def _outside_strings(data: bytes, dropped: bytes) -> bytes:
    """JSON without its strings and without the bytes in ``dropped``. Takes a few passes in C, whatever the data."""
    # Backslashes occur only within strings. Once escapes are removed, every quote begins or ends a string, and two
    # quotes without a kept byte in between can be removed.
    quoted = data.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, dropped).replace(b'""', b"")
    return b"".join(quoted.split(b'"')[::2])


def _check_keys(data: bytes, again: bytes) -> None:
    """Raise ``ParseError`` for a duplicate key in ``data``; ``again`` is its re-encoding, which has each key once."""
    members, distinct = (_outside_strings(text, _ALL_BUT_COLONS).count(b":") for text in (data, again))
    if members != distinct:
        _careful.decode(data.decode())


def check_depth(value: Json) -> None:
    """Raise ``ParseError`` for a value that is nested deeper than ``MAX_DEPTH``."""
    level, depth = [value], 0
    while level := [inner for outer in level for inner in _inside(outer) if isinstance(inner, (dict, list, tuple))]:
        depth += 1
        if depth >= MAX_DEPTH:
            raise ParseError.of(MESSAGE_NESTED_TOO_DEEPLY, limit=MAX_DEPTH)


def _inside(value: Json) -> Iterable[Json]:
    return value.values() if is_object(value) else value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise ParseError.of(DUPLICATE_JSON_KEY, key=repr(key[:40]))
            keys.add(key)
    return members


_careful = json.JSONDecoder(object_pairs_hook=_unique)


def parse(value: Json) -> Message:
    """Parse a decoded value as a message; raise ``InvalidRequest``, with the request's id if it is readable.

    Unknown members are ignored. Positional ``params`` (an array) are refused; absent ``params`` become an empty object,
    as do invalid ones of a notification, which is never answered, not even with an error.
    """
    if not is_object(value):
        raise InvalidRequest.of(MESSAGE_NOT_JSONRPC, problem=Worded(REASON_NO_OBJECT, {}))
    try:
        return _message(value)
    except InvalidRequest as error:
        error.is_answer = "method" not in value and not value.keys().isdisjoint(("result", "error"))
        if error.is_answer:
            error.answers = _id_value(value.get("id"))
        raise


def _message(value: dict[str, Json]) -> Message:
    id = _read_id(value)
    if value.get("jsonrpc") != "2.0":
        raise _invalid(REASON_NO_JSONRPC_VERSION, id)
    if "method" in value:
        return _call(value, id)
    if "result" in value and "error" in value:
        raise _invalid(REASON_RESULT_AND_ERROR, id)
    if "result" in value and id is not None:
        return RpcResponse(id, value["result"])
    if "error" in value:
        return Failure(id, _received(value["error"], id))
    raise _invalid(REASON_NO_CALL_OR_ANSWER, id)


def _id_value(id: Json) -> Id | None:
    """The id that an answer carries. A whole float counts as an integer: some languages have floating point only."""
    if type(id) is float and id.is_integer():
        return int(id)
    return id if is_id(id) else None


_SCALAR = rb'(?:"[^"\\]{0,1000}"|[-+.0-9Ee]{1,40}|true|false|null)'
_MEMBER = rb'\s{0,99}"[^"\\]{0,1000}"\s{0,99}:\s{0,99}' + _SCALAR + rb"\s{0,99}"
_HEAD = LazyPattern(rb"\s{0,99}\{((?:" + _MEMBER + rb',){0,20})\s{0,99}"(?:result|error)"\s{0,99}:\s{0,99}[\[{]')
_TAIL = LazyPattern(rb"[\]}]\s{0,99}((?:," + _MEMBER + rb"){1,20})\}\s{0,99}\Z")
_TAIL_BYTES = 4_096


def answered_id(frame: bytes) -> Id | None:
    """The id of an answer that :func:`decode` refuses, read from the members before and after its result, or None if it
    cannot be determined. The result itself is not examined, so that the cost does not depend on its size."""
    head = _HEAD.compiled.match(frame)
    if head is None:
        return None
    tail = _TAIL.compiled.search(frame[max(head.end(), len(frame) - _TAIL_BYTES) :])
    try:
        members = decode(b"{%b}" % (head[1] + (tail[1][1:] if tail else b"")).rstrip(b","))
    except ParseError:
        return None
    return None if "method" in members else _id_value(members.get("id"))


def answered_ids(frame: bytes, limit: int) -> list[Id]:
    """The ids of the first ``limit`` answers in an array that is refused as a whole; like :func:`answered_id`."""
    return [id for id in map(_response_id, islice(_elements(frame), limit)) if id is not None]


def _response_id(part: bytes) -> Id | None:
    try:
        value = decode(part)
    except ParseError:
        return answered_id(part)
    is_answer = is_object(value) and "method" not in value and not value.keys().isdisjoint(("result", "error"))
    return _id_value(value.get("id")) if is_answer else None


def _elements(frame: bytes) -> Iterator[bytes]:
    """The raw elements of an array, at any nesting depth and even if it is truncated. Takes one pass."""
    begin, depth = 0, 0
    for match in _STRUCTURE.compiled.finditer(frame):
        sign = match[0]
        depth += _LEVELS.get(sign, 0)
        if begin == 0:
            begin = match.end()
        elif depth == 0 or (depth == 1 and sign == b","):
            yield frame[begin : match.start()]
            begin = match.end()
    if depth:
        yield frame[begin:]


# An unterminated string extends to the end of the frame, so that no byte is examined twice, whatever follows.
_STRUCTURE = LazyPattern(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[\[\]{},]', re.DOTALL)
_LEVELS = {b"[": 1, b"{": 1, b"]": -1, b"}": -1}


def is_id(value: object) -> TypeGuard[Id]:
    """Whether a value is a valid id. Types are exact: True is an int to Python, but not an id on the wire."""
    return type(value) is int or type(value) is str


def _read_id(message: dict[str, Json]) -> Id | None:
    id = message.get("id")
    if is_id(id):
        return id
    is_unreadable = id is None and "error" in message and "method" not in message
    if "id" in message and not is_unreadable:
        raise _invalid(REASON_ID_INVALID, None)
    return None


def _call(message: dict[str, Json], id: Id | None) -> RpcRequest | Notification:
    method, params = message["method"], message.get("params", {})
    if not isinstance(method, str):
        raise _invalid(REASON_METHOD_NOT_TEXT, id)
    if id is None:
        return Notification(method, params if is_object(params) else {})
    if not is_object(params):
        raise _invalid(REASON_PARAMS_NO_OBJECT, id)
    return RpcRequest(id, method, params)


def _invalid(reason: str, id: Id | None) -> InvalidRequest:
    error = InvalidRequest.of(MESSAGE_NOT_JSONRPC, problem=Worded(reason, {}))
    error.id = id
    return error


def _received(error: Json, id: Id | None) -> RpcError:
    members = error if is_object(error) else {}
    code, message = members.get("code"), members.get("message", "")
    if type(code) is not int or not isinstance(message, str):
        raise _invalid(REASON_ERROR_INVALID, id)
    return RpcError.received(code, message, members.get("data"))


def encode_indented(value: object) -> bytes:
    """Encode JSON for a person or a file, indented by two spaces a level."""
    return msgspec.json.format(encode(value), indent=2)


def encode_request(id: Id, method: str, params: Json) -> bytes:
    """Encode a request; ``params`` may hold ``msgspec.Raw``."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (encode(id), encode(method), encode(params))


def encode_notification(method: str, params: Json) -> bytes:
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode(method), encode(params))


def encode_answer(id: Id, result: bytes) -> bytes:
    """Encode a result response around an already encoded ``result``."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(id), result)


def encode_failure(id: Id | None, error: RpcError, language: str = "en") -> bytes:
    """Encode an error response. Without an id the member is omitted (MCP 2026-07-28, basic: "the id is omitted")."""
    body: dict[str, Json] = {"jsonrpc": "2.0"}
    if id is not None:
        body["id"] = id
    body["error"] = error_members(error, language)
    return encode(body)


def error_members(error: RpcError, language: str) -> dict[str, Json]:
    """The error object of JSON-RPC."""
    members: dict[str, Json] = {"code": error.number, "message": error.say(language)}
    if error.data is not None:
        members["data"] = error.data
    return members
