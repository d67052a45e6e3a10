"""The pages by which a caller connects a server: one for its consent, and the target of the issuer's redirect.

A browser that opens them is authenticated as at the endpoint, or signs in (``gateway/browser_sign_in.py``), and has to
be the caller itself. Consent is asked for each caller, client and server, whatever the issuer remembers of earlier
ones; only then is there a ``state``, which is used once. Where the caller has connected the server through another
client, its consent is enough.
"""

from __future__ import annotations

import html
import secrets
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from tooltrue.client.auth.grant_flows import authorization_url, code_of, sign_in_page
from tooltrue.client.auth.token_endpoint import Denied
from tooltrue.client.auth.tokens import Registered, Unusable, from_json
from tooltrue.errors import AuthorizationFailed, RpcError
from tooltrue.gateway.browser_sign_in import SIGNED_IN, BrowserSignIn
from tooltrue.gateway.caller_grants import (
    CALLBACK,
    PAGE,
    REQUEST,
    REQUEST_SECONDS,
    CallerGrants,
    EnoughGrant,
    GrantRequest,
)
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol.characters import cleaned
from tooltrue.protocol.types import Value
from tooltrue.server.route_requests import RouteRequest, RouteResponse
from tooltrue.server.routes import Route
from tooltrue.transport.fetch import NotFetched

__all__ = ["pages_of"]

_STATE: Final = "state"
_MOST_FIELDS: Final = 16
_FAILURES: Final = (AuthorizationFailed, Unusable, NotFetched)

_PAGE: Final = (
    "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    "<title>tooltrue</title></head><body><main>{}</main></body></html>"
)
_CONSENT: Final = (
    "<h1>Connect {server}?</h1>"
    "<p>The gateway at <b>{base}</b> asks to act for you, <b>{caller}</b>, in calls through this client:</p>"
    "<dl><dt>Client</dt><dd>{client}</dd><dt>Server</dt><dd>{url}</dd><dt>Sign-in page</dt><dd>{issuer}</dd>"
    "<dt>Rights</dt><dd>{scopes}</dd><dt>Comes back to</dt><dd>{redirect_uri}</dd></dl>"
    "<p>{hint}Go on only if you have just called a tool of this server with this client.</p>"
    "<form method=post action='{page}'><input type=hidden name=request value='{name}'>"
    "<input type=hidden name=word value='{word}'><input type=hidden name=scopes value='{scopes}'>"
    "<button name=answer value=connect>Connect</button> <button name=answer value=refuse>Refuse</button></form>"
)
_UNNAMED: Final = "any that is signed in as you without a name of its own"
_CONNECTED: Final = "You have connected this server for another client, so there is no sign-in. "
_DONE: Final = "<p>{server} is connected. You may close this page. 已连接，您可以关闭此页面。</p>"
_REFUSED: Final = "<p>Nothing was connected. 未建立连接。</p>"
_UNKNOWN: Final = "<p>This request is over, or is not yours. Call the tool again. 此请求已失效，请重新调用。</p>"
_FAILED: Final = "<p>The server could not be connected: {problem}</p>"


class _Consent(Value, frozen=True):
    """A caller has consented, and its browser is at the issuer."""

    request: GrantRequest
    client: Registered
    redirect_uri: str
    verifier: str

    def __repr__(self) -> str:
        return f"_Consent({self.request!r}, …)"


def pages_of(grants: CallerGrants, sign_in: BrowserSignIn | None = None) -> list[Route]:
    """The routes of the pages, beside the endpoint."""
    pages = _GrantPages(grants, sign_in)
    is_public = sign_in is not None  # a browser has no token
    routes = [
        Route(PAGE, pages.consent, methods=("GET", "POST"), public=is_public),
        Route(CALLBACK, pages.returned, public=is_public),
    ]
    return [*routes, Route(SIGNED_IN, pages.signed_in, public=True)] if is_public else routes


class _GrantPages:
    def __init__(self, grants: CallerGrants, sign_in: BrowserSignIn | None) -> None:
        self._grants = grants
        self._sign_in = sign_in

    async def _caller(self, request: RouteRequest) -> str | None:
        """The caller that a browser proves to be."""
        if self._sign_in is not None:
            return await self._sign_in.caller(request)
        return None if request.principal is None else request.principal.id

    async def consent(self, request: RouteRequest) -> RouteResponse:
        """Show the consent page; or take its answer, and send the browser to the issuer."""
        is_answer = request.method == "POST"
        fields = _fields((await request.body()).decode("latin-1") if is_answer else _query(request))
        name = fields.get("request", "")
        pending = await self._grants.asked(name)
        if pending is None:
            return _answer(_UNKNOWN, 404)
        if pending.caller != await self._caller(request):
            return _answer(_UNKNOWN, 404) if is_answer else await self._sent_to_sign_in(name)
        grant = await self._grants.enough(pending)
        if not is_answer:
            return self._question(pending, name, grant)
        if not secrets.compare_digest(fields.get("word", "").encode(), pending.word.encode()):
            return _answer(_UNKNOWN, 403)
        is_consent = fields.get("answer") == "connect"
        if is_consent and fields.get("scopes") != _scopes(pending, grant):
            return self._question(pending, name, grant)  # its rights have changed since they were shown
        if await self._grants.store.take((REQUEST, name)) is None:  # another answer was faster
            return _answer(_UNKNOWN, 404)
        if not is_consent:
            return _answer(_REFUSED)
        if grant is not None:
            return _done(pending) if await self._grants.admit(pending, grant) else _answer(_UNKNOWN, 404)
        try:
            return _redirect({"location": await self._begun(pending)})
        except _FAILURES as error:
            return _failed(error)

    async def _sent_to_sign_in(self, name: str) -> RouteResponse:
        """Have a browser sign in that is not the caller, where it can."""
        if self._sign_in is None:
            return _answer(_UNKNOWN, 404)
        try:
            return _redirect(await self._sign_in.begin(name))
        except _FAILURES as error:
            return _failed(error)

    async def signed_in(self, request: RouteRequest) -> RouteResponse:
        """Take the answer of the callers' issuer: a browser that is the caller of a request goes on to its page."""
        assert self._sign_in is not None
        try:
            signed_in = await self._sign_in.returned(request, _fields(_query(request)))
        except (*_FAILURES, RpcError) as error:
            return _failed(error)
        if signed_in is None:
            return _answer(_UNKNOWN, 404)
        name, caller = signed_in
        pending = await self._grants.asked(name)
        if pending is None or pending.caller != caller:
            return _answer(_UNKNOWN, 404)
        page = f"{self._grants.base}{PAGE}?request={name}"
        return _redirect({"location": page, **await self._sign_in.session(caller)})

    def _question(self, pending: GrantRequest, name: str, grant: EnoughGrant | None) -> RouteResponse:
        facts = {
            "server": pending.server,
            "base": self._grants.base,
            "caller": pending.caller,
            "client": pending.client or _UNNAMED,
            "url": pending.url,
            "issuer": pending.issuer.authorization_endpoint or pending.issuer.issuer,
            "scopes": _scopes(pending, grant),
            "hint": "" if grant is None else _CONNECTED,
            "redirect_uri": self._grants.redirect_uri,
            "page": urlsplit(self._grants.base).path + PAGE,
            "name": name,
            "word": pending.word,
        }
        return _answer(_CONSENT.format(**_escaped(facts)), of=pending)

    async def _begun(self, pending: GrantRequest) -> str:
        """Begin the sign-in after consent, and return the page of the issuer."""
        request = self._grants.token_request(pending)
        page = await sign_in_page(request)
        registry, redirect_uri = self._grants.registry(pending.server), self._grants.redirect_uri
        client = await registry.existing(pending.issuer)
        if client is None or client.redirect_uri not in (None, redirect_uri):  # the URL of the gateway has changed
            client = await registry.register(request.fetcher, pending.issuer, redirect_uri)
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(48)
        consent = _Consent(pending, client, client.redirect_uri or redirect_uri, verifier)
        await self._grants.store.write((_STATE, state), encode(consent).decode(), REQUEST_SECONDS)
        return authorization_url(page, request, client, consent.redirect_uri, state, verifier)

    async def returned(self, request: RouteRequest) -> RouteResponse:
        """Take the answer of the issuer from the browser of the caller who has consented."""
        answer = _fields(_query(request))
        consent = from_json(await self._grants.store.take((_STATE, answer.get("state", ""))), _Consent)
        if consent is None or consent.request.caller != await self._caller(request):
            return _answer(_UNKNOWN, 404)
        try:
            await self._redeem(consent, answer)
        except Denied as error:
            if error.error == "invalid_client":
                await self._grants.registry(consent.request.server).forget(consent.request.issuer)
            return _failed(error)
        except _FAILURES as error:
            return _failed(error)
        return _done(consent.request)

    async def _redeem(self, consent: _Consent, answer: Mapping[str, str]) -> None:
        form = {
            "grant_type": "authorization_code",
            "code": code_of(answer, consent.request.issuer),
            "redirect_uri": consent.redirect_uri,
            "code_verifier": consent.verifier,
        }
        request = self._grants.token_request(consent.request)
        tokens = await request.granted(request.endpoint(consent.client), form, scoped=False)
        await self._grants.keep(consent.request, tokens)


def _query(request: RouteRequest) -> str:
    return request.scope.get("query_string", b"").decode("latin-1")


def _fields(text: str) -> dict[str, str]:
    """The fields of a query or form; none if one is repeated (RFC 6749, section 3.1) or there are too many."""
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        return {}
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else {}


def _escaped(facts: Mapping[str, str]) -> dict[str, str]:
    return {name: html.escape(cleaned(text, {})) for name, text in facts.items()}


def _scopes(pending: GrantRequest, grant: EnoughGrant | None) -> str:
    """The rights that a client gets, in one line."""
    scopes = pending.scopes if grant is None else grant.scopes
    return cleaned(" ".join(scopes), {}) or "those that the server grants"


def _done(request: GrantRequest) -> RouteResponse:
    return _answer(_DONE.format(**_escaped({"server": request.server})))


_HEADERS: Final = {"cache-control": "no-store", "referrer-policy": "same-origin", "x-content-type-options": "nosniff"}
"""Without a referrer of the same origin, browsers send the origin of a form as ``null``."""


def _redirect(headers: Mapping[str, str]) -> RouteResponse:
    return RouteResponse(status=303, headers={**_HEADERS, **headers})


def _answer(body: str, status: int = 200, of: GrantRequest | None = None) -> RouteResponse:
    target = "" if of is None else _origin(of.issuer.authorization_endpoint or "")  # some browsers check redirects too
    policy = f"default-src 'none'; base-uri 'none'; form-action 'self' {target}; frame-ancestors 'none'"
    headers = {**_HEADERS, "content-type": "text/html; charset=utf-8", "content-security-policy": policy}
    return RouteResponse(_PAGE.format(body), status, {**headers, "x-frame-options": "DENY"})


def _origin(url: str) -> str:
    parts = urlsplit(url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return origin if origin.isascii() and not set(origin) & set(" ;,'\"") else ""


def _failed(error: Exception) -> RouteResponse:
    return _answer(_FAILED.format(**_escaped({"problem": str(error)})), 502)
