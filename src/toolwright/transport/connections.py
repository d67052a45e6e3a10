"""How many connections are open at once: in all, and from one address. Each worker counts its own."""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Iterable

from toolwright.transport.addresses import caller_of, networks, parse

__all__ = ["Connections"]

_MOST = 2_000
_OTHER_FILES = 128  # that a worker may have open besides


class Connections:
    """Places for ``most`` connections, by default 2,000, or what a process may open; ``most_of_one`` for an address, or
    an IPv6 network of 64 bits, by default half. ``proxies``, addresses or networks, speak for many: they may have all.
    """

    def __init__(self, most: int | None = None, most_of_one: int | None = None, proxies: Iterable[str] = ()) -> None:
        self.most = most or _default()
        self.most_of_one = most_of_one or max(1, self.most // 2)
        self._proxies = networks(proxies)
        self._open = 0
        self._by_caller = Counter[str]()

    def enter(self, address: str) -> str | None:
        """Whose place a connection from there takes, for :meth:`leave`; ``None`` where there is none."""
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
    """Fewer than the files that may be open: beyond these nobody at all could be let in, nor anything be written."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if limit == resource.RLIM_INFINITY else max(1, min(_MOST, limit - _OTHER_FILES))
