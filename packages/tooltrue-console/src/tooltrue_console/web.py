"""The console as an ASGI application. Owns starlette.

Each request passes these checks in this order: the names in Host and Origin, the origin of a POST, the session, its
scope, and the token of the form. A page is reached behind all of them. Every response, a refusal too, has
:data:`HEADERS`.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tooltrue.errors import ConfigurationError, StateError, TooltrueError
from tooltrue.gateway.issuer_sign_in import SIGN_IN_SECONDS
from tooltrue.transport.http_server import AllowedHosts
from tooltrue.wording import LANGUAGES
from tooltrue_console.desk import Desk
from tooltrue_console.issuer_access import COOKIE, RETURN
from tooltrue_console.navigation import SECTIONS, section_of
from tooltrue_console.rendering import render
from tooltrue_console.sessions import Person, Sessions, form_token, is_form_token, new_secret
from tooltrue_console.sign_in import WaysToSignIn
from tooltrue_console.visits import Answer, Download, Endpoint, EventStream, Html, OtherPage, PageVisit
from tooltrue_console.wording import (
    CONSOLE_ADDRESS_UNKNOWN,
    CONSOLE_CRASHED,
    CONSOLE_FORM_EXPIRED,
    CONSOLE_FORM_INVALID,
    CONSOLE_ORIGIN_REFUSED,
    CONSOLE_SCOPE_REQUIRED,
    CONSOLE_SIGN_IN_REQUIRED,
)

__all__ = ["BASE", "HEADERS", "alone", "below_base"]

BASE: Final = "/console"
"""The path of the console, beside the endpoint of a server as well as alone."""

HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
HTMX_SETTINGS: Final = json.dumps(
    {
        "allowEval": False,
        "allowScriptTags": False,
        "historyEnabled": False,
        "includeIndicatorStyles": False,
        "selfRequestsOnly": True,
        # The answer to a refused request is shown too, where it says.
        "responseHandling": [{"code": "204", "swap": False}, {"code": "...", "swap": True}],
    }
)

_POLICY: Final = "content-security-policy"
_MAX_FORM: Final = 262_144
_MAX_FIELDS: Final = 500
_YEAR_SECONDS: Final = 31_536_000

_log = logging.getLogger("tooltrue.console")


class _Refused(TooltrueError):
    """A request that reaches no page."""

    status = 403

    @classmethod
    def because(cls, status: int, code: str, **facts: object) -> _Refused:
        refused = cls.of(code, **facts)
        refused.status = status
        return refused


def alone(desk: Desk, sign_in: WaysToSignIn, access: AllowedHosts) -> Starlette:
    """The console at :data:`BASE` of a server that serves nothing else. The servers to try serve while it does."""
    return Starlette(
        routes=[Route("/", _to_base), Mount(BASE, below_base(desk, sign_in, access))],
        lifespan=lambda app: desk.tried.serving(),
    )


async def _to_base(request: Request) -> Response:
    return RedirectResponse(f"{BASE}/", headers=HEADERS)


def below_base(desk: Desk, sign_in: WaysToSignIn, access: AllowedHosts | None) -> Starlette:
    """The console, for a server that mounts it at :data:`BASE`. ``access`` are the names in Host and Origin, or
    ``None`` if the server checks them."""
    web = _Web(desk, sign_in, access)
    endpoints = [one for section in SECTIONS for one in section.endpoints]
    return Starlette(
        routes=[
            _route("GET", "/", web.start),
            _route("GET", "/sign-in", web.show_sign_in),
            _route("POST", "/sign-in", web.begin_session),
            _route("POST", "/sign-in/issuer", web.leave_for_issuer),
            _route("GET", RETURN, web.return_from_issuer),
            _route("POST", "/sign-out", web.end_session),
            _route("POST", "/language", web.choose_language),
            Mount("/static", _Static(directory=Path(__file__).parent / "static")),
            *(_route(one.method, one.path, partial(web.show, one)) for one in endpoints),
        ],
        exception_handlers={HTTPException: web.unknown_address},
    )


class _Static(StaticFiles):
    async def get_response(self, path: str, scope: Any) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update({**HEADERS, "cache-control": "no-cache"})
        return response


_Handler = Callable[[Request], Awaitable[Response]]


def _route(method: str, path: str, handler: _Handler) -> Route:
    return Route(path, handler, methods=[method])


class _Web:
    def __init__(self, desk: Desk, sign_in: WaysToSignIn, access: AllowedHosts | None) -> None:
        self._desk = desk
        self._sign_in = sign_in
        self._access = access

    # --- the pages

    async def show(self, endpoint: Endpoint, request: Request) -> Response:
        """Answer at one address of a page."""

        async def answer() -> Response:
            cookie, person = await self._session(request)
            if person is None:
                if request.method == "GET" and not _is_fragment(request):
                    return _redirect(request, "/sign-in")
                raise _Refused.because(401, CONSOLE_SIGN_IN_REQUIRED)
            if not person.may(endpoint.scope):
                raise _Refused.because(403, CONSOLE_SCOPE_REQUIRED, scope=endpoint.scope)
            form = await _form(request, cookie) if request.method == "POST" else dict[str, str]()
            visit = PageVisit(
                person,
                _language(request),
                {name: str(value) for name, value in request.path_params.items()},
                dict(request.query_params),
                form,
                _address(request),
                request.headers.get("user-agent", "")[:200],
                _base(request),
            )
            return self._response(request, cookie, person, endpoint.path, await endpoint.answer(self._desk, visit))

        return await self._guarded(request, answer)

    async def start(self, request: Request) -> Response:
        async def answer() -> Response:
            return _redirect(request, SECTIONS[0].path)

        return await self._guarded(request, answer)

    def _response(self, request: Request, cookie: str, person: Person, path: str, answer: Answer) -> Response:
        match answer:
            case OtherPage(to):
                if _is_fragment(request):
                    return Response(headers={**HEADERS, "hx-redirect": f"{_base(request)}{to}"})
                return _redirect(request, to)
            case EventStream(events):
                frame = {"base": _base(request), "person": person, "form_token": form_token(cookie)}
                lines = _event_stream(events, _language(request), frame)
                return StreamingResponse(lines, media_type="text/event-stream", headers=HEADERS)
            case Download(name, lines):
                disposition = {"content-disposition": f'attachment; filename="{name}"'}
                return StreamingResponse(
                    lines, media_type="application/octet-stream", headers={**HEADERS, **disposition}
                )
            case Html(template, values, status, title, has_pictures):
                frame = {"person": person, "title": title, "here": section_of(path), "form_token": form_token(cookie)}
                page = _page(request, template, {**frame, **values}, status)
                if has_pictures:
                    page.headers[_POLICY] = HEADERS[_POLICY].replace("img-src 'self'", "img-src 'self' data:")
                return page

    # --- signing in

    async def show_sign_in(self, request: Request) -> Response:
        async def answer() -> Response:
            secret = request.cookies.get(_cookie(request, "form")) or new_secret()
            values = {"form_token": form_token(secret), "sign_in": self._sign_in, "title": "sign_in"}
            response = _page(request, "sign_in.html", values)
            _set_cookie(response, request, "form", secret, None)
            return response

        return await self._guarded(request, answer)

    async def begin_session(self, request: Request) -> Response:
        """Exchange the token of a link, or a key, for a session."""

        async def answer() -> Response:
            form = await _form(request, request.cookies.get(_cookie(request, "form"), ""))
            async with self._desk.facts() as facts:
                person = await self._sign_in.person(form, _address(request), facts)
                cookie = await Sessions(facts).begin(person)
            response = Response(headers={**HEADERS, "hx-redirect": f"{_base(request)}/"})
            _set_cookie(response, request, "session", cookie, None)
            return response

        return await self._guarded(request, answer)

    async def leave_for_issuer(self, request: Request) -> Response:
        """Send the browser to the issuer."""

        async def answer() -> Response:
            await _form(request, request.cookies.get(_cookie(request, "form"), ""))
            async with self._desk.facts() as facts:
                url, cookie = await self._sign_in.begin_at_issuer(_address(request), facts)
            response = Response(headers={**HEADERS, "hx-redirect": url})
            response.set_cookie(
                COOKIE, cookie, max_age=int(SIGN_IN_SECONDS), path="/", secure=True, httponly=True, samesite="lax"
            )
            return response

        return await self._guarded(request, answer)

    async def return_from_issuer(self, request: Request) -> Response:
        """Begin the session of a browser that comes back. The page opens the next one by itself: the browser would not
        send the cookie of the session on a redirection that another site has begun."""

        async def answer() -> Response:
            pairs = request.query_params.multi_items()
            query = dict(pairs)
            if len(query) != len(pairs):
                raise _Refused.because(400, CONSOLE_FORM_INVALID)
            async with self._desk.facts() as facts:
                cookie = request.cookies.get(COOKIE, "")
                person = await self._sign_in.person_of_issuer(query, cookie, _address(request), facts)
                session = await Sessions(facts).begin(person)
            response = _page(request, "signed_in.html", {"title": "sign_in"})
            _set_cookie(response, request, "session", session, None)
            response.delete_cookie(COOKIE, path="/", secure=True, httponly=True, samesite="lax")
            return response

        return await self._guarded(request, answer)

    async def end_session(self, request: Request) -> Response:
        async def answer() -> Response:
            cookie, _ = await self._session(request)
            await _form(request, cookie)
            async with self._desk.facts() as facts:
                await Sessions(facts).end(cookie)
            response = Response(headers={**HEADERS, "hx-redirect": f"{_base(request)}/sign-in"})
            response.delete_cookie(_cookie(request, "session"), path=_base(request) or "/")
            return response

        return await self._guarded(request, answer)

    async def choose_language(self, request: Request) -> Response:
        async def answer() -> Response:
            cookie, person = await self._session(request)
            form = await _form(request, cookie if person else request.cookies.get(_cookie(request, "form"), ""))
            if form.get("language") not in LANGUAGES:
                raise _Refused.because(400, CONSOLE_FORM_INVALID)
            response = Response(headers={**HEADERS, "hx-refresh": "true"})
            _set_cookie(response, request, "language", form["language"], _YEAR_SECONDS)
            return response

        return await self._guarded(request, answer)

    async def _session(self, request: Request) -> tuple[str, Person | None]:
        cookie = request.cookies.get(_cookie(request, "session"), "")
        if not cookie:
            return "", None
        async with self._desk.facts() as facts:
            return cookie, await Sessions(facts).person(cookie)

    # --- checks and failures

    async def _guarded(self, request: Request, answer: Callable[[], Awaitable[Response]]) -> Response:
        """Answer behind the checks that need no session; what goes wrong is one sentence."""
        try:
            self._check_origin(request)
            return await answer()
        except _Refused as error:
            return _problem(request, error, error.status)
        except ConfigurationError as error:
            return _problem(request, error, 400)
        except StateError as error:
            _log.warning("a store cannot be used: %s", error)
            return _problem(request, error, 503)
        except TooltrueError as error:
            return _problem(request, error, 400)
        except Exception:  # noqa: BLE001 - the last boundary
            id = secrets.token_hex(4)
            _log.exception("%s: the page %s failed", id, request.url.path)
            return _problem(request, _Refused.because(500, CONSOLE_CRASHED, id=id), 500)

    def _check_origin(self, request: Request) -> None:
        """Refuse other names of this machine, and a POST that no page of the console has sent."""
        headers = {name: value for name, value in request.headers.items() if name in ("host", "origin")}
        own = f"{request.url.scheme}://{headers.get('host', '')}".lower()
        is_ours = self._access is None or self._access.refusal(headers) is None
        if request.method == "POST":
            is_ours = is_ours and self._is_own(headers.get("origin", "").lower(), own)
        if not is_ours:
            raise _Refused.because(403, CONSOLE_ORIGIN_REFUSED)

    def _is_own(self, origin: str, own: str) -> bool:
        # A proxy in front speaks TLS, so that the scheme may differ here; host and port do not.
        return origin.partition("://")[2] == own.partition("://")[2] and origin.startswith(("http://", "https://"))

    async def unknown_address(self, request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        return _problem(request, _Refused.because(status, CONSOLE_ADDRESS_UNKNOWN), status)


# --- requests


async def _form(request: Request, cookie: str) -> Mapping[str, str]:
    """The fields of a form that was shown to the browser with this cookie."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_FORM:
            raise _Refused.because(413, CONSOLE_FORM_INVALID)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        if media_type != "application/x-www-form-urlencoded":
            raise ValueError(media_type)
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise _Refused.because(400, CONSOLE_FORM_INVALID) from None
    form = dict(pairs)
    if len(form) != len(pairs):
        raise _Refused.because(400, CONSOLE_FORM_INVALID)
    if not is_form_token(form.pop("form_token", ""), cookie):
        raise _Refused.because(403, CONSOLE_FORM_EXPIRED)
    return form


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _is_fragment(request: Request) -> bool:
    return request.headers.get("hx-request") == "true"


def _base(request: Request) -> str:
    return str(request.scope.get("root_path", ""))


def _language(request: Request) -> str:
    chosen = request.cookies.get(_cookie(request, "language"))
    if chosen in LANGUAGES:
        return chosen
    return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"


def _cookie(request: Request, purpose: str) -> str:
    """The name of a cookie. Cookies are sent to every port of a machine, so that the name has the port."""
    return f"tooltrue-{purpose}-{request.url.port or 0}"


# --- responses


def _set_cookie(response: Response, request: Request, purpose: str, value: str, seconds: int | None) -> None:
    is_plain = request.url.scheme == "http" and (request.url.hostname or "") in ("127.0.0.1", "localhost", "::1")
    response.set_cookie(
        _cookie(request, purpose),
        value,
        max_age=seconds,
        path=_base(request) or "/",
        secure=not is_plain,
        httponly=True,
        samesite="strict",
    )


def _redirect(request: Request, path: str) -> Response:
    return RedirectResponse(f"{_base(request)}{path}", 303, HEADERS)


def _page(request: Request, template: str, values: Mapping[str, Any], status: int = 200) -> Response:
    frame = {
        "base": _base(request),
        "sections": SECTIONS,
        "person": None,
        "here": None,
        "form_token": "",
        "htmx_settings": HTMX_SETTINGS,
    }
    return HTMLResponse(render(template, _language(request), {**frame, **values}), status, HEADERS)


def _problem(request: Request, error: TooltrueError, status: int) -> Response:
    """One sentence on what is wrong: as a page, or in the place for it on the page that is open."""
    sentence = error.say(_language(request))
    if not _is_fragment(request):
        return _page(request, "problem.html", {"sentence": sentence, "title": "error"}, status)
    response = _page(request, "_problem.html", {"sentence": sentence}, status)
    response.headers.update({"hx-retarget": "#problem", "hx-reswap": "innerHTML"})
    return response


async def _event_stream(
    events: AsyncIterator[tuple[str, str | Html]], language: str, frame: Mapping[str, Any]
) -> AsyncGenerator[str]:
    """The text of events. A stream that fails ends with one sentence, as a page does."""
    try:
        async for name, data in events:
            text = data if isinstance(data, str) else _encoded(data, language, frame)
            yield f"event: {name}\ndata: {text}\n\n"
    except Exception:  # noqa: BLE001 - the last boundary
        id = secrets.token_hex(4)
        _log.exception("%s: a stream of events failed", id)
        sentence = _Refused.because(500, CONSOLE_CRASHED, id=id).say(language)
        yield f"event: problem\ndata: {_encoded(Html('_problem.html', {'sentence': sentence}), language, frame)}\n\n"


def _encoded(part: Html, language: str, frame: Mapping[str, Any]) -> str:
    return json.dumps(render(part.template, language, {**frame, **part.values}))
