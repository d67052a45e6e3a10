"""Output of commands: for a person at a terminal, or for a script with ``--json``."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Final

from tooltrue.cli.printing import one_line, tell, tell_json
from tooltrue.cli.types import type_of
from tooltrue.client.client import Result
from tooltrue.jsonrpc.messages import encode, is_array, is_object
from tooltrue.protocol.name_rules import TAGS
from tooltrue.protocol.types import Prompt, ResourceDefinition, ResourceTemplate, TextContent, ToolDefinition

__all__ = ["HINTS", "as_json", "show_entries", "show_json", "show_result", "show_rows", "show_tools", "show_wrapped"]


def as_json(value: Any) -> Any:
    """Wire values as plain JSON values."""
    return json.loads(encode(value))


def show_json(value: Any) -> None:
    tell_json(as_json(value))


def show_rows(rows: Iterable[Sequence[str]]) -> None:
    """Print aligned columns. Each cell is kept on one line."""
    table = [list(map(one_line, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)] if table else []
    for row in table:
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        tell(line.rstrip())


def show_wrapped(rows: Iterable[Sequence[str]]) -> None:
    """Print aligned columns within 120 characters. Cells of the widest columns are wrapped."""
    table = [list(map(one_line, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)] if table else []
    while sum(widths) + 2 * len(widths) > _WIDTH + 2:
        widths[widths.index(max(widths))] -= 1
    show_rows(line for row in table for line in _wrapped(row, widths))


def _wrapped(row: Sequence[str], widths: Sequence[int]) -> Iterable[Sequence[str]]:
    cells = (_cut(cell, width) for cell, width in zip(row, widths, strict=True))
    return zip_longest(*cells, fillvalue="")


def _cut(cell: str, width: int) -> list[str]:
    indent = " " * (len(cell) - len(cell.lstrip()))
    return [cell] if len(cell) <= width else textwrap.wrap(cell, width, subsequent_indent=indent)


_WIDTH = 120


def show_entries(entries: Sequence[ResourceDefinition | ResourceTemplate | Prompt]) -> None:
    """Print each entry with its URI or name, and its description; a prompt with its arguments."""
    for entry in entries:
        tell(one_line(_entry_name(entry)), bold=True)
        for line in (entry.description or "(no description)").splitlines():
            tell(f"    {one_line(line)}")
        arguments = (entry.arguments or []) if isinstance(entry, Prompt) else []
        show_rows((f"      {one.name}{'' if one.required else '?'}", one.description or "") for one in arguments)
        tell()


def _entry_name(entry: ResourceDefinition | ResourceTemplate | Prompt) -> str:
    match entry:
        case ResourceDefinition():
            return entry.uri
        case ResourceTemplate():
            return entry.uriTemplate
        case Prompt():
            return entry.name


def show_tools(tools: Sequence[ToolDefinition]) -> None:
    for tool in tools:
        tell(one_line(tool.name), bold=True, nl=False)
        tell(f"  {_hints(tool)}".rstrip(), fg="yellow", nl=False)
        tell(f"  {' '.join(f'#{one_line(tag)}' for tag in _tags(tool))}".rstrip(), fg="cyan")
        for line in (tool.description or "(no description)").splitlines():
            tell(f"    {one_line(line)}")
        show_rows(_parameters(tool))
        tell()


def _hints(tool: ToolDefinition) -> str:
    return ", ".join(word for name, word in HINTS.items() if getattr(tool.annotations, name, False))


HINTS: Final[Mapping[str, str]] = {
    "readOnlyHint": "read-only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
}
"""Annotations that are shown → their words."""


def _tags(tool: ToolDefinition) -> list[str]:
    tags = (tool.meta or {}).get(TAGS)
    return [tag for tag in tags if isinstance(tag, str)] if is_array(tags) else []


def _parameters(tool: ToolDefinition) -> Iterable[tuple[str, str, str]]:
    required = tool.inputSchema.get("required", [])
    for name, declaration in tool.inputSchema.get("properties", {}).items():
        schema = declaration if is_object(declaration) else {}
        default = f" (default {json.dumps(schema['default'])})" if "default" in schema else ""
        mark = "" if name in required else "?"
        yield f"      {name}{mark}", type_of(schema, tool.inputSchema), f"{schema.get('description', '')}{default}"


def show_result(result: Result) -> None:
    """Print text as it is, other blocks by their type; an error is announced in red."""
    if result.is_error:
        tell("The tool answered with an error:", fg="red", err=True)
    for block in result.content:
        text = block.text if isinstance(block, TextContent) else f"[{type(block).__name__}]"
        tell(text)
