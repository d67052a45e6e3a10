"""Binary content that is text: base64 is decoded and inspected regardless of its declared type."""

from __future__ import annotations

import base64
import binascii

from tooltrue.policy.sanitize.encodings import is_text

__all__ = ["encoded_text", "text_of"]

_HEAD = 512


def text_of(data: bytes) -> tuple[str, str] | None:
    """Decode bytes that are text. Returns the text and its encoding, or ``None``."""
    encoding = _encoding_of(data)
    if encoding == "utf-8" and not is_text(data):
        return None
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return None


def encoded_text(digits: str) -> tuple[str, str] | None:
    """Decode base64 that is text, as :func:`text_of` does."""
    try:
        return text_of(base64.b64decode(digits))
    except (binascii.Error, ValueError):
        return None


def _encoding_of(data: bytes) -> str:
    """Detect UTF-16 by its byte order mark or its NULs; otherwise UTF-8."""
    head = data[:_HEAD]
    if head.startswith(b"\xff\xfe") or head[1::2].count(0) * 2 > len(head[1::2]):
        return "utf-16-le"
    if head.startswith(b"\xfe\xff") or head[::2].count(0) * 2 > len(head[::2]):
        return "utf-16-be"
    return "utf-8"
