"""The ``_meta`` key for the number of walls between a statement and hidden data: from the sql tools to ``toolwright
inspect``."""

from __future__ import annotations

__all__ = ["WALLS"]

WALLS = "toolwright/walls"
"""The key in the ``_meta`` of a tool for the walls that keep its statements from hidden data."""
