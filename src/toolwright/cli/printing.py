"""Text of others on our terminal."""

from __future__ import annotations

import re

__all__ = ["printable"]

_ISOLATED = re.compile("\u2068([^\u202a-\u202e\u2066-\u2069\n]*)\u2069")


def printable(text: str) -> str:
    """Text of others on our terminal: control characters are shown, not obeyed. An isolate that ends may stand: it
    keeps what is written from right to left from moving its neighbours."""
    pieces = map(_plain, _ISOLATED.split(text))  # outside and inside by turns
    return "".join(f"\u2068{piece}\u2069" if place % 2 else piece for place, piece in enumerate(pieces))


def _plain(text: str) -> str:
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
