"""The OAuth grants of callers: the gateway is the client, and each caller consents for itself.

A call of a caller without a grant ends in a question with a page of the gateway (``gateway/grant_pages.py``); its
answer waits until the grant is there. A grant serves calls through those clients alone that its caller has consented
to. The token by which a caller is known at the gateway takes no part in it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final

from tooltrue.client.auth.authorization import Authorization, tokens_key
from tooltrue.client.auth.credentials import Credentials
from tooltrue.client.auth.grant_flows import TokenRequest, with_refresh
from tooltrue.client.auth.metadata import IssuerMetadata, is_loopback_url
from tooltrue.client.auth.registration import ClientIdentity, Registry
from tooltrue.client.auth.tokens import Registered, Tokens, from_json, to_json
from tooltrue.client.wording import TOKEN_OVER_PLAIN_HTTP
from tooltrue.errors import AuthorizationFailed, ConfigurationError, ToolError
from tooltrue.gateway.grant_store import CallerGrant, Consents, GrantStore
from tooltrue.gateway.wording import (
    GRANT_DECLINED,
    GRANT_NEEDED,
    GRANT_NOT_THERE,
    GRANT_QUESTION,
    GRANT_REQUIRED,
)
from tooltrue.jsonrpc.messages import encode, is_object
from tooltrue.protocol.input_requests import elicitation_url, lacking
from tooltrue.protocol.types import InputRequiredResult, Value
from tooltrue.state.facts import Facts
from tooltrue.state.urls import open_facts
from tooltrue.tools.vocabulary import RequestContext
from tooltrue.transport.addresses import parse
from tooltrue.transport.carrier import Refusal
from tooltrue.transport.fetch import Fetcher
from tooltrue.wording import sentence

__all__ = ["CallerAuth", "CallerGrants", "GrantRequest", "GrantRequired", "GrantSettings"]

PAGE: Final = "/grants"
CALLBACK: Final = "/grants/callback"
ASKED: Final = "grant:"
"""How a ``requestState`` begins that has the name of a request for a grant."""
_KEY: Final = "grant"
REQUEST: Final = "request"
REQUEST_SECONDS: Final = 600.0
_CHANNEL: Final = "grants"


class GrantSettings(Value, frozen=True):
    """The gateway as a client of the issuers of one server."""

    client_id: str | None = None
    client_secret: str | None = None
    issuer: str | None = None
    metadata_url: str | None = None
    scopes: tuple[str, ...] = ()
    trusted: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"GrantSettings({self.client_id or self.metadata_url!r}, …)"


class GrantRequest(Value, frozen=True):
    """A caller is asked to consent that the gateway acts for it at ``server``, in calls through ``client``. ``word`` is
    in the form of the page, so that no other page can send it, and ``before`` is the digest of the grant that does not
    suffice."""

    caller: str
    client: str
    server: str
    url: str
    issuer: IssuerMetadata
    resource: str
    scopes: tuple[str, ...]
    peer: str | None
    word: str
    before: str

    def __repr__(self) -> str:
        return f"GrantRequest({self.caller!r} at {self.server!r}, …)"


class EnoughGrant(Value, frozen=True):
    """A grant that suffices for a request, but whose caller has consented to other clients only."""

    scopes: tuple[str, ...]
    consents: Consents


class GrantRequired(AuthorizationFailed):
    """A server wants tokens, and its caller has not consented yet."""

    request: TokenRequest

    @classmethod
    def to(cls, request: TokenRequest) -> GrantRequired:
        error = cls.of(GRANT_REQUIRED, url=request.url)
        error.request = request
        return error


class _ByConsent:
    """The flow that asks the caller elsewhere, and takes no answer here."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def check(self, url: str) -> None:
        pass  # the caller can always be asked

    def prefers(self, issuers: tuple[str, ...]) -> str:
        return self._registry.preferred(issuers)

    def wants(self, scopes: tuple[str, ...], issuer: IssuerMetadata) -> tuple[str, ...]:
        return with_refresh(scopes, issuer)

    async def client(self, issuer: IssuerMetadata) -> Registered | None:
        return await self._registry.existing(issuer)

    async def tokens(self, request: TokenRequest) -> Tokens:
        raise GrantRequired.to(request)


class CallerAuth:
    """The ``Auth`` of one caller at one server, through one client."""

    def __init__(self, grants: CallerGrants, caller: str, client: str, server: str) -> None:
        self._grants = grants
        self._caller = caller
        self._client = client
        self._server = server

    def for_server(self, url: str) -> CallerAuthorizer:
        if not url.lower().startswith("https://") and not is_loopback_url(url):
            raise ConfigurationError.of(TOKEN_OVER_PLAIN_HTTP, url=url)
        return CallerAuthorizer(self._grants, self._caller, self._client, self._server, url)


class CallerAuthorizer:
    """Reads the tokens before each request, so that a grant that was given or revoked at any worker counts at once."""

    def __init__(self, grants: CallerGrants, caller: str, client: str, server: str, url: str) -> None:
        credentials = grants.store.through(client, caller, server)
        self._make = lambda: grants.authorization(credentials, server, url)
        self._read = lambda: credentials.read(tokens_key(url))
        self._inner = self._make()
        self._seen: str | None = None

    async def headers(self, method: str) -> Mapping[str, str]:
        stored = await self._read()
        if stored != self._seen:
            self._seen, self._inner = stored, self._make()
        return await self._inner.headers(method)

    def ready(self) -> None:
        return None  # the store is read first

    async def challenged(self, refusal: Refusal) -> bool:
        try:
            return await self._inner.challenged(refusal)
        except GrantRequired:
            self._inner = self._make()  # this one would not ask for the same scopes again
            raise


class CallerGrants:
    """All grants of a gateway. ``servers`` are those whose callers have grants, ``base`` is the URL under which
    browsers reach the gateway, ``store`` the URL of the state, and ``keys`` encrypt it."""

    def __init__(
        self,
        servers: Mapping[str, GrantSettings],
        *,
        base: str,
        store: str,
        keys: Sequence[bytes],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.servers = servers
        self.base = base.rstrip("/")
        self._url = store
        self._keys = keys
        self._clock = clock
        self._stack = AsyncExitStack()
        self._facts: Facts | None = None
        self._store: GrantStore | None = None
        self._waiting: set[asyncio.Event] = set()

    async def open(self) -> None:
        self._facts = await self._stack.enter_async_context(open_facts(self._url))
        self._store = GrantStore(self._facts, self._keys, clock=self._clock)
        self._stack.callback(await self._facts.subscribe(_CHANNEL, lambda payload: self._wake()))

    async def close(self) -> None:
        await self._stack.aclose()
        self._facts = self._store = None

    @property
    def facts(self) -> Facts:
        assert self._facts is not None  # it is open while the gateway serves
        return self._facts

    @property
    def store(self) -> GrantStore:
        assert self._store is not None
        return self._store

    @property
    def redirect_uri(self) -> str:
        return self.base + CALLBACK

    # --- tokens -------------------------------------------------------------------------------------------------------

    def auth(self, caller: str, client: str, server: str) -> CallerAuth:
        return CallerAuth(self, caller, client, server)

    async def _tokens(self, caller: str, client: str, server: str, url: str) -> str | None:
        return await self.store.through(client, caller, server).read(tokens_key(url))

    def registry(self, server: str) -> Registry:
        one = self.servers[server]
        identity = ClientIdentity("tooltrue gateway", one.client_id, one.client_secret, one.issuer, one.metadata_url)
        return Registry(identity, self.store.own(), self._clock)

    def authorization(self, credentials: Credentials, server: str, url: str) -> Authorization:
        one, flow = self.servers[server], _ByConsent(self.registry(server))
        return Authorization(url, flow, credentials, clock=self._clock, trusted=one.trusted, scopes=one.scopes)

    def token_request(self, request: GrantRequest) -> TokenRequest:
        """The request for tokens that a caller has consented to, with the fetcher that reaches no other network."""
        peer = None if request.peer is None else parse(request.peer)
        fetcher = Fetcher(self.servers[request.server].trusted, beside=peer)
        return TokenRequest(
            request.url, request.resource, request.issuer, request.scopes, fetcher, self._clock, peer=request.peer
        )

    async def keep(self, request: GrantRequest, tokens: Tokens) -> None:
        """Store the tokens that a caller has consented to, and let its calls go on."""
        place = (request.caller, request.server, request.client, request.url)
        await self.store.grant(*place, tokens_key(request.url), to_json(tokens))
        await self._tell()

    async def enough(self, request: GrantRequest) -> EnoughGrant | None:
        """Return the grant that suffices for a request, once its caller consents to this client too. A client that has
        been consented to asks because it does not."""
        consents = await self.store.consents(request.caller, request.server)
        stored = await self.store.of(request.caller, request.server).read(tokens_key(request.url))
        tokens = from_json(stored, Tokens)
        if tokens is None or not consents.clients or request.client in consents.clients:
            return None
        if (tokens.issuer, tokens.resource) != (request.issuer.issuer, request.resource):
            return None
        scopes = {*tokens.requested, *tokens.granted}
        return EnoughGrant(tuple(sorted(scopes)), consents) if scopes.issuperset(request.scopes) else None

    async def admit(self, request: GrantRequest, grant: EnoughGrant) -> bool:
        """Let the client of a request use a grant. Returns whether it was still the present one."""
        is_done = await self.store.admit(request.caller, request.server, request.client, grant.consents)
        await self._tell()
        return is_done

    async def _tell(self) -> None:
        await self.facts.publish(_CHANNEL, b"")
        self._wake()

    async def revoke(self, grant: CallerGrant) -> None:
        """Delete a grant here, and revoke its tokens at the issuer. Raises ``AuthorizationFailed`` if the issuer could
        not be told; it is deleted even then."""
        await self.store.forget(grant.caller, grant.server)
        credentials = self.store.of(grant.caller, grant.server)
        async with credentials.alone(tokens_key(grant.url)):
            await self.authorization(credentials, grant.server, grant.url).sign_out()

    # --- questions ----------------------------------------------------------------------------------------------------

    async def ask(self, context: RequestContext, server: str, request: TokenRequest) -> InputRequiredResult:
        """Ask a caller to open the page of the gateway. Raises ``ToolError`` that names the page if its client cannot
        be asked."""
        name = secrets.token_hex(32)  # in a URL of a question, whose words are checked
        caller, client = context.principal.id, context.principal.client
        pending = GrantRequest(
            caller,
            client,
            server,
            request.url,
            request.issuer,
            request.resource,
            request.scopes,
            request.peer,
            secrets.token_urlsafe(32),
            _digest(await self._tokens(caller, client, server, request.url)),
        )
        await self.store.write((REQUEST, name), encode(pending).decode(), REQUEST_SECONDS)
        facts: dict[str, Any] = {"server": server, "page": f"{self.base}{PAGE}?request={name}"}
        question = elicitation_url(sentence(GRANT_QUESTION, context.language, facts), facts["page"])
        if context.rounds is None or lacking((question,), context.capabilities) or not context.has_words(question):
            raise ToolError.of(GRANT_NEEDED, **facts)
        return InputRequiredResult({_KEY: question}, requestState=ASKED + name)

    async def asked(self, name: str) -> GrantRequest | None:
        """Return the request of this name, unless it is over."""
        return from_json(await self.store.read((REQUEST, name)), GrantRequest)

    def is_asked(self, context: RequestContext) -> bool:
        """Whether a round of a call brings the answer to our question."""
        own = None if context.rounds is None else context.rounds.own
        return own is not None and own.startswith(ASKED)

    async def answered(self, context: RequestContext, server: str, seconds: float) -> None:
        """Wait until the caller has consented. Raises ``ToolError`` if it declines, or needs more than ``seconds``."""
        rounds = context.rounds
        assert rounds is not None
        answer = rounds.responses.get(_KEY)
        if not is_object(answer) or answer.get("action") != "accept":
            raise ToolError.of(GRANT_DECLINED, server=server)
        name = (rounds.own or "").removeprefix(ASKED)
        pending = await self.asked(name)
        caller, client = context.principal.id, context.principal.client
        if pending is None or (pending.caller, pending.client) != (caller, client):
            return  # over, or another's: the call finds out whether there is a grant
        changed = asyncio.Event()
        self._waiting.add(changed)
        try:
            async with asyncio.timeout(seconds):
                while _digest(await self._tokens(caller, client, server, pending.url)) == pending.before:
                    await changed.wait()
                    changed.clear()
        except TimeoutError:
            raise ToolError.of(GRANT_NOT_THERE, server=server, page=f"{self.base}{PAGE}?request={name}") from None
        finally:
            self._waiting.discard(changed)

    def _wake(self) -> None:
        for changed in self._waiting:
            changed.set()


def _digest(tokens: str | None) -> str:
    return hashlib.sha256((tokens or "").encode()).hexdigest()
