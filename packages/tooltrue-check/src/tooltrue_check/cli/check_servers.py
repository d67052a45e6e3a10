"""Servers as sources of a check: tooltrue servers, others, and those in the file of a host. Loaded only when
needed."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tooltrue._internal.target_places import divided_target
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.live_contract import fetch_lock
from tooltrue.cli.server_connection import auth_of, target_of
from tooltrue.cli.targets import Spec, is_ours, load_server
from tooltrue.cli.terminal_host import approve_here, inputs_here
from tooltrue.client.config import HostConfig, ServerConfig, read_config
from tooltrue.contract.contract import Contract
from tooltrue.contract.contract import Path as At
from tooltrue.errors import ConfigurationError, TooltrueError, fact_of
from tooltrue.host.connect import connect
from tooltrue.host.launches import Launches
from tooltrue.jsonrpc.messages import Json
from tooltrue_check import json_fixes, python_fixes
from tooltrue_check.report import Unjudged
from tooltrue_check.source import FileLine, ToolSource
from tooltrue_check.wording import FIX_CHANGES_OTHER_FIELDS, FIXED_FILE_NOT_LOADABLE

__all__ = ["of_host_file", "of_server"]


def of_server(target: str, family: FamilyOptions, timeout: float) -> ToolSource:
    """The server of a target: a tooltrue server, a URL, or a command."""
    return _ours(target, family) if is_ours(target) else _theirs(target, family, timeout)


def _ours(target: str, family: FamilyOptions, text: str | None = None) -> ToolSource:
    """A tooltrue server as a source. It is not called: all its tools are judged, whichever caller sees them, each
    with its place in the code. ``text`` replaces the content of its file."""
    file = divided_target(target)[0]
    source_text = _python(file) if text is None else text
    server = load_server(Spec.of(target, family), text)
    tools = asyncio.run(server.inventory()).tools
    return ToolSource(
        target,
        server.name,
        Contract.of(tool.definition for tool in tools),
        "" if source_text is None else file,
        source_text or "",
        rewrite=None if source_text is None else partial(_rewritten, family),
        places={tool.name: FileLine(_relative_path(tool.source[0]), tool.source[1]) for tool in tools if tool.source},
        excused={tool.name: tool.excused for tool in tools if tool.excused},
    )


def _python(file: str) -> str | None:
    """The text of a valid Python file that can be written back unchanged; None for any other file."""
    try:
        text = Path(file).read_bytes().decode() if file.endswith(".py") else None
        if text is not None:
            ast.parse(text)
        return text
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError):
        return None


def _rewritten(family: FamilyOptions, source: ToolSource, values: Sequence[tuple[str, At, Json]]) -> ToolSource:
    """Put these values into the file of a tooltrue server. The result is loaded, and ``ConfigurationError`` is raised
    unless it publishes the same definitions but for these values."""
    text = _with(source, values)
    if text == source.text:
        return source
    try:
        after = _ours(source.target, family, text)
    except TooltrueError as error:
        raise ConfigurationError.of(
            FIXED_FILE_NOT_LOADABLE, file=source.file, problem=fact_of(error, is_clause=False)
        ) from None
    values_there = json_fixes.arrived(values, after.contract)
    if _with(source, values_there) != text:  # a literal that resembles a published value, but is not its source
        return _rewritten(family, source, values_there)
    if not json_fixes.is_only(values_there, source.contract, after.contract):
        raise ConfigurationError.of(FIX_CHANGES_OTHER_FIELDS, file=source.file)
    return replace(after, server=source.server)


def _with(source: ToolSource, values: Sequence[tuple[str, At, Json]]) -> str:
    here = Path(source.file).resolve()
    lines = {tool: place.line for tool, place in source.places.items() if Path(place.file).resolve() == here}
    edits = [python_fixes.ValueEdit(tool, lines.get(tool, 0), *one) for tool, *one in values]
    return python_fixes.put(source.text, edits)


def _relative_path(file: str) -> str:
    """The path relative to the current folder, if the file is in it: with slashes, as reports of every system have
    it."""
    path, here = Path(file), Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else file


def _theirs(target: str, family: FamilyOptions, timeout: float) -> ToolSource:
    where = target_of(target, family)
    lock = asyncio.run(fetch_lock(where, timeout, Contract.as_listed, auth=auth_of(where)))
    return ToolSource(target, lock.name or target, lock.contract)


def of_host_file(target: str, path: Path, timeout: float) -> list[ToolSource | Unjudged]:
    """The servers in the file of a host."""
    return asyncio.run(_all_of(target, read_config(path), timeout))


async def _all_of(target: str, config: HostConfig, timeout: float) -> list[ToolSource | Unjudged]:
    """Every enabled server in the file of a host, concurrently. Questions about starting them come one after the
    other."""
    turn, launches, answers = asyncio.Lock(), Launches(), dict[str, str]()

    async def one(server: ServerConfig) -> ToolSource | Unjudged:
        name = f"{target}#{server.label}"
        try:
            async with turn:
                where, settings = await connect(server, config, launches, approve_here(), inputs_here(), answers)
            lock = await fetch_lock(where, timeout, Contract.as_listed, **settings)
            return ToolSource(name, server.label, lock.contract)
        except TooltrueError as error:
            return Unjudged(name, error)

    return [*await asyncio.gather(*(one(server) for server in config.servers if server.enabled))]
