"""An oracle for a server's answers: it checks the bytes received from a server against the bytes sent.

It is independent of the server: it uses another JSON parser, and another reading of JSON-RPC 2.0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

__all__ = ["Due", "Refused", "careful", "due", "judged", "judged_over_http", "messages_of"]

MAX_DEPTH = 100
MAX_BATCH = 100

Due: TypeAlias = "Counter[tuple[type, Any]]"
"""How many answers are owed under each id; what is no id counts under None. 1 and "1" are two."""


class Refused(Exception):
    """Bytes that a parser must not accept as a message."""


def careful(data: bytes) -> Any:
    """Another reading of JSON, as strict as ours means to be, on the standard library's parser."""
    try:
        value = json.loads(data.decode(), object_pairs_hook=_object, parse_constant=_constant, parse_float=_float)
        json.dumps(value, ensure_ascii=False).encode()  # lone surrogates
    except (ValueError, RecursionError):
        raise Refused("not JSON") from None
    if _depth(value) > MAX_DEPTH:
        raise Refused("too deep")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise Refused("duplicate key")
    return dict(pairs)


def _constant(name: str) -> Any:
    raise Refused(name)


def _float(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Refused("out of range")
    return value


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def due(frame: bytes, *, batches: bool) -> Due:
    """Which answers one frame is owed, once everything that it asks for has ended."""
    try:
        value = careful(frame)
    except Refused:
        return Counter([_key(None)])
    if not isinstance(value, list):
        return Counter(_owed(value))
    if not batches or not 0 < len(value) <= MAX_BATCH:
        return Counter([_key(None)])
    return Counter(key for element in value for key in _owed(element))


def _owed(value: Any) -> Iterator[tuple[type, Any]]:
    kind = _kind(value)
    if kind == "request" or (kind == "nothing" and _has_id(value)):
        yield _key(value["id"])
    elif kind == "nothing":
        yield _key(None)


def _kind(value: Any) -> Literal["request", "silent", "nothing"]:
    """Classify a value: a request, a message that gets no answer (a notification or a response), or invalid."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0":
        return "nothing"
    if "method" in value:
        if not isinstance(value["method"], str):
            return "nothing"
        if "id" not in value:
            return "silent"  # also where its params are no object: a notification is never answered
        return "request" if _has_id(value) and isinstance(value.get("params", {}), dict) else "nothing"
    if ("result" in value) == ("error" in value):
        return "nothing"
    if "result" in value:
        return "silent" if _has_id(value) else "nothing"
    error = value["error"]
    is_error = isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message", ""), str)
    return "silent" if is_error and (_has_id(value) or value.get("id") is None) else "nothing"


def _has_id(value: Any) -> bool:
    return isinstance(value, dict) and type(value.get("id")) in (int, str)


def _key(id: Any) -> tuple[type, Any]:
    return type(id), id


def messages_of(frames: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Every message of the frames, each checked for a valid JSON-RPC 2.0 shape. Batches are unpacked."""
    for frame in frames:
        assert b"\n" not in frame
        value = careful(frame)
        for message in value if isinstance(value, list) else [value]:
            assert message.pop("jsonrpc") == "2.0"
            members = set(message)
            assert members in ({"id", "result"}, {"id", "error"}, {"error"}, {"method", "params"}), message
            if "error" in message:
                error = message["error"]
                assert set(error) in ({"code", "message"}, {"code", "message", "data"})
                assert type(error["code"]) is int
                assert error["message"]
            yield message


def judged(owed: Due, frames: Iterable[bytes]) -> list[dict[str, Any]]:
    """The messages that came, when they hold exactly the answers that are owed."""
    messages = list(messages_of(frames))
    answers = [message for message in messages if "method" not in message]
    assert Counter(_key(answer.get("id")) for answer in answers) == owed, messages
    assert not any(answer.get("error", {}).get("code") == -32603 for answer in answers), messages
    return messages


def judged_over_http(owed: Due, status: int, frames: Sequence[bytes]) -> list[dict[str, Any]]:
    """The messages received, checked to be the owed answers, or a refusal of the whole request with a reason."""
    assert status in _STATUSES
    messages = list(messages_of(frames))
    answers = [message for message in messages if "method" not in message]
    got = Counter(_key(answer.get("id")) for answer in answers)
    assert got == owed or (400 <= status < 500 and got in (Counter(), Counter([_key(None)]))), (status, messages)
    assert not any(answer.get("error", {}).get("code") == -32603 for answer in answers), messages
    return messages


_STATUSES = (200, 202, 204, 400, 403, 404, 405, 413, 415)
