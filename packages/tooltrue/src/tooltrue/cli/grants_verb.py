"""``tooltrue grants``: the grants that callers of a gateway have given it, listed and revoked. No token is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import click

from tooltrue.cli.output import show_json, show_rows
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.usage import Verbs
from tooltrue.cli.wording import COMMAND_GRANT_UNKNOWN, COMMAND_WITHOUT_GRANTS
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.caller_grants import CallerGrants
from tooltrue.gateway.grant_store import CallerGrant
from tooltrue.gateway.settings import caller_grants_of
from tooltrue.policy.config import read_operator_config

__all__ = ["command"]

T = TypeVar("T")


@click.group("grants", cls=Verbs, short_help="Revoke what callers have granted a gateway.")
@click.option("--config", metavar="FILE", help="The operator's file of the gateway.")
@click.pass_context
def command(context: click.Context, config: str | None) -> None:
    """List and revoke the grants by which a gateway acts for its callers."""
    context.obj = config


@command.command("list", short_help="List the grants.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_(config: str | None, as_json: bool) -> None:
    """List who has connected which server, since when, and the clients whose calls may use it."""
    grants = _at(config, lambda grants: grants.store.all())
    if as_json:
        show_json(grants)
    elif not grants:
        tell("No caller has connected a server.")
    else:
        show_rows([("caller", "server", "since", "clients"), *map(_row, grants)])


def _row(grant: CallerGrant) -> tuple[str, ...]:
    clients = ", ".join(client or "(without a name)" for client in grant.clients)
    return grant.caller, grant.server, f"{datetime.fromtimestamp(grant.since):%Y-%m-%d %H:%M}", clients


@command.command("revoke", short_help="Revoke a grant.")
@click.argument("caller")
@click.argument("server")
@click.option("--client", metavar="ID", help="End the consent to this client alone.")
@click.pass_obj
def revoke(config: str | None, caller: str, server: str, client: str | None) -> None:
    """Revoke what CALLER has granted for SERVER: its tokens are deleted, and revoked at their issuer."""

    async def end(grants: CallerGrants) -> None:
        grant = next((one for one in await grants.store.all() if (one.caller, one.server) == (caller, server)), None)
        if grant is None or (client is not None and client not in grant.clients):
            raise ConfigurationError.of(COMMAND_GRANT_UNKNOWN, caller=caller, server=server)
        if client is None or grant.clients == (client,):
            await grants.revoke(grant)
        else:
            await grants.store.dismiss(caller, server, client)

    _at(config, end)
    through = "" if client is None else f" for {one_line(client)}"
    tell(f"{one_line(caller)} has to connect {one_line(server)} again{through}.")


def _at(config: str | None, use: Callable[[CallerGrants], Awaitable[T]]) -> T:
    if config is None:  # here, so that the help of each command needs no file
        raise click.MissingParameter(ctx=click.get_current_context(), param_hint="--config", param_type="option")
    operator = read_operator_config(config)
    servers = tuple(ServerConfig(label, label) for label in operator.tables.get("servers", {}))
    grants = caller_grants_of(HostConfig("", Path(), servers), operator)
    if grants is None:
        raise ConfigurationError.of(COMMAND_WITHOUT_GRANTS, file=config)

    async def run() -> T:
        await grants.open()
        try:
            return await use(grants)
        finally:
            await grants.close()

    return asyncio.run(run())
