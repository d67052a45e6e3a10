"""The tokens of callers at servers: each in the state, encrypted, for one caller and one server.

A caller's name and the name of a server are readable there, so that a person can list and revoke; tokens are not.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol.types import Value
from tooltrue.server.sealed_tokens import BadSeal, Sealer
from tooltrue.state.facts import Values

__all__ = ["CallerGrant", "GrantStore"]

_PURPOSE: Final = "grant"
_INDEX: Final = "grant-index"
_SECONDS: Final = 365 * 86_400.0
_LEASE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05


class CallerGrant(Value, frozen=True):
    """A caller has connected the gateway to a server, at the time ``since``."""

    caller: str
    server: str
    url: str
    since: float


class GrantStore:
    """Encrypts with the first of ``keys``, and decrypts with any of them. A grant that is not renewed for a year
    expires."""

    def __init__(self, values: Values, keys: Sequence[bytes], *, clock: Callable[[], float] = time.time) -> None:
        self._values = values
        self._sealer = Sealer(keys, clock=clock)
        self._clock = clock

    def of(self, caller: str, server: str) -> CallerCredentials:
        """The credentials of one caller at one server."""
        return CallerCredentials(self, caller, server)

    def own(self) -> GatewayCredentials:
        """The credentials of the gateway itself: its client ids at issuers."""
        return GatewayCredentials(self, "", "")

    async def grant(self, caller: str, server: str, url: str, key: str, text: str) -> None:
        """Store the tokens of a caller who has just consented."""
        await self.write((caller, server, key), text)
        await self._change(
            lambda grants: [*_without(grants, caller, server), CallerGrant(caller, server, url, self._clock())]
        )

    async def read(self, owner: Sequence[str]) -> str | None:
        return self._revealed(owner, await self._values.get(_key(owner)))

    def _revealed(self, owner: Sequence[str], stored: bytes | None) -> str | None:
        if stored is None:
            return None
        try:
            return self._sealer.reveal(_PURPOSE, owner, stored.decode()).decode()
        except BadSeal:
            return None  # of a key that has been given up: the caller connects again

    async def write(self, owner: Sequence[str], text: str | None, seconds: float = _SECONDS) -> None:
        if text is None:
            await self._values.remove(_key(owner))
        else:
            hidden = self._sealer.hide(_PURPOSE, owner, text.encode(), seconds)
            await self._values.put(_key(owner), hidden.encode(), seconds)

    async def take(self, owner: Sequence[str]) -> str | None:
        """Remove a text and return it, to one caller only."""
        return self._revealed(owner, await self._values.remove(_key(owner)))

    async def renew(self, owner: Sequence[str], text: str) -> None:
        """Replace a text, unless it has been deleted meanwhile: what a person has revoked does not come back."""
        stored = await self._values.get(_key(owner))
        if stored is not None:
            hidden = self._sealer.hide(_PURPOSE, owner, text.encode(), _SECONDS)
            await self._values.replace(_key(owner), stored, hidden.encode(), _SECONDS)

    @contextlib.asynccontextmanager
    async def alone(self, owner: Sequence[str]) -> AsyncGenerator[None]:
        """Hold a lease for all workers. A worker that dies loses it after a minute."""
        key, holder = "grant-lease:" + _key(owner), secrets.token_bytes(16)
        while not await self._values.put_if_absent(key, holder, _LEASE_SECONDS):  # noqa: ASYNC110 - another process's
            await asyncio.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            if await self._values.get(key) == holder:
                await self._values.remove(key)

    # --- for a person -------------------------------------------------------------------------------------------------

    async def all(self) -> list[CallerGrant]:
        """The grants, in the order of callers and servers."""
        return sorted((CallerGrant(*entry) for entry in _entries(await self._values.get(_INDEX))), key=_place)

    async def forget(self, caller: str, server: str) -> None:
        """Remove a grant from the list."""
        await self._change(lambda grants: _without(grants, caller, server))

    async def _change(self, change: Callable[[list[CallerGrant]], list[CallerGrant]]) -> None:
        while True:
            stored = await self._values.get(_INDEX)
            grants = change([CallerGrant(*entry) for entry in _entries(stored)])
            data = encode([[one.caller, one.server, one.url, one.since] for one in grants])
            if stored is None:
                is_done = await self._values.put_if_absent(_INDEX, data, _SECONDS)
            else:
                is_done = await self._values.replace(_INDEX, stored, data, _SECONDS)
            if is_done:
                return


class GatewayCredentials:
    """``Credentials`` of one owner. ``key`` belongs to what is encrypted: a text that is copied to another caller,
    server or key is unreadable there."""

    def __init__(self, store: GrantStore, caller: str, server: str) -> None:
        self._store = store
        self._owner = (caller, server)

    async def read(self, key: str) -> str | None:
        return await self._store.read((*self._owner, key))

    async def write(self, key: str, text: str | None) -> None:
        await self._store.write((*self._owner, key), text)

    def alone(self, key: str) -> AbstractAsyncContextManager[None]:
        return self._store.alone((*self._owner, key))


class CallerCredentials(GatewayCredentials):
    """Those of a caller: they begin with a consent (:meth:`GrantStore.grant`), and can only be renewed or deleted."""

    async def write(self, key: str, text: str | None) -> None:
        owner = (*self._owner, key)
        await (self._store.write(owner, None) if text is None else self._store.renew(owner, text))


def _key(owner: Sequence[str]) -> str:
    return "grant:" + hashlib.sha256(encode(list(owner))).hexdigest()


def _entries(stored: bytes | None) -> list[Any]:
    entries: Any = [] if stored is None else decode(stored)
    return entries


def _without(grants: Sequence[CallerGrant], caller: str, server: str) -> list[CallerGrant]:
    return [one for one in grants if _place(one) != (caller, server)]


def _place(grant: CallerGrant) -> tuple[str, str]:
    return grant.caller, grant.server
