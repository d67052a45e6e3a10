"""The endpoint in applications of FastAPI and Starlette: at the root, below a prefix, and with its lifespan."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar

import httpx2
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

from support.issuing.server import Issuing
from support.wire.raw_http import JSON, modern
from tooltrue import OAuth, Server
from tooltrue import Route as OwnRoute
from tooltrue.transport.lifespans import lifespan_of

T = TypeVar("T")


def made(**settings: Any) -> Server:
    server = Server("notes", **settings)

    @server.tool(effect="read")
    async def greet(name: str) -> str:
        """Greet somebody."""
        return f"Hello {name}"

    return server


def fastapi_at(prefix: str, server: Server) -> Any:
    tools = server.http_app(signals=False)
    app = FastAPI(lifespan=tools.lifespan)
    app.get("/own")(own)
    app.mount(prefix, tools)
    return app


def starlette_at(prefix: str, server: Server) -> Any:
    tools = server.http_app(signals=False)
    routes = [Route("/own", own_page), Mount(prefix, tools)]
    return Starlette(routes=routes, lifespan=tools.lifespan)


async def own() -> str:
    return "own"


async def own_page(request: Any) -> PlainTextResponse:
    return PlainTextResponse("own")


def asked(
    app: Any, scenario: Callable[[httpx2.AsyncClient], Awaitable[T]], *, lives: bool = True, root_path: str = ""
) -> T:
    """The result of a conversation with an application, whose lifespan runs meanwhile if it ``lives``."""

    async def main() -> T:
        transport = httpx2.ASGITransport(app, root_path=root_path)
        async with (
            lifespan_of(app) if lives else contextlib.nullcontext(),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            return await scenario(client)

    return asyncio.run(main())


async def call(client: httpx2.AsyncClient, path: str, **headers: str) -> httpx2.Response:
    message, named = modern("tools/call", {"name": "greet", "arguments": {"name": "Ada"}})
    sent = {name: value for name, value in (*JSON, *named) if value is not None}
    return await client.post(path, json=message, headers={**sent, **headers})


@pytest.mark.parametrize("mount", [fastapi_at, starlette_at])
@pytest.mark.parametrize("prefix", ["/", "/tools", "/a/b", "/mcp"])
def test_the_endpoint_is_below_the_prefix_and_the_outer_application_keeps_its_paths(
    mount: Callable[[str, Server], Any], prefix: str
):
    async def scenario(client: httpx2.AsyncClient) -> tuple[Any, ...]:
        below = prefix.rstrip("/")
        answer = await call(client, f"{below}/mcp")
        found = [(await client.get(path)).status_code for path in ("/own", f"{below}/healthz", f"{below}/nothing")]
        return answer.status_code, answer.json()["result"]["content"][0]["text"], *found

    assert asked(mount(prefix, made()), scenario) == (200, "Hello Ada", 200, 200, 404)


@pytest.mark.parametrize("mount", [fastapi_at, starlette_at])
def test_routes_and_middleware_work_below_a_prefix(mount: Callable[[str, Server], Any]):
    async def where(scope: Any, receive: Any, send: Any) -> None:
        await PlainTextResponse(f"{scope['root_path']} {scope['path']}")(scope, receive, send)

    def marking(app: Any) -> Any:
        async def call(scope: Any, receive: Any, send: Any) -> None:
            await app(scope, receive, send)

        return call

    async def scenario(client: httpx2.AsyncClient) -> list[Any]:
        pages = [await client.get(path) for path in ("/tools/ui/x", "/tools/ui/%2e%2e/mcp", "/ui/x")]
        return [pages[0].text, *(page.status_code for page in pages[1:])]

    server = made(routes=[OwnRoute("/ui", where)], middleware=[marking])
    assert asked(mount("/tools", server), scenario) == ["/tools/ui /tools/ui/x", 404, 404]


def test_without_the_lifespan_the_answer_says_what_to_write():
    server, app = made(), FastAPI()
    app.mount("/tools", server.http_app())
    answer = asked(app, lambda client: call(client, "/tools/mcp"))
    assert answer.status_code == 503
    assert "FastAPI(lifespan=tools.lifespan)" in answer.json()["error"]["message"]


def test_an_application_with_a_lifespan_of_its_own_enters_serving():
    tools = made().http_app(signals=False)
    events: list[str] = []

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        async with tools.serving():
            events.append("open")
            yield
            events.append("closed")

    app = FastAPI(lifespan=lifespan)
    app.mount("/tools", tools)
    assert asked(app, lambda client: call(client, "/tools/mcp")).status_code == 200
    assert events == ["open", "closed"]


@pytest.mark.requirement("AUTHS-03", "AUTHS-06")
@pytest.mark.parametrize("mount", [fastapi_at, starlette_at])
def test_the_metadata_of_a_mounted_resource_is_where_the_challenge_says(
    mount: Callable[[str, Server], Any], issuer: Issuing
):
    resource = "https://tools.example/tools/mcp"
    server = made(authenticate=OAuth(issuer=issuer.url, resource=resource))
    app = mount("/tools", server)
    app.router.routes.append(Mount("/.well-known/oauth-protected-resource", app.router.routes[-1].app))

    async def scenario(client: httpx2.AsyncClient) -> tuple[Any, ...]:
        refused = await call(client, "/tools/mcp")
        place = refused.headers["www-authenticate"].split('"')[1]
        page = await client.get(place.removeprefix("https://tools.example"))
        elsewhere = await client.get("/.well-known/oauth-protected-resource/other")
        return refused.status_code, place, page.json()["resource"], elsewhere.status_code

    assert asked(app, scenario) == (
        401,
        "https://tools.example/.well-known/oauth-protected-resource/tools/mcp",
        resource,
        404,
    )


def test_an_application_at_the_root_serves_its_metadata_by_itself(issuer: Issuing):
    server = made(authenticate=OAuth(issuer=issuer.url, resource="https://tools.example/mcp"))

    async def scenario(client: httpx2.AsyncClient) -> Any:
        return (await client.get("/.well-known/oauth-protected-resource/mcp")).json()["resource"]

    assert asked(fastapi_at("/", server), scenario) == "https://tools.example/mcp"


def test_a_second_mount_for_the_metadata_opens_no_other_path(issuer: Issuing):
    server = made(authenticate=OAuth(issuer=issuer.url, resource="https://tools.example/tools/mcp"))
    app = fastapi_at("/tools", server)
    app.router.routes.append(Mount("/.well-known/oauth-protected-resource", app.router.routes[-1].app))

    async def scenario(client: httpx2.AsyncClient) -> list[int]:
        below = "/.well-known/oauth-protected-resource"
        return [
            (await call(client, f"{below}/mcp")).status_code,
            (await client.post(f"{below}/tools/mcp")).status_code,
        ]

    assert asked(app, scenario) == [401, 404]
