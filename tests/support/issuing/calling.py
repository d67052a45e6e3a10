"""A server that knows its callers by tokens, and calls to it over a socket."""

from __future__ import annotations

import asyncio
from typing import Any

from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from support.wire.raw_http import Answer, Endpoint, Headers, modern
from tooltrue import Context, OAuth, Server

__all__ = ["RESOURCE", "call", "called", "guarded", "oauth", "who"]

RESOURCE = "https://tools.example/mcp"


def oauth(issuer: Issuing, **settings: Any) -> OAuth:
    return OAuth(issuer=issuer.url, resource=RESOURCE, **settings)


def guarded(authenticate: Any, **settings: Any) -> Server:
    """A server with a tool that returns the principal, and one that requires more scopes than any caller has."""
    made = Server("guarded", authenticate=authenticate, **settings)

    @made.tool(name="who")
    async def who_calls(context: Context) -> list[str]:
        """Who calls, and what that may."""
        return [context.principal.id, *sorted(context.principal.scopes)]

    @made.tool(requires=["write", "publish", "offline_access"])
    async def publish() -> str:
        """What needs more."""
        raise AssertionError("nobody has all that")

    return made


async def called(endpoint: Endpoint, headers: Headers, tool: str = "who") -> Answer:
    message, needed = modern("tools/call", {"name": tool})
    return await endpoint.post(message, (*needed, *headers))


def call(mounts: Mounts, made: Server, token: str | None = None, tool: str = "who", headers: Headers = ()) -> Answer:
    """The answer to a call with a token, on an event loop of its own."""
    bearer = () if token is None else (("Authorization", f"Bearer {token}"),)
    with mounts.mounted(made.http_app()) as path:
        return asyncio.run(called(Endpoint(mounts.port, path), (*bearer, *headers), tool))


def who(answer: Answer) -> Any:
    """The principal and its scopes, as the tool was told."""
    assert answer.status == 200, answer
    return answer.json["result"]["structuredContent"]
