"""Bytes of a result that are text: base64 is looked into where it is, whatever its type claims."""

from __future__ import annotations

import base64
import binascii

from toolwright.policy.encoded import is_text

__all__ = ["encoded_text", "text_of"]

_HEAD = 512


def text_of(data: bytes) -> tuple[str, str] | None:
    """The text that these bytes are, and its encoding; ``None`` where they are none."""
    encoding = _encoding_of(data)
    if encoding == "utf-8" and not is_text(data):
        return None
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return None


def encoded_text(digits: str) -> tuple[str, str] | None:
    """The same of base64."""
    try:
        return text_of(base64.b64decode(digits))
    except (binascii.Error, ValueError):
        return None


def _encoding_of(data: bytes) -> str:
    """UTF-16 by its mark or its NULs, and UTF-8 otherwise."""
    head = data[:_HEAD]
    if head.startswith(b"\xff\xfe") or head[1::2].count(0) * 2 > len(head[1::2]):
        return "utf-16-le"
    if head.startswith(b"\xfe\xff") or head[::2].count(0) * 2 > len(head[::2]):
        return "utf-16-be"
    return "utf-8"
