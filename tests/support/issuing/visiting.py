"""A client that signs in to a server with token authentication, on behalf of people who always consent."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from support.issuing.server import Issuing
from support.wire.mounting import Mounts
from tooltrue import Client, Context, OAuth, Server, SignIn
from tooltrue.client.auth.credentials import Credentials, InMemory
from tooltrue.transport.carrier import Auth

__all__ = ["Clock", "guarded_at", "registering", "serving", "signing_in", "who_is"]


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


def guarded_at(url: str, issuer: Issuing, **oauth: Any) -> Server:
    """A server at ``url`` that accepts tokens of the issuer for it; a tool returns the principal."""
    made = Server("guarded", authenticate=OAuth(issuer=issuer.url, resource=url, **oauth))

    @made.tool
    async def who(context: Context) -> list[str]:
        """The caller and its scopes."""
        return [context.principal.id, *sorted(context.principal.scopes)]

    @made.tool(requires=["write"])
    async def save() -> str:
        """Save it."""
        return "saved"

    @made.tool(requires=["admin", "write"])
    async def wipe() -> str:
        """Wipe it."""
        return "wiped"

    return made


@contextlib.contextmanager
def serving(mounts: Mounts, issuer: Issuing, **oauth: Any) -> Iterator[str]:
    """The URL of a server that accepts tokens of the issuer for its own resource; a tool returns the principal."""
    with mounts.mounted_at(lambda url: guarded_at(url, issuer, **oauth).http_app()) as url:
        yield url


def registering(issuer: Issuing) -> Issuing:
    """The issuer, which takes registrations."""
    issuer.changes |= issuer.registers()
    return issuer


def signing_in(at: Issuing, credentials: Credentials | None = None, **settings: Any) -> SignIn:
    return SignIn(at.agree, credentials=credentials or InMemory(), **settings)


async def who_is(url: str, auth: Auth | None, tool: str = "who") -> Any:
    async with Client(url, auth=auth) as client:
        return (await client.call_tool(tool)).value
