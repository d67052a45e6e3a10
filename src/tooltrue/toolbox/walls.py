"""The ``_meta`` key for the walls around hidden data: set by the sql tools, shown by ``tooltrue inspect``."""

from __future__ import annotations

__all__ = ["WALLS"]

WALLS = "tooltrue/walls"
"""The key in the ``_meta`` of a tool for the walls that keep its statements from hidden data."""
