"""Byte classes, so that a search for one byte or a few tells whether a closer look is worth its time."""

from __future__ import annotations

__all__ = ["CLASSES", "RUN", "classes_of"]

RUN = "a" * 20
"""A run of token characters as long as the shortest secret that is known by its prefix."""


def _class_of(byte: int) -> int:
    character = chr(byte)
    if character in "@%=\\\n&<":
        return byte
    if character in "\t\r":
        return ord("\n")
    if character in "\"'`":
        return ord('"')
    if character in "+|":
        return ord("+")
    if byte in _LEADS or byte < 0x20:
        return ord("!")
    return ord("a") if character.isascii() and (character.isalnum() or character in "_-") else ord(" ")


_LEADS = frozenset(
    b"\x7f\xc2\xcd\xd8\xe1\xe2\xe3\xee\xef\xf0\xf1\xf2\xf3\xf4"
)  # lead bytes in UTF-8 of characters that hide
CLASSES = bytes(map(_class_of, range(256)))


def classes_of(data: bytes) -> str:
    """Map each byte of UTF-8 to its class: ``a`` where it may be part of a token, ``!`` where a hidden character may
    begin, ``@``, ``%``, ``=``, ``&``, ``<``, backslashes and line ends as they are, tabs and carriage returns as line
    ends, ``"`` for every quote, ``+`` for the operators that programs put between two strings, and a space for all
    others.

    The result is text, because CPython finds text in text several times faster than bytes in bytes, which might be a
    number.
    """
    return data.translate(CLASSES).decode("ascii")
