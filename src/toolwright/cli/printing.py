"""Text of others on our terminal."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    """Text of others on our terminal: control characters are shown, not obeyed."""
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
