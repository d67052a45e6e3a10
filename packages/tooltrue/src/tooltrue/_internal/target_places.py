"""The two parts of ``FILE.py:NAME`` and ``package.module:NAME``."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["divided_target"]

_DRIVE: Final = re.compile(r"[A-Za-z]:(?=[\\/])")


def divided_target(target: str) -> tuple[str, str, str]:
    """The place, the colon and the name, as :meth:`str.partition`; the colon of a drive, as in ``C:\\notes.py``, is a
    part of the place."""
    drive = match[0] if (match := _DRIVE.match(target)) is not None else ""
    place, colon, name = target[len(drive) :].partition(":")
    return drive + place, colon, name
