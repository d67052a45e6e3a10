"""Encoded bytes, looked at once: whether anything in them is worth a walk through the value."""

from __future__ import annotations

from typing import NamedTuple

from toolwright.policy.classes import CLASSES, RUN, classes_of
from toolwright.policy.personal import may_hold
from toolwright.policy.secrets import ORDINARY, SHORTEST, is_plain, suspects
from toolwright.policy.shapes import Shape
from toolwright.protocol.characters import ESCAPE, may_hide
from toolwright.protocol.types import Value

__all__ = ["CLEAN", "Suspicion", "Wants", "look", "suspected"]


class Suspicion(Value, frozen=True):
    """What may be in the bytes: hidden characters, and secrets of these shapes. False where there is nothing.

    ``masks``: secrets are looked for, also where one comes together when what hides is taken out of it. ``personal``:
    so is personal data.
    """

    hidden: bool = False
    shapes: tuple[Shape, ...] = ()
    masks: bool = False
    personal: bool = False

    def __bool__(self) -> bool:
        return self.hidden or bool(self.shapes) or self.personal


CLEAN = Suspicion()
_LONG = 1_000
_SHORT = 40
"""A secret that is known by a word and has no colon is longer."""


def suspected(data: bytes) -> tuple[Shape, ...]:
    """The secrets that may be in ``data``, whatever else it hides."""
    return suspects(data, classes_of(data))


class Wants(NamedTuple):
    """What is looked for, beside what hides."""

    secrets: bool
    personal: bool = False


def look(data: bytes, secrets: bool, personal: bool = False) -> Suspicion:
    """What may be in ``data``: text as UTF-8, plain or within JSON. ``secrets`` and ``personal`` say whether those are
    looked for.

    Where it is clean, that is one pass and no more.
    """
    size = len(data)
    odd = data.translate(None, ORDINARY) if size < _LONG else b"!"
    if not odd and size < len(RUN) and not personal:
        return CLEAN
    classes = data.translate(CLASSES).decode("latin-1")
    is_ordinary = not (personal or RUN in classes or (odd and odd.strip(b":@")))
    if is_ordinary and ((size < _SHORT and not odd) or is_plain(data, odd)):
        return CLEAN
    hidden = ("!" in classes or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n"))) and may_hide(
        data.decode()
    )
    hidden = hidden or ("\\" in classes and ESCAPE.search(data) is not None)
    shapes = suspects(data, classes) if secrets and len(data) >= SHORTEST else ()
    is_suspect = hidden or shapes or (personal and may_hold(data))
    return Suspicion(hidden, shapes, secrets, personal) if is_suspect else CLEAN
