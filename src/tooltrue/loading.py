"""Deferred imports, besides the table in the package: rarely used modules are loaded on first use.

Hosts start ``tooltrue serve`` over stdio for every session; it must not wait for the import of HTTP or crypto.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["load"]


def load(place: str) -> Any:
    """Load ``module:name`` from :mod:`tooltrue`, or the module itself without a name."""
    module, _, name = place.partition(":")
    loaded = importlib.import_module(f"tooltrue.{module}")
    return getattr(loaded, name) if name else loaded
