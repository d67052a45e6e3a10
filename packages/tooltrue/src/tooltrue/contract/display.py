"""Safe display of untrusted text: invisible characters and those that reorder the text around them are escaped."""

from __future__ import annotations

import re
from typing import Final

from tooltrue.jsonrpc.messages import encode_indented
from tooltrue.protocol.terminal import json_text

__all__ = ["display_safe", "display_safe_json", "excerpt", "json_document"]

# In addition to unprintable characters: direction marks, and blanks that do not look like blanks.
_BLANKS: Final = "\u00a0\u00ad\u115f\u1160\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3164\ufe00-\ufe0f\uffa0"
_MASKED: Final = re.compile(rf"[{_BLANKS}]")


def display_safe(text: str) -> str:
    """``text`` with an escape such as ``\\u202e`` for each invisible character; tabs and line ends remain."""
    if text.isprintable() and (text.isascii() or _MASKED.search(text) is None):
        return text
    plain = "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text)
    return _MASKED.sub(lambda match: _escaped(match[0]), plain)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


display_safe_json = json_text
"""Escape invisible characters in encoded JSON with JSON escapes; the value stays the same."""


def json_document(value: object) -> str:
    """Encode a value as an indented JSON document with a final newline; invisible characters are escaped."""
    return display_safe_json(encode_indented(value).decode()) + "\n"


def excerpt(text: str, start: int, end: int, most: int = 120) -> str:
    """The text from ``start`` to ``end`` with a little context, on one line."""
    end = min(end, start + most)
    first, last = max(0, start - 20), min(len(text), end + 20)
    line = re.sub(r"[ \t\r\n]+", " ", text[first:last])
    return ("…" if first else "") + display_safe(line) + ("…" if last < len(text) else "")
