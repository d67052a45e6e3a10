"""One canonical form for the definition of a tool, and for the arguments of a call, and digests of both.

What a person has agreed to is known again by them: the tool as it was (its *pin*), and the arguments as they were.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from toolwright.jsonrpc.messages import Json, decode, encode, is_array, is_object
from toolwright.jsonrpc.messages import canonical as sorted_json
from toolwright.protocol.types import Tool

__all__ = ["canonical", "digest", "fields", "pin"]


def canonical(value: Json) -> bytes:
    """The same bytes for the same JSON value: keys sorted, no spaces, and 1 for 1.0 (as in RFC 8785)."""
    return sorted_json(_normal(value))


def _normal(value: Any) -> Json:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if is_object(value):
        return {key: _normal(inner) for key, inner in value.items()}
    if is_array(value):
        return [_normal(inner) for inner in value]
    return value


def digest(value: Json) -> str:
    """Names a JSON value: SHA-256 of its canonical form."""
    return hashlib.sha256(canonical(value)).hexdigest()


def fields(definition: Tool) -> Mapping[str, str]:
    """The digest of each field of a definition (``name``, ``description``, ``inputSchema``, …) that it has."""
    said: dict[str, Json] = decode(encode(definition))
    return {name: digest(value) for name, value in sorted(said.items())}


def pin(definition: Tool) -> str:
    """Names a tool as it is published now; whatever changes in its definition changes this."""
    return digest(dict(fields(definition)))
