"""Sign-in of a browser: one-time links, sessions, and the tokens of forms.

A *link* carries a token that works once, within ten minutes. It stands behind the ``#`` of an address, which a browser
sends to no server, so no log and no header has it. A *session* is a cookie with a random value. The store has only
digests of both. The token of a form is derived from the cookie: a page of another site can neither read nor guess it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol.types import Value
from tooltrue.state.facts import Values

__all__ = [
    "ADMIN",
    "APPROVE",
    "OPERATOR",
    "READ",
    "Person",
    "Sessions",
    "digest",
    "form_token",
    "is_form_token",
    "link_to",
    "new_secret",
]

READ, APPROVE, ADMIN = "console:read", "console:approve", "console:admin"
OPERATOR: Final = "operator"
"""The principal of a one-time link: the person at the machine, who is none of the callers of tools."""

LINK_SECONDS = 600.0
SESSION_SECONDS = 43_200.0


class Person(Value, frozen=True):
    """The user of a session: their principal, its ``scopes``, and ``how`` they signed in: ``link``, ``key`` or
    ``issuer``."""

    id: str
    scopes: tuple[str, ...]
    how: str

    def may(self, scope: str) -> bool:
        return scope in self.scopes


class Sessions:
    """The links and sessions in a store in which every value expires."""

    def __init__(self, values: Values) -> None:
        self._values = values

    async def new_link(self) -> str:
        """Return the token of a new link for the operator."""
        token = new_secret()
        await self._values.put(_link(token), b"1", LINK_SECONDS)
        return token

    async def redeem(self, token: str) -> Person | None:
        """Use up the token of a link; ``None`` if it is used already, or too old."""
        if await self._values.remove(_link(token)) is None:
            return None
        return Person(OPERATOR, (READ, APPROVE, ADMIN), "link")

    async def begin(self, person: Person) -> str:
        """Begin a session. Returns the value of its cookie."""
        cookie = new_secret()
        await self._values.put(_session(cookie), encode(person), SESSION_SECONDS)
        return cookie

    async def person(self, cookie: str) -> Person | None:
        """Return the user of the session with this cookie; ``None`` if there is none, or not any more."""
        stored = await self._values.get(_session(cookie)) if cookie else None
        if stored is None:
            return None
        members = decode(stored)
        return Person(members["id"], tuple(members["scopes"]), members["how"])

    async def end(self, cookie: str) -> None:
        await self._values.remove(_session(cookie))


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def link_to(url: str, token: str) -> str:
    """Return the link with this token to the console at ``url``."""
    return f"{url}/sign-in#{token}"


def form_token(cookie: str) -> str:
    """Return the token of the forms that are shown to the browser with this cookie."""
    return digest("form", cookie)


def is_form_token(token: str, cookie: str) -> bool:
    return bool(cookie) and hmac.compare_digest(token.encode(), form_token(cookie).encode())


def _link(token: str) -> str:
    return f"console-link:{digest('link', token)}"


def _session(cookie: str) -> str:
    return f"console-session:{digest('session', cookie)}"


def digest(purpose: str, secret: str) -> str:
    """Return the name under which the store keeps what belongs to a secret."""
    # 32 random bytes cannot be guessed, so that a plain digest is as good as a slow one.
    return hashlib.sha256(f"{purpose}:{secret}".encode(errors="surrogatepass")).hexdigest()
