"""``tooltrue approvals``: pending approvals, shown in full and decided by a person.

Allowing a call needs a terminal, or a credential of its own: a program that runs commands for a model cannot approve
its own calls.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click

from tooltrue.cli.language import current_language
from tooltrue.cli.output import show_json, show_rows
from tooltrue.cli.printing import is_somebody_here, tell
from tooltrue.cli.terminal_prompts import confirmed
from tooltrue.cli.usage import Verbs
from tooltrue.cli.wording import (
    APPROVAL_CREDENTIAL_MISMATCH,
    REASON_UNKNOWN_OR_REPLACED,
    TERMINAL_OR_CREDENTIAL_REQUIRED,
)
from tooltrue.errors import ConfigurationError
from tooltrue.policy.consent.approvals import Approvals, Scope, Ticket, approvals_url, read_pattern
from tooltrue.policy.consent.argument_display import display_arguments, display_text
from tooltrue.policy.consent.lookalikes import shown_name
from tooltrue.state.new_file import write_new
from tooltrue.state.urls import open_facts
from tooltrue.wording import Worded

__all__ = ["command"]

T = TypeVar("T")


@click.group("approvals", cls=Verbs, short_help="Settle the calls that wait for a person.")
@click.option(
    "--store", metavar="URL", help="The store of the tickets. Default: $TOOLTRUE_APPROVALS, or your own file."
)
@click.pass_context
def command(context: click.Context, store: str | None) -> None:
    """List, show, allow and deny the calls that wait for a person's consent."""
    context.obj = approvals_url(store)


@command.command("list", short_help="List waiting and allowed calls.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_(url: str, as_json: bool) -> None:
    """List the tickets that are open, or still let calls run, the oldest first."""
    tickets = _at(url, lambda approvals: approvals.all())
    if as_json:
        show_json(tickets)
    elif not tickets:
        tell("No entry waits.")
    else:
        names = _names(tickets)
        show_rows([("ticket", "state", "asked", "server", "tool", "for"), *(_row(one, names) for one in tickets)])


@command.command("show", short_help="Show a ticket in full.")
@click.argument("ticket")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def show(url: str, ticket: str, as_json: bool) -> None:
    """Show TICKET, with every argument in full and invisible characters escaped."""

    async def look(approvals: Approvals) -> tuple[Ticket, Collection[str]]:
        return await approvals.find(ticket), _names(await approvals.all())

    entry, names = _at(url, look)
    show_json(entry) if as_json else tell(_whole(entry, names))


@command.command("allow", short_help="Let the call of a ticket run.")
@click.argument("ticket")
@click.option("--once", "scope", flag_value="once", default=True, help="One identical call, within an hour. Default.")
@click.option("--session", "scope", flag_value="session", help="Every identical call, for a day.")
@click.option("--pattern", metavar="SCHEMA", help="For a day, every call whose arguments fit this JSON Schema.")
@click.option(
    "--credential", metavar="FILE", help="A credential, instead of a terminal. Default: $TOOLTRUE_CREDENTIAL."
)
@click.pass_obj
def allow(url: str, ticket: str, scope: Scope, pattern: str | None, credential: str | None) -> None:
    """Show TICKET and let its call run; the caller then repeats it."""
    schema = None if pattern is None else read_pattern(pattern)
    path = credential or os.environ.get("TOOLTRUE_CREDENTIAL")
    word = None if path is None else _word(path)

    async def settle(approvals: Approvals) -> str:
        entry = await approvals.find(ticket)
        await _authorized(approvals, path, word)
        tell(_whole(entry, _names(await approvals.all())))
        if path is None and not confirmed(f"\nAllow {_scope_words(scope, schema)}?"):
            return "Nothing was allowed."
        allowed = await approvals.allow(entry, "pattern" if schema else scope, pattern=schema)
        return f"{ticket} is allowed, {allowed.state}, until {_time(allowed.until)}."

    tell(_at(url, settle))


@command.command("deny", short_help="Refuse the call of a ticket, or revoke its approval.")
@click.argument("ticket")
@click.option("--reason", default="", metavar="TEXT", help="The reason, which the model reads.")
@click.pass_obj
def deny(url: str, ticket: str, reason: str) -> None:
    """Refuse the call of TICKET, and revoke an approval given by it."""

    async def settle(approvals: Approvals) -> None:
        await approvals.deny(await approvals.find(ticket), reason)

    _at(url, settle)
    tell(f"{ticket} is denied.")


@command.command("credential", short_help="Make a credential for use without a terminal.")
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def credential(url: str, file: Path) -> None:
    """Write a new credential to FILE, readable by you alone. Keep it where no tool can read."""

    async def make(approvals: Approvals) -> None:
        await _authorized(approvals, None, None)
        await approvals.new_credential(partial(write_new, file))

    try:
        _at(url, make)
    except OSError as error:
        raise ConfigurationError.of(APPROVAL_CREDENTIAL_MISMATCH, path=file, problem=error.strerror) from None
    tell(f"A new credential is in {file}; the one before is good no more.")


def _at(url: str, act: Callable[[Approvals], Awaitable[T]]) -> T:
    async def main() -> T:
        async with open_facts(url) as facts:
            return await act(Approvals(facts))

    return asyncio.run(main())


def _word(path: str) -> str:
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise ConfigurationError.of(APPROVAL_CREDENTIAL_MISMATCH, path=path, problem=error) from None


async def _authorized(approvals: Approvals, path: str | None, word: str | None) -> None:
    """``ConfigurationError`` unless a person is at the terminal, or the credential is valid."""
    if word is None:
        if not is_somebody_here():
            raise ConfigurationError.of(TERMINAL_OR_CREDENTIAL_REQUIRED)
    elif not await approvals.knows(word):
        raise ConfigurationError.of(
            APPROVAL_CREDENTIAL_MISMATCH, path=path, problem=Worded(REASON_UNKNOWN_OR_REPLACED, {})
        )


def _scope_words(scope: Scope, schema: Mapping[str, Any] | None) -> str:
    if schema is not None:
        return "every call whose arguments fit the pattern"
    return "this call once" if scope == "once" else "every identical call for a day"


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def _names(tickets: Iterable[Ticket]) -> Collection[str]:
    """All names in the tickets, since one name may be made to look like another."""
    return {name for one in tickets for name in (one.wanted.whose, one.wanted.tool, one.wanted.principal)}


def _row(ticket: Ticket, names: Collection[str]) -> tuple[str, ...]:
    call = ticket.wanted
    cells = (shown_name(name, current_language(), names) for name in (call.whose, call.tool, call.principal))
    return (ticket.id, ticket.state, _time(ticket.asked), *cells)


def _whole(ticket: Ticket, names: Collection[str]) -> str:
    call = ticket.wanted
    whose, tool, principal = (
        shown_name(name, current_language(), names) for name in (call.whose, call.tool, call.principal)
    )
    head = {
        "ticket": ticket.id,
        "state": f"{ticket.state}, until {_time(ticket.until)}",
        "server": whose,
        "tool": f"{tool} ({call.effect})",
        "for": principal,
        "reason": display_text(call.reason),
    }
    parts = ["\n".join(f"{name:<8}{text}" for name, text in head.items() if text)]
    parts += [f"arguments, in full:\n{display_arguments(call.arguments)}"]
    parts += [f"what it would do:\n{display_text(call.preview)}"] if call.preview else []
    parts += [f"pattern:\n{display_text(json.dumps(ticket.pattern))}"] if ticket.pattern is not None else []
    return "\n\n".join(parts)
