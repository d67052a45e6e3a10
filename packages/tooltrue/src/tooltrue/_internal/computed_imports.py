"""Imports by a computed name: the exports of the package are loaded on first use, and the verbs of the command and the
rules of ``tooltrue check`` are found by their files.

Every other deferred import stands in a function, with its reason, where type checkers and the import contracts see it.
Hosts start ``tooltrue serve`` over stdio for every session; it must not wait for the import of HTTP or cryptography.
"""

from __future__ import annotations

import gc
import importlib
from typing import Any

__all__ = ["load"]


def load(place: str) -> Any:
    """Load ``package.module:name``, or the module itself without a name.

    Garbage is not collected meanwhile: an import makes hardly any, and each collection would look at all that stays.
    """
    module, _, name = place.partition(":")
    collects = gc.isenabled()
    gc.disable()
    try:
        loaded = importlib.import_module(module)
    finally:
        if collects:
            gc.enable()
    return getattr(loaded, name) if name else loaded
