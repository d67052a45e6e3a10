"""The OAuth grants: a person agrees in a browser, the program has credentials of its own, or another service vouches
for it.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import inspect
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias
from urllib.parse import urlencode, urlsplit

from tooltrue.client.auth.metadata import IssuerMetadata
from tooltrue.client.auth.redirect import Redirect
from tooltrue.client.auth.registration import Registry
from tooltrue.client.auth.token_endpoint import Denied, TokenEndpoint, problem_of
from tooltrue.client.auth.tokens import Registered, Tokens, Unusable
from tooltrue.client.wording import (
    AUTHORIZATION_RESPONSE_MISMATCH,
    CLIENT_NOT_REGISTERED,
    REASON_ISSUER_ABSENT,
    REASON_ISSUER_DIFFERS,
    REASON_NO_AUTHORIZATION_CODE,
    REASON_NO_IDENTITY_ASSERTION,
    REASON_NO_SIGN_IN_PAGE,
    REASON_PKCE_NOT_DECLARED,
    REASON_SIGN_IN_PAGE_REFUSED,
    REASON_SIGN_IN_REFUSED,
    REDIRECT_URI_UNUSABLE,
    SIGN_IN_RATE_LIMITED,
    SIGN_IN_REQUIRED,
    SIGN_IN_TIMEOUT,
)
from tooltrue.errors import AuthorizationFailed, DefinitionError, fact_of
from tooltrue.protocol.input_requests import check_page
from tooltrue.transport.fetch import Fetcher
from tooltrue.wording import Worded

if TYPE_CHECKING:  # comes with an extra
    from tooltrue.client.auth.signing_keys import ProofKey, SigningKey

__all__ = [
    "Assertion",
    "ByBrowser",
    "ByExchange",
    "ByItself",
    "ByVoucher",
    "GrantFlow",
    "IdentityKind",
    "OpenBrowser",
    "TokenRequest",
    "authorization_url",
    "code_of",
    "sign_in_page",
    "with_refresh",
]

OpenBrowser: TypeAlias = Callable[[str], "object | Awaitable[object]"]
"""Shows a page to the person. A function that is not async runs on a thread."""

Assertion: TypeAlias = Callable[[str], "str | Awaitable[str]"]
"""Returns a signed token for the given issuer that vouches for an identity."""

IdentityKind: TypeAlias = Literal["id_token", "access_token"]
"""The type of a token that is exchanged for the word of an identity provider (RFC 8693, section 3)."""

_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
_TYPE = "urn:ietf:params:oauth:token-type:"
OFFLINE = "offline_access"
_MAX_PAGES = 5
_MEMORY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class TokenRequest:
    """A request for tokens of ``issuer`` for ``resource``, which is the server at ``url``. ``peer`` is the IP address
    of that server, if known."""

    url: str
    resource: str
    issuer: IssuerMetadata
    scopes: tuple[str, ...]
    fetcher: Fetcher
    clock: Callable[[], float]
    proof: ProofKey | None = None
    peer: str | None = None

    def endpoint(self, client: Registered, signing: SigningKey | None = None) -> TokenEndpoint:
        return TokenEndpoint(self.issuer, client, self.fetcher, self.clock, signing, self.proof)

    async def granted(self, endpoint: TokenEndpoint, form: Mapping[str, str], *, scoped: bool = True) -> Tokens:
        scope = {"scope": " ".join(self.scopes)} if scoped and self.scopes else {}
        return await endpoint.tokens({**form, **scope}, self.resource, self.scopes)


class GrantFlow(Protocol):
    """One kind of grant."""

    def check(self, url: str) -> None:
        """Raise ``AuthorizationFailed`` if no person can be asked to sign in to the server at ``url``."""
        ...

    def prefers(self, issuers: tuple[str, ...]) -> str:
        """Choose among the issuers that a server names; there is at least one."""
        ...

    def wants(self, scopes: tuple[str, ...], issuer: IssuerMetadata) -> tuple[str, ...]:
        """Return the scopes to request if the server needs these."""
        ...

    async def client(self, issuer: IssuerMetadata) -> Registered | None:
        """Return the client id that refreshes tokens of this issuer, if there is one."""
        ...

    async def tokens(self, request: TokenRequest) -> Tokens:
        """Obtain tokens. Raises ``AuthorizationFailed``, ``NotFetched`` or :class:`Unusable`."""
        ...


# --- a person agrees --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ByBrowser:
    """The authorization code grant with PKCE. ``seconds`` is the time the person has."""

    registry: Registry
    open_browser: OpenBrowser | None
    redirect_uri: str
    seconds: float
    prompt_times: deque[float] = field(default_factory=deque[float])

    def check(self, url: str) -> None:
        if self.open_browser is None:
            raise AuthorizationFailed.of(SIGN_IN_REQUIRED, url=url)

    def _count(self, url: str, now: float) -> None:
        """Limit sign-ins, so that a server cannot ask for one again and again."""
        while self.prompt_times and self.prompt_times[0] <= now - _MEMORY_SECONDS:
            self.prompt_times.popleft()
        if len(self.prompt_times) >= _MAX_PAGES:
            raise AuthorizationFailed.of(SIGN_IN_RATE_LIMITED, url=url, count=_MAX_PAGES, minutes=_MEMORY_SECONDS / 60)
        self.prompt_times.append(now)

    def prefers(self, issuers: tuple[str, ...]) -> str:
        return self.registry.preferred(issuers)

    def wants(self, scopes: tuple[str, ...], issuer: IssuerMetadata) -> tuple[str, ...]:
        return with_refresh(scopes, issuer)

    async def client(self, issuer: IssuerMetadata) -> Registered | None:
        return await self.registry.existing(issuer)

    async def tokens(self, request: TokenRequest) -> Tokens:
        self.check(request.url)
        page = await sign_in_page(request)
        self._count(request.url, request.clock())
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        async with self._registered(request, state) as (redirect, client):
            redirect_uri = client.redirect_uri or redirect.uri
            url = authorization_url(page, request, client, redirect_uri, state, verifier)
            answer = await self._browser_answer(url, redirect, request)
        form = {
            "grant_type": "authorization_code",
            "code": code_of(answer, request.issuer),
            "redirect_uri": redirect_uri,
            "code_verifier": verifier,
        }
        try:
            tokens = await request.granted(request.endpoint(client), form, scoped=False)
        except Denied as error:
            if error.error == "invalid_client":
                await self.registry.forget(request.issuer)
            raise
        await self.registry.keep(client)
        return tokens

    @contextlib.asynccontextmanager
    async def _registered(self, request: TokenRequest, state: str) -> AsyncGenerator[tuple[Redirect, Registered]]:
        """Provide the redirect target, and the client id that is registered with it."""
        client = await self.registry.existing(request.issuer)
        async with contextlib.AsyncExitStack() as stack:
            redirect = None
            if client is not None and client.redirect_uri is None:
                redirect = await stack.enter_async_context(self._anywhere(state))
            elif client is not None:
                with contextlib.suppress(OSError):  # the port that it is registered with may be taken
                    redirect = await stack.enter_async_context(Redirect(client.redirect_uri or "", state))
            if client is None or redirect is None:
                redirect = await stack.enter_async_context(self._anywhere(state))
                client = await self.registry.register(request.fetcher, request.issuer, redirect.uri)
            yield redirect, client

    @contextlib.asynccontextmanager
    async def _anywhere(self, state: str) -> AsyncGenerator[Redirect]:
        try:
            async with Redirect(self.redirect_uri, state) as redirect:
                yield redirect
        except OSError as error:
            problem = error.strerror or type(error).__name__
            raise AuthorizationFailed.of(REDIRECT_URI_UNUSABLE, uri=self.redirect_uri, problem=problem) from None

    async def _browser_answer(self, url: str, redirect: Redirect, request: TokenRequest) -> Mapping[str, str]:
        try:
            async with asyncio.timeout(self.seconds):
                await _show(self.open_browser, url)
                return await redirect.answer()
        except TimeoutError:
            # The page may have reported an unknown client: register again next time.
            await self.registry.forget(request.issuer)
            raise AuthorizationFailed.of(SIGN_IN_TIMEOUT, seconds=self.seconds, url=request.url) from None


def with_refresh(scopes: tuple[str, ...], issuer: IssuerMetadata) -> tuple[str, ...]:
    """Request a refresh token too, if it has a scope of its own, so that the person need not sign in every hour."""
    offered = OFFLINE in (issuer.scopes_supported or ())
    return (*scopes, OFFLINE) if scopes and offered and OFFLINE not in scopes else scopes


async def sign_in_page(request: TokenRequest) -> str:
    """Return the sign-in page, checked to be safe to show, of an issuer that supports PKCE."""
    issuer = request.issuer
    if "S256" not in (issuer.code_challenge_methods_supported or ()):
        raise Unusable(Worded(REASON_PKCE_NOT_DECLARED, {"issuer": issuer.issuer}))
    page = issuer.authorization_endpoint
    if page is None or urlsplit(page).fragment:
        raise Unusable(Worded(REASON_NO_SIGN_IN_PAGE, {"issuer": issuer.issuer}))
    try:
        check_page(page)
    except DefinitionError as error:
        raise Unusable(Worded(REASON_SIGN_IN_PAGE_REFUSED, {"problem": fact_of(error)})) from None
    await request.fetcher.check(page)
    return page


def authorization_url(
    page: str, request: TokenRequest, client: Registered, redirect_uri: str, state: str, verifier: str
) -> str:
    """Return the URL of the sign-in page for one request, with a PKCE challenge for ``verifier``."""
    digest = hashlib.sha256(verifier.encode()).digest()
    params = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
        "resource": request.resource,
        **({"scope": " ".join(request.scopes)} if request.scopes else {}),
        **({"prompt": "consent"} if OFFLINE in request.scopes else {}),  # without, OpenID issuers leave it out
    }
    parts = urlsplit(page)
    return parts._replace(query="&".join(filter(None, (parts.query, urlencode(params))))).geturl()


async def _show(open_browser: OpenBrowser | None, url: str) -> None:
    assert open_browser is not None
    if inspect.iscoroutinefunction(open_browser):
        await open_browser(url)
        return
    result = await asyncio.to_thread(open_browser, url)
    if inspect.isawaitable(result):
        await result


def code_of(answer: Mapping[str, str], issuer: IssuerMetadata) -> str:
    """Return the code, after checking that it comes from this issuer (RFC 9207). Until then no other parameter is
    read.
    """
    iss = answer.get("iss")
    if iss is None and issuer.authorization_response_iss_parameter_supported:
        raise AuthorizationFailed.of(
            AUTHORIZATION_RESPONSE_MISMATCH, issuer=issuer.issuer, problem=Worded(REASON_ISSUER_ABSENT, {})
        )
    if iss is not None and iss != issuer.issuer:
        raise AuthorizationFailed.of(
            AUTHORIZATION_RESPONSE_MISMATCH,
            issuer=issuer.issuer,
            problem=Worded(REASON_ISSUER_DIFFERS, {"issuer": iss[:200]}),
        )
    if "error" in answer:
        raise Denied(Worded(REASON_SIGN_IN_REFUSED, {"problem": problem_of(answer)}), answer["error"])
    if not answer.get("code"):
        raise Unusable(Worded(REASON_NO_AUTHORIZATION_CODE, {}))
    return answer["code"]


# --- unattended grants ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Unattended:
    """Common part of the unattended grants: a pre-registered id, and no token refresh."""

    registry: Registry

    def check(self, url: str) -> None:
        pass  # no person has to be asked

    def prefers(self, issuers: tuple[str, ...]) -> str:
        return self.registry.preferred(issuers)

    def wants(self, scopes: tuple[str, ...], issuer: IssuerMetadata) -> tuple[str, ...]:
        return scopes

    async def client(self, issuer: IssuerMetadata) -> Registered | None:
        return None

    async def agreed(self, issuer: IssuerMetadata) -> Registered:
        client = await self.registry.existing(issuer)
        if client is None:
            raise AuthorizationFailed.of(CLIENT_NOT_REGISTERED, issuer=issuer.issuer)
        return client


@dataclass(frozen=True, slots=True)
class ByItself(_Unattended):
    """The client credentials grant, with a secret or with a key."""

    signing: SigningKey | None

    async def tokens(self, request: TokenRequest) -> Tokens:
        endpoint = request.endpoint(await self.agreed(request.issuer), self.signing)
        return await request.granted(endpoint, {"grant_type": "client_credentials"})


@dataclass(frozen=True, slots=True)
class ByVoucher(_Unattended):
    """The JWT bearer grant: the platform that runs this workload asserts its identity (RFC 7523, section 2.1)."""

    assertion: Assertion

    async def tokens(self, request: TokenRequest) -> Tokens:
        endpoint = request.endpoint(await self.agreed(request.issuer))
        assertion = await _assertion_of(self.assertion, request.issuer.issuer)
        return await request.granted(endpoint, {"grant_type": _JWT_BEARER, "assertion": assertion})


@dataclass(frozen=True, slots=True)
class ByExchange(_Unattended):
    """The identity provider of an enterprise, where the person is signed in already, vouches to other issuers
    (``io.modelcontextprotocol/enterprise-managed-authorization``). ``provider`` is its token endpoint, and ``kind`` the
    type of the token that ``identity`` returns.
    """

    provider: TokenEndpoint
    identity: Assertion
    kind: IdentityKind = "id_token"

    async def tokens(self, request: TokenRequest) -> Tokens:
        endpoint = request.endpoint(await self.agreed(request.issuer))
        assertion = await self._vouched(request)
        return await request.granted(endpoint, {"grant_type": _JWT_BEARER, "assertion": assertion})

    async def _vouched(self, request: TokenRequest) -> str:
        form = {
            "grant_type": _EXCHANGE,
            "requested_token_type": f"{_TYPE}id-jag",
            "audience": request.issuer.issuer,
            "resource": request.resource,
            "subject_token": await _assertion_of(self.identity, self.provider.issuer.issuer),
            "subject_token_type": f"{_TYPE}{self.kind}",
            **({"scope": " ".join(request.scopes)} if request.scopes else {}),
        }
        answer = await self.provider.ask(form)
        voucher = answer.get("access_token")
        if answer.get("issued_token_type") != f"{_TYPE}id-jag" or not isinstance(voucher, str):
            raise Unusable(Worded(REASON_NO_IDENTITY_ASSERTION, {"issuer": self.provider.issuer.issuer}))
        return voucher


async def _assertion_of(assertion: Assertion, issuer: str) -> str:
    text = assertion(issuer)
    return await text if inspect.isawaitable(text) else text
