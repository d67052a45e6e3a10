"""The media type of a file, by its first bytes and then by its name; and pictures and sounds as content."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable

from tooltrue.protocol.types import AudioContent, ImageContent

__all__ = ["HEAD", "block_of", "media_type", "sniff"]

HEAD = 8_192
"""Number of leading bytes that decide."""

# type → pattern of the first bytes
_BEGINNINGS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("audio/wav", re.compile(rb"RIFF....WAVE", re.DOTALL)),
    ("audio/mpeg", re.compile(rb"ID3[\x02-\x04]|\xff[\xf2\xf3\xfa\xfb]")),
    ("audio/ogg", re.compile(rb"OggS")),
    ("audio/flac", re.compile(rb"fLaC")),
    ("application/pdf", re.compile(rb"%PDF-")),
)
_BLOCKS: dict[str, Callable[[bytes, str], ImageContent | AudioContent]] = {
    "image": ImageContent.of,
    "audio": AudioContent.of,
}


def sniff(head: bytes) -> str | None:
    """The type of a picture, a sound or a PDF; ``None`` for any other file, whatever its name."""
    return next((kind for kind, beginning in _BEGINNINGS if beginning.match(head)), None)


def media_type(head: bytes, name: str, *, is_text: bool) -> str:
    if kind := sniff(head):
        return kind
    guessed = mimetypes.guess_type(name, strict=False)[0]
    if is_text:
        return guessed if guessed and not guessed.startswith(("image/", "audio/", "video/")) else "text/plain"
    return guessed if guessed and not guessed.startswith("text/") else "application/octet-stream"


def block_of(data: bytes, kind: str) -> ImageContent | AudioContent:
    return _BLOCKS[kind.partition("/")[0]](data, kind)
