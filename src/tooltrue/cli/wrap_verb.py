"""``tooltrue wrap``: one server in front of all servers of a host, which records calls and changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from tooltrue.app import Server
from tooltrue.cli.hosting import approve_here, problem_of
from tooltrue.cli.printing import tell, tell_json
from tooltrue.client.config import read_config
from tooltrue.host.host import Host
from tooltrue.policy.confirm import Confirm
from tooltrue.version import __version__

__all__ = ["command"]


@click.command("wrap", short_help="Put the servers of a host behind this one.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--observe", is_flag=True, help="Serve them all on stdio: nothing is asked, all is recorded.")
def command(file: str, observe: bool) -> None:
    """Print what the servers of FILE become for their host: one server, which starts them all and records each call.

    Put what is printed in the place of FILE's content, elsewhere than FILE itself. With --observe it is run: every call
    is checked, cleaned and recorded as by any server of ours, and nobody is asked before one.
    """
    if observe:
        asyncio.run(_observe(file))
        return
    config = read_config(file)
    for note in config.notes:
        tell(note.say(), fg="yellow", err=True)
    args = ["wrap", "--observe", str(Path(file).absolute())]
    tell_json({"mcpServers": {"tooltrue": {"command": "tooltrue", "args": args}}})
    tell(f"Approve first what it starts: tooltrue trust {file}", err=True)


async def _observe(file: str) -> None:
    async with Host.from_config(file, approve_launch=approve_here(), audit=False) as host:
        for status in host.servers:
            if problem := problem_of(status):
                tell(problem, err=True)
        server = Server("wrapped", version=__version__, toolsets=[host.catalogue], confirm=Confirm.never())
        await server.serve_stdio()
