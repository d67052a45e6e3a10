"""``tooltrue call``: one call of one tool."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Collection, Generator, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import click

from tooltrue.app import Server
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.numbers import SECONDS
from tooltrue.cli.output import show_json, show_result
from tooltrue.cli.printing import one_line, tell
from tooltrue.cli.server_connection import connected, revision_option, show_log, target_of
from tooltrue.cli.terminal_host import TYPED, check_any, is_config, opened, speaking_only
from tooltrue.cli.terminal_prompts import elicit_here
from tooltrue.cli.usage import unknown_tool
from tooltrue.cli.wording import (
    COMMAND_ARGUMENT_UNREADABLE,
    REASON_NOT_JSON,
    REASON_NOT_JSON_OBJECT,
    REASON_NOT_KEY_VALUE,
)
from tooltrue.client.answers import Elicitation
from tooltrue.client.client import Result, Target
from tooltrue.client.config import read_config
from tooltrue.errors import ConfigurationError, RpcError
from tooltrue.jsonrpc.messages import is_array, is_object
from tooltrue.protocol.name_rules import REPLACES
from tooltrue.protocol.types import ToolDefinition
from tooltrue.wording import Worded

__all__ = ["command", "read_arguments", "read_pairs"]

_SECONDS = 60.0


@click.command("call", cls=TargetVerb, example="tooltrue call notes.py get_notes prefix=a", short_help="Call a tool.")
@click.argument("target")
@click.argument("tool")
@click.argument("arguments", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--args", "whole", metavar="JSON", help="All arguments as a JSON object; '-' reads it from standard input."
)
@click.option("--timeout", type=SECONDS, show_default="60, or that of the file", help="Seconds to wait.")
@revision_option
@click.option("--yes", is_flag=True, help="Answer every question with yes, and with its defaults.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as JSON.")
def command(
    target: str,
    tool: str,
    arguments: tuple[str, ...],
    whole: str | None,
    family: FamilyOptions,
    timeout: float | None,
    revision: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    """Call TOOL of TARGET with KEY=VALUE pairs.

    A value is text if the schema expects text, and JSON otherwise; KEY:=VALUE is always JSON.
    """
    elicit = _yes if yes else elicit_here(target)
    if is_config(target):
        result, tools = asyncio.run(_call_one(target, tool, arguments, whole, timeout, revision))
    else:
        resolved_target = target_of(target, family)
        settings = {"timeout": timeout or _SECONDS, "elicit": elicit, "revision": revision}
        result, tools = asyncio.run(_call(resolved_target, target, tool, arguments, whole, settings))
    show_json(result.raw) if as_json else show_result(result)
    if result.is_error and tool not in tools:  # some servers answer a call of an unknown tool this way
        raise unknown_tool(target, tool, tools)
    if result.is_error:
        sys.exit(1)


def _yes(question: Elicitation) -> bool:
    return True


_Answer: TypeAlias = tuple[Result, Collection[str]]
"""The result, and all names by which tools can be called."""


async def _call(
    target: Target,
    typed: str,
    name: str,
    pairs: tuple[str, ...],
    whole: str | None,
    settings: Mapping[str, Any],
) -> _Answer:
    served = target.serving() if isinstance(target, Server) else contextlib.nullcontext()
    async with served, connected(target, **settings) as client:
        tools = _by_names(await client.list_tools())
        arguments = {**_whole(whole), **read_arguments(pairs, tools.get(name))}
        with _unknown_tool_errors(typed, name, tools):
            result = await client.call_tool(name, arguments, progress=_show_progress)
    if result.is_error:
        show_log(client)
    return result, tools


async def _call_one(
    file: str, name: str, pairs: tuple[str, ...], whole: str | None, timeout: float | None, revision: str | None
) -> _Answer:
    """Call a tool of one of the servers of a file, by its name there. Starting the servers may take at least the
    default timeout, even if ``timeout`` is shorter."""
    config = read_config(file) if revision is None else speaking_only(file, revision)
    servers = tuple(replace(one, seconds=timeout or one.seconds or _SECONDS) for one in config.servers)
    async with opened(replace(config, servers=servers), max(timeout or 0.0, _SECONDS), **TYPED) as host:
        check_any(host, file)
        tools = _by_names(await host.list_tools())
        arguments = {**_whole(whole), **read_arguments(pairs, tools.get(name))}
        with _unknown_tool_errors(file, name, tools):
            return await host.call_tool(name, arguments, progress=_show_progress), tools


def _by_names(tools: Iterable[ToolDefinition]) -> dict[str, ToolDefinition]:
    """Tools by all names under which they can be called, current and old ones."""
    old = {name: tool for tool in tools for name in _old_names(tool)}
    return old | {tool.name: tool for tool in tools}


def _old_names(tool: ToolDefinition) -> list[str]:
    names = (tool.meta or {}).get(REPLACES)
    return [name for name in names if isinstance(name, str)] if is_array(names) else []


@contextlib.contextmanager
def _unknown_tool_errors(target: str, name: str, tools: Collection[str]) -> Generator[None]:
    """``ConfigurationError`` if a server refuses a call of a tool that it does not list: a typing error."""
    try:
        yield
    except RpcError as error:
        if name in tools:
            raise
        raise unknown_tool(target, name, tools) from error


def _show_progress(progress: float, total: float | None, message: str | None) -> None:
    share = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
    tell(one_line(f"… {share} {message or ''}".rstrip()), fg="cyan", err=True)


def _whole(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    value = _json(sys.stdin.read() if text == "-" else text, "--args")
    if not isinstance(value, dict):
        raise ConfigurationError.of(
            COMMAND_ARGUMENT_UNREADABLE, what="--args", problem=Worded(REASON_NOT_JSON_OBJECT, {})
        )
    return value  # pyright: ignore[reportUnknownVariableType]


def read_arguments(pairs: tuple[str, ...], tool: ToolDefinition | None) -> dict[str, Any]:
    """Parse ``key=value`` and ``key:=json`` pairs into arguments, by the types of the tool's schema."""
    return read_pairs(pairs, tool.inputSchema if tool else {})


def read_pairs(pairs: tuple[str, ...], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Parse ``key=value`` and ``key:=json`` pairs, by the types of the schema of an object."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ConfigurationError.of(
                COMMAND_ARGUMENT_UNREADABLE, what=pair, problem=Worded(REASON_NOT_KEY_VALUE, {})
            )
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
        return text  # the server reports the expected type


def _json(text: str, what: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ConfigurationError.of(
            COMMAND_ARGUMENT_UNREADABLE, what=what, problem=Worded(REASON_NOT_JSON, {"error": error})
        ) from None
