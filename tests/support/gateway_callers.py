"""Callers of a gateway by name, without HTTP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from tooltrue.gateway.gateway import Gateway
from tooltrue.server.server import ServerSession
from tooltrue.tools.vocabulary import Principal

__all__ = ["Caller"]


class Caller:
    """The gateway as the client of one caller reaches it."""

    def __init__(self, gateway: Gateway, name: str) -> None:
        self._gateway = gateway
        self._principal = Principal(name)

    def in_lifespan(self) -> AbstractAsyncContextManager[None]:
        return self._gateway.in_lifespan()

    def connect(self, write: Callable[[bytes], None]) -> CallerSession:
        return CallerSession(self._gateway.connect(write), self._principal)


class CallerSession:
    """A session all of whose messages come from one caller."""

    def __init__(self, session: ServerSession, principal: Principal) -> None:
        self._session = session
        self._principal = principal

    def feed(self, frame: bytes) -> None:
        self._session.feed_from(self._principal, frame)

    async def close(self) -> None:
        await self._session.close()
