"""The result of a call as a model reads it: text and pictures, for every kind of content."""

from __future__ import annotations

from tooltrue.host.models.model import Part, Picture, ToolReply, ToolUse
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol.types import (
    UNSET,
    AudioContent,
    BlobResource,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResource,
)

__all__ = ["refusal", "reply"]

# The types that all providers with vision accept.
_IMAGE_TYPES = frozenset({"image/gif", "image/jpeg", "image/png", "image/webp"})


def reply(use: ToolUse, result: CallToolResult) -> ToolReply:
    """Convert blocks in their order. The structured value is used only if the tool sent no blocks: with blocks, it is
    there as text already."""
    parts = tuple(map(_part, result.content))
    if not parts and result.structuredContent is not UNSET:
        parts = (encode(result.structuredContent).decode(),)
    return ToolReply(use, parts or ("(no content)",), result.isError)


def refusal(use: ToolUse, text: str) -> ToolReply:
    return ToolReply(use, (text,), is_error=True)


def _part(block: object) -> Part:
    match block:
        case TextContent():
            return block.text
        case ImageContent() if block.mimeType in _IMAGE_TYPES:
            return Picture(block.data, block.mimeType)
        case ImageContent():
            return Picture(block.data, block.mimeType).stand_in
        case AudioContent():
            return f"[audio, {block.mimeType}, about {len(block.data) * 3 // 4} bytes, which is not played to you]"
        case ResourceLink():
            return "\n".join(filter(None, (f"[resource {block.name}: {block.uri}]", block.description)))
        case EmbeddedResource(resource=TextResource() as resource):
            return f"[resource {resource.uri}]\n{resource.text}"
        case EmbeddedResource(resource=BlobResource(mimeType=str(kind)) as resource) if kind in _IMAGE_TYPES:
            return Picture(resource.blob, kind)
        case EmbeddedResource(resource=BlobResource() as resource):
            kind = resource.mimeType or "of an unknown kind"
            return f"[resource {resource.uri}, {kind}, about {len(resource.blob) * 3 // 4} bytes]"
        case _:
            return f"[{type(block).__name__}, which is not shown to you]"
