"""*Approvals*: the calls that wait for a person, everything that they decide by, and the decision.

A decision is bound to what was shown: the form names the definition of the tool, the arguments and all the rest of the
ticket by their digests, and a ticket that has changed is refused. Of two people who decide at once, one wins, and the
other is told.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from tooltrue.contract.digests import digest
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.policy.consent.approvals import Approvals, Scope, Ticket, read_pattern
from tooltrue.policy.consent.lookalikes import shown_name
from tooltrue.policy.wording import TICKET_SETTLED_MEANWHILE, UNKNOWN_TICKET
from tooltrue_console.desk import Desk
from tooltrue_console.phrases import phrase
from tooltrue_console.sessions import APPROVE
from tooltrue_console.visits import Answer, Endpoint, EventStream, Html, PageVisit
from tooltrue_console.wording import CONSOLE_FORM_INVALID, CONSOLE_OWN_CALL, CONSOLE_TICKET_CHANGED, CONSOLE_TICKET_GONE

__all__ = ["ENDPOINTS"]

_RECENT: Final = 20
_SCOPES: Final[Mapping[str, Scope]] = {"once": "once", "session": "session", "pattern": "pattern"}


async def show_all(desk: Desk, visit: PageVisit) -> Answer:
    async with desk.approvals() as approvals:
        tickets = await approvals.all()
    pending = [ticket for ticket in tickets if ticket.state == "open"]
    recent, sentence = list[dict[str, Any]](), ""
    try:
        recent = await desk.acts.recent(_RECENT)
    except (ConfigurationError, StateError) as error:
        sentence = error.say(visit.language)
    values = {
        "pending": [_card(ticket, visit, tickets) for ticket in pending],
        "granted": [_card(ticket, visit, tickets) for ticket in tickets if ticket.state != "open"],
        "recent": recent,
        "sentence": sentence,
    }
    return Html("approvals.html", values, title="approvals")


async def show_one(desk: Desk, visit: PageVisit) -> Answer:
    return await _one(desk, visit, "ticket.html")


async def show_card(desk: Desk, visit: PageVisit) -> Answer:
    """The card alone, for a list that is open already."""
    return await _one(desk, visit, "_ticket.html")


async def _one(desk: Desk, visit: PageVisit, template: str) -> Answer:
    id = visit.parts["ticket"]
    async with desk.approvals() as approvals:
        tickets = await approvals.all()
    ticket = next((one for one in tickets if one.id == id), None)
    if ticket is not None:
        return Html(template, {"card": _card(ticket, visit, tickets)}, title="approvals")
    acts = [act for act in await desk.acts.recent(_RECENT) if act.get("ticket") == id]
    if template == "ticket.html" and not acts:
        raise ConfigurationError.of(CONSOLE_TICKET_GONE, ticket=id[:40])
    return Html(
        "_gone.html" if template == "_ticket.html" else "gone.html", {"id": id, "acts": acts}, title="approvals"
    )


# --- decisions --------------------------------------------------------------------------------------------------------


async def allow(desk: Desk, visit: PageVisit) -> Answer:
    if (scope := _SCOPES.get(visit.form.get("scope", ""))) is None:
        raise ConfigurationError.of(CONSOLE_FORM_INVALID)
    pattern = read_pattern(visit.form.get("pattern", "")) if scope == "pattern" else None

    async def settle(approvals: Approvals, ticket: Ticket) -> None:
        await approvals.allow(ticket, scope, pattern=pattern, if_open=True)

    return await _decide(desk, visit, f"approve {scope}", settle, may_be_own=False, pattern=pattern)


async def deny(desk: Desk, visit: PageVisit) -> Answer:
    why = visit.form.get("why", "").strip()

    async def settle(approvals: Approvals, ticket: Ticket) -> None:
        await approvals.deny(ticket, why, if_open=True)

    return await _decide(desk, visit, "deny", settle, may_be_own=True, why=why)


async def revoke(desk: Desk, visit: PageVisit) -> Answer:
    async def settle(approvals: Approvals, ticket: Ticket) -> None:
        await approvals.deny(ticket)

    return await _decide(desk, visit, "revoke", settle, may_be_own=True)


async def _decide(desk: Desk, visit: PageVisit, act: str, settle: Any, *, may_be_own: bool, **facts: Any) -> Answer:
    """Do what a person has decided, as they were shown the ticket, and record it."""
    async with desk.approvals() as approvals:
        ticket = await _bound_ticket(approvals, visit)
        if not may_be_own and ticket.wanted.principal == visit.person.id and not desk.settings.approves_own:
            raise ConfigurationError.of(CONSOLE_OWN_CALL, who=visit.person.id)
        origin = {"address": visit.address, "agent": visit.agent, "how": visit.person.how}
        details = {name: value for name, value in facts.items() if value}
        recorded = desk.acts.recorded(
            act,
            ticket.wanted.tool,
            visit.person,
            origin,
            _display(ticket),
            instance=ticket.wanted.whose,
            ticket=ticket.id,
            effect=ticket.wanted.effect,
            **details,
        )
        async with recorded:
            await settle(approvals, ticket)
    return Html("_decided.html", {"id": ticket.id, "act": act, "tool": ticket.wanted.tool})


async def _bound_ticket(approvals: Approvals, visit: PageVisit) -> Ticket:
    """The ticket, if it is the one that the page has shown."""
    try:
        ticket = await approvals.find(visit.parts["ticket"])
    except ConfigurationError as error:
        if error.code != UNKNOWN_TICKET:
            raise
        raise ConfigurationError.of(TICKET_SETTLED_MEANWHILE, ticket=visit.parts["ticket"][:40]) from None
    digests = _digests(ticket)
    if any(visit.form.get(name) != value for name, value in digests.items()):
        raise ConfigurationError.of(CONSOLE_TICKET_CHANGED, ticket=ticket.id)
    return ticket


# --- what is shown ----------------------------------------------------------------------------------------------------


def _digests(ticket: Ticket) -> Mapping[str, str]:
    """The digests that bind a decision to what was shown: the definition of the tool, the arguments, and the rest."""
    call = ticket.wanted
    return {"pin": call.pin, "arguments": digest(dict(call.arguments)), "shown": digest(_display(ticket))}


def _display(ticket: Ticket) -> dict[str, Any]:
    """The ticket as plain JSON, as it was shown: for its digest, and for the record of the decision."""
    members: dict[str, Any] = decode(encode(ticket.wanted))
    return {**members, "state": ticket.state}


def _card(ticket: Ticket, visit: PageVisit, tickets: Iterable[Ticket]) -> Mapping[str, Any]:
    call, names = ticket.wanted, _names(tickets)
    named = partial(shown_name, language=visit.language, others=names)
    return {
        "id": ticket.id,
        "state": ticket.state,
        "state_text": phrase(f"state_{ticket.state}", visit.language),
        "asked": ticket.asked,
        "until": ticket.until,
        "server": named(call.whose),
        "tool": named(call.tool),
        "caller": named(call.principal),
        "effect": call.effect,
        "reason": call.reason,
        "stake": call.stake if call.stake != call.reason else "",
        "values": call.arguments,
        "preview": call.preview,
        "pattern": None if ticket.pattern is None else json.dumps(ticket.pattern, ensure_ascii=False),
        "proposal": _proposal(call.arguments),
        "digests": _digests(ticket),
        "may_decide": visit.person.may(APPROVE),
    }


def _proposal(arguments: Mapping[str, Any]) -> str:
    """The narrowest pattern, for a person to widen: exactly these arguments."""
    return json.dumps(
        {
            "type": "object",
            "properties": {name: {"const": value} for name, value in arguments.items()},
            "required": sorted(arguments),
            "additionalProperties": False,
        },
        indent=2,
    )


def _names(tickets: Iterable[Ticket]) -> Collection[str]:
    """All names in the tickets, since one name may be made to look like another."""
    return {name for one in tickets for name in (one.wanted.whose, one.wanted.tool, one.wanted.principal)}


# --- live -------------------------------------------------------------------------------------------------------------


async def follow(desk: Desk, visit: PageVisit) -> Answer:
    return EventStream(_changes(desk))


async def _changes(desk: Desk) -> AsyncGenerator[tuple[str, str]]:
    """The pending tickets each time that they change, as a JSON array of ids."""
    async for pending in desk.pending.values():
        yield ("alive", "") if pending is None else ("tickets", json.dumps(pending))


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("GET", "/approvals", show_all),
    Endpoint("GET", "/approvals/events", follow),
    Endpoint("GET", "/approvals/{ticket}", show_one),
    Endpoint("GET", "/approvals/{ticket}/card", show_card),
    Endpoint("POST", "/approvals/{ticket}/allow", allow, APPROVE),
    Endpoint("POST", "/approvals/{ticket}/deny", deny, APPROVE),
    Endpoint("POST", "/approvals/{ticket}/revoke", revoke, APPROVE),
)
