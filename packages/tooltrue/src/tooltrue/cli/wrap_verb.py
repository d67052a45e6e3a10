"""``tooltrue wrap``: one server in front of all servers of a host, which records calls and changes nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path

import click

from tooltrue.app import Server
from tooltrue.cli.printing import tell, tell_json
from tooltrue.cli.terminal_host import approve_here, problem_of
from tooltrue.client.config import read_config
from tooltrue.host.host import Host
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.version import __version__

__all__ = ["command"]


@click.command("wrap", short_help="Put the servers of a host behind this one.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--observe", is_flag=True, help="Serve them all on stdio, record every call and ask no questions.")
def command(file: str, observe: bool) -> None:
    """Print a configuration that replaces the servers of FILE for their host: one server, which starts them all and
    records each call.

    Give the printed configuration to the host in place of FILE, and keep FILE, which that server reads. With --observe
    the command is that server: it checks, sanitizes and records every call, and asks no questions.
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
