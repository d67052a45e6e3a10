"""Identifies callers. stdio and memory: ``local``. HTTP: by the authentication methods, or ``local:http`` on this
machine.

An authentication method is an :class:`Authentication`: OAuth (``server/oauth.py``), API keys (``server/keys.py``), a
trusted proxy or an address (``server/proxies.py``), or a function of the author. Credentials end here: no code behind
this module has the token.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tooltrue.errors import InvalidRequest, RpcError, ScopeNeeded
from tooltrue.server.wording import (
    AUTHENTICATION_REQUIRED,
    AUTHENTICATION_UNAVAILABLE,
    REMOTE_CALL_WITHOUT_AUTHENTICATION,
    TOKEN_NOT_ACCEPTED,
)
from tooltrue.tools.vocabulary import LOCAL, Principal
from tooltrue.transport.addresses import is_loopback
from tooltrue.transport.carrier import Carrier
from tooltrue.wording import Worded

if TYPE_CHECKING:  # a server on stdio does without
    from tooltrue.transport.http_server import Page

__all__ = [
    "LOCAL_HTTP",
    "Authenticate",
    "Authentication",
    "Refused",
    "bearer",
    "challenge",
    "described",
    "methods_of",
    "principal_of",
    "security_of",
]

LOCAL_HTTP = Principal("local:http")


class Authentication:
    """A method to authenticate HTTP callers. ``parameters`` go into the challenge of a 401; ``headers`` are the headers
    that it reads, and may not be repeated in a request; ``pages`` are public pages beside the endpoint; ``shown``
    describes the admitted callers in a few words. ``scope_prefix`` stands before the names of scopes in a challenge.
    ``security`` are the security schemes of OpenAPI that describe it, by name; none if no client can act on it.
    """

    shown: str = "of its own"
    scope_prefix: str = ""

    parameters: Mapping[str, str] = {}
    headers: Sequence[str] = ()
    pages: Mapping[str, Page] = {}
    security: Mapping[str, Mapping[str, Any]] = {}

    async def principal(self, carrier: Carrier) -> Principal | None:
        """Return the caller, or ``None`` if the request carries no credentials of this method. Raises :class:`Refused`
        for invalid credentials, and :class:`ScopeNeeded` for insufficient scopes.
        """
        raise NotImplementedError


Authenticate: TypeAlias = (
    Callable[[Carrier], Principal | Awaitable[Principal | None] | None] | Authentication | Sequence[Authentication]
)
"""A function from a request to its principal (``None``: 401), or authentication methods, of which the first that
applies decides. Headers are in ``carrier.headers``.
"""


class Refused(RpcError):
    """The credentials of a request are not accepted."""

    number = InvalidRequest.number
    status = 401
    error = ""

    @classmethod
    def malformed(cls, code: str, **facts: object) -> Refused:
        return cls._made(400, "invalid_request", code, facts)

    @classmethod
    def token(cls, problem: Worded) -> Refused:
        """An invalid token or key, and why."""
        return cls._made(401, "invalid_token", TOKEN_NOT_ACCEPTED, {"problem": problem})

    @classmethod
    def unknowable(cls) -> Refused:
        """The service that validates the credentials cannot be reached: the request is refused."""
        return cls._made(503, "temporarily_unavailable", AUTHENTICATION_UNAVAILABLE, {})

    @classmethod
    def elsewhere(cls, address: str) -> Refused:
        """The server has no authentication, and the request does not come from this machine."""
        return cls._made(403, "", REMOTE_CALL_WITHOUT_AUTHENTICATION, {"address": address[:80]})

    @classmethod
    def _made(cls, status: int, error: str, code: str, facts: Mapping[str, object]) -> Refused:
        refused = cls.of(code, **facts)
        refused.status, refused.error = status, error
        return refused


def methods_of(authenticate: Authenticate | None) -> Sequence[Authentication]:
    """Normalize to a sequence of authentication methods; loopback only, if none is given."""
    if authenticate is None:
        return (_ThisMachine(),)
    if isinstance(authenticate, Authentication):
        return (authenticate,)
    return (_FunctionAuthentication(authenticate),) if callable(authenticate) else tuple(authenticate)


async def principal_of(carrier: Carrier, methods: Sequence[Authentication]) -> Principal:
    """Return the principal of a message. Raises :class:`Refused` and :class:`ScopeNeeded`."""
    if carrier.kind != "http":
        return LOCAL
    for method in methods:
        principal = await method.principal(carrier)
        if principal is not None:
            return principal
    raise Refused.of(AUTHENTICATION_REQUIRED)


def security_of(methods: Iterable[Authentication]) -> dict[str, Mapping[str, Any]]:
    """Return the security schemes of OpenAPI of these methods, by name; any one admits a caller."""
    return {name: scheme for method in methods for name, scheme in method.security.items()}


def described(authenticate: Authenticate | None) -> str:
    """Describe how callers are identified, for ``tooltrue inspect``."""
    return f"stdio: local; HTTP: {', '.join(method.shown for method in methods_of(authenticate))}"


def bearer(carrier: Carrier) -> str | None:
    """Return the token of ``Authorization: Bearer``, or ``None``."""
    scheme, _, token = (carrier.headers or {}).get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def challenge(methods: Iterable[Authentication], error: RpcError) -> str:
    """Return the value of ``WWW-Authenticate``: what would be accepted (RFC 6750, section 3; RFC 9728, section 5.1)."""
    methods = tuple(methods)
    parameters = {name: value for method in methods for name, value in method.parameters.items()}
    if isinstance(error, ScopeNeeded):
        prefix = next((method.scope_prefix for method in methods if method.scope_prefix), "")
        own = [f"{prefix}{scope}" for scope in error.scopes if scope != "offline_access"]
        needed = {*own, *parameters.get("scope", "").split()}
        parameters |= {"error": "insufficient_scope", "scope": " ".join(sorted(needed))}
    elif isinstance(error, Refused) and error.error:
        parameters["error"] = error.error
    if "error" in parameters:
        parameters["error_description"] = "".join(c for c in str(error) if " " <= c <= "~" and c not in '"\\')
    return ("Bearer " + ", ".join(f'{name}="{value}"' for name, value in parameters.items())).strip()


@dataclass(frozen=True)
class _FunctionAuthentication(Authentication):
    function: Callable[[Carrier], Principal | Awaitable[Principal | None] | None]
    shown = "as a function says"

    async def principal(self, carrier: Carrier) -> Principal | None:
        principal = self.function(carrier)
        return principal if principal is None or isinstance(principal, Principal) else await principal


class _ThisMachine(Authentication):
    """No authentication: a caller is on this machine, or is refused.

    Our own server listens on loopback only, but the application may be mounted elsewhere, or stand behind a tunnel.
    """

    shown = "loopback only, as local:http"

    async def principal(self, carrier: Carrier) -> Principal | None:
        headers = carrier.headers or {}
        if carrier.peer not in _HERE and not is_loopback(carrier.peer or ""):
            raise Refused.elsewhere(carrier.peer or "")
        if "forwarded" in headers or "x-forwarded-for" in headers:
            _check_forwarded(headers)
        return LOCAL_HTTP


_HERE = ("127.0.0.1", "::1", None)  # the usual spellings, without parsing; a local socket has no address


def _check_forwarded(headers: Mapping[str, str]) -> None:
    """Refuse requests that a local proxy forwards for other machines; those that it forwards for this machine are
    local.
    """
    forwarded = headers.get("forwarded")
    if forwarded is not None:
        raise Refused.elsewhere(forwarded)
    for address in headers["x-forwarded-for"].split(","):
        if not is_loopback(address.strip()):
            raise Refused.elsewhere(address.strip())
