"""The media type of a file, by its first bytes and then by its name; and pictures and sounds as content."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable

from tooltrue.protocol.media_types import type_of_bytes
from tooltrue.protocol.types import AudioContent, ImageContent

__all__ = ["HEAD", "block_of", "media_type", "sniff"]

HEAD = 8_192
"""Number of leading bytes that decide."""

_MARKUP = "text/html"  # a file of text, in this family
_BLOCKS: dict[str, Callable[[bytes, str], ImageContent | AudioContent]] = {
    "image": ImageContent.of,
    "audio": AudioContent.of,
}


def sniff(head: bytes) -> str | None:
    """The type of a picture, a sound or a PDF; ``None`` for any other file, whatever its name."""
    kind = type_of_bytes(head)
    return None if kind == _MARKUP else kind


def media_type(head: bytes, name: str, *, is_text: bool) -> str:
    if kind := sniff(head):
        return kind
    guessed = mimetypes.guess_type(name, strict=False)[0]
    if is_text:
        return guessed if guessed and not guessed.startswith(("image/", "audio/", "video/")) else "text/plain"
    return guessed if guessed and not guessed.startswith("text/") else "application/octet-stream"


def block_of(data: bytes, kind: str) -> ImageContent | AudioContent:
    return _BLOCKS[kind.partition("/")[0]](data, kind)
