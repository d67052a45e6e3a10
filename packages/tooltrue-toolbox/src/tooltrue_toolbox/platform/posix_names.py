"""The rules of POSIX for paths, with the functions of :mod:`tooltrue_toolbox.platform.windows_names`."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

__all__ = ["TAKES_ANY_NAME", "anchored", "comparable", "is_absolute", "is_refused", "split"]

TAKES_ANY_NAME: Final = True
"""Whether every name that can be shown can also be opened."""


def split(path: str) -> tuple[str, tuple[str, ...]] | None:
    """The anchor of ``path``, empty for a relative one, and its names. ``None`` for a form that is not followed."""
    return "/" if path.startswith("/") else "", tuple(path.split("/"))


def is_absolute(path: str) -> bool:
    """Whether ``path`` names a place on the machine, which an error does not repeat."""
    return path.startswith("/")


def anchored(path: PurePath) -> tuple[str, ...]:
    """The anchor and the names of an absolute path, in the spelling of :func:`split`."""
    return path.parts


def comparable(name: str) -> str:
    """A key that two names have in common if they are one name: here byte by byte."""
    return name


def is_refused(name: str) -> bool:
    """Whether a path may not contain ``name``."""
    return False
