"""Authorization to one server: the tokens that it is sent, and the reaction to its refusals.

Tokens are sent to this server alone, and belong to the issuer that it names now. If it names another, they are dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from tooltrue.client.auth.challenge import Challenge, challenge_of
from tooltrue.client.auth.credentials import Credentials
from tooltrue.client.auth.grant_flows import GrantFlow, TokenRequest
from tooltrue.client.auth.metadata import IssuerMetadata, canonical, find_issuer, find_resource
from tooltrue.client.auth.token_endpoint import Denied, TokenEndpoint
from tooltrue.client.auth.tokens import Tokens, Unusable, from_json, to_json
from tooltrue.client.wording import (
    AUTHORIZATION_SERVER_ERROR,
    FRESH_TOKEN_REJECTED,
    REASON_NO_AUTHORIZATION_SERVER,
    REASON_NO_ISSUER_METADATA,
    REASON_NO_REVOCATION_ENDPOINT,
    SCOPES_ALREADY_REQUESTED,
    SIGN_IN_METADATA_UNTRUSTED,
    SIGNING_EXTRA_MISSING,
    TOKEN_REVOCATION_FAILED,
)
from tooltrue.errors import AuthorizationFailed, fact_of
from tooltrue.extras import install_command
from tooltrue.protocol.types import Value
from tooltrue.transport.addresses import parse
from tooltrue.transport.carrier import Refusal
from tooltrue.transport.fetch import Fetcher, NotFetched
from tooltrue.wording import Worded

if TYPE_CHECKING:  # comes with an extra
    from tooltrue.client.auth.signing_keys import ProofKey

__all__ = ["Authorization", "tokens_key"]

_MAX_TOKENS = 2  # for one request: one that was refreshed, and one that is new
_MAX_ATTEMPTS = 5
_EARLY_SECONDS = 30.0
_PROOF = "ES256"
T = TypeVar("T")


class _Discovery(Value, frozen=True):
    """The source of tokens for this server, according to its current metadata."""

    resource: str
    issuer: IssuerMetadata
    scopes: tuple[str, ...]


def tokens_key(url: str) -> str:
    """Return the storage key of the tokens for this server."""
    return f"tokens for {canonical(url)}"


def _bearer(tokens: Tokens) -> dict[str, str]:
    return {"authorization": f"Bearer {tokens.access}"}


class Authorization:
    """An ``Authorizer``. ``trusted`` are URLs of issuers that may be in a private network even if the server is not;
    ``scopes`` are requested in addition to those that the server needs.
    """

    def __init__(
        self,
        url: str,
        flow: GrantFlow,
        credentials: Credentials,
        *,
        clock: Callable[[], float],
        trusted: Iterable[str] = (),
        scopes: Iterable[str] = (),
    ) -> None:
        self._url = url
        self._key = tokens_key(url)
        self._flow = flow
        self._credentials = credentials
        self._clock = clock
        self._trusted = tuple(trusted)
        self._scopes = tuple(scopes)
        self._peer: str | None = None
        self._fetcher = Fetcher(self._trusted)
        self._look_from(_literal(url))
        self._lock = asyncio.Lock()
        self._is_read = False
        self._tokens: Tokens | None = None
        self._stale: str | None = None
        self._proof: tuple[str, ProofKey] | None = None
        self._nonce: str | None = None
        self._given_up: set[frozenset[str]] = set()

    async def headers(self, method: str) -> Mapping[str, str]:
        async with self._lock:  # during a sign-in, all requests wait for it
            tokens = await self._current()
        if tokens is None:
            return {}
        if tokens.key is None:
            return _bearer(tokens)
        proof = self._key_of(tokens.key).proof(method, self._url, self._clock(), token=tokens.access, nonce=self._nonce)
        return {"authorization": f"DPoP {tokens.access}", "dpop": proof}

    def ready(self) -> Mapping[str, str] | None:
        if self._lock.locked() or not self._is_read:
            return None
        tokens = self._tokens
        if tokens is None:
            return {}
        # A proof belongs to one request, and tokens that are due are refreshed first.
        return None if tokens.key is not None or self._is_due(tokens) else _bearer(tokens)

    async def challenged(self, refusal: Refusal) -> bool:
        challenge = challenge_of(refusal.headers)
        async with self._lock:
            if self._is_old(refusal):
                return True
            self._look_from(refusal.peer)
            if refusal.status == 403 and (challenge.error != "insufficient_scope" or not challenge.scopes):
                return False
            if challenge.error == "use_dpop_nonce" and refusal.attempt < _MAX_ATTEMPTS:
                self._nonce = refusal.headers.get("dpop-nonce")
                return self._nonce is not None
            await self._answer(refusal, challenge)
            return True

    async def _answer(self, refusal: Refusal, challenge: Challenge) -> None:
        """Obtain other tokens. Raises ``AuthorizationFailed`` or ``NotFetched``."""
        if refusal.attempt >= _MAX_TOKENS:
            raise AuthorizationFailed.of(FRESH_TOKEN_REJECTED, url=self._url)
        try:
            if refusal.status == 403:
                await self._step_up(challenge)
            else:
                await self._sign_in(challenge, is_first=refusal.attempt == 0)
        except Denied as error:
            raise AuthorizationFailed.of(AUTHORIZATION_SERVER_ERROR, url=self._url, problem=fact_of(error)) from None
        except Unusable as error:
            raise AuthorizationFailed.of(SIGN_IN_METADATA_UNTRUSTED, url=self._url, problem=fact_of(error)) from None

    async def sign_out(self) -> bool:
        """Delete the stored tokens for this server. Returns whether there were any.

        Raises ``AuthorizationFailed`` if the issuer could not be told; they are deleted even then.
        """
        async with self._lock:
            tokens = from_json(await self._credentials.read(self._key), Tokens)
            if tokens is None:
                return False
            await self._keep(None)
            try:
                await self._revoke(tokens)
            except (Unusable, NotFetched) as error:
                raise AuthorizationFailed.of(
                    TOKEN_REVOCATION_FAILED, issuer=tokens.issuer, problem=fact_of(error)
                ) from None
            return True

    async def _revoke(self, tokens: Tokens) -> None:
        """Revoke the tokens at the issuer (RFC 7009). Raises ``Unusable`` if that is not possible."""
        issuer = await find_issuer(self._fetcher, tokens.issuer)
        client = None if issuer is None else await self._flow.client(issuer)
        if issuer is None or client is None or issuer.revocation_endpoint is None:
            raise Unusable(Worded(REASON_NO_REVOCATION_ENDPOINT, {}))
        kind = "access_token" if tokens.refresh is None else "refresh_token"
        form = {"token": tokens.refresh or tokens.access, "token_type_hint": kind}
        await TokenEndpoint(issuer, client, self._fetcher, self._clock).post(issuer.revocation_endpoint, form)

    # --- which tokens -------------------------------------------------------------------------------------------------

    async def _current(self) -> Tokens | None:
        if not self._is_read:
            self._tokens = from_json(await self._credentials.read(self._key), Tokens)
            self._is_read = True
        tokens = self._tokens
        if tokens is not None and self._is_due(tokens):
            self._stale = tokens.access  # tried once; if it fails, the server decides
            try:
                issuer = await find_issuer(self._fetcher, tokens.issuer)
                self._tokens = (issuer and await self._refreshed(tokens, issuer)) or tokens
            except (NotFetched, AuthorizationFailed, Unusable):
                self._tokens = tokens
        return self._tokens

    def _is_due(self, tokens: Tokens) -> bool:
        ends = tokens.expires_at
        late = ends is not None and ends - _EARLY_SECONDS <= self._clock()
        return late and tokens.refresh is not None and tokens.access != self._stale

    def _is_old(self, refusal: Refusal) -> bool:
        """Whether the request was sent with a token that has been replaced since."""
        sent = refusal.sent.get("authorization", "").partition(" ")[2]
        return self._tokens is not None and self._tokens.access != sent and refusal.attempt < _MAX_ATTEMPTS

    def _look_from(self, peer: str | None) -> None:
        """Let the fetcher reach the networks that the server itself is in: this machine, or a private network."""
        if peer != self._peer:
            self._peer = peer
            self._fetcher = Fetcher(self._trusted, beside=None if peer is None else parse(peer))

    # --- other tokens -------------------------------------------------------------------------------------------------

    async def _sign_in(self, challenge: Challenge, *, is_first: bool) -> None:
        tokens = self._tokens
        if tokens is None or tokens.refresh is None:
            self._flow.check(self._url)
        discovery = await self._discover(challenge)
        if tokens is not None and (tokens.issuer != discovery.issuer.issuer or tokens.resource != discovery.resource):
            await self._keep(None)  # it has moved: tokens of another issuer are useless here
            tokens = None
        if is_first and tokens is not None and tokens.refresh is not None:
            refreshed = await self._refreshed(tokens, discovery.issuer)
            if refreshed is not None:
                self._tokens = refreshed
                return
        requested = challenge.scopes if challenge.scopes is not None else discovery.scopes
        await self._granted(discovery, challenge, _union(self._scopes, requested))

    async def _step_up(self, challenge: Challenge) -> None:
        """Request the missing scopes together with those requested before; the person is not asked twice for the same
        ones.
        """
        missing = challenge.scopes or ()
        tokens = self._tokens
        granted = () if tokens is None else tokens.granted
        if set(missing) <= set(granted) or frozenset(missing) in self._given_up:
            raise AuthorizationFailed.of(SCOPES_ALREADY_REQUESTED, url=self._url, scopes=" ".join(missing)[:300])
        self._given_up.add(frozenset(missing))
        requested = () if tokens is None else tokens.requested
        await self._granted(await self._discover(challenge), challenge, _union(self._scopes, requested, missing))

    async def _discover(self, challenge: Challenge) -> _Discovery:
        resource = await find_resource(self._fetcher, self._url, challenge.metadata)
        if resource is None:
            return _Discovery(canonical(self._url), await self._own_issuer(), ())
        if not resource.authorization_servers:
            raise Unusable(Worded(REASON_NO_AUTHORIZATION_SERVER, {}))
        url = self._flow.prefers(resource.authorization_servers)
        issuer = await find_issuer(self._fetcher, url)
        if issuer is None:
            raise Unusable(Worded(REASON_NO_ISSUER_METADATA, {"url": url[:200]}))
        return _Discovery(resource.resource, issuer, resource.scopes_supported or ())

    async def _own_issuer(self) -> IssuerMetadata:
        """A server without metadata is its own issuer, whether that has metadata or not (2025-03-26)."""
        root = urlsplit(canonical(self._url))._replace(path="", query="").geturl()
        return await find_issuer(self._fetcher, root) or IssuerMetadata(
            issuer=root,
            authorization_endpoint=f"{root}/authorize",
            token_endpoint=f"{root}/token",
            registration_endpoint=f"{root}/register",
            code_challenge_methods_supported=("S256",),
        )

    async def _granted(self, discovery: _Discovery, challenge: Challenge, scopes: tuple[str, ...]) -> None:
        request = TokenRequest(
            self._url,
            discovery.resource,
            discovery.issuer,
            self._flow.wants(scopes, discovery.issuer),
            self._fetcher,
            self._clock,
            self._new_key(challenge, discovery.issuer),
            self._peer,
        )
        await self._keep(await self._flow.tokens(request))

    async def _refreshed(self, tokens: Tokens, issuer: IssuerMetadata) -> Tokens | None:
        """Return newer tokens, or ``None`` if these are no longer usable. Only one process refreshes at a time: a
        refresh token that is used twice looks stolen.
        """
        async with self._credentials.alone(self._key):
            stored = from_json(await self._credentials.read(self._key), Tokens)
            if stored is not None and stored.access != tokens.access and stored.issuer == issuer.issuer:
                return stored
            client = await self._flow.client(issuer)
            if client is None or client.client_id != tokens.client_id or tokens.refresh is None:
                return None
            proof = None if tokens.key is None else self._key_of(tokens.key)
            endpoint = TokenEndpoint(issuer, client, self._fetcher, self._clock, proof=proof)
            return await _to_the_end(self._exchanged(endpoint, tokens, tokens.refresh))

    async def _exchanged(self, endpoint: TokenEndpoint, tokens: Tokens, refresh: str) -> Tokens | None:
        form = {"grant_type": "refresh_token", "refresh_token": refresh}
        try:
            newer = await endpoint.tokens(form, tokens.resource, tokens.requested, tokens)
        except Denied:
            newer = None
        await self._keep(newer)
        return newer

    async def _keep(self, tokens: Tokens | None) -> None:
        self._tokens = tokens
        await self._credentials.write(self._key, None if tokens is None else to_json(tokens))

    # --- keys that tokens are bound to --------------------------------------------------------------------------------

    def _new_key(self, challenge: Challenge, issuer: IssuerMetadata) -> ProofKey | None:
        """Make a new proof key, if both the server and its issuer support DPoP."""
        if challenge.scheme != "dpop" or _PROOF not in (issuer.dpop_signing_alg_values_supported or ()):
            return None
        return _signing().ProofKey()

    def _key_of(self, text: str) -> ProofKey:
        if self._proof is None or self._proof[0] != text:
            self._proof = text, _signing().ProofKey(text)
        return self._proof[1]


async def _to_the_end(work: Coroutine[Any, Any, T]) -> T:
    """Finish ``work``, which cannot be repeated, even if the caller is cancelled; the cancellation is raised
    afterwards. The issuer has used up the old refresh token, and only its answer, which is due within seconds, has
    the new one.
    """
    task = asyncio.ensure_future(work)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # a cancelled caller does not retrieve it
    try:
        await asyncio.wait((task,))
    except asyncio.CancelledError:
        while not task.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait((task,))
        raise
    return task.result()


def _literal(url: str) -> str | None:
    """Return the IP address in a URL, or ``None`` if it has a name."""
    host = urlsplit(url).hostname or ""
    address = parse("127.0.0.1" if host == "localhost" else host)
    return None if address is None else str(address)


def _signing() -> Any:
    try:
        from tooltrue.client.auth import signing_keys  # noqa: PLC0415 - cryptography is slow to load

        return signing_keys
    except ImportError:
        raise AuthorizationFailed.of(SIGNING_EXTRA_MISSING, command=install_command("auth")) from None


def _union(*parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(scope for part in parts for scope in part))
