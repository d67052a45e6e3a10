"""The OAuth 2.1 resource server: accepts tokens of trusted issuers that were made for this server alone (2026-07-28,
basic/authorization).

It issues no tokens and has no login: the metadata sends clients to the issuers (RFC 9728). The token names its issuer;
from there on only that issuer's keys and answers count for it.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack
from urllib.parse import urlsplit

from tooltrue.errors import ConfigurationError, ScopeNeeded
from tooltrue.extras import install_command
from tooltrue.jsonrpc.messages import encode, is_array
from tooltrue.protocol.types import Value
from tooltrue.protocol.wellknown import RESOURCE, resource_place
from tooltrue.server.identity import Authentication, Refused, bearer
from tooltrue.server.wording import (
    LABEL_DISTINCT_ISSUERS,
    LABEL_HTTPS_URL,
    LABEL_SAID_OF_ONE_ISSUER,
    LABEL_SCOPE_NAMES,
    LABEL_SECONDS_UP_TO,
    MULTIPLE_INTROSPECTION_ENDPOINTS,
    OAUTH_EXTRA_MISSING,
    REASON_CLAIM_MISSING,
    REASON_TOKEN_OF_OTHER_ISSUER,
    REASON_TOKEN_TOO_LONG,
    REASON_TOKEN_UNREADABLE,
    REASON_TOKEN_WITHOUT_SUBJECT,
)
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import Page, Reply
from tooltrue.wording import SETTING_INVALID, Worded

if TYPE_CHECKING:  # its dependencies come with an extra
    from tooltrue.server.issuer import TokenIssuer
    from tooltrue.server.presets import PresetName, PresetSettings

__all__ = ["AuthorizationServer", "Introspection", "OAuth"]

_ENDPOINT = "/mcp"
_MAX_TOKEN = 8_192
_MAX_LEEWAY = 60
_CACHED_SECONDS = 60.0
_REFUSED_SECONDS = 5.0
_MAX_GOOD = 10_000
_MAX_BAD = 1_000  # apart from the good ones, which junk shall not push out
_MAX_SUBJECT = 512
_NEVER_ASKED = "offline_access"  # it is between a client and its issuer, and means nothing to a server


class _Passed(Value, frozen=True):
    """The cached result of a token check, the holder or the reason of the refusal, and its expiry."""

    until: float
    result: Principal | Worded


class _TokenCache:
    """A cache of token checks, by the token's digest; the oldest entry is evicted first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._entries: dict[bytes, _Passed] = {}

    def get(self, digest: bytes, now: float) -> _Passed | None:
        entry = self._entries.get(digest)
        return entry if entry is not None and entry.until > now else None

    def put(self, digest: bytes, passed: _Passed) -> None:
        self._entries.pop(digest, None)
        if len(self._entries) >= self._limit:
            del self._entries[next(iter(self._entries))]
        self._entries[digest] = passed


class Introspection(Value, frozen=True):
    """How to introspect an opaque token (RFC 7662): the client credentials, and the endpoint unless the issuer's
    metadata names it. ``always``: introspect signed tokens too, so that a revoked one ends within a minute. ``kind`` is
    how the endpoint is asked, and ``audiences`` are accepted in its answers alone: the client ids of an issuer whose
    opaque tokens have no other audience.
    """

    client_id: str
    client_secret: str
    endpoint: str | None = None
    always: bool = False
    kind: Literal["introspection", "github", "google"] = "introspection"
    audiences: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Introspection({self.client_id!r}, …)"


class AuthorizationServer(Value, frozen=True):
    """An issuer of tokens, for a server that trusts several: the location of its keys, unless its metadata names it,
    and how to introspect its tokens.
    """

    url: str
    jwks_uri: str | None = None
    introspection: Introspection | None = None


Issuers: TypeAlias = str | AuthorizationServer | Sequence[str | AuthorizationServer]


class OAuth(Authentication):
    """Access tokens of ``issuer``, or of several issuers, for ``resource``: the URL of this server's endpoint as
    clients know it.

    ``scopes`` are required of every request; ``optional_scopes`` are required by single tools, and are published for
    clients. ``includes`` maps a scope to the scopes that it implies: ``{"admin": ["read", "write"]}``. ``audiences``
    are further accepted audiences. Signed tokens are checked with the issuer's keys (``jwks_uri``, by default from its
    metadata), others by ``introspection``; with several issuers, each is an :class:`AuthorizationServer` with settings
    of its own. ``algorithms`` are asymmetric ones, none for an issuer without signed tokens; ``leeway`` is the accepted
    clock difference in seconds, at most 60. ``scope_claims`` are the claims that hold scopes, by default ``scope`` or
    ``scp``; a token without any of them is then refused. ``required_claims`` are further claims that a signed token
    must have. ``scope_prefix`` stands before the names of scopes that clients are told to ask for.
    """

    @classmethod
    def preset(cls, name: PresetName, *, resource: str, **settings: Unpack[PresetSettings]) -> OAuth:
        """The settings for a well-known authorization server: ``OAuth.preset("auth0", domain="acme.eu.auth0.com",
        resource="https://tools.example.com/mcp")``. Raises ``ConfigurationError`` for a missing or unknown setting.
        """
        from tooltrue.server.presets import settings_of_preset  # noqa: PLC0415 - few servers use one

        made = settings_of_preset(name, settings)
        login = made.pop("introspection", None)
        return cls(resource=resource, introspection=None if login is None else Introspection(**login), **made)

    def __init__(
        self,
        *,
        issuer: Issuers,
        resource: str,
        scopes: Iterable[str] = (),
        optional_scopes: Iterable[str] = (),
        includes: Mapping[str, Iterable[str]] | None = None,
        audiences: Iterable[str] = (),
        introspection: Introspection | None = None,
        jwks_uri: str | None = None,
        algorithms: Collection[str] | None = None,
        leeway: int = 30,
        scope_claims: Sequence[str] = (),
        required_claims: Sequence[str] = (),
        scope_prefix: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        if find_spec("joserfc") is None:
            raise ConfigurationError.of(OAUTH_EXTRA_MISSING, command=install_command("auth"))
        from tooltrue.server import jwt  # noqa: PLC0415 - cryptography is slow to load

        self._jwt = jwt
        self._scopes = _check_scopes("OAuth(scopes=…)", scopes)
        self._optional = _check_scopes("OAuth(optional_scopes=…)", optional_scopes)
        self._includes = _closure(includes or {})
        self._algorithms = frozenset(self._jwt.ALGORITHMS if algorithms is None else algorithms)
        _check("OAuth(algorithms=…)", self._algorithms <= set(self._jwt.ALGORITHMS), ", ".join(self._jwt.ALGORITHMS))
        _check("OAuth(leeway=…)", 0 <= leeway <= _MAX_LEEWAY, Worded(LABEL_SECONDS_UP_TO, {"limit": _MAX_LEEWAY}))
        self._leeway = leeway
        self._scope_claims = tuple(scope_claims)
        self._required_claims = tuple(required_claims)
        self.scope_prefix = scope_prefix
        self.resource = _canonical(_check_url("OAuth(resource=…)", resource))
        self._audiences = tuple(map(_canonical, (self.resource, *audiences)))
        self._clock = clock
        servers = _servers(issuer, jwks_uri, introspection)
        self._issuers = {server.url: _issuer(server, clock) for server in servers}
        introspecting = next(((server.url, server.introspection) for server in servers if server.introspection), None)
        self._introspecting_issuer = None if introspecting is None else introspecting[0]
        self._introspected_audiences = (*self._audiences, *(introspecting[1].audiences if introspecting else ()))
        self._always_introspected = introspecting[0] if introspecting is not None and introspecting[1].always else None
        self.shown = f"tokens of {', '.join(self._issuers)} for {self.resource}"
        text = f"An access token of {' or '.join(self._issuers)} for {self.resource}."
        self.security = {"oauth": {"type": "http", "scheme": "bearer", "description": text}}
        self._good = _TokenCache(_MAX_GOOD)
        self._bad = _TokenCache(_MAX_BAD)
        self.parameters = {
            "resource_metadata": resource_place(self.resource),
            **({"scope": " ".join(self._requested(self._scopes))} if self._scopes else {}),
        }
        self.pages = self._published()

    @property
    def issuers(self) -> Sequence[str]:
        """The URLs of the issuers whose tokens are accepted."""
        return list(self._issuers)

    async def principal(self, carrier: Carrier) -> Principal | None:
        token = bearer(carrier)
        if token is None:
            return None
        if len(token) > _MAX_TOKEN:
            raise Refused.token(Worded(REASON_TOKEN_TOO_LONG, {"limit": _MAX_TOKEN}))
        principal = await self._holder(token)
        if not principal.scopes.issuperset(self._scopes):
            raise ScopeNeeded.needing(self._scopes)
        return principal

    async def _holder(self, token: str) -> Principal:
        """Return the holder of a token. Results are cached for a while, under a digest: no token is stored."""
        digest = hashlib.sha256(token.encode()).digest()
        now = self._clock()
        passed = self._good.get(digest, now) or self._bad.get(digest, now)
        if passed is None:
            passed = await self._judge(token)
            (self._bad if isinstance(passed.result, Worded) else self._good).put(digest, passed)
        if isinstance(passed.result, Worded):
            raise Refused.token(passed.result)
        return passed.result

    async def _judge(self, token: str) -> _Passed:
        try:
            issuer, claims = await self._claims(token)
            ends = claims.get("exp", float("inf"))
            return _Passed(min(ends + self._leeway, self._clock() + _CACHED_SECONDS), self._named(issuer, claims))
        except self._jwt.BadToken as error:
            return _Passed(self._clock() + _REFUSED_SECONDS, error.problem)

    async def _claims(self, token: str) -> tuple[str, Mapping[str, Any]]:
        """Return the issuer of a token and its verified claims. Raises ``BadToken``."""
        needed = ["aud"]
        claims: Mapping[str, Any] = {}
        audiences = self._audiences
        if _is_signed(token):
            header = self._jwt.header_of(token, self._algorithms)
            issuer = self._trusted(header.issuer)
            claims = self._jwt.signed_claims(token, header, await issuer.keys(header.key))
            needed += ["iss", "exp", "sub", *self._required_claims]
        elif self._introspecting_issuer is not None:
            issuer = self._issuers[self._introspecting_issuer]
            audiences = self._introspected_audiences
        else:
            raise self._jwt.BadToken(Worded(REASON_TOKEN_UNREADABLE, {}))
        if not claims or issuer.url == self._always_introspected:
            claims = {**claims, **await issuer.introspect(token)}
        claims = {**claims, "aud": _canonical_all(claims.get("aud"))}
        self._jwt.check_claims(
            claims,
            issuer=issuer.url,
            audiences=audiences,
            now=self._clock(),
            leeway=self._leeway,
            needed=needed,
        )
        if self._scope_claims and not any(name in claims for name in self._scope_claims):
            raise self._jwt.BadToken(Worded(REASON_CLAIM_MISSING, {"claim": self._scope_claims[0]}))
        return issuer.url, claims

    def _trusted(self, url: str) -> TokenIssuer:
        issuer = self._issuers.get(url)
        if issuer is None:
            raise self._jwt.BadToken(Worded(REASON_TOKEN_OF_OTHER_ISSUER, {}))
        return issuer

    def _named(self, issuer: str, claims: Mapping[str, Any]) -> Principal:
        """The principal from issuer and subject; a client that acts for itself, without a subject, gets an id of
        another form.
        """
        subject, client = claims.get("sub"), claims.get("client_id")
        if isinstance(subject, str) and 0 < len(subject) <= _MAX_SUBJECT:
            return Principal(f"{issuer}#{subject}", self._granted(claims), _client(claims))
        if subject is None and isinstance(client, str) and 0 < len(client) <= _MAX_SUBJECT:
            return Principal(f"{issuer}?client={client}", self._granted(claims), client)
        raise self._jwt.BadToken(Worded(REASON_TOKEN_WITHOUT_SUBJECT, {}))

    def _granted(self, claims: Mapping[str, Any]) -> frozenset[str]:
        names = self._scope_claims or (("scope",) if "scope" in claims else ("scp",))
        scopes = [scope for name in names for scope in _words(claims.get(name))]
        return frozenset(scopes).union(*(self._includes.get(scope, ()) for scope in scopes))

    def _requested(self, scopes: Iterable[str]) -> list[str]:
        """The names by which clients ask for scopes."""
        return [f"{self.scope_prefix}{scope}" for scope in scopes]

    def _published(self) -> Mapping[str, Page]:
        """The metadata pages: at the root form, at that of the endpoint, and at that of the resource."""
        scopes = self._requested(sorted({*self._scopes, *self._optional}))
        body = encode(
            {
                "resource": self.resource,
                "authorization_servers": list(self._issuers),
                "bearer_methods_supported": ["header"],
                **({"scopes_supported": scopes} if scopes else {}),
            }
        )

        async def page(carrier: Carrier) -> Reply:
            return Reply(200, body, (("cache-control", "max-age=300"),))

        paths = (RESOURCE, RESOURCE + _ENDPOINT, RESOURCE + urlsplit(self.resource).path.rstrip("/"))
        return dict.fromkeys(paths, page)


def _servers(
    issuer: Issuers, jwks_uri: str | None, introspection: Introspection | None
) -> Sequence[AuthorizationServer]:
    """Return each issuer with its settings. Raises ``ConfigurationError`` if a setting could belong to several of
    them.
    """
    if isinstance(issuer, str):
        return (AuthorizationServer(issuer, jwks_uri, introspection),)
    issuers = (issuer,) if isinstance(issuer, AuthorizationServer) else issuer
    servers = tuple(AuthorizationServer(one) if isinstance(one, str) else one for one in issuers)
    for name, value in (("jwks_uri", jwks_uri), ("introspection", introspection)):
        _check(f"OAuth({name}=…)", value is None, Worded(LABEL_SAID_OF_ONE_ISSUER, {"name": name}))
    urls = [server.url for server in servers]
    _check("OAuth(issuer=…)", 0 < len(urls) == len(set(urls)), Worded(LABEL_DISTINCT_ISSUERS, {}))
    if len([server for server in servers if server.introspection is not None]) > 1:
        raise ConfigurationError.of(MULTIPLE_INTROSPECTION_ENDPOINTS)
    return servers


def _issuer(server: AuthorizationServer, clock: Callable[[], float]) -> TokenIssuer:
    """Make the issuer. The addresses in its settings may be fetched even if they are not public."""
    login = server.introspection
    endpoint = None if login is None else login.endpoint
    named = [("OAuth(issuer=…)", server.url), ("jwks_uri", server.jwks_uri), ("Introspection(endpoint=…)", endpoint)]
    from tooltrue.transport.fetch import Fetcher  # noqa: PLC0415 - stdio needs no HTTP

    fetcher = Fetcher([_check_url(name, place) for name, place in named if place is not None])
    from tooltrue.server.issuer import TokenIssuer  # noqa: PLC0415 - stdio needs no HTTP
    from tooltrue.server.token_checks import TOKEN_CHECKS  # noqa: PLC0415 - stdio needs no HTTP

    return TokenIssuer(
        server.url,
        fetcher,
        clock,
        jwks_uri=server.jwks_uri,
        introspection_endpoint=endpoint,
        login=None if login is None else (login.client_id, login.client_secret),
        check=TOKEN_CHECKS["introspection" if login is None else login.kind],
    )


def _is_signed(token: str) -> bool:
    """Whether a token is self-contained: three parts, of which the first is a JSON object."""
    return token.count(".") == 2 and token.startswith("ey")


_CLIENT_CLAIMS = ("client_id", "azp", "appid", "cid")
"""The claims by which issuers name the client of a token: by RFC 9068, OpenID Connect, Entra (1.0) and Okta."""


def _client(claims: Mapping[str, Any]) -> str:
    """The client that a token was issued to; empty if the claims name none."""
    names = (claims.get(claim) for claim in _CLIENT_CLAIMS)
    return next((name for name in names if isinstance(name, str) and name), "")


def _closure(includes: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """Map each scope to all that it implies, transitively."""
    direct = {scope: frozenset(others) for scope, others in includes.items()}

    def all_of(scope: str, visited: frozenset[str]) -> frozenset[str]:
        new = direct.get(scope, frozenset()) - visited
        return new.union(*(all_of(other, visited | new) for other in new))

    return {scope: all_of(scope, frozenset({scope})) for scope in direct}


def _check(setting: str, holds: bool, requirement: str | Worded) -> None:
    if not holds:
        raise ConfigurationError.of(SETTING_INVALID, name=setting, wanted=requirement)


def _check_scopes(setting: str, scopes: Iterable[str]) -> Sequence[str]:
    names = sorted({scopes} if isinstance(scopes, str) else set(scopes))
    plain = all(scope.isascii() and scope.isprintable() and not set(scope) & set(' "\\') for scope in names)
    _check(
        setting,
        plain and all(names) and _NEVER_ASKED not in names,
        Worded(LABEL_SCOPE_NAMES, {"reserved": _NEVER_ASKED}),
    )
    return names


def _check_url(setting: str, url: str) -> str:
    parts = urlsplit(url)
    local = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1", "::1")
    plain = not (parts.query or parts.fragment or parts.username) and url.isascii() and '"' not in url
    _check(setting, (parts.scheme.lower() == "https" or local) and bool(parts.hostname) and plain, _URL)
    return url


_URL = Worded(LABEL_HTTPS_URL, {})


def _canonical(url: str) -> str:
    """Scheme and host in lower case: only these are case-insensitive (RFC 8707, section 2). Text that is not a URL is
    returned unchanged, and so matches no audience.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return parts._replace(scheme=parts.scheme.lower(), netloc=parts.netloc.lower()).geturl()


def _canonical_all(audience: Any) -> Any:
    if isinstance(audience, str):
        return _canonical(audience)
    return list(map(_canonical, _texts(audience)))


def _words(value: Any) -> list[str]:
    """The words of a text, or the strings of an array."""
    return value.split() if isinstance(value, str) else _texts(value)


def _texts(value: Any) -> list[str]:
    """The strings of an array; empty for any other value."""
    entries: list[Any] = value if is_array(value) else []
    return [entry for entry in entries if isinstance(entry, str)]
