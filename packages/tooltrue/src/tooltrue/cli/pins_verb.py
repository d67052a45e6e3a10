"""``tooltrue pins``: review of the changes that servers have made since they were accepted."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial

import click

from tooltrue.cli.contract_acts import contract_act
from tooltrue.cli.output import show_json
from tooltrue.cli.printing import is_somebody_here, one_line, tell
from tooltrue.cli.terminal_prompts import confirmed
from tooltrue.cli.usage import misuse
from tooltrue.cli.wording import LAUNCH_APPROVAL_REQUIRES_PERSON, UNKNOWN_CONFIGURED_SERVER, UNKNOWN_PENDING_ENTRY
from tooltrue.client.config import read_config
from tooltrue.errors import ConfigurationError
from tooltrue.host.pins import Pin, Pins, Review
from tooltrue.policy.audit.acts import acts_url, recorded

__all__ = ["command"]


@click.command("pins", short_help="Review the changes of servers.")
@click.argument("file")
@click.argument("server", required=False)
@click.argument("tools", nargs=-1, metavar="[TOOL]...")
@click.option("--accept", is_flag=True, help="Accept what SERVER publishes now: each TOOL, or all of it.")
@click.option("--refuse", is_flag=True, help="Refuse what SERVER publishes now: it stays hidden.")
@click.option("--yes", is_flag=True, help="With --accept: do not ask, for scripts.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    file: str, server: str | None, tools: tuple[str, ...], accept: bool, refuse: bool, yes: bool, as_json: bool
) -> None:
    """Show the changes that the servers of FILE published when last started, and that are not accepted yet: each with
    its class, and any sign of tool poisoning. A change is hidden until it is accepted. Exits with 1 if one waits."""
    pins = _pins(file, server)
    waiting = {label: review for label, pin in pins.items() if (review := pin.review()) is not None}
    if accept or refuse:
        if server is None:
            raise misuse("--accept needs a SERVER." if accept else "--refuse needs a SERVER.")
        if accept:
            _accept(pins[server], waiting.get(server), tools, yes)
        else:
            _refuse(pins[server], waiting.get(server))
        return
    if as_json:
        show_json({label: review.data() for label, review in waiting.items()})
    else:
        _show(waiting.values())
    sys.exit(1 if waiting else 0)


def _pins(file: str, server: str | None) -> dict[str, Pin]:
    config, pins = read_config(file), Pins()
    by_label = {one.label: pins.of(config.name, one) for one in config.servers if server in (None, one.label)}
    if server is not None and not by_label:
        labels = ", ".join(one.label for one in config.servers)
        raise ConfigurationError.of(UNKNOWN_CONFIGURED_SERVER, file=file, server=server, known=labels)
    return by_label


def _accept(pin: Pin, review: Review | None, tools: tuple[str, ...], yes: bool) -> None:
    if review is None:
        tell("No entry waits.")
        return
    if unknown := sorted(set(tools) - review.names):
        raise ConfigurationError.of(UNKNOWN_PENDING_ENTRY, server=pin.server, names=", ".join(unknown))
    if not yes and not is_somebody_here():
        raise ConfigurationError.of(LAUNCH_APPROVAL_REQUIRES_PERSON)
    _show([review])
    what = ", ".join(tools) or "all of it"
    if yes or confirmed(f"\nAccept {one_line(what)}?"):
        act = "accept definition" if tools else "accept contract"
        accept = partial(pin.accept, review, tools or None)
        asyncio.run(_decide(act, tools or (pin.server,), pin, review, accept))
        tell(f"Accepted: {one_line(what)}.")
    else:
        tell("No change was accepted.")


def _refuse(pin: Pin, review: Review | None) -> None:
    if review is None:
        tell("No entry waits.")
        return
    _show([review])
    asyncio.run(_decide("refuse contract", (pin.server,), pin, review, partial(pin.refuse, review)))
    tell("Refused: it stays hidden, and can still be accepted.")


async def _decide(act: str, subjects: Sequence[str], pin: Pin, review: Review, decide: Callable[[], None]) -> None:
    """Do what a person has decided, and record it before and after, as the console does."""
    accepted, _ = pin.contracts()
    acts = [contract_act(act, subject, pin.file.stem, accepted.pin, review) for subject in subjects]
    async with recorded(acts_url(), acts):
        decide()


def _show(reviews: Iterable[Review]) -> None:
    has_entries = False
    for review in reviews:
        tell(
            ("\n" if has_entries else "") + one_line(review.server) + (": refused" if review.is_refused else ""),
            bold=True,
        )
        for line in review.lines():
            tell(f"  {line}")
        has_entries = True
    if not has_entries:
        tell("No entry waits.")
