"""Signing in: by a one-time link on this machine, and by a key, as callers of a server do it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tooltrue.errors import ConfigurationError, RpcError
from tooltrue.server.identity import Authentication
from tooltrue.state.facts import Facts
from tooltrue.transport.carrier import Carrier
from tooltrue_console.sessions import READ, Person, Sessions
from tooltrue_console.wording import CONSOLE_KEY_REFUSED, CONSOLE_LINK_INVALID, CONSOLE_TOO_MANY_ATTEMPTS

__all__ = ["WaysToSignIn"]

_ATTEMPTS = 10
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class WaysToSignIn:
    """The ways to sign in: ``by_link`` on loopback, and the keys of the methods that
    ``keys`` returns, which may be settled later."""

    by_link: bool
    keys: Callable[[], Sequence[Authentication]]

    @property
    def by_key(self) -> bool:
        return bool(self.keys())

    async def person(self, form: Mapping[str, str], address: str, facts: Facts) -> Person:
        """The person who has sent this form. ``ConfigurationError`` for a link that is used, a key that is not
        accepted, and too many attempts from one address."""
        wait = await facts.take(f"console-sign-in:{address}", per_second=_ATTEMPTS / _SECONDS, burst=_ATTEMPTS)
        if wait:
            raise ConfigurationError.of(CONSOLE_TOO_MANY_ATTEMPTS, seconds=math.ceil(wait))
        if self.by_key and "key" in form:
            return await self._holder(form["key"], address)
        person = await Sessions(facts).redeem(form.get("token", "")) if self.by_link else None
        if person is None:
            raise ConfigurationError.of(CONSOLE_LINK_INVALID)
        return person

    async def _holder(self, key: str, address: str) -> Person:
        carrier = Carrier("http", {"x-api-key": key.strip()}, address)
        for method in self.keys():
            try:
                principal = await method.principal(carrier)
            except RpcError:
                principal = None
            if principal is not None and READ in principal.scopes:
                return Person(principal.id, tuple(sorted(principal.scopes)), "key")
        raise ConfigurationError.of(CONSOLE_KEY_REFUSED)
