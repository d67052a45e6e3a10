"""Descriptors that pass bytes on as they are: on Windows, :func:`os.open` translates line ends by default.

Outside the folders ``platform`` no module calls :func:`os.open`; an architecture test holds that.
"""

from __future__ import annotations

import os
from typing import Final

__all__ = ["BINARY", "open_discarded_output", "open_empty_input"]

BINARY: Final[int] = getattr(os, "O_BINARY", 0)
"""The flag that turns the translation off; 0 where the system does not translate."""


def open_empty_input() -> int:
    """Open the null device for reading: the input ends at once."""
    return os.open(os.devnull, os.O_RDONLY | BINARY)


def open_discarded_output() -> int:
    """Open the null device for writing: the output is discarded."""
    return os.open(os.devnull, os.O_WRONLY | BINARY)
