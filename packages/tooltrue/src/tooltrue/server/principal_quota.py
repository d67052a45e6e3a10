"""A quota per caller for resources that outlive a connection, so that no caller uses up a shared limit."""

from __future__ import annotations

from tooltrue.tools.vocabulary import Principal

__all__ = ["PrincipalQuota"]


class PrincipalQuota:
    """Counts a resource per principal in this worker, up to ``limit``. Anonymous callers share one count."""

    def __init__(self, limit: int) -> None:
        self._counts: dict[str, int] = {}
        self.limit = limit

    def take(self, principal: Principal) -> bool:
        """Count one more. Returns false, without counting, at the limit."""
        count = self._counts.get(principal.id, 0)
        if count >= self.limit:
            return False
        self._counts[principal.id] = count + 1
        return True

    def give_back(self, principal: Principal) -> None:
        """Undo one ``take``."""
        count = self._counts[principal.id] - 1
        if count:
            self._counts[principal.id] = count
        else:
            del self._counts[principal.id]
