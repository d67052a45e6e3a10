"""``toolwright call``: one call of one tool."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import click

from toolwright.app import Server
from toolwright.cli import families
from toolwright.cli.asking import asked_here
from toolwright.cli.connecting import connected, show_log, target_of
from toolwright.cli.families import Family
from toolwright.cli.hosting import TYPED, is_config, opened
from toolwright.cli.numbers import SECONDS
from toolwright.cli.output import show_json, show_result
from toolwright.cli.printing import one_line, tell
from toolwright.client.answers import Elicit, Elicitation
from toolwright.client.client import Result, Target
from toolwright.client.config import read_config
from toolwright.errors import ConfigurationError
from toolwright.jsonrpc.messages import is_object
from toolwright.protocol.types import Tool

__all__ = ["command", "read_arguments"]

_SECONDS = 60.0


@click.command("call", short_help="Call a tool.")
@click.argument("target")
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--args", "whole", metavar="JSON", help="All arguments as a JSON object; '-' reads it from standard input."
)
@families.options
@click.option("--timeout", type=SECONDS, show_default="60, or what the file says", help="Seconds to wait.")
@click.option("--yes", is_flag=True, help="Answer every question with yes, its defaults taken.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
def command(
    target: str,
    tool: str,
    arguments: tuple[str, ...],
    whole: str | None,
    family: Family,
    timeout: float | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Call TOOL of TARGET with KEY=VALUE pairs.

    A value is text where the schema wants text, and JSON otherwise; KEY:=VALUE is always JSON.
    """
    elicit = _yes if yes else asked_here(target)
    if is_config(target):
        result = asyncio.run(_call_one(target, tool, arguments, whole, timeout))
    else:
        result = asyncio.run(_call(target_of(target, family), tool, arguments, whole, timeout or _SECONDS, elicit))
    show_json(result.raw) if as_json else show_result(result)
    if result.is_error:
        sys.exit(1)


def _yes(question: Elicitation) -> bool:
    return True


async def _call(
    target: Target, name: str, pairs: tuple[str, ...], whole: str | None, timeout: float, elicit: Elicit | None
) -> Result:
    served = target.serving() if isinstance(target, Server) else contextlib.nullcontext()
    async with served, connected(target, timeout=timeout, elicit=elicit) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        arguments = {**_whole(whole), **read_arguments(pairs, tools.get(name))}
        result = await client.call_tool(name, arguments, progress=_show_progress)
    if result.is_error:
        show_log(client)
    return result


async def _call_one(file: str, name: str, pairs: tuple[str, ...], whole: str | None, timeout: float | None) -> Result:
    """The same for a tool of one of the servers of a file, by its name there. To start is no answer: it may take the
    time that it takes unless said."""
    config = read_config(file)
    servers = tuple(replace(one, seconds=timeout or one.seconds or _SECONDS) for one in config.servers)
    async with opened(replace(config, servers=servers), max(timeout or 0.0, _SECONDS), **TYPED) as host:
        tools = {tool.name: tool for tool in await host.list_tools()}
        arguments = {**_whole(whole), **read_arguments(pairs, tools.get(name))}
        return await host.call_tool(name, arguments, progress=_show_progress)


def _show_progress(progress: float, total: float | None, message: str | None) -> None:
    share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
    tell(one_line(f"… {share} {message or ''}".rstrip()), fg="cyan", err=True)


def _whole(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    value = _json(sys.stdin.read() if text == "-" else text, "--args")
    if not isinstance(value, dict):
        raise ConfigurationError.of("TW4006", what="--args", problem="it must be an object")
    return value  # pyright: ignore[reportUnknownVariableType]


def read_arguments(pairs: tuple[str, ...], tool: Tool | None) -> dict[str, Any]:
    """``key=value`` and ``key:=json`` pairs as arguments, by the types of the tool's schema."""
    properties: Mapping[str, Any] = tool.inputSchema.get("properties", {}) if tool else {}
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ConfigurationError.of("TW4006", what=pair, problem="write KEY=VALUE")
        if key.endswith(":"):
            arguments[key[:-1]] = _json(text, pair)
        else:
            arguments[key] = text if _wants_text(properties.get(key)) else _json_or_text(text)
    return arguments


def _wants_text(schema: Any) -> bool:
    if not is_object(schema):
        return True
    options: list[Any] = schema.get("anyOf", [schema])
    return any(is_object(option) and _is_text(option) for option in options)


def _is_text(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "string" or any(isinstance(value, str) for value in schema.get("enum", ()))


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text  # the server says what it wanted instead


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigurationError.of("TW4006", what=what, problem=f"not JSON: {error}") from None
