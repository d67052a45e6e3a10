"""Token exchange (RFC 8693): the token of a caller becomes one for a server, at the operator's token endpoint.

The caller's token, the subject token, is sent to that endpoint and nowhere else, and it is kept in memory alone.
``gateway/enterprise_exchange.py`` has the form of it that an enterprise manages.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from tooltrue.client.auth.metadata import IssuerMetadata, canonical, is_loopback_url
from tooltrue.client.auth.token_endpoint import TokenEndpoint
from tooltrue.client.auth.tokens import Registered, Tokens, Unusable
from tooltrue.client.wording import AUTHORIZATION_SERVER_ERROR, FRESH_TOKEN_REJECTED, TOKEN_OVER_PLAIN_HTTP
from tooltrue.errors import AuthorizationFailed, ConfigurationError, fact_of
from tooltrue.gateway.wording import EXCHANGE_WITHOUT_TOKEN
from tooltrue.protocol.types import Value
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.transport.carrier import Authorizer, Refusal
from tooltrue.transport.fetch import Fetcher, NotFetched

__all__ = ["Caller", "CallerExchange", "ExchangeSettings", "TokenExchange"]

_GRANT: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"
_MOST_SUBJECTS: Final = 1_000
Caller: TypeAlias = tuple[str, str]
"""A caller and its client: a token that one client was given serves no other."""
_EARLY_SECONDS: Final = 30.0
_BRIEF_SECONDS: Final = 60.0
"""How long a token without an expiry is used."""


class ExchangeSettings(Value, frozen=True):
    """The gateway as a client of the operator's token endpoint."""

    token_endpoint: str
    client_id: str
    client_secret: str
    audience: str | None = None
    scopes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"ExchangeSettings({self.client_id!r} at {self.token_endpoint!r}, …)"


class _Subject(Value, frozen=True):
    token: str
    number: int


class CallerExchange(ABC):
    """Makes credentials at one server of the tokens by which callers are known at the gateway."""

    def __init__(self) -> None:
        self._subjects: OrderedDict[Caller, _Subject] = OrderedDict()
        self._count = 0

    def auth(self, caller: str, client: str) -> ExchangeAuth:
        """The ``Auth`` of one caller, through one client."""
        return ExchangeAuth(self, (caller, client))

    @abstractmethod
    def authorizer(self, caller: Caller, url: str) -> Authorizer:
        """The credentials of a caller for the server at ``url``."""

    def note(self, context: RequestContext) -> None:
        """Remember the token of a caller, with which its next tokens are made. Only a token of an issuer is one: a key
        of this gateway is for no other."""
        caller = (context.principal.id, context.principal.client)
        scheme, _, token = (context.carried or {}).get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not caller[0].startswith(("https://", "http://")):
            return
        subject = self._subjects.get(caller)
        if subject is None or subject.token != token.strip():
            self._count += 1
            subject = _Subject(token.strip(), self._count)
        self._subjects[caller] = subject
        self._subjects.move_to_end(caller)
        while len(self._subjects) > _MOST_SUBJECTS:
            self._subjects.popitem(last=False)

    def subject(self, caller: Caller, url: str) -> str:
        """The newest token of a caller. Raises ``AuthorizationFailed`` if it has none."""
        subject = self._subjects.get(caller)
        if subject is None:
            raise AuthorizationFailed.of(EXCHANGE_WITHOUT_TOKEN, url=url)
        return subject.token

    def newest(self, context: RequestContext) -> tuple[str, int]:
        """A digest of the newest token of a caller, and a number that no other token of it has had; both empty without
        one."""
        subject = self._subjects.get((context.principal.id, context.principal.client))
        return ("", 0) if subject is None else (hashlib.sha256(subject.token.encode()).hexdigest(), subject.number)


class TokenExchange(CallerExchange):
    """The tokens of callers at one server."""

    def __init__(self, settings: ExchangeSettings, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._settings = settings
        self._clock = clock
        endpoint = settings.token_endpoint
        described = IssuerMetadata(issuer=endpoint, token_endpoint=endpoint)
        client = Registered(issuer=endpoint, client_id=settings.client_id, client_secret=settings.client_secret)
        self._endpoint = TokenEndpoint(described, client, Fetcher([endpoint]), clock)

    def authorizer(self, caller: Caller, url: str) -> Authorizer:
        return ExchangeAuthorizer(self, caller, url)

    def is_due(self, tokens: Tokens, since: float) -> bool:
        ends = since + _BRIEF_SECONDS if tokens.expires_at is None else tokens.expires_at - _EARLY_SECONDS
        return self._clock() >= ends

    def now(self) -> float:
        return self._clock()

    async def exchanged(self, subject: str, url: str) -> Tokens:
        """Exchange a token for one for the server at ``url``. Raises ``AuthorizationFailed``."""
        settings = self._settings
        form = {
            "grant_type": _GRANT,
            "subject_token": subject,
            "subject_token_type": _ACCESS_TOKEN,
            "requested_token_type": _ACCESS_TOKEN,
            **({} if settings.audience is None else {"audience": settings.audience}),
            **({"scope": " ".join(settings.scopes)} if settings.scopes else {}),
        }
        try:
            return await self._endpoint.tokens(form, canonical(url), settings.scopes)
        except (Unusable, NotFetched) as error:
            raise AuthorizationFailed.of(AUTHORIZATION_SERVER_ERROR, url=url, problem=fact_of(error)) from None


class ExchangeAuth:
    def __init__(self, exchange: CallerExchange, caller: Caller) -> None:
        self._exchange = exchange
        self._caller = caller

    def for_server(self, url: str) -> Authorizer:
        if not url.lower().startswith("https://") and not is_loopback_url(url):
            raise ConfigurationError.of(TOKEN_OVER_PLAIN_HTTP, url=url)
        return self._exchange.authorizer(self._caller, url)


class ExchangeAuthorizer:
    """Exchanges the newest token of a caller. Another token of it, or a refusal, makes another exchange."""

    def __init__(self, exchange: TokenExchange, caller: Caller, url: str) -> None:
        self._exchange = exchange
        self._caller = caller
        self._url = url
        self._lock = asyncio.Lock()
        self._subject = ""
        self._since = 0.0
        self._tokens: Tokens | None = None

    async def headers(self, method: str) -> Mapping[str, str]:
        async with self._lock:
            subject = self._exchange.subject(self._caller, self._url)
            tokens = self._tokens
            if tokens is None or subject != self._subject or self._exchange.is_due(tokens, self._since):
                tokens = self._tokens = await self._exchange.exchanged(subject, self._url)
                self._subject, self._since = subject, self._exchange.now()
            return {"authorization": f"Bearer {tokens.access}"}

    def ready(self) -> None:
        return None  # the caller may have another token by now

    async def challenged(self, refusal: Refusal) -> bool:
        if refusal.status != 401 or refusal.attempt:
            raise AuthorizationFailed.of(FRESH_TOKEN_REJECTED, url=self._url)
        if self._tokens is not None and refusal.sent.get("authorization") == f"Bearer {self._tokens.access}":
            self._tokens = None
        return True
