"""The command line's one place where imports hide: a verb loads what it needs, and nothing of the others.

``toolwright serve`` over stdio is started by hosts, for every session, and must not wait for an HTTP stack.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["load"]


def load(place: str) -> Any:
    """What ``module:name`` is, within :mod:`toolwright`."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"toolwright.{module}"), name)
