"""Signing in: by a one-time link on this machine, by a key, and at an issuer, as callers of a server do it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tooltrue.errors import ConfigurationError, RpcError
from tooltrue.server.identity import Authentication
from tooltrue.state.facts import Facts
from tooltrue.transport.carrier import Carrier
from tooltrue_console.issuer_access import IssuerAccess
from tooltrue_console.sessions import READ, Person, Sessions
from tooltrue_console.wording import (
    CONSOLE_KEY_REFUSED,
    CONSOLE_LINK_INVALID,
    CONSOLE_RETURN_UNKNOWN,
    CONSOLE_TOO_MANY_ATTEMPTS,
)

__all__ = ["WaysToSignIn"]

_ATTEMPTS = 10
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class WaysToSignIn:
    """The ways to sign in: ``by_link`` on loopback, the keys of the methods that ``keys`` returns, and the issuer that
    ``issuer`` returns. The last two may be settled later."""

    by_link: bool
    keys: Callable[[], Sequence[Authentication]]
    issuer: Callable[[], IssuerAccess | None] = lambda: None

    @property
    def by_key(self) -> bool:
        return bool(self.keys())

    async def person(self, form: Mapping[str, str], address: str, facts: Facts) -> Person:
        """The person who has sent this form. ``ConfigurationError`` for a link that is used, a key that is not
        accepted, and too many attempts from one address."""
        await _count_attempt(address, facts)
        if self.by_key and "key" in form:
            return await self._holder(form["key"], address)
        person = await Sessions(facts).redeem(form.get("token", "")) if self.by_link else None
        if person is None:
            raise ConfigurationError.of(CONSOLE_LINK_INVALID)
        return person

    async def begin_at_issuer(self, address: str, facts: Facts) -> tuple[str, str]:
        """As :meth:`IssuerAccess.begin`, within the limit on attempts."""
        await _count_attempt(address, facts)
        return await self._issuer().begin(facts)

    async def person_of_issuer(self, answer: Mapping[str, str], cookie: str, address: str, facts: Facts) -> Person:
        """As :meth:`IssuerAccess.person`, within the limit on attempts."""
        await _count_attempt(address, facts)
        return await self._issuer().person(answer, cookie, facts)

    def _issuer(self) -> IssuerAccess:
        issuer = self.issuer()
        if issuer is None:
            raise ConfigurationError.of(CONSOLE_RETURN_UNKNOWN)
        return issuer

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


async def _count_attempt(address: str, facts: Facts) -> None:
    wait = await facts.take(f"console-sign-in:{address}", per_second=_ATTEMPTS / _SECONDS, burst=_ATTEMPTS)
    if wait:
        raise ConfigurationError.of(CONSOLE_TOO_MANY_ATTEMPTS, seconds=math.ceil(wait))
