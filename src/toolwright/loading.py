"""Where imports hide, beside the package's own table: what few need is loaded when it is needed first.

``toolwright serve`` over stdio is started by hosts, for every session, and must not wait for an HTTP stack or a cipher.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["load"]


def load(place: str) -> Any:
    """What ``module:name`` is, within :mod:`toolwright`; the module itself without a name."""
    module, _, name = place.partition(":")
    loaded = importlib.import_module(f"toolwright.{module}")
    return getattr(loaded, name) if name else loaded
