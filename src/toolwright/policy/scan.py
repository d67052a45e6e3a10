"""Encoded bytes, looked at once: whether anything in them is worth a walk through the value."""

from __future__ import annotations

import re

from toolwright.policy.secrets import suspects
from toolwright.policy.shapes import Shape
from toolwright.protocol.characters import may_hide
from toolwright.protocol.types import Value

__all__ = ["CLEAN", "Suspicion", "look"]


class Suspicion(Value, frozen=True):
    """What may be in the bytes: hidden characters, and secrets of these shapes. False where there is nothing."""

    hidden: bool = False
    shapes: tuple[Shape, ...] = ()

    def __bool__(self) -> bool:
        return self.hidden or bool(self.shapes)


CLEAN = Suspicion()


def _class_of(byte: int) -> int:
    sign = chr(byte)
    if sign in "@%\\":
        return byte
    if byte in _LEADS or (byte < 0x20 and sign not in "\t\n\r"):
        return ord("!")
    return ord("a") if sign.isascii() and (sign.isalnum() or sign in "_-") else ord(" ")


_LEADS = frozenset(b"\x7f\xc2\xcd\xd8\xe1\xe2\xe3\xef\xf0\xf3")  # what hides begins with one of these in UTF-8
_CLASSES = bytes(map(_class_of, range(256)))
_ESCAPE = re.compile(rb"\\[ubf]")  # how JSON says a control other than a tab or the end of a line


def look(data: bytes, secrets: bool) -> Suspicion:
    """What may be in ``data``: text as UTF-8, plain or within JSON. ``secrets`` says whether they are looked for.

    Where it is clean, that is one pass and no more.
    """
    classes = data.translate(_CLASSES)
    hidden = b"!" in classes and may_hide(data.decode())
    hidden = hidden or (b"\\" in classes and _ESCAPE.search(data) is not None)
    shapes = suspects(data, classes) if secrets else ()
    return Suspicion(hidden, shapes) if hidden or shapes else CLEAN
