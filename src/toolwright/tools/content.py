"""A Python value → the result of a call, right in every client.

Text is text. Content blocks are themselves. Any other value is JSON: once as ``structuredContent`` and once as text,
for clients that show their model only one of the two (2026-07-28, server/tools "Structured Content").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard, get_args

from toolwright.errors import InvalidResult
from toolwright.jsonrpc.messages import decode, encode
from toolwright.protocol.types import CallToolResult, ContentBlock, InputRequiredResult, TextContent, ToolOutcome

__all__ = ["BLOCKS", "failed", "is_blocks", "present", "structured"]

BLOCKS: tuple[type, ...] = get_args(ContentBlock)


def present(value: Any) -> ToolOutcome:
    """The outcome that ``value`` stands for. ``InvalidResult`` when it is not JSON (NaN, lone surrogates, objects)."""
    if isinstance(value, str):
        return CallToolResult([TextContent(text=value)])
    if value is None:
        return CallToolResult([])
    if isinstance(value, CallToolResult | InputRequiredResult):
        return value
    if isinstance(value, BLOCKS):
        return CallToolResult([value])
    if is_blocks(value):
        return CallToolResult(list(value))
    return structured(value)


def is_blocks(value: object) -> TypeGuard[Sequence[ContentBlock]]:
    """Whether a value is a list of content blocks, one at least."""
    return isinstance(value, list | tuple) and bool(value) and all(map(_is_block, value))  # pyright: ignore[reportUnknownArgumentType]


def _is_block(value: object) -> bool:
    return isinstance(value, BLOCKS)


def structured(value: Any) -> CallToolResult:
    """``value`` as structured content with its text copy."""
    try:
        encoded = encode(value)
        # NaN and infinities encode as null; a null that was none is found by reading it back.
        if b"null" in encoded and decode(encoded) != value:
            raise ValueError("a number that JSON cannot hold")
        text = encoded.decode()
    except (TypeError, ValueError) as error:
        raise InvalidResult(f"the result is not JSON: {error}") from error
    return CallToolResult([TextContent(text=text)], value, encoded=encoded)


def failed(text: str) -> CallToolResult:
    """A result that says what went wrong, in words for the model."""
    return CallToolResult([TextContent(text=text)], isError=True)
