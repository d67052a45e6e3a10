"""Signing in at the issuer of callers' tokens: ``[auth.oauth]`` and ``[console.sign_in]`` of the operator's file.

The browser comes back with a code, and the console gets a token for itself (``tooltrue/gateway/issuer_sign_in.py``).
The principal and its scopes are those that a call with a token of this person has. The cookie that binds the code to
the browser is ``__Host-``, and ends with the sign-in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from tooltrue.client.auth.metadata import is_loopback_url
from tooltrue.client.auth.tokens import Unusable
from tooltrue.errors import AuthorizationFailed, ConfigurationError, RpcError, fact_of
from tooltrue.gateway.issuer_sign_in import IssuerSignIn, SignInSettings
from tooltrue.gateway.server_auth import SecretAbsent
from tooltrue.gateway.settings import sign_in_settings
from tooltrue.policy.config import OperatorConfig
from tooltrue.server.identity import Authentication
from tooltrue.server.oauth import OAuth
from tooltrue.state.facts import Facts
from tooltrue.transport.fetch import NotFetched
from tooltrue.wording import Worded
from tooltrue_console.sessions import ADMIN, APPROVE, READ, Person, digest
from tooltrue_console.wording import (
    CONSOLE_ISSUER_FAILED,
    CONSOLE_ISSUER_SCOPE,
    CONSOLE_RETURN_UNKNOWN,
    CONSOLE_SIGN_IN_INVALID,
    LABEL_CONSOLE_ISSUER,
    LABEL_CONSOLE_SECRET,
    LABEL_CONSOLE_URL,
)

__all__ = ["COOKIE", "RETURN", "IssuerAccess", "issuer_access"]

COOKIE: Final = "__Host-tooltrue-sign-in"
RETURN: Final = "/signed-in"
"""The path below the console to which a browser comes back."""

_FAILURES: Final = (AuthorizationFailed, Unusable, NotFetched, RpcError)


@dataclass(frozen=True, slots=True)
class IssuerAccess:
    """``url`` is the address of the console as browsers know it."""

    url: str
    settings: SignInSettings
    oauth: OAuth

    @property
    def name(self) -> str:
        """The host at which people sign in."""
        return urlsplit(self.settings.issuer or self.oauth.issuers[0]).netloc

    async def begin(self, facts: Facts) -> tuple[str, str]:
        """Return the address at the issuer for a browser, and the value of :data:`COOKIE`. ``ConfigurationError`` if
        the issuer cannot be asked."""
        try:
            return await self._issuer(facts).begin("console")
        except _FAILURES as error:
            raise self._failed(error) from error

    async def person(self, answer: Mapping[str, str], cookie: str, facts: Facts) -> Person:
        """Return the person whose browser comes back with this answer. ``ConfigurationError`` for a browser that was
        not sent, one that has been back already, and a person without the scope to read."""
        try:
            returned = await self._issuer(facts).returned(answer, cookie)
        except _FAILURES as error:
            raise self._failed(error) from error
        if returned is None:
            raise ConfigurationError.of(CONSOLE_RETURN_UNKNOWN)
        _, principal = returned
        if READ not in principal.scopes:
            raise ConfigurationError.of(CONSOLE_ISSUER_SCOPE, who=principal.id, scope=READ)
        return Person(principal.id, tuple(sorted(principal.scopes)), "issuer")

    def _issuer(self, facts: Facts) -> IssuerSignIn:
        needed = self.oauth.parameters.get("scope", "").split()
        scopes = dict.fromkeys((*needed, READ, APPROVE, ADMIN))
        return IssuerSignIn(
            self.settings, self.oauth, self.url, f"{self.url}{RETURN}", _SignInsUnderWay(facts), scopes=tuple(scopes)
        )

    def _failed(self, error: Exception) -> ConfigurationError:
        return ConfigurationError.of(CONSOLE_ISSUER_FAILED, issuer=self.name, problem=fact_of(error))


class _SignInsUnderWay:
    """Keeps sign-ins that have begun, each under a digest of its name."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    async def write(self, owner: Sequence[str], text: str | None, seconds: float) -> None:
        if text is None:
            await self._facts.remove(_key(owner))
        else:
            await self._facts.put(_key(owner), text.encode(), seconds)

    async def take(self, owner: Sequence[str]) -> str | None:
        stored = await self._facts.remove(_key(owner))
        return None if stored is None else stored.decode()


def _key(owner: Sequence[str]) -> str:
    return f"console-issuer:{digest('issuer', ' '.join(owner))}"


def issuer_access(operator: OperatorConfig | None, methods: Sequence[Authentication]) -> IssuerAccess | None:
    """Return the sign-in at an issuer that the operator's file asks for; ``methods`` are those of callers.
    ``ConfigurationError`` for settings that cannot serve it."""
    if operator is None or "sign_in" not in (table := operator.tables.get("console", {})):
        return None
    try:
        settings = sign_in_settings(table["sign_in"])
    except SecretAbsent as error:
        raise _invalid(operator, Worded(LABEL_CONSOLE_SECRET, {"problem": error.problem})) from None
    url = str(table.get("url", "")).rstrip("/")
    if not (url.startswith("https://") or (url.startswith("http://") and is_loopback_url(url))):
        raise _invalid(operator, Worded(LABEL_CONSOLE_URL, {}))
    by_token = [method for method in methods if isinstance(method, OAuth)]
    issuers = [issuer for one in by_token for issuer in one.issuers]
    if settings.issuer not in (issuers if len(issuers) != 1 else (*issuers, None)):
        raise _invalid(operator, Worded(LABEL_CONSOLE_ISSUER, {"issuers": ", ".join(issuers) or "-"}))
    return IssuerAccess(url, settings, next(one for one in by_token if settings.issuer in (None, *one.issuers)))


def _invalid(operator: OperatorConfig, problem: Worded) -> ConfigurationError:
    return ConfigurationError.of(CONSOLE_SIGN_IN_INVALID, place=operator.place(("console", "sign_in")), problem=problem)
