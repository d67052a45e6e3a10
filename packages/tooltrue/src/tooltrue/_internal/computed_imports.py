"""Imports by a computed name: the verbs of the command and the rules of ``tooltrue check`` are found by their files.

Every other deferred import stands in a function, with its reason, where type checkers and the import contracts see it.
Hosts start ``tooltrue serve`` over stdio for every session; it must not wait for the import of HTTP or cryptography.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["load"]


def load(place: str) -> Any:
    """Load ``package.module:name``, or the module itself without a name."""
    module, _, name = place.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, name) if name else loaded
