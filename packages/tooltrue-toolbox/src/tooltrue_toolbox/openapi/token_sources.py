"""Tokens for the security schemes of an API: those of the operator's client (RFC 6749, section 4.4), and those that are
made of the caller's own (RFC 8693).

The token endpoint is the operator's to name, or that of the issuer that the operator names (OpenID Connect Discovery).
No description and no answer of the API names one. Tokens are kept in memory alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from tooltrue.client.auth.metadata import IssuerMetadata, find_issuer
from tooltrue.client.auth.token_endpoint import TokenEndpoint
from tooltrue.client.auth.tokens import Registered, Tokens, Unusable, read_tokens
from tooltrue.client.wording import AUTHORIZATION_SERVER_ERROR, REASON_NO_ISSUER_METADATA
from tooltrue.errors import AuthorizationFailed, fact_of
from tooltrue.gateway.token_exchange import Caller, ExchangeSettings, TokenExchange
from tooltrue.protocol.types import Value
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.transport.carrier import Authorizer, Refusal
from tooltrue.transport.fetch import Fetcher, NotFetched
from tooltrue.wording import Worded

__all__ = ["CallerTokens", "ClientTokenSettings", "ClientTokens"]

_EARLY_SECONDS: Final = 30.0
_MOST_CALLERS: Final = 1_000


class ClientTokenSettings(Value, frozen=True):
    """The client of the operator at ``token_endpoint``, or else at that of ``issuer``. ``trusted`` are URLs of private
    networks to which the issuer may lead."""

    client_id: str
    client_secret: str
    token_endpoint: str | None = None
    issuer: str | None = None
    scopes: tuple[str, ...] = ()
    audience: str | None = None
    resource: str | None = None
    method: str | None = None
    trusted: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ClientTokenSettings({self.client_id!r} at {self.token_endpoint or self.issuer!r}, …)"


class ClientTokens:
    """The tokens of the operator's client, for all callers: obtained at the first request, and renewed before they end
    or when the API refuses one."""

    of_callers = False

    def __init__(self, settings: ClientTokenSettings, *, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock
        self._lock = asyncio.Lock()
        self._endpoint: TokenEndpoint | None = None
        self._tokens: Tokens | None = None

    async def token(self, context: RequestContext) -> str:
        async with self._lock:
            tokens = self._tokens
            if tokens is None or (
                tokens.expires_at is not None and self._clock() >= tokens.expires_at - _EARLY_SECONDS
            ):
                tokens = self._tokens = await self._obtained()
            return tokens.access

    async def rejected(self, token: str, context: RequestContext) -> None:
        if self._tokens is not None and self._tokens.access == token:
            self._tokens = None

    async def _obtained(self) -> Tokens:
        settings = self._settings
        named = {"audience": settings.audience, "resource": settings.resource, "scope": " ".join(settings.scopes)}
        form = {"grant_type": "client_credentials", **{name: text for name, text in named.items() if text}}
        place = settings.token_endpoint or settings.issuer or ""
        try:
            if self._endpoint is None:
                self._endpoint = await self._discovered_endpoint()
            answer = await self._endpoint.ask(form)
            return read_tokens(
                answer,
                issuer=self._endpoint.issuer.issuer,
                resource=settings.resource or "",
                client_id=settings.client_id,
                requested=settings.scopes,
                now=self._clock(),
                key=None,
            )
        except (Unusable, NotFetched) as error:
            raise AuthorizationFailed.of(AUTHORIZATION_SERVER_ERROR, url=place, problem=fact_of(error)) from None

    async def _discovered_endpoint(self) -> TokenEndpoint:
        settings = self._settings
        fetcher = Fetcher(
            [place for place in (settings.token_endpoint, settings.issuer) if place] + [*settings.trusted]
        )
        place = settings.token_endpoint or ""
        described = IssuerMetadata(issuer=place, token_endpoint=place)
        if settings.token_endpoint is None:
            metadata = await find_issuer(fetcher, settings.issuer or "")
            if metadata is None:
                raise Unusable(Worded(REASON_NO_ISSUER_METADATA, {"url": settings.issuer}))
            described = metadata
        client = Registered(
            issuer=described.issuer,
            client_id=settings.client_id,
            client_secret=settings.client_secret,
            method=settings.method,
        )
        return TokenEndpoint(described, client, fetcher, self._clock)


class CallerTokens:
    """The tokens of callers for the API at ``url``: each is made of the token by which the caller is known here, and
    sent in its own calls alone."""

    of_callers = True

    def __init__(self, settings: ExchangeSettings, url: str, *, clock: Callable[[], float] = time.time) -> None:
        self._exchange = TokenExchange(settings, clock=clock)
        self._url = url
        self._authorizers: OrderedDict[Caller, Authorizer] = OrderedDict()

    async def token(self, context: RequestContext) -> str:
        self._exchange.note(context)
        headers = await self._authorizer(context).headers("GET")
        return headers["authorization"].partition(" ")[2]

    async def rejected(self, token: str, context: RequestContext) -> None:
        refusal = Refusal(401, {}, {"authorization": f"Bearer {token}"}, None, 0)
        await self._authorizer(context).challenged(refusal)

    def _authorizer(self, context: RequestContext) -> Authorizer:
        caller = (context.principal.id, context.principal.client)
        if caller not in self._authorizers:
            self._authorizers[caller] = self._exchange.auth(*caller).for_server(self._url)
        self._authorizers.move_to_end(caller)
        while len(self._authorizers) > _MOST_CALLERS:
            self._authorizers.popitem(last=False)
        return self._authorizers[caller]
