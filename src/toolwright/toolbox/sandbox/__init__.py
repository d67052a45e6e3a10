"""A program of somebody else, held: what it may touch, how much it may take, and the end of all that it has started.

In reading order: ``machine`` has what the kernel offers, ``supervisor`` is the process between us and the program, and
``process`` starts it, reads what it says and ends it. ``supervisor`` begins anew for each program, so it and
``machine`` import nothing that is slow to load.
"""

from __future__ import annotations

__all__ = ["HELD_BY"]

HELD_BY = "toolwright/held-by"
"""The key in the ``_meta`` of a tool under which stands what holds the programs that it starts."""
