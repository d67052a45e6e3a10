"""The enterprise extension (``io.modelcontextprotocol/enterprise-managed-authorization``) for the callers of a gateway.

The identity provider of the enterprise, which knows a caller by its token, vouches for it to the issuer of a server:
the token becomes an ID-JAG at the operator's token endpoint (RFC 8693), and that a token of the issuer (RFC 7523). The
caller's token is sent to the identity provider and nowhere else; all are kept in memory alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from tooltrue.client.auth.grant_flows import IdentityKind
from tooltrue.client.oauth import EnterpriseSignIn
from tooltrue.gateway.token_exchange import Caller, CallerExchange
from tooltrue.protocol.types import Value
from tooltrue.transport.carrier import Authorizer, Refusal

__all__ = ["EnterpriseExchange", "EnterpriseSettings"]


class EnterpriseSettings(Value, frozen=True):
    """The gateway as a client of the identity provider, and of the ``issuer`` of one server."""

    token_endpoint: str
    provider_client_id: str
    provider_client_secret: str
    issuer: str
    client_id: str
    client_secret: str | None = None
    subject_token: IdentityKind = "access_token"
    scopes: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"EnterpriseSettings({self.client_id!r} at {self.issuer!r}, …)"


class EnterpriseExchange(CallerExchange):
    """The tokens of callers at one server."""

    def __init__(self, settings: EnterpriseSettings, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._settings = settings
        self._clock = clock

    def authorizer(self, caller: Caller, url: str) -> Authorizer:
        return EnterpriseAuthorizer(self, caller, url)

    def of_subject(self, subject: str, url: str) -> Authorizer:
        """The credentials for the server at ``url`` that are made of one token of a caller."""
        settings = self._settings
        sign_in = EnterpriseSignIn(
            lambda provider: subject,
            identity_kind=settings.subject_token,
            provider=settings.token_endpoint,
            provider_token_endpoint=settings.token_endpoint,
            provider_client_id=settings.provider_client_id,
            provider_client_secret=settings.provider_client_secret,
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            issuer=settings.issuer,
            scopes=settings.scopes,
            trusted=settings.trusted,
            clock=self._clock,
        )
        return sign_in.for_server(url)


class EnterpriseAuthorizer:
    """Uses the newest token of a caller. With another token of it, everything is obtained anew."""

    def __init__(self, exchange: EnterpriseExchange, caller: Caller, url: str) -> None:
        self._exchange = exchange
        self._caller = caller
        self._url = url
        self._subject = ""
        self._inner: Authorizer | None = None

    async def headers(self, method: str) -> Mapping[str, str]:
        subject = self._exchange.subject(self._caller, self._url)
        if self._inner is None or subject != self._subject:
            self._subject, self._inner = subject, self._exchange.of_subject(subject, self._url)
        return await self._inner.headers(method)

    def ready(self) -> None:
        return None  # the caller may have another token by now

    async def challenged(self, refusal: Refusal) -> bool:
        return self._inner is not None and await self._inner.challenged(refusal)
