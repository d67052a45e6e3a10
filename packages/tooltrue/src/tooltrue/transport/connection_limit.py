"""Limits on open connections: in total, and per address. Each worker counts its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tooltrue._internal.platform.descriptor_limits import descriptor_limit
from tooltrue.transport.addresses import caller_of, networks, parse

__all__ = ["ConnectionLimit"]

_MOST = 2_000
_OTHER_FILES = 128  # other files that a worker may have open


class ConnectionLimit:
    """Counts up to ``most`` connections (default: 2,000, or fewer if the process may open fewer files), and up to
    ``most_of_one`` per address or IPv6 /64 network (default: half). ``proxies``, addresses or networks, serve many
    callers: they are limited by the total only.
    """

    def __init__(self, most: int | None = None, most_of_one: int | None = None, proxies: Iterable[str] = ()) -> None:
        self.most = most or _default()
        self.most_of_one = most_of_one or max(1, self.most // 2)
        self._proxies = networks(proxies)
        self._open = 0
        self._by_caller = Counter[str]()

    def enter(self, address: str) -> str | None:
        """Take a slot for a connection from this address; the result is for :meth:`leave`. ``None`` if none is free."""
        caller = self._caller(address)
        is_one = caller != _MANY
        if self._open >= self.most or (is_one and self._by_caller[caller] >= self.most_of_one):
            return None
        self._open += 1
        self._by_caller[caller] += 1
        return caller

    def leave(self, caller: str) -> None:
        self._open -= 1
        self._by_caller[caller] -= 1
        if not self._by_caller[caller]:
            del self._by_caller[caller]

    def _caller(self, text: str) -> str:
        address = parse(text)
        if address is None or any(address in network for network in self._proxies):
            return _MANY
        return caller_of(address)


_MANY = ""


def _default() -> int:
    """Below the limit of open files: at that limit no connection could be accepted and no file written."""
    limit = descriptor_limit()
    return _MOST if limit is None else max(1, min(_MOST, limit - _OTHER_FILES))
