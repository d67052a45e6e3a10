"""Bytes by class, so that a search for one byte or a few tells whether a closer look is worth its time."""

from __future__ import annotations

__all__ = ["CLASSES", "RUN", "classes_of"]

RUN = "a" * 20
"""So many characters of a token in a row: whatever has a beginning has as many."""


def _class_of(byte: int) -> int:
    sign = chr(byte)
    if sign in "@%=\\\n&<":
        return byte
    if sign in "\t\r":
        return ord("\n")
    if sign in "\"'`":
        return ord('"')
    if sign in "+|":
        return ord("+")
    if byte in _LEADS or byte < 0x20:
        return ord("!")
    return ord("a") if sign.isascii() and (sign.isalnum() or sign in "_-") else ord(" ")


_LEADS = frozenset(
    b"\x7f\xc2\xcd\xd8\xe1\xe2\xe3\xee\xef\xf0\xf1\xf2\xf3\xf4"
)  # what hides begins with one of these in UTF-8
CLASSES = bytes(map(_class_of, range(256)))


def classes_of(data: bytes) -> str:
    """For each byte of UTF-8: ``a`` where it may be of a token, ``!`` where something that hides may begin, ``@``,
    ``%``, ``=``, ``&``, ``<``, backslashes and ends of lines as they are, tabs and carriage returns as ends of lines,
    ``"`` for every quote, ``+`` for what programs put between two texts, and a blank for all others.

    They are text, for CPython finds text in text several times quicker than bytes in bytes, which might be a number.
    """
    return data.translate(CLASSES).decode("latin-1")
