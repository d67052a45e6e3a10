"""Approvals: what a person has been asked to settle, and what they have said.

A *ticket* stands for one call: this principal, this tool as it is, these arguments. A *grant* lets it run: once, for a
while (``session``), or for all arguments that fit a schema (``pattern``). Both lie in a store that tools cannot reach;
the layer that confirms reads it, and ``toolwright approvals`` writes it.

What a ticket lets run is its state, in one value, and a run changes it only from the state that it has read: what a
person says meanwhile holds.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import quote

from toolwright.contract.contract import digest
from toolwright.errors import ConfigurationError, ToolError
from toolwright.jsonrpc.messages import decode, encode
from toolwright.protocol.schema import OWN, compile_schema
from toolwright.protocol.types import Value, replaced
from toolwright.state.facts import Values
from toolwright.state.places import state_folder

__all__ = ["MAX_TICKETS", "Approvals", "Last", "Scope", "Ticket", "Wanted", "approvals_url", "instance_of", "place_of"]

Scope: TypeAlias = Literal["once", "session", "pattern"]
State: TypeAlias = Literal["open", "once", "session", "pattern", "denied", "running", "used"]

MAX_TICKETS = 100
MAX_OF_ONE = 10  # of one principal at one server: nobody takes the places of all others
_OPEN_SECONDS = 86_400.0
_ONCE_SECONDS = 3_600.0
_SETTLED_SECONDS = 3_600.0
_LAST_SECONDS = 7_776_000.0  # 90 days
_RUNNING_SECONDS = 900.0  # of a process that was killed meanwhile, nothing is heard


def approvals_url(store: str | None = None) -> str:
    """Where tickets lie: at ``store``, at ``$TOOLWRIGHT_APPROVALS``, or in a file in the user's state folder."""
    default = "sqlite://" + quote(str(state_folder() / "toolwright-approvals.db"))
    return store or os.environ.get("TOOLWRIGHT_APPROVALS") or default


def instance_of(program: str, *words: str) -> str:
    """What tells a server from others of its name, where nobody has said it: its program, and which ``words`` and which
    working folder it was started with. Of these a digest only, since words may be secret."""
    started = "\0".join([*words, os.getcwd()]).encode(errors="surrogateescape")
    return f"{place_of(program)} #{hashlib.sha256(started).hexdigest()[:12]}"


def place_of(path: str) -> str:
    """Where ``path`` is, its links resolved, as text that can be stored whatever it is called."""
    return os.fsencode(Path(path).resolve()).decode(errors="backslashreplace")


class Wanted(Value, frozen=True):
    """A call that a person has to agree to. ``reason`` is what a rule says of it, ``preview`` what the tool says that
    it would do. ``instance`` tells servers of the same name apart, or ``started``, how it was
    started, where nobody has said what this one works on. ``stake`` is what else is at stake this time: a yes that was
    given without it is none to this."""

    server: str
    principal: str
    tool: str
    effect: str
    pin: str
    arguments: Mapping[str, Any]
    reason: str = ""
    preview: str = ""
    instance: str = ""
    started: str = ""
    stake: str = ""

    @property
    def whose(self) -> str:
        """The server, as tickets show it."""
        which = self.instance or self.started
        return f"{self.server} ({which})" if which else self.server

    @property
    def key(self) -> str:
        """The same for the identical call, and for no other."""
        return digest([*self._family, dict(self.arguments)])

    @property
    def family(self) -> str:
        """The same for all calls of this tool by this principal."""
        return digest(self._family)

    @property
    def _family(self) -> list[str]:
        stake = [self.stake] if self.stake else []
        return [self.server, self.instance, self.started, self.principal, self.pin, *stake]

    @property
    def asker(self) -> str:
        """The same for all calls by this principal."""
        return digest([self.server, self.instance, self.started, self.principal])


class Ticket(Value, frozen=True):
    """``asked`` and ``until`` are seconds since 1970, and ``pattern`` is the schema of the state of that name. ``why``
    is why a person said no."""

    id: str
    wanted: Wanted
    asked: float
    until: float
    state: State = "open"
    pattern: Mapping[str, Any] | None = None
    why: str = ""


class Last(Value, frozen=True):
    """A call that was agreed to: the digests of the fields of its definition, and its arguments."""

    fields: Mapping[str, str]
    arguments: Mapping[str, Any]


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
        """What lets this call run now, if anything does. A no to this very call beats a pattern that it fits."""
        ticket = await self.ticket(wanted)
        match None if ticket is None else ticket.state:
            case "denied":
                return None
            case "once" | "session" as scope:
                return scope
            case _:
                fits = any(_accepts(schema, wanted.arguments) for _, schema, _ in await self._patterns(wanted))
                return "pattern" if fits else None

    async def ticket(self, wanted: Wanted) -> Ticket | None:
        """The last ticket of this very call, whatever has become of it."""
        data = await self._values.get(_ticket(wanted))
        return None if data is None else _read(data)

    async def open(self, wanted: Wanted) -> Ticket:
        """A ticket for a person to settle. ``ToolError`` when there are too many."""
        now = self._clock()
        opened = Ticket("t-" + secrets.token_hex(4), wanted, now, now + _OPEN_SECONDS)
        await self._list(opened)
        won = False
        while not won:
            known = await self._values.get(_ticket(wanted))
            if known is None:
                won = await self._values.put_if_absent(_ticket(wanted), encode(opened), _OPEN_SECONDS)
            elif (ticket := _read(known)).state == "used":
                won = await self._values.replace(_ticket(wanted), known, encode(opened), _OPEN_SECONDS)
            else:  # somebody else has opened it, or a person has settled it
                await self._list(ticket)
                return ticket
        return opened

    async def take(self, wanted: Wanted) -> float | None:
        """Use up the grant for one call, and return until when it would have held; ``None`` when somebody else has.
        :meth:`settle` or :meth:`give_back` follows.
        """
        return await self._turn(wanted, "once", "running", self._clock() + _RUNNING_SECONDS)

    async def give_back(self, wanted: Wanted, until: float) -> None:
        """The call has not run after all: it asked on."""
        if until > self._clock():
            await self._turn(wanted, "running", "once", until)

    async def settle(self, wanted: Wanted) -> None:
        """The call has run, to whatever end."""
        await self._turn(wanted, "running", "used", self._clock() + _SETTLED_SECONDS)

    async def remember(
        self,
        wanted: Wanted,
        scope: Scope,
        seconds: float | None = None,
        pattern: Mapping[str, Any] | None = None,
    ) -> None:
        """A person has agreed to this call where it was asked, and that has to hold beyond the request.
        ``ConfigurationError`` for a pattern that the call does not fit."""
        now = self._clock()
        ticket = await self.ticket(wanted) or Ticket("t-" + secrets.token_hex(4), wanted, now, now)
        await self.allow(ticket, scope, seconds=seconds, pattern=pattern)

    async def last(self, wanted: Wanted) -> Last | None:
        """What was agreed to last of this tool, by its name; whatever has become of it since."""
        data = await self._values.get(_last(wanted))
        return None if data is None else Last(**decode(data))

    async def note_last(self, wanted: Wanted, fields: Mapping[str, str]) -> None:
        """A person has agreed to this call. ``fields`` are the digests of the fields of its definition."""
        await self._values.put(_last(wanted), encode(Last(fields, wanted.arguments)), _LAST_SECONDS)

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
        ticket = replaced(ticket, state=scope, until=self._clock() + seconds, pattern=pattern, why="")
        await self._list(ticket)
        await self._keep_pattern(ticket)
        await self._values.put(_ticket(wanted), encode(ticket), seconds)
        return ticket

    async def deny(self, ticket: Ticket, why: str = "") -> None:
        """Refuse the call of a ticket, and take back what it has let run. ``why`` is told to the model."""
        ticket = replaced(ticket, state="denied", until=self._clock() + _SETTLED_SECONDS, pattern=None, why=why)
        await self._values.put(_ticket(ticket.wanted), encode(ticket), _SETTLED_SECONDS)
        await self._keep_pattern(ticket)
        await self._list(ticket)

    # --- a credential, where there is no terminal

    async def new_credential(self, keep: Callable[[str], None]) -> None:
        """``keep`` is given a word by which tickets can be allowed without a terminal, and once it has kept it, the one
        before is good no more.
        """
        word = secrets.token_urlsafe(32)
        keep(word)
        await self._values.put(_CREDENTIAL, _hash(word), _FOR_EVER)

    async def knows(self, word: str) -> bool:
        known = await self._values.get(_CREDENTIAL)
        return known is not None and hmac.compare_digest(known, _hash(word))

    # --- below

    async def _turn(self, wanted: Wanted, before: State, state: State, until: float) -> float | None:
        """Give the ticket another state if it has the one ``before``; until when that would have held."""
        while (known := await self._values.get(_ticket(wanted))) is not None:
            ticket = _read(known)
            if ticket.state != before:
                return None
            turned = replaced(ticket, state=state, until=until)
            if await self._values.replace(_ticket(wanted), known, encode(turned), until - self._clock()):
                await self._list(turned)
                return ticket.until
        return None

    async def _list(self, ticket: Ticket) -> None:
        """What a person can still settle or take back can be found. ``ToolError`` when too many wait."""
        wanted, waits = ticket.wanted, ticket.state == "open"

        def change(listed: list[Any]) -> list[Any]:
            others = [one for one in listed if one[1] != wanted.key]
            waiting = [asker for _, _, asker, is_open in others if is_open]
            for count, limit in ((waiting.count(wanted.asker), MAX_OF_ONE), (len(waiting), MAX_TICKETS)):
                if waits and count >= limit:
                    raise ToolError.of("TW2409", tool=wanted.tool, limit=limit)
            over = ticket.state in ("used", "denied")
            return others if over else [*others, (ticket.until, wanted.key, wanted.asker, waits)]

        await self._change(_INDEX, change)

    async def _keep_pattern(self, ticket: Ticket) -> None:
        """The pattern of a ticket counts as long as the ticket says, and those of others as long as theirs."""
        mine = [] if ticket.pattern is None else [(ticket.until, ticket.pattern, ticket.id)]
        await self._change(_pattern(ticket.wanted), lambda known: [one for one in known if one[2] != ticket.id] + mine)

    async def _change(self, key: str, change: Callable[[list[Any]], list[Any]]) -> None:
        """Change a list, whose every entry begins with when it ends, as nobody else has changed it meanwhile."""
        while True:
            known, now = await self._values.get(key), self._clock()
            entries = change([] if known is None else [entry for entry in decode(known) if entry[0] > now])
            if known is None and not entries:
                return
            seconds = max((entry[0] for entry in entries), default=now + 1) - now
            data = encode(entries)
            if known is None:
                won = await self._values.put_if_absent(key, data, seconds)
            else:
                won = await self._values.replace(key, known, data, seconds)
            if won:
                return

    async def _each(self) -> AsyncIterator[Ticket]:
        listed = await self._values.get(_INDEX)
        entries: list[Any] = [] if listed is None else decode(listed)
        for _, key, *_ in entries:
            data = await self._values.get(_TICKET + key)
            if data is not None and (ticket := _read(data)).state not in ("used", "denied"):
                yield ticket

    async def _patterns(self, wanted: Wanted) -> list[tuple[float, Mapping[str, Any], str]]:
        data, now = await self._values.get(_pattern(wanted)), self._clock()
        return [] if data is None else [entry for entry in decode(data) if entry[0] > now]


_INDEX = "approval-index"
_TICKET = "approval-ticket:"
_CREDENTIAL = "approval-credential"
_FOR_EVER = 1e9


def _hash(word: str) -> bytes:
    return hashlib.sha256(word.encode()).digest()  # of 32 random bytes: nothing to guess


def _ticket(wanted: Wanted) -> str:
    return _TICKET + wanted.key


def _last(wanted: Wanted) -> str:
    return "approval-last:" + digest([wanted.server, wanted.instance, wanted.started, wanted.principal, wanted.tool])


def _pattern(wanted: Wanted) -> str:
    return "approval-pattern:" + wanted.family


def _accepts(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    return compile_schema(dict(schema), bounds=OWN).accepts(dict(arguments))
