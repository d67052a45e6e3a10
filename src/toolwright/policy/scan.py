"""Encoded bytes, looked at once: whether anything in them is worth a walk through the value."""

from __future__ import annotations

from toolwright.policy.classes import classes_of
from toolwright.policy.secrets import SHORTEST, suspects
from toolwright.policy.shapes import Shape
from toolwright.protocol.characters import ESCAPE, may_hide
from toolwright.protocol.types import Value

__all__ = ["CLEAN", "Suspicion", "look", "suspected"]


class Suspicion(Value, frozen=True):
    """What may be in the bytes: hidden characters, and secrets of these shapes. False where there is nothing.

    ``masks``: secrets are looked for, also where one comes together when what hides is taken out of it.
    """

    hidden: bool = False
    shapes: tuple[Shape, ...] = ()
    masks: bool = False

    def __bool__(self) -> bool:
        return self.hidden or bool(self.shapes)


CLEAN = Suspicion()


def suspected(data: bytes) -> tuple[Shape, ...]:
    """The secrets that may be in ``data``, whatever else it hides."""
    return suspects(data, classes_of(data))


def look(data: bytes, secrets: bool) -> Suspicion:
    """What may be in ``data``: text as UTF-8, plain or within JSON. ``secrets`` says whether they are looked for.

    Where it is clean, that is one pass and no more.
    """
    classes = classes_of(data)
    hidden = b"!" in classes and may_hide(data.decode())
    hidden = hidden or (b"\\" in classes and ESCAPE.search(data) is not None)
    shapes = suspects(data, classes) if secrets and len(data) >= SHORTEST else ()
    return Suspicion(hidden, shapes, secrets) if hidden or shapes else CLEAN
