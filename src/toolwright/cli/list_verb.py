"""``toolwright list``: the tools of any server, its resources, or its prompts."""

from __future__ import annotations

import asyncio
from typing import Any

import click

from toolwright.cli.connecting import target_of
from toolwright.cli.output import show_entries, show_json, show_tools
from toolwright.client.client import Client

__all__ = ["command"]


@click.command("list", short_help="List a server's tools.")
@click.argument("target")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="files: a folder that the tools may use. Repeatable."
)
@click.option("--resources", "what", flag_value="resources", help="List resources and templates instead.")
@click.option("--prompts", "what", flag_value="prompts", help="List prompts instead.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait for an answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(target: str, roots: tuple[str, ...], what: str | None, timeout: float, as_json: bool) -> None:
    """List the tools of TARGET, its resources, or its prompts.

    TARGET is a server of ours (toolbox name, FILE.py, module:NAME), a URL, or a command in quotes.
    """
    entries = asyncio.run(_list(target, roots, what, timeout))
    show = show_json if as_json else show_tools if what is None else show_entries
    show(entries)


async def _list(target: str, roots: tuple[str, ...], what: str | None, timeout: float) -> list[Any]:
    async with Client(target_of(target, roots), timeout=timeout) as client:
        match what:
            case "resources":
                return [*await client.list_resources(), *await client.list_templates()]
            case "prompts":
                return [*await client.list_prompts()]
            case _:
                return [*await client.list_tools()]
