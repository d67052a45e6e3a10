"""How many walls stand between a statement and what is hidden: a word of the sql tools for ``toolwright inspect``."""

from __future__ import annotations

__all__ = ["WALLS"]

WALLS = "toolwright/walls"
"""The key in the ``_meta`` of a tool under which stands what keeps its statements from what is hidden."""
