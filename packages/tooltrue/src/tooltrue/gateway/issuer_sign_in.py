"""The sign-in of a browser at the issuer of callers' tokens, for pages that a gateway or a console serves.

The browser signs in by the authorization code grant with PKCE. The server of the pages gets a token for itself, which
is authenticated as at its endpoint, so that the browser is the caller that the same issuer has named. The token is not
kept. There is no ID token, and so no ``nonce``: the code is bound to the browser by ``state`` and a cookie, and to the
server by PKCE; ``iss`` is checked (RFC 9207).
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from tooltrue.client.auth.grant_flows import TokenRequest, authorization_url, code_of, sign_in_page
from tooltrue.client.auth.metadata import IssuerMetadata, find_issuer
from tooltrue.client.auth.tokens import Registered, Unusable, from_json
from tooltrue.client.wording import REASON_NO_ISSUER_METADATA
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol.types import Value
from tooltrue.server.oauth import OAuth
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.fetch import Fetcher
from tooltrue.wording import Worded

__all__ = ["SIGN_IN_SECONDS", "IssuerSignIn", "SignInSettings", "SignInStore"]

SIGN_IN_SECONDS: Final = 600.0
"""How long a browser may stay at the issuer."""
_ATTEMPT: Final = "sign-in"


class SignInSettings(Value, frozen=True):
    """A server of pages as a client of the callers' issuer. ``issuer`` names it where callers have several."""

    client_id: str
    client_secret: str | None = None
    issuer: str | None = None
    trusted: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"SignInSettings({self.client_id!r}, …)"


class SignInStore(Protocol):
    """Keeps what is known of browsers that are at the issuer, for ``seconds``. A text that is taken is gone."""

    async def write(self, owner: Sequence[str], text: str | None, seconds: float) -> None: ...

    async def take(self, owner: Sequence[str]) -> str | None: ...


class _Attempt(Value, frozen=True):
    """A browser is at the issuer for some ``purpose``. ``cookie`` is known to that browser alone."""

    purpose: str
    issuer: IssuerMetadata
    verifier: str
    cookie: str

    def __repr__(self) -> str:
        return f"_Attempt({self.issuer.issuer!r}, …)"


class IssuerSignIn:
    """``oauth`` is the authentication of callers, one of whose issuers the settings name. ``url`` is that of the server
    of the pages, ``redirect_uri`` the address to which browsers return, and ``scopes`` are asked for in place of those
    that every caller needs."""

    def __init__(
        self,
        settings: SignInSettings,
        oauth: OAuth,
        url: str,
        redirect_uri: str,
        store: SignInStore,
        *,
        scopes: Sequence[str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._oauth = oauth
        self._url = url
        self._redirect_uri = redirect_uri
        self._store = store
        self._scopes = tuple(oauth.parameters.get("scope", "").split() if scopes is None else scopes)
        self._clock = clock

    async def begin(self, purpose: str) -> tuple[str, str]:
        """Return the address at the issuer for a browser that signs in, and the secret for a cookie of it. Raises
        ``Unusable``, ``AuthorizationFailed`` and ``NotFetched``."""
        issuer = await self._issuer()
        request = self._request(issuer)
        page = await sign_in_page(request)
        state, verifier, cookie = (secrets.token_urlsafe(48) for _ in range(3))
        attempt = encode(_Attempt(purpose, issuer, verifier, cookie)).decode()
        await self._store.write((_ATTEMPT, state), attempt, SIGN_IN_SECONDS)
        return authorization_url(page, request, self._client(issuer), self._redirect_uri, state, verifier), cookie

    async def returned(self, answer: Mapping[str, str], cookie: str) -> tuple[str, Principal] | None:
        """Return the purpose for which a browser comes back from the issuer, and the principal as which it has signed
        in; ``None`` if the browser with this cookie has not been sent there, or has been back already. Raises the
        errors of :meth:`begin` and ``RpcError``."""
        attempt = from_json(await self._store.take((_ATTEMPT, answer.get("state", ""))), _Attempt)
        if attempt is None or not secrets.compare_digest(attempt.cookie.encode(), cookie.encode()):
            return None
        form = {
            "grant_type": "authorization_code",
            "code": code_of(answer, attempt.issuer),
            "redirect_uri": self._redirect_uri,
            "code_verifier": attempt.verifier,
        }
        request = self._request(attempt.issuer)
        tokens = await request.granted(request.endpoint(self._client(attempt.issuer)), form, scoped=False)
        principal = await self._oauth.principal(Carrier("http", {"authorization": f"Bearer {tokens.access}"}))
        return None if principal is None else (attempt.purpose, principal)

    async def _issuer(self) -> IssuerMetadata:
        url = self._settings.issuer or self._oauth.issuers[0]
        issuer = await find_issuer(self._fetcher(url), url)
        if issuer is None:
            raise Unusable(Worded(REASON_NO_ISSUER_METADATA, {"url": url}))
        return issuer

    def _fetcher(self, url: str) -> Fetcher:
        return Fetcher([url, *self._settings.trusted])  # of the operator, as at the endpoint

    def _client(self, issuer: IssuerMetadata) -> Registered:
        settings = self._settings
        return Registered(issuer=issuer.issuer, client_id=settings.client_id, client_secret=settings.client_secret)

    def _request(self, issuer: IssuerMetadata) -> TokenRequest:
        fetcher = self._fetcher(issuer.issuer)
        return TokenRequest(self._url, self._oauth.resource, issuer, self._scopes, fetcher, self._clock)
