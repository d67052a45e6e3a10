"""Encodes the content of a result."""

from __future__ import annotations

from collections.abc import Sequence

from tooltrue.jsonrpc.long_strings import LONG_STRING, encode_string
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol.types import ContentBlock, TextContent

__all__ = ["content_pieces"]


def content_pieces(content: Sequence[ContentBlock]) -> tuple[bytes, ...]:
    """Return the content as JSON, in pieces to join: a long text is not copied just to stand between brackets."""
    if len(content) == 1 and type(block := content[0]) is TextContent and _is_long_alone(block):
        return b'[{"type":"text","text":', encode_string(block.text), b"}]"
    return (encode(content),)


def _is_long_alone(block: TextContent) -> bool:
    """Return whether a block is a long text and nothing else."""
    return len(block.text) >= LONG_STRING and block.annotations is None and block.meta is None
