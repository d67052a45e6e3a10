"""Arguments as they are shown to the person who decides: all of them, and no text that hides, moves or imitates.

Characters that are invisible, or turn the direction of text, are escaped (``\\u202e``), and so is a mark that would
change a character which is not a letter or digit. A character that is repeated many times is written once, with its
count (``⟨10000 × " "⟩``), so that no text can be pushed out of sight. Words that are written from right to left stand
between isolating characters, so that they do not move their neighbours. No argument is left out.
"""

from __future__ import annotations

import functools
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from tooltrue._internal.lazy_pattern import LazyPattern

__all__ = ["display_arguments", "display_document", "display_json", "display_text"]

_RUN = 24
# They have a glyph for Python, but not for a person: fillers, joiners, selectors, and blanks of Braille, of Khitan, of
# hieroglyphs and of music.
_BLANK = frozenset(
    {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x13441, 0x13442, 0x16FE4, 0x1D159}.union(
        range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)
    )
)
_OURS = "⟨⟩"
_BLOCKS_FROM_RIGHT = (
    range(0x590, 0x900),
    range(0xFB1D, 0xFE00),
    range(0xFE70, 0xFF00),
    range(0x10800, 0x11000),
    range(0x1E800, 0x1F000),
)
_UNIT = LazyPattern(r"\\u[0-9a-f]{4}|\\.|.", re.DOTALL)
_SAME = LazyPattern(r"(\\\\|\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\.|.)\1*", re.DOTALL)


def display_arguments(arguments: Mapping[str, Any]) -> str:
    """Show each argument on a line of its own: name, length if it is text, and value as JSON."""
    return (
        "\n".join(f"{display_json(name)}{_length(value)}: {display_json(value)}" for name, value in arguments.items())
        or "-"
    )


def _length(value: Any) -> str:
    return f" ({len(value)})" if isinstance(value, str) else ""


def display_json(value: Any) -> str:
    """Show one value as JSON."""
    return _visible(json.dumps(value, ensure_ascii=False))


def display_document(value: Any) -> str:
    """Show one value as JSON on lines of its own, with sorted keys. Different values are shown differently."""
    return "\n".join(map(_visible, json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True).split("\n")))


def display_text(text: str) -> str:
    """Show text of several lines; a backslash of its own is written twice."""
    return "\n".join(_visible(line.replace("\\", "\\\\")) for line in text.split("\n"))


def _visible(text: str) -> str:
    """Escape all that is invisible in text in which a backslash begins an escape, and count each long run."""
    signs = text if text.isascii() and text.isprintable() else "".join(_signs(text))
    return _isolated(signs if len(signs) < _RUN else _SAME.compiled.sub(_counted, signs))


def _signs(text: str) -> Iterator[str]:
    carries = False  # whether a mark may follow
    for unit in _UNIT.compiled.findall(text):
        is_plain = len(unit) > 1 or (_is_plain(unit) and (carries or not _is_mark(unit)))
        carries = is_plain and len(unit) == 1 and (unit.isalnum() or _is_mark(unit))
        yield unit if is_plain else _escaped(unit)


def _is_mark(sign: str) -> bool:
    return not sign.isascii() and unicodedata.category(sign)[0] == "M"


def _isolated(text: str) -> str:
    """Isolate each group of words from right to left, and of numbers that would move like them. Digits and punctuation
    between two groups keep their place from left to right."""
    return text if text.isascii() else _from_right().sub("\u2068\\g<0>\u2069", text)


@functools.cache
def _from_right() -> re.Pattern[str]:
    kinds = {"R": "", "AL": "", "NSM": "\u0300-\u036f", "AN": ""}
    for block in _BLOCKS_FROM_RIGHT:
        for sign in map(chr, block):
            if (kind := unicodedata.bidirectional(sign)) in kinds:
                kinds[kind] += sign
    word = f"[{kinds['R']}{kinds['AL']}][{''.join(kinds[kind] for kind in ('R', 'AL', 'NSM'))}]*"
    return re.compile(f"{word}(?: {word})*|[{kinds['AN']}]+")


def _is_plain(sign: str) -> bool:
    return sign.isprintable() and ord(sign) not in _BLANK and sign not in _OURS


def _escaped(sign: str) -> str:
    number = ord(sign)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def _counted(run: re.Match[str]) -> str:
    count = len(run[0]) // len(run[1])
    return run[0] if count < _RUN else f'⟨{count} × "{run[1]}"⟩'
