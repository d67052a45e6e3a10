"""Canonical forms and digests of a tool's definition and of the arguments of a call.

Approvals are tied to these digests: to the tool as it was (its *pin*), to the arguments as they were, and to the server
as a whole (its :class:`~tooltrue.contract.contract.Contract`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias

from tooltrue.jsonrpc.messages import Json, decode, encode, is_array, is_object
from tooltrue.jsonrpc.messages import canonical as sorted_json
from tooltrue.protocol.types import Prompt, ResourceDefinition, ResourceTemplate, ToolDefinition

__all__ = ["Definition", "canonical", "definition_of", "digest", "fields", "pin"]

Definition: TypeAlias = Mapping[str, Json]
"""A tool, a prompt or a resource in its wire form."""


def canonical(value: Json) -> bytes:
    """Encode a JSON value canonically: equal values give equal bytes. Keys are sorted, spaces left out, and 1.0 becomes
    1 (as in RFC 8785)."""
    return sorted_json(_normal(value))


def _normal(value: Any) -> Json:
    if isinstance(value, str):  # most values are
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if is_object(value):
        return {key: _normal(inner) for key, inner in value.items()}
    if is_array(value):
        return [_normal(inner) for inner in value]
    return value


def digest(value: Json) -> str:
    """SHA-256 of the canonical form of a JSON value, in hexadecimal."""
    return hashlib.sha256(canonical(value)).hexdigest()


def definition_of(
    definition: ToolDefinition | ResourceDefinition | ResourceTemplate | Prompt | Definition,
) -> dict[str, Json]:
    """Copy a definition as plain JSON."""
    return decode(encode(definition))


def fields(definition: ToolDefinition | Definition) -> Mapping[str, str]:
    """The digest of each field that a definition has (``name``, ``description``, ``inputSchema``, …)."""
    return {name: digest(value) for name, value in sorted(definition_of(definition).items())}


def pin(definition: ToolDefinition | Definition) -> str:
    """The digest of a tool as it is published now: any change in its definition changes the pin."""
    return digest(dict(fields(definition)))
