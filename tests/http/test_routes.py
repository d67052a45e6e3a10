"""HTTP routes of the author beside the endpoint: their checks, their paths, and what an application among them gets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Mount, WebSocketRoute
from starlette.routing import Route as StarletteRoute

from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint, Headers
from tooltrue import ApiKeys, ConfigurationError, Principal, Route, RouteRequest, RouteResponse, Server
from tooltrue.server.keys import Key, new_key
from tooltrue.transport.carrier import Carrier

KEY, DIGEST = new_key("ci")
BEARER = (("Authorization", f"Bearer {KEY}"),)
OURS = ("/mcp", "/sse", "/messages", "/healthz", "/readyz", "/metrics", "/.well-known/oauth-protected-resource")


def keys() -> ApiKeys:
    return ApiKeys({"ci": Key(DIGEST, frozenset({"read"}))})


async def echo(request: RouteRequest) -> Any:
    """Tell what arrived."""
    principal = request.principal.id if request.principal else None
    body = (await request.body()).decode()
    credentials = sorted(set(request.headers) & {"authorization", "cookie", "x-api-key"})
    return {"caller": principal, "path": request.path, "body": body, "credentials": credentials}


async def app(scope: Any, receive: Any, send: Any) -> None:
    """An application that tells where it is mounted."""
    assert scope["type"] == "http"
    facts = {"root": scope["root_path"], "path": scope["path"], "caller": str(scope["tooltrue.principal"])}
    await JSONResponse(facts)(scope, receive, send)


def ask(
    mounts: Mounts, server: Server, path: str, method: str = "GET", headers: Headers = (), body: bytes = b""
) -> Answer:
    with mounts.mounted(server.http_app()) as mounted:
        endpoint = Endpoint(mounts.port, mounted.removesuffix("/mcp") + path)
        return asyncio.run(endpoint.ask(method, body, headers))


def head(mounts: Mounts, server: Server, path: str) -> tuple[int, bytes]:
    """The status of a HEAD, and the bytes behind its head."""

    async def scenario(endpoint: Endpoint) -> tuple[int, bytes]:
        async with endpoint.open("HEAD") as stream:
            return stream.status, await stream.rest()

    with mounts.mounted(server.http_app()) as mounted:
        return asyncio.run(scenario(Endpoint(mounts.port, mounted.removesuffix("/mcp") + path)))


def statuses(mounts: Mounts, server: Server, paths: Sequence[str], headers: Headers = ()) -> dict[str, int]:
    return {path: ask(mounts, server, path, headers=headers).status for path in paths}


# --- who reaches a route ----------------------------------------------------------------------------------------------


def test_a_route_authenticates_its_callers_and_sees_no_credentials(mounts: Mounts):
    server = Server("notes", authenticate=keys(), routes=[Route("/hooks", echo, methods=["POST"])])
    refused = ask(mounts, server, "/hooks", "POST")
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    answer = ask(mounts, server, "/hooks", "POST", (*BEARER, ("Cookie", "a=b")), b"x")
    assert answer.json == {"caller": "key:ci", "path": "/hooks", "body": "x", "credentials": []}


def test_a_public_route_has_no_caller_and_all_headers(mounts: Mounts):
    server = Server("notes", authenticate=keys())
    server.route("/status", echo, public=True)
    assert ask(mounts, server, "/status").json["caller"] is None
    answer = ask(mounts, server, "/status", headers=(("Authorization", "Basic x"),))
    assert answer.json == {"caller": None, "path": "/status", "body": "", "credentials": ["authorization"]}


def test_a_wrong_credential_is_refused_before_the_route(mounts: Mounts):
    async def never(request: RouteRequest) -> str:
        raise AssertionError("the route has run")

    server = Server("notes", authenticate=keys(), routes=[Route("/hooks", never)])
    for path in ("/hooks", "/hooks/", "/hooks?access_token=x", "/h%6foks"):
        assert ask(mounts, server, path, headers=(("X-API-Key", "tt_ci_wrong"),)).status in (400, 401)


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("name", ["Host", "Origin"])
def test_dns_rebinding_and_foreign_pages_do_not_reach_a_route(mounts: Mounts, name: str, public: bool):
    async def never(request: RouteRequest) -> str:
        raise AssertionError("the route has run")

    server = Server("notes", routes=[Route("/hooks", never, public=public), Route("/ui", app, public=public)])
    value = "evil.example" if name == "Host" else "http://evil.example"
    for path in ("/hooks", "/ui/x"):
        assert ask(mounts, server, path, headers=((name, value),)).status == 403


def test_a_route_of_a_server_without_authentication_is_for_this_machine(mounts: Mounts):
    server = Server("notes", routes=[Route("/hooks", echo)])
    assert ask(mounts, server, "/hooks").json["caller"] == "local:http"
    forwarded = (("X-Forwarded-For", "192.0.2.1"),)
    assert ask(mounts, server, "/hooks", headers=forwarded).status == 403


def test_a_route_is_not_served_before_the_server_is(mounts: Mounts):
    server = Server("notes", routes=[Route("/hooks", echo, public=True)])
    with mounts.mounted(server.http_app(), lives=False) as mounted:
        endpoint = Endpoint(mounts.port, mounted.removesuffix("/mcp") + "/hooks")
        assert asyncio.run(endpoint.ask("GET")).status == 503


# --- methods ----------------------------------------------------------------------------------------------------------


def test_a_route_has_its_methods_and_no_others(mounts: Mounts):
    server = Server("notes")
    server.route("/both", methods=["GET"])(echo)
    server.route("/both", methods=["post"])(echo)
    assert [ask(mounts, server, "/both", method).status for method in ("GET", "POST")] == [200, 200]
    assert head(mounts, server, "/both") == (200, b"")
    for method in ("OPTIONS", "PUT", "DELETE"):
        answer = ask(mounts, server, "/both", method)
        assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_a_method_is_authorized_with_the_route_that_serves_it(mounts: Mounts):
    server = Server("notes", authenticate=keys())
    server.route("/item", public=True)(echo)
    server.route("/item", methods=["POST"])(echo)
    assert [ask(mounts, server, "/item", method).status for method in ("GET", "POST")] == [200, 401]


def test_a_public_application_does_not_serve_what_a_route_below_it_refuses(mounts: Mounts):
    server = Server("notes", authenticate=keys())
    server.route("/ui", app, public=True)
    server.route("/ui/admin", methods=["POST"])(echo)
    server.route("/ui/area", app)
    assert ask(mounts, server, "/ui/page").status == 200
    assert [ask(mounts, server, "/ui/admin", method).status for method in ("POST", "GET")] == [401, 405]
    assert statuses(mounts, server, ["/ui/area", "/ui/area/x", "/ui/area/"]) == {
        "/ui/area": 401,
        "/ui/area/x": 401,
        "/ui/area/": 401,
    }


# --- paths ------------------------------------------------------------------------------------------------------------

SHADOWING = [
    *OURS,
    *(f"{path}/" for path in OURS),
    *(f"{path}/below" for path in OURS),
    *(path.upper() for path in OURS),
    "/.well-known",
    "/.Well-Known/x",
]
SPELLED = [
    "/%6dcp", "//mcp", "/./mcp", "/x/../mcp", "/mcp/..", "/%2fmcp", "/x//mcp", "\\mcp", "/\\mcp", "mcp", "", "/ mcp",
    "/x?y", "/x#y", "/{x}", "/ｍcp", "/x/", "/x//", "/../x", "/x\n", "/*",
]  # fmt: skip


@pytest.mark.parametrize("path", SHADOWING)
@pytest.mark.parametrize("endpoint", [echo, app])
def test_a_route_cannot_stand_before_a_path_of_the_server(path: str, endpoint: Any):
    with pytest.raises(ConfigurationError) as caught:
        Route(path, endpoint, public=True)
    assert caught.value.code == "TT4531"


@pytest.mark.parametrize("path", [path for path in SPELLED if path not in ("/x/", "/*")])
def test_a_route_has_one_spelling(path: str):
    with pytest.raises(ConfigurationError) as caught:
        Route(path, echo)
    assert caught.value.code == "TT4530"


def test_an_application_cannot_cover_the_root_and_a_function_can_serve_it(mounts: Mounts):
    with pytest.raises(ConfigurationError) as caught:
        Route("/", app)
    assert caught.value.code == "TT4531"
    assert ask(mounts, Server("notes", routes=[Route("/", echo)]), "/").json["path"] == "/"


@pytest.mark.parametrize("path", ["/mcp2", "/messages-2", "/health", "/metrics.txt", "/well-known/x", "/x/mcp", "/x/"])
def test_paths_that_only_look_like_ours_are_allowed(mounts: Mounts, path: str):
    assert ask(mounts, Server("notes", routes=[Route(path, echo)]), path).status == 200


@pytest.mark.parametrize(
    "path",
    ["/ui/../mcp", "/ui/%2e%2e/mcp", "/ui/..%2fmcp", "/ui//mcp", "/ui/./x", "/ui/%2fx", "/ui%2fx", "/ui/%5cx",
     "/ui/%00", "/ui/%252e%252e/mcp", "/ui//", "//ui", "//ui/x", "/ui/x/..", "/ui/%0ax"],
)  # fmt: skip
def test_a_path_with_several_readings_reaches_no_application(mounts: Mounts, path: str):
    async def never(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError(scope["path"])

    server = Server("notes", authenticate=keys(), routes=[Route("/ui", never, public=True)])
    assert ask(mounts, server, path).status == 404


@pytest.mark.parametrize(
    "path", ["/mcp", "/mcp/", "/%6dcp", "/%6d%63%70", "/MCP", "//mcp", "/mcp//", "/x/../mcp", "/./mcp"]
)
def test_no_spelling_of_the_endpoint_gets_past_authentication(mounts: Mounts, path: str):
    server = Server("notes", authenticate=keys(), routes=[Route("/x", app, public=True)])
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert ask(mounts, server, path, "POST", (("Content-Type", "application/json"),), body).status in (401, 404)


def test_a_route_is_defined_once_for_a_method():
    server = Server("notes", routes=[Route("/x", echo)])
    for again in (Route("/x/", echo, methods=["GET", "POST"]), Route("/x", app)):
        with pytest.raises(ConfigurationError) as caught:
            server.route(again.path, again.endpoint, methods=again.methods or None)
        assert caught.value.code == "TT4532"


@pytest.mark.parametrize("methods", [[], [""], ["GET POST"], ["GET\n"], ["*"]])
def test_methods_have_names(methods: list[str]):
    with pytest.raises(ConfigurationError) as caught:
        Route("/x", echo, methods=methods)
    assert caught.value.code == "TT4535"


@pytest.mark.parametrize("endpoint", [None, "x", lambda request: "not async", lambda: None, print])
def test_an_endpoint_is_an_async_function_or_an_application(endpoint: Any):
    with pytest.raises(ConfigurationError) as caught:
        Route("/x", endpoint)
    assert caught.value.code == "TT4533"


# --- bodies -----------------------------------------------------------------------------------------------------------

LARGE = 16 * 1024 * 1024


@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("path", ["/hooks", "/ui", "/star"])
def test_a_body_that_is_too_large_is_refused(mounts: Mounts, path: str, public: bool):
    ran: list[bytes] = []

    async def takes(request: RouteRequest) -> str:
        ran.append(await request.body())
        return "taken"

    async def takes_too(scope: Any, receive: Any, send: Any) -> None:
        ran.append(await RouteRequest(scope, receive, None).body())

    async def star(request: Request) -> PlainTextResponse:
        ran.append(await request.body())
        return PlainTextResponse("taken")

    server = Server("notes")
    server.route("/hooks", takes, methods=["POST"], public=public)
    server.route("/ui", takes_too, public=public)
    server.route("/star", Starlette(routes=[StarletteRoute("/", star, methods=["POST"])]), public=public)
    path = f"{path}/" if path == "/star" else path
    declared = ask(mounts, server, path, "POST", (("Content-Length", str(LARGE + 1)),))
    piece = b"100000\r\n" + b"x" * 0x100000 + b"\r\n"
    chunked = (("Transfer-Encoding", "chunked"), ("Content-Length", None))
    endless = ask(mounts, server, path, "POST", chunked, piece * 16 + b"1\r\nx")
    assert (declared.status, endless.status, ran) == (413, 413, [])


def test_a_body_that_does_not_end_is_refused_in_time(mounts: Mounts):
    async def scenario(endpoint: Endpoint) -> int:
        async with endpoint.open("POST", b"x", (("Content-Length", "10"), ("Connection", "keep-alive"))) as stream:
            assert await stream.body()
            assert await stream.rest() == b""
            return stream.status

    server = Server("notes", routes=[Route("/hooks", echo, methods=["POST"], public=True)])
    http_app = server.http_app()
    http_app._limits.seconds = 0.05  # pyright: ignore[reportPrivateUsage] - 30 s otherwise
    with mounts.mounted(http_app) as mounted:
        assert asyncio.run(scenario(Endpoint(mounts.port, mounted.removesuffix("/mcp") + "/hooks"))) == 408


# --- answers ----------------------------------------------------------------------------------------------------------


def test_a_route_that_fails_is_logged_and_its_text_stays_here(mounts: Mounts, caplog: pytest.LogCaptureFixture):
    async def fails(request: RouteRequest) -> str:
        raise ValueError("password hunter2")

    async def fails_too(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("password hunter2")

    server = Server("notes", routes=[Route("/fails", fails), Route("/ui", fails_too), Route("/none", nothing)])
    with caplog.at_level(logging.ERROR):
        answers = [ask(mounts, server, path) for path in ("/fails", "/ui/x")]
    assert [answer.status for answer in answers] == [500, 500]
    assert not any(b"hunter2" in answer.body or b"ValueError" in answer.body for answer in answers)
    assert caplog.text.count("password hunter2") >= 2
    for record in caplog.records:
        assert record.exc_info is not None
        trace = record.exc_info[2]
        assert trace is not None
        assert trace.tb_frame.f_code.co_filename == __file__, "the author's frame comes first"
    assert ask(mounts, server, "/none").status == 500


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    """An application that answers nothing."""


def test_a_route_returns_text_bytes_json_or_a_response(mounts: Mounts):
    returned: dict[str, Any] = {
        "/text": "grüße",
        "/bytes": b"\x00",
        "/json": {"a": [1]},
        "/none": None,
        "/made": RouteResponse("moved", 303, {"Location": "/x"}),
        "/star": JSONResponse({"a": 1}, 201),
        "/other": object(),
    }

    def returning(value: Any) -> Any:
        async def endpoint(request: RouteRequest) -> Any:
            return value

        return endpoint

    server = Server("notes", routes=[Route(path, returning(value)) for path, value in returned.items()])
    found = {path: ask(mounts, server, path) for path in returned}
    assert {path: answer.status for path, answer in found.items()} == {
        "/text": 200, "/bytes": 200, "/json": 200, "/none": 204, "/made": 303, "/star": 201, "/other": 500
    }  # fmt: skip
    assert found["/text"].headers["content-type"] == "text/plain; charset=utf-8"
    assert found["/text"].body.decode() == "grüße"
    assert found["/json"].json == {"a": [1]}
    assert found["/made"].headers["location"] == "/x"


FRAMING = {"Content-Length": "3", "Transfer-Encoding": "chunked", "Connection": "close", "Keep-Alive": "x", "Te": "x"}


def test_headers_that_come_from_another_server_do_not_frame_the_response(mounts: Mounts):
    """A route that passes a response on returns its headers too; that server must not split ours."""

    async def passed_on(request: RouteRequest) -> RouteResponse:
        return RouteResponse("abcdef", 200, {**FRAMING, "ETag": "x", "Content-Type": "text/csv"})

    answer = ask(mounts, Server("notes", routes=[Route("/other", passed_on)]), "/other")
    assert (answer.body, answer.headers["etag"], answer.headers["content-type"]) == (b"abcdef", "x", "text/csv")
    assert answer.headers["content-length"] == "6"
    assert not {"transfer-encoding", "keep-alive", "te"} & set(answer.headers)


@pytest.mark.parametrize(
    "response",
    [
        RouteResponse("x", 200, {"X-A": "a\r\nSet-Cookie: b"}),
        RouteResponse("x", 200, {"X-A": "a\nb"}),
        RouteResponse("x", 200, {"X-A\r\nB": "c"}),
        RouteResponse("x", 200, {"X A": "c"}),
        RouteResponse("x", 200, {"": "c"}),
        RouteResponse("x", 100),
        RouteResponse("x", 99_999),
    ],
)
def test_a_response_that_would_be_two_is_a_failure(mounts: Mounts, response: RouteResponse):
    async def endpoint(request: RouteRequest) -> RouteResponse:
        return response

    answer = ask(mounts, Server("notes", routes=[Route("/x", endpoint)]), "/x")
    assert answer.status == 500
    assert not {"set-cookie", "x-a"} & set(answer.headers)


@pytest.mark.parametrize("status", [204, 304])
def test_a_response_without_content_has_none(mounts: Mounts, status: int):
    async def endpoint(request: RouteRequest) -> RouteResponse:
        return RouteResponse("text", status, {"ETag": '"é"'})

    answer = ask(mounts, Server("notes", routes=[Route("/x", endpoint)]), "/x")
    assert (answer.status, answer.body) == (status, b"")
    assert "etag" in answer.headers
    assert "content-type" not in answer.headers


def test_a_body_that_is_no_json_is_the_clients_fault(mounts: Mounts):
    async def endpoint(request: RouteRequest) -> Any:
        return await request.json()

    server = Server("notes", routes=[Route("/x", endpoint, methods=["POST"])])
    assert ask(mounts, server, "/x", "POST", body=b'{"a": 1}').json == {"a": 1}
    assert ask(mounts, server, "/x", "POST", body=b"{").status == 400


def test_headers_and_parameters_of_a_request_are_read_in_any_case(mounts: Mounts):
    async def endpoint(request: RouteRequest) -> Any:
        return [request.headers.get("X-Signature"), request.query_params.get("q"), request.method]

    server = Server("notes", routes=[Route("/x", endpoint)])
    answer = ask(mounts, server, "/x?q=a&q=b%20c", headers=(("x-SIGNATURE", "s"),))
    assert answer.json == ["s", "b c", "GET"]


# --- applications and routes of Starlette -----------------------------------------------------------------------------


def test_an_application_knows_where_it_is_mounted(mounts: Mounts):
    server = Server("notes", routes=[Route("/ui", app)])
    answer = ask(mounts, server, "/ui/a")
    assert (answer.json["root"], answer.json["path"]) == ("/ui", "/ui/a")


def starlette_server(**settings: Any) -> Server:
    async def item(request: Request) -> JSONResponse:
        if request.path_params["id"] == "0":
            raise HTTPException(404, "no such item")
        return JSONResponse({"id": request.path_params["id"], "authorization": request.headers.get("authorization")})

    return Server(
        "shop",
        routes=[
            StarletteRoute("/items/{id}", item),
            Mount("/sub", routes=[StarletteRoute("/{id}", item, methods=["POST"])]),
        ],
        **settings,
    )


def test_routes_of_starlette_are_served_behind_authentication(mounts: Mounts):
    server = starlette_server(authenticate=keys())
    assert statuses(mounts, server, ["/items/7", "/sub/7", "/items"]) == {"/items/7": 401, "/sub/7": 401, "/items": 404}
    assert ask(mounts, server, "/items/7", headers=BEARER).json == {"id": "7", "authorization": None}
    assert ask(mounts, server, "/items/0", headers=BEARER).status == 404
    assert ask(mounts, server, "/items/7", "POST", BEARER).status == 405
    assert ask(mounts, server, "/sub/7", "POST", BEARER).json["id"] == "7"


@pytest.mark.parametrize(
    "route",
    [StarletteRoute("/mcp", app), StarletteRoute("/{any}", app), StarletteRoute("/{any:path}", app), Mount("/", app),
     Mount("/MCP", app), Mount("/.well-known", app), StarletteRoute("/m{x}", app), StarletteRoute("/mcp/{x}", app)],
)  # fmt: skip
def test_a_route_of_starlette_cannot_stand_before_a_path_of_the_server(route: object):
    with pytest.raises(ConfigurationError) as caught:
        Server("shop", routes=[route])
    assert caught.value.code == "TT4531"


@pytest.mark.parametrize("route", [WebSocketRoute("/ws", app), "/x", None, app])
def test_other_objects_are_no_routes(route: object):
    with pytest.raises(ConfigurationError) as caught:
        Server("shop", routes=[route])
    assert caught.value.code == "TT4534"


def test_an_application_among_the_routes_has_its_lifespan(mounts: Mounts):
    events: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[dict[str, str]]:
        events.append("start")
        yield {"pool": "open"}
        events.append("end")

    async def state(request: Request) -> JSONResponse:
        return JSONResponse(request.state.pool)

    ui = Starlette(routes=[StarletteRoute("/", state)], lifespan=lifespan)
    server = Server("shop", routes=[Route("/ui", ui), Route("/plain", app)])
    assert ask(mounts, server, "/ui/").json == "open"
    assert events == ["start", "end"]


def test_an_application_that_fails_to_start_stops_the_server():
    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[dict[str, str]]:
        raise ValueError("no database")
        yield

    async def main() -> None:
        async with Server("shop", routes=[Route("/ui", Starlette(lifespan=lifespan))]).http_app().serving():
            raise AssertionError("it has started")

    with pytest.raises(ValueError, match="no database"):
        asyncio.run(main())


# --- what inspect shows -----------------------------------------------------------------------------------------------


def test_inspect_shows_each_route_and_which_is_public():
    server = Server("shop", routes=[Route("/status", echo, public=True), Route("/hooks", echo, methods=["POST"])])
    server.route("/ui", app)
    assert server.http_routes() == [
        ("/hooks", "POST", "authenticated as at /mcp"),
        ("/status", "GET, HEAD", "public"),
        ("/ui/*", "all methods", "authenticated as at /mcp"),
    ]


def test_a_function_that_authenticates_gives_the_route_its_caller(mounts: Mounts):
    def authenticate(carrier: Carrier) -> Principal | None:
        return Principal("ada") if (carrier.headers or {}).get("cookie") == "s=1" else None

    server = Server("shop", authenticate=authenticate, routes=[Route("/x", echo)])
    answer = ask(mounts, server, "/x", headers=(("Cookie", "s=1"),))
    assert json.loads(answer.body) == {"caller": "ada", "path": "/x", "body": "", "credentials": []}
