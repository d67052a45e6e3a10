"""The types of bytes: how files of a type begin, and which names of a type mean the same."""

from __future__ import annotations

import re

__all__ = ["OTHER_NAMES", "type_of_bytes"]

# type → how such bytes begin
_BEGINNINGS = (
    ("image/png", re.compile(rb"\x89PNG\r\n\x1a\n")),
    ("image/jpeg", re.compile(rb"\xff\xd8\xff")),
    ("image/gif", re.compile(rb"GIF8[79]a")),
    ("image/webp", re.compile(rb"RIFF....WEBP", re.DOTALL)),
    ("audio/wav", re.compile(rb"RIFF....WAVE", re.DOTALL)),
    ("audio/mpeg", re.compile(rb"ID3[\x02-\x04]|\xff[\xe2\xe3\xf2\xf3\xfa\xfb]")),
    ("audio/ogg", re.compile(rb"OggS")),
    ("audio/flac", re.compile(rb"fLaC")),
    ("application/pdf", re.compile(rb"%PDF-")),
    ("text/html", re.compile(rb"(?:\xef\xbb\xbf)?\s*<[!?A-Za-z]")),
    ("text/html", re.compile(rb"\xff\xfe(?:\s\0)*<\0[!?A-Za-z]\0|\xfe\xff(?:\0\s)*\0<\0[!?A-Za-z]")),
)
_LONGEST_BEGINNING = 64

OTHER_NAMES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/mp3": "audio/mpeg",
    "audio/mpeg3": "audio/mpeg",
    "audio/opus": "audio/ogg",
    "audio/vorbis": "audio/ogg",
    "application/ogg": "audio/ogg",
    "video/ogg": "audio/ogg",
}
"""Name of a type → the name that :func:`type_of_bytes` has for it."""


def type_of_bytes(data: bytes) -> str | None:
    """Return the type of bytes by their beginning; ``None`` if it is not known. Markup, SVG too, is ``text/html``."""
    head = data[:_LONGEST_BEGINNING]
    return next((kind for kind, beginning in _BEGINNINGS if beginning.match(head)), None)
