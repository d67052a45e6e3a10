"""Approvals: the calls that a person has been asked to settle, and the answers.

A *ticket* stands for one call: this principal, this tool as it is, these arguments. A *grant* lets it run: once, for a
while (``session``), or for all arguments that fit a schema (``pattern``). Both are kept in a store that tools cannot
reach; the confirmation layer reads it, and ``tooltrue approvals`` writes it.

The state of a ticket is one value, which decides whether the call may run. A run changes it by compare-and-set only, so
that a decision which a person makes meanwhile holds.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from tooltrue.contract.digests import digest
from tooltrue.errors import ConfigurationError, ParseError, ToolError, fact_of
from tooltrue.jsonrpc.messages import decode, encode, is_object
from tooltrue.policy.wording import (
    APPROVAL_PATTERN_MISMATCH,
    APPROVAL_PATTERN_UNREADABLE,
    TICKET_SETTLED_MEANWHILE,
    TOO_MANY_PENDING_APPROVALS,
    UNKNOWN_TICKET,
)
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.protocol.types import Value, replaced
from tooltrue.state.facts import Values
from tooltrue.state.places import sqlite_url, state_folder
from tooltrue.wording import REASON_NO_OBJECT, Worded

__all__ = [
    "MAX_TICKETS",
    "ApprovalRequest",
    "Approvals",
    "LastAnswer",
    "Scope",
    "Ticket",
    "approvals_url",
    "instance_of",
    "place_of",
    "read_pattern",
]

Scope: TypeAlias = Literal["once", "session", "pattern"]
State: TypeAlias = Literal["open", "once", "session", "pattern", "denied", "running", "used"]

MAX_TICKETS = 100
MAX_OF_ONE = 10  # of one principal at one server, so that one caller cannot use up all places
_OPEN_SECONDS = 86_400.0
_ONCE_SECONDS = 3_600.0
_SETTLED_SECONDS = 3_600.0
_LAST_SECONDS = 7_776_000.0  # 90 days
_RUNNING_SECONDS = 900.0  # a process that was killed meanwhile reports no end


def approvals_url(store: str | None = None) -> str:
    """Return the URL of the approvals: ``store``, ``$TOOLTRUE_APPROVALS``, or a file in the user's state folder."""
    default = sqlite_url(state_folder() / "tooltrue-approvals.db")
    return store or os.environ.get("TOOLTRUE_APPROVALS") or default


def instance_of(program: str, *words: str) -> str:
    """Return a text that distinguishes a server without a configured instance from others of its name: the path of its
    program, and a digest of the ``words`` and the working folder it was started with. Only a digest, since words may be
    secret."""
    started = "\0".join([*words, os.getcwd()]).encode(errors="surrogateescape")
    return f"{place_of(program)} #{hashlib.sha256(started).hexdigest()[:12]}"


def place_of(path: str) -> str:
    """Return ``path``, with its links resolved, as text that can be stored whatever the bytes of its name."""
    return os.fsencode(Path(path).resolve()).decode(errors="backslashreplace")


class ApprovalRequest(Value, frozen=True):
    """A call that a person has to agree to. ``reason`` comes from a rule, ``preview`` is the tool's own account of what
    the call would do. ``instance`` distinguishes servers of the same name; without a configured one, ``started``, the
    way the server was started, does. ``stake`` names what else is at stake in this call: an approval given without it
    does not cover it."""

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
        """The server's name and instance, as tickets show it."""
        which = self.instance or self.started
        return f"{self.server} ({which})" if which else self.server

    @property
    def key(self) -> str:
        """A digest that only the identical call shares."""
        return digest([*self._family, dict(self.arguments)])

    @property
    def family(self) -> str:
        """A digest that all calls of this tool by this principal share, if they have the same stake."""
        return digest(self._family)

    @property
    def _family(self) -> list[str]:
        stake = [self.stake] if self.stake else []
        return [self.server, self.instance, self.started, self.principal, self.pin, *stake]

    @property
    def asker(self) -> str:
        """A digest that all calls by this principal to this server share."""
        return digest([self.server, self.instance, self.started, self.principal])


class Ticket(Value, frozen=True):
    """A request for approval. ``asked`` and ``until`` are seconds since 1970, ``pattern`` is the schema of the state of
    that name, and ``why`` is a person's reason for a denial."""

    id: str
    wanted: ApprovalRequest
    asked: float
    until: float
    state: State = "open"
    pattern: Mapping[str, Any] | None = None
    why: str = ""


class LastAnswer(Value, frozen=True):
    """A call that was approved: the digests of the fields of its tool definition, and its arguments."""

    fields: Mapping[str, str]
    arguments: Mapping[str, Any]


def _decode_ticket(data: bytes) -> Ticket:
    members: dict[str, Any] = decode(data)
    return Ticket(wanted=ApprovalRequest(**members.pop("wanted")), **members)


class Approvals:
    """The tickets and grants of a store in which every value expires. ``clock`` gives the time of day."""

    def __init__(self, values: Values, *, clock: Callable[[], float] = time.time) -> None:
        self._values = values
        self._clock = clock

    # --- for the layer

    async def granted(self, request: ApprovalRequest) -> Scope | None:
        """Return the scope that lets this call run now, or ``None``. A denial of this exact call beats a pattern that
        it fits."""
        ticket = await self.ticket(request)
        match None if ticket is None else ticket.state:
            case "denied":
                return None
            case "once" | "session" as scope:
                return scope
            case _:
                fits = any(_accepts(schema, request.arguments) for _, schema, _ in await self._patterns(request))
                return "pattern" if fits else None

    async def ticket(self, request: ApprovalRequest) -> Ticket | None:
        """Return the last ticket of this exact call, in any state."""
        data = await self._values.get(_ticket(request))
        return None if data is None else _decode_ticket(data)

    async def open(self, request: ApprovalRequest) -> Ticket:
        """Open a ticket for a person to settle, or return the one that exists. ``ToolError`` when too many are open."""
        now = self._clock()
        opened = Ticket("t-" + secrets.token_hex(4), request, now, now + _OPEN_SECONDS)
        await self._list(opened)
        won = False
        while not won:
            stored = await self._values.get(_ticket(request))
            if stored is None:
                won = await self._values.put_if_absent(_ticket(request), encode(opened), _OPEN_SECONDS)
            elif (ticket := _decode_ticket(stored)).state == "used":
                won = await self._values.replace(_ticket(request), stored, encode(opened), _OPEN_SECONDS)
            else:  # opened by another call, or settled by a person
                await self._list(ticket)
                return ticket
        return opened

    async def take(self, request: ApprovalRequest) -> float | None:
        """Use up the grant for one call, and return when it would have expired; ``None`` if another call has taken it.
        :meth:`settle` or :meth:`give_back` follows."""
        return await self._turn(request, "once", "running", self._clock() + _RUNNING_SECONDS)

    async def give_back(self, request: ApprovalRequest, until: float) -> None:
        """Restore the grant until ``until``: the call asked another question and has not run."""
        if until > self._clock():
            await self._turn(request, "running", "once", until)

    async def settle(self, request: ApprovalRequest) -> None:
        """Mark the grant as used: the call has run, with any outcome."""
        await self._turn(request, "running", "used", self._clock() + _SETTLED_SECONDS)

    async def remember(
        self,
        request: ApprovalRequest,
        scope: Scope,
        seconds: float | None = None,
        pattern: Mapping[str, Any] | None = None,
    ) -> None:
        """Store an approval that was given in a prompt, so that it holds beyond the request. ``ConfigurationError`` for
        a pattern that the call does not fit."""
        now = self._clock()
        ticket = await self.ticket(request) or Ticket("t-" + secrets.token_hex(4), request, now, now)
        await self.allow(ticket, scope, seconds=seconds, pattern=pattern)

    async def last(self, request: ApprovalRequest) -> LastAnswer | None:
        """Return the last approved call of this tool, by the tool's name, even if the tool or the approval has changed
        since."""
        data = await self._values.get(_last(request))
        return None if data is None else LastAnswer(**decode(data))

    async def note_last(self, request: ApprovalRequest, fields: Mapping[str, str]) -> None:
        """Remember that a person has approved this call. ``fields`` are the digests of the fields of its definition."""
        await self._values.put(_last(request), encode(LastAnswer(fields, request.arguments)), _LAST_SECONDS)

    # --- for the person

    async def all(self) -> list[Ticket]:
        """Return the tickets that are open or still let calls run, the oldest first."""
        tickets = [ticket async for ticket in self._each()]
        return sorted(tickets, key=lambda ticket: (ticket.asked, ticket.id))

    async def find(self, id: str) -> Ticket:
        """Return the ticket with this id. ``ConfigurationError`` if there is none, or no longer."""
        async for ticket in self._each():
            if ticket.id == id:
                return ticket
        raise ConfigurationError.of(UNKNOWN_TICKET, ticket=id[:40])

    async def allow(
        self,
        ticket: Ticket,
        scope: Scope,
        *,
        seconds: float | None = None,
        pattern: Mapping[str, Any] | None = None,
        if_open: bool = False,
    ) -> Ticket:
        """Let the call of a ticket run. ``ConfigurationError`` for a pattern that the call itself does not fit, and
        with ``if_open`` if the ticket is no longer open as it is here: then nothing changes."""
        request = ticket.wanted
        if pattern is not None and not _accepts(pattern, request.arguments):
            raise ConfigurationError.of(APPROVAL_PATTERN_MISMATCH, ticket=ticket.id)
        seconds = seconds or (_ONCE_SECONDS if scope == "once" else _OPEN_SECONDS)
        allowed = replaced(ticket, state=scope, until=self._clock() + seconds, pattern=pattern, why="")
        if if_open:  # first, so that the pattern of a person who comes too late is not kept
            await self._settle_open(ticket, allowed, seconds)
        await self._list(allowed)
        await self._keep_pattern(allowed)
        if not if_open:
            await self._values.put(_ticket(request), encode(allowed), seconds)
        return allowed

    async def deny(self, ticket: Ticket, why: str = "", *, if_open: bool = False) -> None:
        """Refuse the call of a ticket, and revoke its grant. The model is told ``why``. ``ConfigurationError`` with
        ``if_open`` if the ticket is no longer open as it is here: then nothing changes."""
        denied = replaced(ticket, state="denied", until=self._clock() + _SETTLED_SECONDS, pattern=None, why=why)
        if if_open:
            await self._settle_open(ticket, denied, _SETTLED_SECONDS)
        else:
            await self._values.put(_ticket(ticket.wanted), encode(denied), _SETTLED_SECONDS)
        await self._keep_pattern(denied)
        await self._list(denied)

    # --- a credential, where there is no terminal

    async def new_credential(self, keep: Callable[[str], None]) -> None:
        """Create a credential for allowing tickets without a terminal, and pass it to ``keep``. Once ``keep`` has
        stored it, the previous credential is invalid."""
        word = secrets.token_urlsafe(32)
        keep(word)
        await self._values.put(_CREDENTIAL, _hash(word), _FOR_EVER)

    async def knows(self, word: str) -> bool:
        stored_hash = await self._values.get(_CREDENTIAL)
        return stored_hash is not None and hmac.compare_digest(stored_hash, _hash(word))

    # --- below

    async def _settle_open(self, ticket: Ticket, settled: Ticket, seconds: float) -> None:
        """Compare-and-set: one of several people settles a ticket, and it is the ticket that they were shown."""
        stored = await self._values.get(_ticket(ticket.wanted))
        is_same = stored is not None and ticket.state == "open" and _decode_ticket(stored) == ticket
        if not is_same or not await self._values.replace(
            _ticket(ticket.wanted), cast("bytes", stored), encode(settled), seconds
        ):
            raise ConfigurationError.of(TICKET_SETTLED_MEANWHILE, ticket=ticket.id)

    async def _turn(self, request: ApprovalRequest, before: State, state: State, until: float) -> float | None:
        """Compare-and-set: move the ticket from state ``before`` to ``state``. Returns when the old state would have
        expired, or ``None`` if the ticket has another state."""
        while (stored := await self._values.get(_ticket(request))) is not None:
            ticket = _decode_ticket(stored)
            if ticket.state != before:
                return None
            turned = replaced(ticket, state=state, until=until)
            if await self._values.replace(_ticket(request), stored, encode(turned), until - self._clock()):
                await self._list(turned)
                return ticket.until
        return None

    async def _list(self, ticket: Ticket) -> None:
        """Update the index, so that a person can find each ticket that can be settled or revoked. ``ToolError`` when
        too many are open."""
        request, waits = ticket.wanted, ticket.state == "open"

        def change(listed: list[Any]) -> list[Any]:
            others = [one for one in listed if one[1] != request.key]
            waiting = [asker for _, _, asker, is_open in others if is_open]
            for count, limit in ((waiting.count(request.asker), MAX_OF_ONE), (len(waiting), MAX_TICKETS)):
                if waits and count >= limit:
                    raise ToolError.of(TOO_MANY_PENDING_APPROVALS, tool=request.tool, limit=limit)
            over = ticket.state in ("used", "denied")
            return others if over else [*others, (ticket.until, request.key, request.asker, waits)]

        await self._change(_INDEX, change)

    async def _keep_pattern(self, ticket: Ticket) -> None:
        """Replace the stored pattern of a ticket. Each pattern expires with its own ticket."""
        mine = [] if ticket.pattern is None else [(ticket.until, ticket.pattern, ticket.id)]
        await self._change(
            _pattern(ticket.wanted), lambda entries: [one for one in entries if one[2] != ticket.id] + mine
        )

    async def _change(self, key: str, change: Callable[[list[Any]], list[Any]]) -> None:
        """Update a stored list with compare-and-set, retrying until no other writer interferes. Each entry begins with
        its expiry; expired ones are dropped."""
        while True:
            stored, now = await self._values.get(key), self._clock()
            entries = change([] if stored is None else [entry for entry in decode(stored) if entry[0] > now])
            if stored is None and not entries:
                return
            seconds = max((entry[0] for entry in entries), default=now + 1) - now
            data = encode(entries)
            if stored is None:
                won = await self._values.put_if_absent(key, data, seconds)
            else:
                won = await self._values.replace(key, stored, data, seconds)
            if won:
                return

    async def _each(self) -> AsyncIterator[Ticket]:
        listed = await self._values.get(_INDEX)
        entries: list[Any] = [] if listed is None else decode(listed)
        for _, key, *_ in entries:
            data = await self._values.get(_TICKET + key)
            if data is not None and (ticket := _decode_ticket(data)).state not in ("used", "denied"):
                yield ticket

    async def _patterns(self, request: ApprovalRequest) -> list[tuple[float, Mapping[str, Any], str]]:
        data, now = await self._values.get(_pattern(request)), self._clock()
        return [] if data is None else [entry for entry in decode(data) if entry[0] > now]


_INDEX = "approval-index"
_TICKET = "approval-ticket:"
_CREDENTIAL = "approval-credential"
_FOR_EVER = 1e9


def _hash(word: str) -> bytes:
    return hashlib.sha256(word.encode()).digest()  # 32 random bytes cannot be guessed


def _ticket(request: ApprovalRequest) -> str:
    return _TICKET + request.key


def _last(request: ApprovalRequest) -> str:
    return "approval-last:" + digest(
        [request.server, request.instance, request.started, request.principal, request.tool]
    )


def _pattern(request: ApprovalRequest) -> str:
    return "approval-pattern:" + request.family


def read_pattern(text: str) -> Mapping[str, Any]:
    """Read the JSON Schema of a pattern. ``ConfigurationError`` for text that is no JSON object, ``SchemaError`` for an
    object that is no schema."""
    try:
        schema = decode(text.encode(errors="surrogateescape"))
    except ParseError as error:
        raise ConfigurationError.of(APPROVAL_PATTERN_UNREADABLE, problem=fact_of(error)) from None
    if not is_object(schema):
        raise ConfigurationError.of(APPROVAL_PATTERN_UNREADABLE, problem=Worded(REASON_NO_OBJECT, {}))
    compile_schema(schema, bounds=OWN)
    return schema


def _accepts(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    return compile_schema(dict(schema), bounds=OWN).accepts(dict(arguments))
