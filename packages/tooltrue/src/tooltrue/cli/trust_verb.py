"""``tooltrue trust``: approval of the commands in a file of servers, one by one, each shown in full."""

from __future__ import annotations

from datetime import datetime

import click

from tooltrue.cli.output import show_json, show_rows
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.terminal_host import approve_here, launch_requests, show_request
from tooltrue.cli.terminal_prompts import confirmed
from tooltrue.cli.usage import misuse
from tooltrue.cli.wording import LAUNCH_APPROVAL_REQUIRES_PERSON, UNKNOWN_LAUNCH_APPROVAL
from tooltrue.client.config import read_config
from tooltrue.errors import ConfigurationError
from tooltrue.host.launches import Launches, LaunchRequest

__all__ = ["command"]


@click.command("trust", short_help="Approve the commands of a file of servers.")
@click.argument("file", required=False)
@click.argument("servers", nargs=-1, metavar="[SERVER]...")
@click.option("--yes", is_flag=True, help="Approve all commands shown, without a question, for scripts.")
@click.option("--list", "shows_list", is_flag=True, help="List the approved commands.")
@click.option("--revoke", metavar="DIGEST", help="Revoke an approval, named by the beginning of its digest.")
@click.option("--json", "as_json", is_flag=True, help="With --list: print JSON.")
def command(
    file: str | None, servers: tuple[str, ...], yes: bool, shows_list: bool, revoke: str | None, as_json: bool
) -> None:
    """Show the command of each SERVER of FILE, by default of all, and approve it.

    The approval holds for exactly the command shown: a change of a word, a folder or a variable needs a new one.
    """
    launches = Launches()
    if revoke is not None:
        if not launches.revoke(revoke):
            raise ConfigurationError.of(UNKNOWN_LAUNCH_APPROVAL, digest=revoke)
        tell("It is approved no more.")
    elif shows_list:
        _list(launches, as_json)
    elif file is None:
        raise misuse("FILE, --list or --revoke DIGEST is needed.")
    else:
        _approve(launches, launch_requests(launches, read_config(file), servers), yes)


def _approve(launches: Launches, requests: list[LaunchRequest], yes: bool) -> None:
    if not yes and approve_here() is None:
        raise ConfigurationError.of(LAUNCH_APPROVAL_REQUIRES_PERSON)
    for request in requests:
        if launches.is_approved(request.digest):
            tell(f"{one_line(request.server)}: approved already.")
            continue
        show_request(request)
        if yes or confirmed("Approve it?"):
            launches.approve(request)
            tell(f"{one_line(request.server)}: approved, {request.digest[:12]}.")
        else:
            tell(f"{one_line(request.server)}: not approved.")


def _list(launches: Launches, as_json: bool) -> None:
    approvals = launches.all()
    if as_json:
        show_json(approvals)
    elif not approvals:
        tell("No command has been approved.")
    else:
        rows = [(name[:12], _time(one["at"]), one["server"], one["file"]) for name, one in approvals.items()]
        show_rows([("digest", "approved", "server", "file"), *rows])


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M")
