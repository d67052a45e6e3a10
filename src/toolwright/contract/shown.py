"""Text of others as a person may see it: nothing hides in it, and nothing moves what stands beside it."""

from __future__ import annotations

import re
from typing import Final

from toolwright.jsonrpc.messages import encode_indented
from toolwright.protocol.terminal import json_text

__all__ = ["excerpt", "json_document", "shown", "shown_json"]

# Beside what cannot be printed, what turns the direction of writing, and blanks that are not what they look like.
_BLANKS: Final = "\u00a0\u00ad\u115f\u1160\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\uffa0"
_MASKED: Final = re.compile(rf"[{_BLANKS}]")


def shown(text: str) -> str:
    """``text`` with an escape, ``\\u202e``, for what nobody would see; a tab and the end of a line remain."""
    if text.isprintable() and (text.isascii() or _MASKED.search(text) is None):
        return text
    plain = "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text)
    return _MASKED.sub(lambda found: _escaped(found[0]), plain)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


shown_json = json_text
"""JSON, already encoded, in which nothing hides: the same value, with escapes of JSON."""


def json_document(value: object) -> str:
    """A value as an indented JSON document that ends with a new line and in which nothing hides."""
    return shown_json(encode_indented(value).decode()) + "\n"


def excerpt(text: str, start: int, end: int, most: int = 120) -> str:
    """What stands from ``start`` to ``end``, with a little of what surrounds it, on one line."""
    end = min(end, start + most)
    first, last = max(0, start - 20), min(len(text), end + 20)
    said = re.sub(r"[ \t\r\n]+", " ", text[first:last])
    return ("…" if first else "") + shown(said) + ("…" if last < len(text) else "")
