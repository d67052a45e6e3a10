"""``toolwright inspect``: what is on, with which limits, and where that came from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click

from toolwright.app import Server
from toolwright.cli.connecting import target_of
from toolwright.cli.output import show_json, show_rows
from toolwright.client.client import Client, Target
from toolwright.client.eras import ServerFacts
from toolwright.protocol import versions
from toolwright.protocol.types import Tool

__all__ = ["command"]


@click.command("inspect", short_help="Show what a server is and what guards it.")
@click.argument("target")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="files: a folder that the tools may use. Repeatable."
)
@click.option("--config", metavar="FILE", help="The operator's rules and settings, such as toolwright.toml.")
@click.option("--timeout", type=float, default=30.0, show_default=True, help="Seconds to wait for an answer.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(target: str, roots: tuple[str, ...], config: str | None, timeout: float, as_json: bool) -> None:
    """Inspect TARGET.

    TARGET is a server of ours (toolbox name, FILE.py, module:NAME), a URL, or a command in quotes.
    """
    found = target_of(target, roots, config)
    facts, tools = asyncio.run(_look(found, timeout))
    report = {
        "server": _server(facts),
        "tools": len(tools),
        "guard": _guard(found),
        "exceptions": asyncio.run(_exceptions(found)),
    }
    show_json(report) if as_json else _show(report)


async def _look(target: Target, timeout: float) -> tuple[ServerFacts, Sequence[Tool]]:
    async with Client(target, timeout=timeout) as client:
        return client.facts, await client.list_tools()


def _server(facts: ServerFacts) -> dict[str, Any]:
    return {
        "name": facts.name,
        "version": facts.version,
        "revision": facts.revision,
        "supported": list(facts.supported),
        "capabilities": sorted(facts.capabilities),
        "instructions": facts.instructions,
    }


def _guard(target: Target) -> list[dict[str, str]]:
    """The layers of a server of ours, outermost first. What guards somebody else's server cannot be seen from here."""
    if not isinstance(target, Server):
        return []
    return [{"layer": layer, "state": state, "from": origin} for layer, state, origin in target.guard()]


async def _exceptions(target: Target) -> list[dict[str, str]]:
    """Where a tool of a server of ours differs from that, by its author's word."""
    if not isinstance(target, Server):
        return []
    return [{"tool": tool, "setting": setting} for tool, setting in await target.exceptions()]


def _show(report: dict[str, Any]) -> None:
    server = report["server"]
    click.secho(f"{server['name'] or '(unnamed)'} {server['version']}", bold=True)
    newest = "modern" if server["revision"] in versions.MODERN else "legacy"
    show_rows(
        [
            ("speaks", f"{server['revision']} ({newest})"),
            ("also", ", ".join(name for name in server["supported"] if name != server["revision"]) or "nothing else"),
            ("offers", ", ".join(server["capabilities"]) or "nothing"),
            ("tools", str(report["tools"])),
        ]
    )
    if report["guard"]:
        click.secho("\nThe way of a call, outermost first", bold=True)
        show_rows([(row["layer"], row["state"], row["from"]) for row in report["guard"]])
        if report["exceptions"]:
            click.secho("\nTools that differ", bold=True)
            show_rows([(row["tool"], row["setting"]) for row in report["exceptions"]])
    else:
        click.echo("\nWhat guards this server cannot be seen from outside.")
