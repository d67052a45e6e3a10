"""Keys in the ``_meta`` of a tool that ``tooltrue inspect`` shows, for tools that say how they are confined."""

from __future__ import annotations

__all__ = ["CONFINED_BY", "NOT_CONFINED", "WALLS"]

CONFINED_BY = "tooltrue/held-by"
"""The measures that confine the programs that a tool starts: a list of strings."""

NOT_CONFINED = "tooltrue/not-confined"
"""A sentence about programs that a tool starts on a system that cannot confine them."""

WALLS = "tooltrue/walls"
"""The walls that keep the statements of a tool from hidden data."""
