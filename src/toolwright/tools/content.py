"""A Python value → the result of a call, right in every client.

Text is text. Content blocks are themselves. Any other value is JSON: once as ``structuredContent`` and once as text, for
clients that show their model only one of the two (2026-07-28, server/tools "Structured Content").
"""

from __future__ import annotations

from typing import Any, TypeAlias, get_args

from toolwright.errors import InvalidResult
from toolwright.jsonrpc.messages import decode, encode
from toolwright.protocol.types import CallToolResult, ContentBlock, InputRequiredResult, TextContent, ToolOutcome

__all__ = ["BLOCKS", "failed", "present", "structured"]

BLOCKS: tuple[type, ...] = get_args(ContentBlock)
_Blocks: TypeAlias = list[ContentBlock]


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
    if isinstance(value, list | tuple) and value and all(isinstance(item, BLOCKS) for item in value):  # pyright: ignore[reportUnknownVariableType]
        return CallToolResult(list(value))  # pyright: ignore[reportUnknownArgumentType]
    return structured(value)


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
