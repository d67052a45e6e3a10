"""Approvals: what a person has been asked to settle, and what they have said.

A *ticket* stands for one call: this principal, this tool as it is, these arguments. A *grant* lets it run: once, for a
while (``session``), or for all arguments that fit a schema (``pattern``). Both lie in a store that tools cannot reach;
the layer that confirms reads it, and ``toolwright approvals`` writes it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from toolwright.contract.contract import digest
from toolwright.errors import ConfigurationError, ToolError
from toolwright.jsonrpc.messages import decode, encode
from toolwright.protocol.schema import OWN, compile_schema
from toolwright.protocol.types import Value, replaced
from toolwright.state.facts import Values
from toolwright.state.places import state_folder

__all__ = ["MAX_TICKETS", "Approvals", "Scope", "Ticket", "Wanted", "approvals_url"]

Scope: TypeAlias = Literal["once", "session", "pattern"]
State: TypeAlias = Literal["open", "once", "session", "pattern", "denied", "running", "used"]

MAX_TICKETS = 100
_OPEN_SECONDS = 86_400.0
_ONCE_SECONDS = 3_600.0
_SETTLED_SECONDS = 3_600.0
_RUNNING_SECONDS = 900.0  # of a process that was killed meanwhile, nothing is heard


def approvals_url(store: str | None = None) -> str:
    """Where tickets lie: at ``store``, at ``$TOOLWRIGHT_APPROVALS``, or in a file in the user's state folder."""
    default = "sqlite://" + quote(str(state_folder() / "toolwright-approvals.db"))
    return store or os.environ.get("TOOLWRIGHT_APPROVALS") or default


class Wanted(Value, frozen=True):
    """A call that a person has to agree to. ``reason`` is what a rule says of it, ``preview`` what the tool says that
    it would do."""

    server: str
    principal: str
    tool: str
    effect: str
    pin: str
    arguments: Mapping[str, Any]
    reason: str = ""
    preview: str = ""

    @property
    def key(self) -> str:
        """The same for the identical call, and for no other."""
        return digest([self.server, self.principal, self.pin, dict(self.arguments)])

    @property
    def family(self) -> str:
        """The same for all calls of this tool by this principal."""
        return digest([self.server, self.principal, self.pin])


class Ticket(Value, frozen=True):
    """``slot`` is its place among all tickets, ``asked`` and ``until`` are seconds since 1970, and ``pattern`` is the
    schema of the state of that name."""

    id: str
    slot: int
    wanted: Wanted
    asked: float
    until: float
    state: State = "open"
    pattern: Mapping[str, Any] | None = None


def _read(data: bytes) -> Ticket:
    said: dict[str, Any] = decode(data)
    return Ticket(wanted=Wanted(**said.pop("wanted")), **said)


class Approvals:
    """The tickets and grants of a store, whose every value ends by itself. ``clock`` gives the time of day."""

    def __init__(self, values: Values, *, clock: Callable[[], float] = time.time) -> None:
        self._values = values
        self._clock = clock

    # --- for the layer

    async def granted(self, wanted: Wanted) -> Scope | None:
        """What lets this call run now, if anything does."""
        grant = await self._values.get(_grant(wanted))
        if grant is not None:
            scope, _ = decode(grant)
            return scope
        fits = [schema async for _, schema in self._patterns(wanted) if _accepts(schema, wanted.arguments)]
        return "pattern" if fits else None

    async def ticket(self, wanted: Wanted) -> Ticket | None:
        """The last ticket of this very call, whatever has become of it."""
        data = await self._values.get(_ticket(wanted))
        return None if data is None else _read(data)

    async def open(self, wanted: Wanted) -> Ticket:
        """A ticket for a person to settle. ``ToolError`` when there are too many."""
        now = self._clock()
        for slot in range(MAX_TICKETS):
            ticket = Ticket("t-" + secrets.token_hex(4), slot, wanted, now, now + _OPEN_SECONDS)
            if await self._values.put_if_absent(_slot(slot), _index(ticket), _OPEN_SECONDS):
                await self._keep(ticket)
                return ticket
        raise ToolError.of("TW2409", tool=wanted.tool, limit=MAX_TICKETS)

    async def take(self, wanted: Wanted) -> float | None:
        """Use up the grant for one call, and return until when it would have held; ``None`` when somebody else has.
        :meth:`settle` or :meth:`give_back` follows.
        """
        grant = await self._values.remove(_grant(wanted))
        if grant is None:
            return None
        await self._mark(wanted, "running", self._clock() + _RUNNING_SECONDS)
        _, until = decode(grant)
        return until

    async def give_back(self, wanted: Wanted, until: float) -> None:
        """The call has not run after all: it asked on."""
        if (seconds := until - self._clock()) > 0:
            await self._values.put(_grant(wanted), encode(["once", until]), seconds)
            await self._mark(wanted, "once", until)

    async def settle(self, wanted: Wanted) -> None:
        """The call has run, to whatever end."""
        await self._mark(wanted, "used", self._clock() + _SETTLED_SECONDS)

    async def remember(self, wanted: Wanted, scope: Scope, seconds: float | None = None) -> None:
        """A person has agreed to this call through the client, and that has to hold beyond the request."""
        ticket = await self.ticket(wanted)
        if ticket is None or ticket.state != "open":
            ticket = await self.open(wanted)
        await self.allow(ticket, scope, seconds=seconds)

    # --- for the person

    async def all(self) -> list[Ticket]:
        """What is open or still lets calls run, the oldest first."""
        tickets = [ticket async for ticket in self._each()]
        return sorted(tickets, key=lambda ticket: (ticket.asked, ticket.id))

    async def find(self, id: str) -> Ticket:
        """``ConfigurationError`` when there is none of that id, any more."""
        async for ticket in self._each():
            if ticket.id == id:
                return ticket
        raise ConfigurationError.of("TW4400", ticket=id[:40])

    async def allow(
        self, ticket: Ticket, scope: Scope, *, seconds: float | None = None, pattern: Mapping[str, Any] | None = None
    ) -> Ticket:
        """Let the call of a ticket run. ``ConfigurationError`` for a pattern that the call itself does not fit."""
        wanted = ticket.wanted
        if pattern is not None and not _accepts(pattern, wanted.arguments):
            raise ConfigurationError.of("TW4403", ticket=ticket.id)
        seconds = seconds or (_ONCE_SECONDS if scope == "once" else _OPEN_SECONDS)
        until = self._clock() + seconds
        ticket = replaced(ticket, state=scope, until=until, pattern=pattern)
        await self._revoke(ticket)
        await self._keep(ticket)
        if pattern is None:
            await self._values.put(_grant(wanted), encode([scope, until]), seconds)
        else:
            known = [one async for one in self._patterns(wanted)]
            await self._values.put(_pattern(wanted), encode([*known, (ticket.id, pattern)]), seconds)
        return ticket

    async def deny(self, ticket: Ticket) -> None:
        """Refuse the call of a ticket, and take back what it has let run."""
        await self._revoke(ticket)
        await self._keep(replaced(ticket, state="denied", until=self._clock() + _SETTLED_SECONDS))

    # --- a credential, where there is no terminal

    async def new_credential(self) -> str:
        """The word by which tickets can be allowed without a terminal. The one before is good no more."""
        word = secrets.token_urlsafe(32)
        await self._values.put(_CREDENTIAL, _hash(word), _FOR_EVER)
        return word

    async def knows(self, word: str) -> bool:
        known = await self._values.get(_CREDENTIAL)
        return known is not None and hmac.compare_digest(known, _hash(word))

    # --- below

    async def _mark(self, wanted: Wanted, state: State, until: float) -> None:
        if (ticket := await self.ticket(wanted)) is not None:
            await self._keep(replaced(ticket, state=state, until=until))

    async def _keep(self, ticket: Ticket) -> None:
        """A ticket that is settled leaves its slot to another; what became of it is known for a while."""
        if ticket.state in ("used", "denied"):
            if await self._values.get(_slot(ticket.slot)) == _index(ticket):
                await self._values.remove(_slot(ticket.slot))
        else:
            await self._values.put(_slot(ticket.slot), _index(ticket), ticket.until - self._clock())
        await self._values.put(_ticket(ticket.wanted), encode(ticket), ticket.until - self._clock())

    async def _revoke(self, ticket: Ticket) -> None:
        await self._values.remove(_grant(ticket.wanted))
        others = [(id, schema) async for id, schema in self._patterns(ticket.wanted) if id != ticket.id]
        if others:
            await self._values.put(_pattern(ticket.wanted), encode(others), _OPEN_SECONDS)
        else:
            await self._values.remove(_pattern(ticket.wanted))

    async def _each(self) -> AsyncIterator[Ticket]:
        for slot in range(MAX_TICKETS):
            if (index := await self._values.get(_slot(slot))) is None:
                continue
            id, key = decode(index)
            data = await self._values.get(_TICKET + key)
            if data is not None and (ticket := _read(data)).id == id:
                yield ticket

    async def _patterns(self, wanted: Wanted) -> AsyncIterator[tuple[str, Mapping[str, Any]]]:
        data = await self._values.get(_pattern(wanted))
        for id, schema in () if data is None else decode(data):
            yield id, schema


_TICKET = "approval-ticket:"
_CREDENTIAL = "approval-credential"
_FOR_EVER = 1e9


def _hash(word: str) -> bytes:
    return hashlib.sha256(word.encode()).digest()  # of 32 random bytes: nothing to guess


def _ticket(wanted: Wanted) -> str:
    return _TICKET + wanted.key


def _grant(wanted: Wanted) -> str:
    return "approval-grant:" + wanted.key


def _pattern(wanted: Wanted) -> str:
    return "approval-pattern:" + wanted.family


def _slot(number: int) -> str:
    return f"approval-slot:{number}"


def _index(ticket: Ticket) -> bytes:
    return encode([ticket.id, ticket.wanted.key])


def _accepts(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    return compile_schema(dict(schema), bounds=OWN).accepts(dict(arguments))
