"""A quota per caller for resources that outlive a connection, so that no caller uses up a shared limit."""

from __future__ import annotations

from tooltrue.tools.vocabulary import Principal

__all__ = ["PrincipalQuota"]


class PrincipalQuota:
    """Counts a resource per principal in this worker, up to ``limit``. Anonymous callers share one count."""

    def __init__(self, limit: int) -> None:
        self._held: dict[str, int] = {}
        self.limit = limit

    def take(self, principal: Principal) -> bool:
        """Count one more. Returns false, without counting, at the limit."""
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
