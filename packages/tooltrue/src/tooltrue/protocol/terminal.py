"""Escaping of untrusted text for a terminal: control sequences and invisible characters are written as escapes.

Escaped are C0 and C1 controls (and so every escape sequence), direction marks, zero-width and other invisible
characters, tags, private and unassigned characters, lone surrogates. :func:`printable` keeps line ends,
:func:`one_line` escapes them too, :func:`json_text` writes JSON escapes. A direction isolate that closes on its own
line is kept: it holds right-to-left words in place.
"""

from __future__ import annotations

import re
import sys

__all__ = ["escaped", "is_ordinary", "json_text", "one_line", "printable", "tell"]

_UNUSUAL = re.compile(r"[^\x20-\x7e\n]")
# Visible characters that make up most texts: ASCII, quotation marks and dashes, Chinese.
_ORDINARY = re.compile("[\x20-\x7e\n–—‘’“”…→\u3001-\u3011\u4e00-\u9fa5，。：；！？（）]*")
_ISOLATED = re.compile("\u2068([^\u202a-\u202e\u2066-\u2069\n]*)\u2069")

# Letters and marks to Python, but invisible to a person.
_BLANK = frozenset(
    map(
        chr,
        {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0, 0x13441, 0x13442, 0x16FE4, 0x1D159}.union(
            range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0)
        ),
    )
)
_SPACES = frozenset("\u3000")  # the space of Chinese and Japanese text


def is_ordinary(text: str) -> bool:
    """Whether a fast check shows that no character of ``text``, or of any part of it, needs an escape. If it is false,
    each character must be examined."""
    return _ORDINARY.fullmatch(text) is not None


def tell(text: str) -> None:
    """Write a line on standard error, escaped."""
    sys.stderr.write(f"{printable(text)}\n")


def printable(text: str) -> str:
    """Escape text of several lines."""
    return text if is_ordinary(text) else "\n".join([_escape_text(line, _LINES) for line in text.split("\n")])


def one_line(text: str) -> str:
    """Escape text for a single line: a name, a version, a table cell. Line ends are escaped too."""
    return _escape_text(text, _LINE)


def escaped(sign: str) -> str:
    """The escape of a hidden character: ``\\x1b``, ``\\u202e``, ``\\U000e0041``."""
    number = ord(sign)
    return f"\\x{number:02x}" if number <= 0xFF else f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def json_text(text: str) -> str:
    """Equivalent JSON, with escapes for the characters that :func:`printable` would escape. Other letters stay."""
    return _UNUSUAL.sub(lambda match: match[0] if _is_shown(match[0]) else _unicode_escape(match[0]), text)


def _escape_text(text: str, signs: _Signs) -> str:
    if text.isascii() and text.isprintable():
        return text
    pieces = (piece.translate(signs) for piece in _ISOLATED.split(text))  # outside and inside alternate
    return "".join(f"\u2068{piece}\u2069" if place % 2 else piece for place, piece in enumerate(pieces))


class _Signs(dict[int, str]):
    """A table for ``str.translate``, filled on demand. Characters beyond the first plane are not stored, so that no
    text can make it large. The characters in ``lines`` are kept."""

    def __init__(self, lines: str) -> None:
        super().__init__()
        self._lines = lines

    def __missing__(self, number: int) -> str:
        sign = chr(number)
        replacement = sign if sign in self._lines or _is_shown(sign) else _line_escape(sign)
        if number <= 0xFFFF:
            self[number] = replacement
        return replacement


def _is_shown(sign: str) -> bool:
    return (sign.isprintable() and sign not in _BLANK) or sign in _SPACES


def _line_escape(sign: str) -> str:
    return {"\n": "\\n", "\t": "\\t"}.get(sign) or escaped(sign)


def _unicode_escape(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


_LINES = _Signs("\n\t")
_LINE = _Signs("")
