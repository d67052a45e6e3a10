"""The sign-in of a browser at the pages of a gateway, whose callers have tokens of an issuer (``[auth.oauth]``).

One cookie holds the secret of a sign-in, and then that of a session; each is kept by the state.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Final

from tooltrue.errors import ConfigurationError
from tooltrue.gateway.caller_grants import CallerGrants
from tooltrue.gateway.issuer_sign_in import SIGN_IN_SECONDS, IssuerSignIn, SignInSettings
from tooltrue.gateway.wording import GRANT_PAGES_UNREACHABLE, LABEL_SIGN_IN_ISSUER
from tooltrue.server.identity import Authenticate, methods_of
from tooltrue.server.oauth import OAuth
from tooltrue.server.route_requests import RouteRequest
from tooltrue.wording import Worded

__all__ = ["SIGNED_IN", "BrowserSignIn"]

SIGNED_IN: Final = "/grants/signed-in"
_COOKIE: Final = "__Host-tooltrue"
_ATTRIBUTES: Final = "Path=/; Secure; HttpOnly; SameSite=Lax"
_SESSION: Final = "session"
_SESSION_SECONDS: Final = 2 * SIGN_IN_SECONDS
"""Long enough for a consent, and for the sign-in at a server after it."""


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
            methods = [one for one in methods_of(self._authenticator()) if isinstance(one, OAuth)]
            issuers = [issuer for one in methods for issuer in one.issuers]
            if self._settings.issuer not in (issuers if len(issuers) != 1 else (*issuers, None)):
                problem = Worded(LABEL_SIGN_IN_ISSUER, {"issuers": ", ".join(issuers) or "-"})
                facts = {"place": self._place, "server": next(iter(self._grants.servers)), "problem": problem}
                raise ConfigurationError.of(GRANT_PAGES_UNREACHABLE, **facts)
            self._oauth = next(one for one in methods if self._settings.issuer in (None, *one.issuers))
        return self._oauth

    def _issuer(self) -> IssuerSignIn:
        grants, redirect_uri = self._grants, self._grants.base + SIGNED_IN
        return IssuerSignIn(self._settings, self.oauth(), grants.base, redirect_uri, grants.store, clock=self._clock)

    async def caller(self, request: RouteRequest) -> str | None:
        """Return the caller as which a browser is signed in."""
        return await self._grants.store.read((_SESSION, _cookie_of(request)))

    async def begin(self, name: str) -> Mapping[str, str]:
        """Return the headers that send a browser to the issuer, from where it comes back to the page of a request.
        Raises the errors of :meth:`IssuerSignIn.begin`."""
        url, cookie = await self._issuer().begin(name)
        return {"location": url, "set-cookie": _set_cookie(cookie, SIGN_IN_SECONDS)}

    async def returned(self, request: RouteRequest, answer: Mapping[str, str]) -> tuple[str, str] | None:
        """Return the name of the request for which a browser comes back from the issuer, and the caller as which it has
        signed in; ``None`` if this browser has not been sent there. Raises the errors of
        :meth:`IssuerSignIn.returned`."""
        returned = await self._issuer().returned(answer, _cookie_of(request))
        return None if returned is None else (returned[0], returned[1].id)

    async def session(self, caller: str) -> Mapping[str, str]:
        """Begin the session of a browser, and return the headers that it gets."""
        cookie = secrets.token_urlsafe(48)
        await self._grants.store.write((_SESSION, cookie), caller, _SESSION_SECONDS)
        return {"set-cookie": _set_cookie(cookie, _SESSION_SECONDS)}


def _cookie_of(request: RouteRequest) -> str:
    """The cookie of ours; empty if there is none, or several."""
    pairs = (part.strip().partition("=") for part in request.headers.get("cookie", "").split(";"))
    values = [value for name, _, value in pairs if name == _COOKIE]
    return values[0] if len(values) == 1 else ""


def _set_cookie(value: str, seconds: float) -> str:
    return f"{_COOKIE}={value}; Max-Age={int(seconds)}; {_ATTRIBUTES}"
