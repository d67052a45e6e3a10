"""The contents of a server that other servers serve: all that it offers, without its pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tooltrue.protocol.types import set_member
from tooltrue.tools.toolset import Provider, Wrapper
from tooltrue.tools.vocabulary import Kind, ProviderChange, Unwatch

__all__ = ["Contents"]

_KINDS: Final[tuple[Kind, ...]] = ("tools", "prompts", "resources")


class Contents(Wrapper, frozen=True, eq=False):
    """The provider of all that a server offers, without its pipeline. It stays the same object while further servers
    are mounted, and its watchers are told.
    """

    mounted_server: Any
    watches: dict[object, tuple[Callable[[ProviderChange], None], Unwatch]] = {}  # noqa: RUF012 - each has its own

    def __post_init__(self) -> None:
        """Keep the methods of :class:`Wrapper`, which look ``inner`` up at each call: it may be replaced."""

    def replace(self, provider: Provider) -> None:
        """Offer ``provider`` from now on, and tell the watchers."""
        set_member(self, "inner", provider)
        for key, (changed, unwatch) in tuple(self.watches.items()):
            unwatch()
            self.watches[key] = (changed, provider.watch(changed))
            for kind in _KINDS:
                changed(ProviderChange(kind))

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        key = object()
        self.watches[key] = (changed, self.inner.watch(changed))

        def unwatch() -> None:
            if key in self.watches:
                self.watches.pop(key)[1]()

        return unwatch
