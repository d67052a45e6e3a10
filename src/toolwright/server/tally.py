"""What one caller may have of a thing that outlives its connection, so that nobody uses up what is there for all."""

from __future__ import annotations

from toolwright.tools.toolset import Principal

__all__ = ["Tally"]


class Tally:
    """How many of a thing each principal has at this worker: ``limit`` at the most. All who are nobody are one."""

    def __init__(self, limit: int) -> None:
        self._held: dict[str, int] = {}
        self.limit = limit

    def take(self, principal: Principal) -> bool:
        """Count one more; False, and nothing counted, when there are as many as there may be."""
        held = self._held.get(principal.id, 0)
        if held >= self.limit:
            return False
        self._held[principal.id] = held + 1
        return True

    def give_back(self, principal: Principal) -> None:
        """Undo one ``take``."""
        held = self._held[principal.id] - 1
        if held:
            self._held[principal.id] = held
        else:
            del self._held[principal.id]
