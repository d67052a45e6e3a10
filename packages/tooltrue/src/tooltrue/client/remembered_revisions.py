"""The negotiated revision of each server, for as long as this process lives (basic/versioning "Client side").

Negotiation costs a round trip, or seconds if a session-based server is silent. An entry is a digest and a date.
"""

from __future__ import annotations

import hashlib

__all__ = ["REVISIONS", "Revisions"]

_MAX = 1_000


class Revisions:
    """Negotiated revisions, by the key of a link. The oldest entry is evicted when there are too many."""

    def __init__(self) -> None:
        self._revisions: dict[bytes, str] = {}

    def of(self, key: str | None) -> str | None:
        return None if key is None else self._revisions.get(_digest(key))

    def note(self, key: str | None, revision: str | None) -> None:
        """Remember ``revision``; ``None`` forgets it."""
        if key is None:
            return
        self._revisions.pop(_digest(key), None)
        if revision is not None:
            self._revisions[_digest(key)] = revision
        if len(self._revisions) > _MAX:
            del self._revisions[next(iter(self._revisions))]

    def clear(self) -> None:
        """Forget all of them."""
        self._revisions.clear()


REVISIONS = Revisions()
"""The revisions of this process."""


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode(errors="surrogateescape")).digest()
