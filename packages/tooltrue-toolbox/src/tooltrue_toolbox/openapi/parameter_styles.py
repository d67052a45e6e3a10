"""Writes values as the text of a path, a query, a header, a cookie or a form, in the styles of OpenAPI (RFC 6570).

No value can end the part in which it stands: whatever has a meaning in a URL is percent-encoded in it. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote, unquote

from tooltrue.jsonrpc.messages import Json, encode, is_array, is_object
from tooltrue_toolbox.openapi.operation import Writing

__all__ = ["NotWritable", "header_text", "leaves_segment", "path_text", "query_pairs", "scalar_text"]

_RESERVED: Final = ":/?@!$'()*,;"
"""The reserved characters that ``allowReserved`` leaves as they are: not those that would end a value or the query."""
_SEPARATORS: Final[Mapping[str, str]] = {"form": ",", "spaceDelimited": "%20", "pipeDelimited": "%7C"}
_DECODINGS: Final = 3
"""A server, and a proxy before it, may each decode a path once more than they should."""


class NotWritable(Exception):
    """The style has no form for a value within a value."""


def scalar_text(value: Json) -> str:
    """The text of a plain value. Raises :class:`NotWritable` for an array or an object."""
    if isinstance(value, str):
        return value
    if is_array(value) or is_object(value):
        raise NotWritable
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return encode(value).decode()


def path_text(name: str, value: Json, writing: Writing) -> str:
    """The text that takes the place of ``{name}`` in a path."""
    label, matrix = writing.style == "label", writing.style == "matrix"
    begin = "." if label else f";{_quoted(name)}=" if matrix else ""
    if is_object(value):
        pairs = [(_quoted(key), _quoted(scalar_text(one))) for key, one in value.items()]
        if writing.explode:
            joint = "." if label else ";" if matrix else ","
            return (begin if label else ";" if matrix else "") + joint.join(f"{key}={one}" for key, one in pairs)
        return begin + ",".join(part for pair in pairs for part in pair)
    if is_array(value):
        items = [_quoted(scalar_text(one)) for one in value]
        joint = ("." if label else begin) if writing.explode and (label or matrix) else ","
        return begin + joint.join(items)
    return begin + _quoted(scalar_text(value))


def query_pairs(name: str, value: Json, writing: Writing) -> Iterator[str]:
    """The parts of a query or a form that stand between ``&``. An empty array or object has none."""
    if is_object(value):
        yield from _object_pairs(name, value, writing)
    elif is_array(value) and writing.style == "deepObject":
        # OpenAPI leaves it open; the APIs that have it read numbers.
        for number, one in enumerate(value):
            yield from query_pairs(f"{name}[{number}]", one, writing)
    elif is_array(value):
        items = [_quoted(scalar_text(one), writing.allow_reserved) for one in value]
        if writing.explode:
            yield from (f"{_quoted(name)}={one}" for one in items)
        elif items:
            yield f"{_quoted(name)}={_SEPARATORS[writing.style].join(items)}"
    else:
        yield f"{_quoted(name)}={_quoted(scalar_text(value), writing.allow_reserved)}"


def _object_pairs(name: str, value: Mapping[str, Json], writing: Writing) -> Iterator[str]:
    if writing.style == "deepObject":
        for key, one in value.items():
            yield from query_pairs(f"{name}[{key}]", one, writing)
        return
    pairs = [(_quoted(key), _quoted(scalar_text(one), writing.allow_reserved)) for key, one in value.items()]
    if writing.explode:
        yield from (f"{key}={one}" for key, one in pairs)
    elif pairs:
        yield f"{_quoted(name)}={_SEPARATORS[writing.style].join(part for pair in pairs for part in pair)}"


def header_text(value: Json, writing: Writing) -> str:
    """The text of a header. Whether a header may hold it is for the caller to check."""
    if is_object(value):
        texts = [(key, scalar_text(one)) for key, one in value.items()]
        return ",".join(f"{key}={one}" if writing.explode else f"{key},{one}" for key, one in texts)
    return ",".join(map(scalar_text, value)) if is_array(value) else scalar_text(value)


def _quoted(text: str, allow_reserved: bool = False) -> str:
    return quote(text, safe=_RESERVED if allow_reserved else "")


def leaves_segment(value: Json) -> bool:
    """Whether the text of a value could lead out of its segment of a path on a server that decodes it again: it is
    empty, has a part that is ``.`` or ``..``, or holds control characters."""
    if is_array(value) or is_object(value):
        texts = [*value, *value.values()] if is_object(value) else value
        return not texts or any(map(leaves_segment, texts))
    text = scalar_text(value)
    if not text:
        return True
    for _ in range(_DECODINGS):
        if any(ord(sign) < 0x20 or ord(sign) == 0x7F for sign in text):
            return True
        parts = text.replace("\\", "/").split("/")
        # A parameter of the segment (``..;a``) is cut off by some servers.
        if any(part.partition(";")[0].strip() in (".", "..") for part in parts):
            return True
        text = unquote(text)
    return False
