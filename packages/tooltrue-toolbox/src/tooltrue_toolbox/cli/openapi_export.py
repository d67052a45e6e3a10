"""``tooltrue openapi export``: the OpenAPI description of a server's tools, as ``serve --rest`` answers them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tooltrue.app import Server
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.language import current_language
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.printing import one_line, tell, tell_json
from tooltrue.cli.server_connection import auth_of, connected, target_of
from tooltrue.client.client import Target
from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.messages import encode_indented
from tooltrue.protocol.types import Implementation
from tooltrue.rest.description import described_tools
from tooltrue.server.identity import methods_of, security_of
from tooltrue.server.service import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue.wording import sentence
from tooltrue_toolbox.cli.wording import DESCRIPTION_EXISTS, DESCRIPTION_WRITTEN

__all__ = ["export"]

_BEARER: Mapping[str, Mapping[str, Any]] = {"bearer": {"type": "http", "scheme": "bearer"}}


@click.command(
    "export",
    cls=TargetVerb,
    example="tooltrue openapi export notes.py",
    short_help="Write the OpenAPI description of a server's tools.",
)
@click.argument("target")
@click.option("--config", metavar="FILE", help="The operator's rules and settings, such as tooltrue.toml.")
@click.option("--url", metavar="URL", default="", help="The address before /tools at which programs reach the server.")
@click.option("--output", "-o", metavar="FILE", help="The description; by default standard output.")
@click.option("--timeout", type=SECONDS, default=30.0, show_default=True, help="Seconds to wait for an answer.")
def export(
    target: str, family: FamilyOptions, config: str | None, url: str, output: str | None, timeout: float
) -> None:
    """Write the OpenAPI 3.1 description of the tools of TARGET: one POST /tools/NAME each, which serve --rest answers.

    TARGET is a server of ours (toolbox name, FILE.py, module:NAME), a URL, or a command in quotes. A file that is there
    is never overwritten.
    """
    document = asyncio.run(_described(target_of(target, family, config, only_lists=True), url.rstrip("/"), timeout))
    if output is None:
        tell_json(document)
        return
    try:
        with Path(output).open("x", encoding="utf-8", newline="\n") as file:
            file.write(f"{encode_indented(document).decode()}\n")
    except FileExistsError:
        raise ConfigurationError.of(DESCRIPTION_EXISTS, file=output) from None
    facts = {"file": output, "count": len(document["paths"])}
    tell(one_line(sentence(DESCRIPTION_WRITTEN, current_language(), facts)))


async def _described(target: Target, url: str, timeout: float) -> dict[str, Any]:
    async with connected(target, timeout=timeout) as client:
        tools, facts = await client.list_tools(), client.facts
    security, scopes = await _access(target)
    if isinstance(target, str) and not url:
        url = target.rstrip("/").removesuffix("/mcp")
    info = Implementation(facts.name, facts.version)
    return described_tools(info, tools, instructions=facts.instructions, security=security, scopes=scopes, base=url)


async def _access(target: Target) -> tuple[Mapping[str, Mapping[str, Any]], Mapping[str, Sequence[str]]]:
    """The security schemes of a server, and the scopes of its tools, as far as they are known here."""
    if isinstance(target, Server):
        tools = await target.provider.list_tools(RequestContext(LOCAL, SILENT))
        authenticator = target.authenticator()
        security = {} if authenticator is None else security_of(methods_of(authenticator))
        return security, {tool.name: sorted(tool.requires) for tool in tools if tool.requires}
    return (_BEARER if isinstance(target, str) and auth_of(target) is not None else {}), {}
