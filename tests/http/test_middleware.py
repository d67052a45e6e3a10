"""ASGI middleware of the author around the endpoint and the routes: its place, and what holds in spite of it."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import Any

import pytest
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request

from support.issuing.calling import call, guarded, who
from support.wire.mounting import Mounts
from support.wire.raw_http import JSON, Answer, Endpoint, Headers, modern
from tooltrue import ApiKeys, ConfigurationError, Route, RouteRequest, Server
from tooltrue.server.keys import Key, new_key

KEY, DIGEST = new_key("ci")


class Named:
    """Adds its name to the header ``via`` of each response; the outermost one comes last."""

    def __init__(self, app: Any, name: str = "named") -> None:
        self.app = app
        self.name = name

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def add(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], (b"via", self.name.encode())]}
            await send(message)

        await self.app(scope, receive, add)


class Recording:
    """Records the types and the paths of the scopes that pass."""

    def __init__(self, app: Any, seen: list[str]) -> None:
        self.app = app
        self.seen = seen

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope.get("path", scope["type"]))
        await self.app(scope, receive, send)


def ask(
    mounts: Mounts, server: Server, path: str, method: str = "GET", headers: Headers = (), body: bytes = b""
) -> Answer:
    with mounts.mounted(server.http_app()) as mounted:
        endpoint = Endpoint(mounts.port, mounted.removesuffix("/mcp") + path)
        return asyncio.run(endpoint.ask(method, body, headers))


async def hello(request: RouteRequest) -> str:
    return "hello"


def test_middleware_is_around_the_endpoint_the_routes_and_the_pages(mounts: Mounts):
    middleware = [partial(Named, name="outer"), Named]
    server = Server("notes", middleware=middleware, routes=[Route("/hello", hello)])
    message, headers = modern("server/discover")
    with mounts.mounted(server.http_app()) as path:
        endpoint = asyncio.run(Endpoint(mounts.port, path).post(message, headers))
    answers = [endpoint, ask(mounts, server, "/hello"), ask(mounts, server, "/healthz"), ask(mounts, server, "/x")]
    assert [(answer.status, answer.headers["via"]) for answer in answers] == [
        (200, "outer"),
        (200, "outer"),
        (200, "outer"),
        (404, "outer"),
    ]


def test_lifespan_events_pass_through_middleware(mounts: Mounts):
    seen: list[str] = []
    server = Server("notes", middleware=[partial(Recording, seen=seen)], routes=[Route("/hello", hello)])
    assert ask(mounts, server, "/hello").body == b"hello"
    assert seen == ["lifespan", "/hello"]


def test_middleware_that_drops_the_lifespan_is_named():
    def only_http(app: Any) -> Any:
        async def call(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                await app(scope, receive, send)

        return call

    async def main() -> None:
        async with Server("notes", middleware=[only_http]).http_app().serving():
            raise AssertionError("it has started")

    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(main())
    assert caught.value.code == "TT4546"


def test_an_error_of_the_start_passes_through_middleware(tmp_path: Any):
    rules = tmp_path / "tooltrue.toml"
    rules.write_text('[[rules]]\nname = "typo"\ntools = "nonexistent"\nthen = "allow"\n')
    server = Server("notes", middleware=[Named], rules=rules)

    async def main() -> None:
        async with server.http_app().serving():
            raise AssertionError("it has started")

    with pytest.raises(ConfigurationError):
        asyncio.run(main())


@pytest.mark.parametrize(
    "header", [("Host", "evil.example"), ("Origin", "http://evil.example"), ("Content-Length", str(2**25))]
)
def test_host_origin_and_length_are_checked_outside_of_middleware(mounts: Mounts, header: tuple[str, str]):
    seen: list[str] = []
    server = Server("notes", middleware=[partial(Recording, seen=seen)])
    assert ask(mounts, server, "/mcp", "POST", (*JSON, header)).status in (403, 413)
    assert seen == ["lifespan"]


def test_a_body_is_limited_for_middleware_that_reads_it(mounts: Mounts):
    async def reads(request: Request, call_next: Any) -> Any:
        await request.body()
        return await call_next(request)

    server = Server("notes", middleware=[Middleware(BaseHTTPMiddleware, dispatch=reads)])
    piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    headers = (*JSON, ("Transfer-Encoding", "chunked"), ("Content-Length", None))
    assert ask(mounts, server, "/mcp", "POST", headers, piece * 16 + b"1\r\nx").status == 413


def test_authentication_is_inside_of_middleware(mounts: Mounts):
    seen: list[str] = []
    made = guarded(ApiKeys({"ci": Key(DIGEST, frozenset({"read"}))}), middleware=[partial(Recording, seen=seen)])
    assert call(mounts, made).status == 401
    assert who(call(mounts, made, KEY)) == ["key:ci", "read"]
    assert len(seen) == 4


def test_middleware_of_starlette_is_taken_with_its_arguments(mounts: Mounts):
    long = Route("/long", returning_long)
    server = Server("notes", middleware=[Middleware(GZipMiddleware, minimum_size=10)], routes=[long])
    answer = ask(mounts, server, "/long", headers=(("Accept-Encoding", "gzip"),))
    assert answer.headers["content-encoding"] == "gzip"
    assert {row[0]: row[1] for row in server.guard()}["middleware"] == "HTTP: GZipMiddleware"


async def returning_long(request: RouteRequest) -> str:
    return "x" * 1000


def test_middleware_that_fails_is_logged_and_its_text_stays_here(mounts: Mounts, caplog: pytest.LogCaptureFixture):
    def failing(app: Any) -> Any:
        async def call(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                raise ValueError("password hunter2")
            await app(scope, receive, send)

        return call

    with caplog.at_level(logging.ERROR):
        answer = ask(mounts, Server("notes", middleware=[failing]), "/mcp")
    assert answer.status == 500
    assert b"hunter2" not in answer.body
    assert "hunter2" in caplog.text


@pytest.mark.parametrize("middleware", [[None], ["x"], [3]])
def test_middleware_is_a_class_or_a_function(middleware: list[Any]):
    with pytest.raises(ConfigurationError) as caught:
        Server("notes", middleware=middleware)
    assert caught.value.code == "TT4536"


def test_known_heads_do_not_get_around_middleware():
    app = Server("notes", middleware=[Named]).http_app()
    head = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"2")]
    scope = {"type": "http", "path": "/mcp", "method": "POST", "headers": head, "http_version": "1.1"}
    assert Server("notes").http_app().answerer(scope) is not None
    assert app.answerer(scope) is None
