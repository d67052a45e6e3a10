"""Turns a Python value into the result of a call, right in every client.

Text is text. Content blocks are themselves. Any other value is JSON: once as ``structuredContent`` and once as text,
for clients that show their model only one of the two (2026-07-28, server/tools "Structured Content").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard, get_args

import msgspec

from tooltrue.errors import DefinitionError, InvalidResult, RpcError
from tooltrue.jsonrpc.messages import MAX_DEPTH, check_depth, encode, is_finite
from tooltrue.protocol.name_rules import check_meta
from tooltrue.protocol.types import (
    UNSET,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    InputRequiredResult,
    TextContent,
    ToolOutcome,
)
from tooltrue.tools.wording import RESULT_NUMBER_NOT_FINITE

__all__ = [
    "BLOCKS",
    "Unfinished",
    "check_metas",
    "encoded_value",
    "failed",
    "is_blocks",
    "present",
    "structured",
    "unpacked",
]

BLOCKS: tuple[type, ...] = get_args(ContentBlock)


class Unfinished(Exception):
    """Raised for a returned value that is read or drawn before it is sent: a file, a data frame, an iterator.

    ``present`` makes the outcome of it once it is plain.
    """

    def __init__(self, value: Any, present: Callable[[Any], ToolOutcome]) -> None:
        self.value = value
        self.present = present


def present(value: Any) -> ToolOutcome:
    """Return the outcome for ``value``. Raises ``InvalidResult`` if it is not JSON (NaN, lone surrogates, objects)."""
    if isinstance(value, str):
        return CallToolResult([TextContent(text=value)])
    if value is None:
        return CallToolResult([])
    if isinstance(value, BLOCKS):
        return _completed(CallToolResult([value]))
    if is_blocks(value):
        return _completed(CallToolResult(list(value)))
    return structured(value)


def structured(value: Any) -> ToolOutcome:
    """Return ``value`` as structured content with its text copy; an outcome stays as it is."""
    if type(value) is InputRequiredResult:
        return value
    if type(value) is CallToolResult:
        return _completed(value)
    encoded = encoded_value(value)
    return CallToolResult([TextContent(text=encoded.decode())], value, encoded=encoded)


def _completed(result: CallToolResult) -> CallToolResult:
    """Apply the same rules to a result that a tool made itself."""
    check_metas(result, *result.content)
    if result.structuredContent is UNSET:
        return result
    return msgspec.structs.replace(result, encoded=encoded_value(result.structuredContent))


class _Packed(msgspec.Struct):
    content: list[ContentBlock]
    structuredContent: Any = UNSET
    isError: bool = False
    meta: dict[str, Any] | None = None


def unpacked(result: bytes) -> ToolOutcome:
    """Decode a result that another process of ours has encoded."""
    packed = msgspec.json.decode(result, type=_Packed)
    return _completed(CallToolResult(list(packed.content), packed.structuredContent, packed.isError, packed.meta))


def check_metas(*parts: object) -> None:
    """Raise ``InvalidResult`` if the ``_meta`` of a part, or of an embedded resource, has a key that authors may not
    set.
    """
    for part in parts:
        if meta := getattr(part, "meta", None):
            try:
                check_meta(meta)
            except DefinitionError as error:
                raise InvalidResult(str(error)) from None
        if isinstance(part, EmbeddedResource):
            check_metas(part.resource)


def encoded_value(value: Any) -> bytes:
    """Encode ``value`` as JSON. Raises ``InvalidResult`` for values that JSON does not have, or that are nested too
    deeply.
    """
    try:
        encoded = encode(value)
        # NaN and infinities encode as null.
        if encoded.find(b"null") >= 0 and not is_finite(value):
            raise InvalidResult.of(RESULT_NUMBER_NOT_FINITE)
        if encoded.count(b"[") + encoded.count(b"{") > MAX_DEPTH:
            check_depth(value)  # we do not send values that we would refuse to read
    except InvalidResult:
        raise
    except (TypeError, ValueError, RecursionError, RpcError) as error:
        raise InvalidResult(f"the result is not JSON: {error}") from error
    return encoded


def is_blocks(value: object) -> TypeGuard[Sequence[ContentBlock]]:
    """Whether a value is a list of content blocks, at least one."""
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_block, value))  # pyright: ignore[reportUnknownArgumentType]


def _is_block(value: object) -> bool:
    return isinstance(value, BLOCKS)


def failed(text: str) -> CallToolResult:
    """Return an error result with this text for the model."""
    return CallToolResult([TextContent(text=text)], isError=True)
