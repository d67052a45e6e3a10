"""The sign-in of a browser at the pages of a gateway, whose callers have tokens of an issuer (``[auth.oauth]``).

The browser signs in at that issuer, by the authorization code grant with PKCE, and the gateway gets a token for itself,
which is authenticated as at the endpoint: the browser is the caller that the same issuer has named. The token is not
kept. There is no ID token, and so no ``nonce``: the code is bound to the browser by ``state`` and a cookie, and to the
gateway by PKCE. One cookie holds the secret of a sign-in, and then that of a session; each is kept by the state.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Final

from tooltrue.client.auth.grant_flows import TokenRequest, authorization_url, code_of, sign_in_page
from tooltrue.client.auth.metadata import IssuerMetadata, find_issuer
from tooltrue.client.auth.tokens import Registered, Unusable, from_json
from tooltrue.client.wording import REASON_NO_ISSUER_METADATA
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.caller_grants import REQUEST_SECONDS, CallerGrants, SignInSettings
from tooltrue.gateway.wording import GRANT_PAGES_UNREACHABLE, LABEL_SIGN_IN_ISSUER
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol.types import Value
from tooltrue.server.identity import Authenticate, methods_of
from tooltrue.server.oauth import OAuth
from tooltrue.server.route_requests import RouteRequest
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.fetch import Fetcher
from tooltrue.wording import Worded

__all__ = ["SIGNED_IN", "BrowserSignIn"]

SIGNED_IN: Final = "/grants/signed-in"
_COOKIE: Final = "__Host-tooltrue"
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Lax"
_BEGUN: Final = "sign-in"
_SESSION: Final = "session"
_SESSION_SECONDS: Final = 2 * REQUEST_SECONDS
"""Long enough for a consent, and for the sign-in at a server after it."""


class _Begun(Value, frozen=True):
    """A browser is at the issuer for the sake of a request for a grant. ``cookie`` is known to that browser alone."""

    name: str
    issuer: IssuerMetadata
    verifier: str
    cookie: str

    def __repr__(self) -> str:
        return f"_Begun({self.issuer.issuer!r}, …)"


class BrowserSignIn:
    """``authenticator`` returns the authentication of the endpoint, and ``place`` is that of the settings."""

    def __init__(
        self,
        settings: SignInSettings,
        grants: CallerGrants,
        authenticator: Callable[[], Authenticate | None],
        place: str,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._grants = grants
        self._authenticator = authenticator
        self._place = place
        self._clock = clock
        self._oauth: OAuth | None = None

    def oauth(self) -> OAuth:
        """Return the authentication of callers by tokens. Raises ``ConfigurationError`` if it has no such issuer."""
        if self._oauth is None:
            found = [one for one in methods_of(self._authenticator()) if isinstance(one, OAuth)]
            issuers = [issuer for one in found for issuer in one.issuers]
            if self._settings.issuer not in (issuers if len(issuers) != 1 else (*issuers, None)):
                problem = Worded(LABEL_SIGN_IN_ISSUER, {"issuers": ", ".join(issuers) or "-"})
                facts = {"place": self._place, "server": next(iter(self._grants.servers)), "problem": problem}
                raise ConfigurationError.of(GRANT_PAGES_UNREACHABLE, **facts)
            self._oauth = found[0]
        return self._oauth

    async def caller(self, request: RouteRequest) -> str | None:
        """Return the caller as which a browser is signed in."""
        return await self._grants.store.read((_SESSION, _cookie_of(request)))

    async def begin(self, name: str) -> Mapping[str, str]:
        """Return the headers that send a browser to the issuer, from where it comes back to the page of a request.
        Raises ``Unusable``, ``AuthorizationFailed`` and ``NotFetched``."""
        issuer = await self._issuer()
        request = self._request(issuer)
        page = await sign_in_page(request)
        state, verifier, cookie = (secrets.token_urlsafe(48) for _ in range(3))
        begun = encode(_Begun(name, issuer, verifier, cookie)).decode()
        await self._grants.store.write((_BEGUN, state), begun, REQUEST_SECONDS)
        url = authorization_url(page, request, self._client(issuer), self._redirect_uri, state, verifier)
        return {"location": url, "set-cookie": _set_cookie(cookie, REQUEST_SECONDS)}

    async def returned(self, request: RouteRequest, answer: Mapping[str, str]) -> tuple[str, str] | None:
        """Return the name of the request for which a browser comes back from the issuer, and the caller as which it has
        signed in; ``None`` if this browser has not been sent there. Raises the errors of :meth:`begin` and
        ``RpcError``."""
        begun = from_json(await self._grants.store.take((_BEGUN, answer.get("state", ""))), _Begun)
        if begun is None or not secrets.compare_digest(begun.cookie.encode(), _cookie_of(request).encode()):
            return None
        form = {
            "grant_type": "authorization_code",
            "code": code_of(answer, begun.issuer),
            "redirect_uri": self._redirect_uri,
            "code_verifier": begun.verifier,
        }
        asked = self._request(begun.issuer)
        tokens = await asked.granted(asked.endpoint(self._client(begun.issuer)), form, scoped=False)
        principal = await self.oauth().principal(Carrier("http", {"authorization": f"Bearer {tokens.access}"}))
        return None if principal is None else (begun.name, principal.id)

    async def session(self, caller: str) -> Mapping[str, str]:
        """Begin the session of a browser, and return the headers that it gets."""
        cookie = secrets.token_urlsafe(48)
        await self._grants.store.write((_SESSION, cookie), caller, _SESSION_SECONDS)
        return {"set-cookie": _set_cookie(cookie, _SESSION_SECONDS)}

    @property
    def _redirect_uri(self) -> str:
        return self._grants.base + SIGNED_IN

    async def _issuer(self) -> IssuerMetadata:
        url = self._settings.issuer or self.oauth().issuers[0]
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
        oauth = self.oauth()
        scopes = tuple(oauth.parameters.get("scope", "").split())
        fetcher = self._fetcher(issuer.issuer)
        return TokenRequest(self._grants.base, oauth.resource, issuer, scopes, fetcher, self._clock)


def _cookie_of(request: RouteRequest) -> str:
    """The cookie of ours; empty if there is none, or several."""
    pairs = (part.strip().partition("=") for part in request.headers.get("cookie", "").split(";"))
    values = [value for name, _, value in pairs if name == _COOKIE]
    return values[0] if len(values) == 1 else ""


def _set_cookie(value: str, seconds: float) -> str:
    return f"{_COOKIE}={value}; Max-Age={int(seconds)}; {_ATTRIBUTES}"
