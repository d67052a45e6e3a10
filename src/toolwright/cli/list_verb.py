"""``toolwright list``: the tools of any server."""

from __future__ import annotations

import asyncio

import click

from toolwright.cli.connecting import target_of
from toolwright.cli.output import show_json, show_tools
from toolwright.client.client import Client
from toolwright.protocol.types import Tool

__all__ = ["command"]


@click.command("list", short_help="List a server's tools.")
@click.argument("target")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="files: a folder that the tools may use. Repeatable."
)
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait for an answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(target: str, roots: tuple[str, ...], timeout: float, as_json: bool) -> None:
    """List the tools of TARGET.

    TARGET is a server of ours (toolbox name, FILE.py, module:NAME), a URL, or a command in quotes.
    """
    tools = asyncio.run(_list(target, roots, timeout))
    show_json(tools) if as_json else show_tools(tools)


async def _list(target: str, roots: tuple[str, ...], timeout: float) -> list[Tool]:
    async with Client(target_of(target, roots), timeout=timeout) as client:
        return await client.list_tools()
