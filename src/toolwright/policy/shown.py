"""Arguments for the eyes of a person who decides: all of them, and nothing in them that hides, moves or imitates.

What cannot be seen, or turns the direction of text, is written ``\\u202e``; a sign that stands many times in a row is
written once, with how often (``⟨10000 × " "⟩``), so that nothing can be pushed out of sight. Nothing is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["shown", "shown_text"]

_RUN = 24
# They have a glyph for Python, and none for a person: fillers, joiners, selectors, and a blank of Braille.
_BLANK = frozenset(
    {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}.union(
        range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)
    )
)
_OURS = "⟨⟩"
_SAME = re.compile(r"(\\\\|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\.|.)\1*", re.DOTALL)


def shown(arguments: Mapping[str, Any]) -> str:
    """Each argument on a line of its own: name, length where it is text, and value as JSON."""
    return "\n".join(f"{_json(name)}{_length(value)}: {_json(value)}" for name, value in arguments.items()) or "-"


def _length(value: Any) -> str:
    return f" ({len(value)})" if isinstance(value, str) else ""


def _json(value: Any) -> str:
    return _visible(json.dumps(value, ensure_ascii=False))


def shown_text(text: str) -> str:
    """Text of several lines; a backslash of its own is written twice."""
    return "\n".join(_visible(line.replace("\\", "\\\\")) for line in text.split("\n"))


def _visible(text: str) -> str:
    """Text in which a backslash begins an escape, with nothing invisible left, and each long run counted."""
    return _SAME.sub(_counted, "".join(sign if _is_plain(sign) else _escaped(sign) for sign in text))


def _is_plain(sign: str) -> bool:
    return sign.isprintable() and ord(sign) not in _BLANK and sign not in _OURS


def _escaped(sign: str) -> str:
    number = ord(sign)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _counted(run: re.Match[str]) -> str:
    count = len(run[0]) // len(run[1])
    return run[0] if count < _RUN else f'⟨{count} × "{run[1]}"⟩'
