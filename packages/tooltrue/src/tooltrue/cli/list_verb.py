"""``tooltrue list``: the tools of any server, its resources, or its prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import click

from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.language import current_language
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.output import show_entries, show_json, show_tools
from tooltrue.cli.printing import tell
from tooltrue.cli.server_connection import connected, revision_option, target_of
from tooltrue.cli.terminal_host import TYPED, check_any, is_config, opened, speaking_only
from tooltrue.cli.wording import TARGET_HAS_NO_PROMPTS, TARGET_HAS_NO_RESOURCES, TARGET_HAS_NO_TOOLS
from tooltrue.errors import MethodNotFound
from tooltrue.wording import sentence

__all__ = ["command"]


@click.command("list", cls=TargetVerb, example="tooltrue list notes.py", short_help="List a server's tools.")
@click.argument("target")
@click.option("--resources", "what", flag_value="resources", help="List resources and templates instead.")
@click.option("--prompts", "what", flag_value="prompts", help="List prompts instead.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for an answer.")
@revision_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    target: str, family: FamilyOptions, what: str | None, timeout: float, revision: str | None, as_json: bool
) -> None:
    """List the tools of TARGET, its resources, or its prompts.

    TARGET is a server of ours (toolbox name, FILE.py, module:NAME), a URL, a command in quotes, or a file of servers
    (mcpServers JSON, TOML).
    """
    entries = asyncio.run(
        _list_all(target, what, timeout, revision)
        if is_config(target)
        else _list(target, family, what, timeout, revision)
    )
    if not entries and not as_json:
        tell(sentence(_NONE[what], current_language(), {"target": target}))
        return
    show = show_json if as_json else show_tools if what is None else show_entries
    show(entries)


_NONE: Mapping[str | None, str] = {
    None: TARGET_HAS_NO_TOOLS,
    "resources": TARGET_HAS_NO_RESOURCES,
    "prompts": TARGET_HAS_NO_PROMPTS,
}


async def _list(
    target: str, family: FamilyOptions, what: str | None, timeout: float, revision: str | None
) -> list[Any]:
    async with connected(target_of(target, family, only_lists=True), timeout=timeout, revision=revision) as client:
        try:
            match what:
                case "resources":
                    return [*await client.list_resources(), *await client.list_templates()]
                case "prompts":
                    return [*await client.list_prompts()]
                case _:
                    return [*await client.list_tools()]
        except MethodNotFound:
            if (what or "tools") in client.facts.capabilities:
                raise
            return []  # it does not declare them


async def _list_all(file: str, what: str | None, timeout: float, revision: str | None) -> list[Any]:
    """As :func:`_list`, over all servers of a file, with their names there."""
    async with opened(file if revision is None else speaking_only(file, revision), timeout, **TYPED) as host:
        check_any(host, file)
        context, provider = host.context(), host.provider
        match what:
            case "resources":
                return [*await provider.list_resources(context), *await provider.list_templates(context)]
            case "prompts":
                return [*await provider.list_prompts(context)]
            case _:
                return [*await host.list_tools()]
