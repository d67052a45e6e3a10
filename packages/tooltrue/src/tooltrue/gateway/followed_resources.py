"""The resources that callers follow over one connection to a server."""

from __future__ import annotations

from collections import Counter
from typing import Final

__all__ = ["FollowedResources"]

_MOST_CALLERS: Final = 1_000


class FollowedResources:
    """The resources that are followed, by caller. The end of a caller's interest is not known, so that each caller has
    at most ``most``: those that it has named the longest ago make room for others. So do whole callers, beyond 1,000.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._by_caller: dict[str, dict[str, None]] = {}
        self._callers: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._by_caller)

    def __contains__(self, uri: str) -> bool:
        return uri in self._callers

    def add(self, caller: str, uri: str) -> list[str]:
        """Note that a caller follows a resource. Returns those that no caller follows any more."""
        own = self._by_caller[caller] = self._by_caller.pop(caller, {})  # the newest is the last
        if uri not in own:
            self._callers[uri] += 1
        own.pop(uri, None)
        own[uri] = None
        left: list[str] = []
        if len(own) > self._most:
            left += self._drop(caller)
        if len(self._by_caller) > _MOST_CALLERS:
            oldest = next(iter(self._by_caller))
            while oldest in self._by_caller:
                left += self._drop(oldest)
        return left

    def _drop(self, caller: str) -> list[str]:
        """Forget the oldest resource of a caller; it is returned if no other caller follows it."""
        own = self._by_caller[caller]
        del own[uri := next(iter(own))]
        if not own:
            del self._by_caller[caller]
        self._callers[uri] -= 1
        if self._callers[uri]:
            return []
        del self._callers[uri]
        return [uri]
