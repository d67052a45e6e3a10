"""The tokens of callers at servers: each in the state, encrypted, for one caller and one server.

The clients that a caller has consented to are beside them. A caller's name and the name of a server are readable in the
state, so that a person can list and revoke; tokens and clients are not.
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
from tooltrue.protocol.types import Value, replaced
from tooltrue.server.sealed_tokens import BadSeal, Sealer
from tooltrue.state.facts import Values

__all__ = ["CallerGrant", "Consents", "GrantStore"]

_PURPOSE: Final = "grant"
_INDEX: Final = "grant-index"
_CLIENTS: Final = "clients"
_SECONDS: Final = 365 * 86_400.0
_LEASE_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05


class CallerGrant(Value, frozen=True):
    """A caller has connected the gateway to a server, at the time ``since``, for calls through ``clients``. Without a
    name, a client is any whose credentials name none."""

    caller: str
    server: str
    url: str
    since: float
    clients: tuple[str, ...] = ()


class Consents(Value, frozen=True):
    """The clients that a caller has consented to at a server. ``stored`` is the form in the state."""

    clients: tuple[str, ...] = ()
    stored: bytes | None = None


class GrantStore:
    """Encrypts with the first of ``keys``, and decrypts with any of them. A grant that is not renewed for a year
    expires."""

    def __init__(self, values: Values, keys: Sequence[bytes], *, clock: Callable[[], float] = time.time) -> None:
        self._values = values
        self._sealer = Sealer(keys, clock=clock)
        self._clock = clock

    def of(self, caller: str, server: str) -> CallerCredentials:
        """The credentials of one caller at one server, for a person."""
        return CallerCredentials(self, caller, server)

    def through(self, client: str, caller: str, server: str) -> ConsentedCredentials:
        """The same for calls through a client: none, unless the caller has consented to that client."""
        return ConsentedCredentials(self, client, caller, server)

    def own(self) -> GatewayCredentials:
        """The credentials of the gateway itself: its client ids at issuers."""
        return GatewayCredentials(self, "", "")

    async def grant(self, caller: str, server: str, client: str, url: str, key: str, text: str) -> None:
        """Store the tokens of a caller who has just consented, for calls through ``client`` alone: consents to other
        clients were for the tokens before, and end first."""
        clients = (caller, server, _CLIENTS)
        await self.write(clients, None)
        await self._change(
            lambda grants: [*_without(grants, caller, server), CallerGrant(caller, server, url, self._clock())]
        )
        await self.write((caller, server, key), text)
        await self.write(clients, encode([client]).decode())

    async def consents(self, caller: str, server: str) -> Consents:
        """The clients that a caller has consented to."""
        stored = await self._values.get(_key((caller, server, _CLIENTS)))
        text = self._revealed((caller, server, _CLIENTS), stored)
        return Consents() if text is None else Consents(tuple(_entries(text.encode())), stored)

    async def admit(self, caller: str, server: str, client: str, consents: Consents) -> bool:
        """Add a client to these consents. Returns whether they were still the present ones: if not, the tokens may be
        others too."""
        return await self._replace(caller, server, consents, {*consents.clients, client})

    async def dismiss(self, caller: str, server: str, client: str) -> None:
        """Remove a client from the consents."""
        consents = await self.consents(caller, server)
        while client in consents.clients:
            if await self._replace(caller, server, consents, {*consents.clients} - {client}):
                return
            consents = await self.consents(caller, server)

    async def _replace(self, caller: str, server: str, consents: Consents, clients: set[str]) -> bool:
        owner = (caller, server, _CLIENTS)
        hidden = self._hidden(owner, encode(sorted(clients)).decode(), _SECONDS)
        return consents.stored is not None and await self._values.replace(
            _key(owner), consents.stored, hidden, _SECONDS
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
            await self._values.put(_key(owner), self._hidden(owner, text, seconds), seconds)

    def _hidden(self, owner: Sequence[str], text: str, seconds: float) -> bytes:
        return self._sealer.hide(_PURPOSE, owner, text.encode(), seconds).encode()

    async def take(self, owner: Sequence[str]) -> str | None:
        """Remove a text and return it, to one caller only."""
        return self._revealed(owner, await self._values.remove(_key(owner)))

    async def renew(self, caller: str, server: str, key: str, text: str) -> None:
        """Replace the tokens of a grant, unless it has been deleted meanwhile: a grant that a person has revoked does
        not come back. Its consents last as long, under the same key."""
        owner = (caller, server, key)
        stored = await self._values.get(_key(owner))
        if stored is not None:
            await self._values.replace(_key(owner), stored, self._hidden(owner, text, _SECONDS), _SECONDS)
            consents = await self.consents(caller, server)
            await self._replace(caller, server, consents, {*consents.clients})

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
        grants = sorted((CallerGrant(*entry) for entry in _entries(await self._values.get(_INDEX))), key=_place)
        return [replaced(one, clients=(await self.consents(one.caller, one.server)).clients) for one in grants]

    async def forget(self, caller: str, server: str) -> None:
        """Remove a grant from the list, and the consents to clients."""
        await self.write((caller, server, _CLIENTS), None)
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
        if text is None:
            await self._store.write((*self._owner, key), None)
        else:
            await self._store.renew(*self._owner, key, text)


class ConsentedCredentials(CallerCredentials):
    """Those of a caller for calls through one client."""

    def __init__(self, store: GrantStore, client: str, caller: str, server: str) -> None:
        super().__init__(store, caller, server)
        self._client = client

    async def read(self, key: str) -> str | None:
        consents = await self._store.consents(*self._owner)
        return await super().read(key) if self._client in consents.clients else None


def _key(owner: Sequence[str]) -> str:
    return "grant:" + hashlib.sha256(encode(list(owner))).hexdigest()


def _entries(stored: bytes | None) -> list[Any]:
    entries: Any = [] if stored is None else decode(stored)
    return entries


def _without(grants: Sequence[CallerGrant], caller: str, server: str) -> list[CallerGrant]:
    return [one for one in grants if _place(one) != (caller, server)]


def _place(grant: CallerGrant) -> tuple[str, str]:
    return grant.caller, grant.server
