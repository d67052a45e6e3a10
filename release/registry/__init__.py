"""The entries of our toolboxes for the registry of MCP servers, one `server.json` for each family.

    python -m release.registry      writes them

The registry accepts an entry once the README of the package on the index has the line `mcp-name: NAME`, with the name
of the entry. `NAMESPACE` is a placeholder until the repository has its place: a name in `io.github.OWNER` needs a
sign-in as this owner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tooltrue.version import __version__

__all__ = ["FOLDER", "SCHEMA", "entries", "entry"]

FOLDER = Path(__file__).parent
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
NAMESPACE = "io.github.tooltrue"

_ROOT = {
    "type": "named",
    "name": "--root",
    "description": "A folder that the tools may use",
    "format": "filepath",
    "isRequired": True,
    "isRepeated": True,
}
_FAMILIES: Mapping[str, tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = {
    "files": ("Read, find, write, edit, move and delete files within the folders that you name.", [_ROOT], []),
    "tables": ("Query CSV, Parquet, JSON and Excel files within the folders that you name.", [_ROOT], []),
    "sql": (
        "Query a SQLite, DuckDB, PostgreSQL or MySQL database; reading only, unless you allow more.",
        [],
        [{"name": "TOOLTRUE_DATABASE", "description": "The URL of the database", "isRequired": True, "isSecret": True}],
    ),
    "web": ("Read pages of the public web as text.", [], []),
    "math": ("Calculate exactly.", [], []),
}
"""Family → what it does, its options, and its variables."""


def entries() -> dict[str, dict[str, Any]]:
    """Name of a file → its content."""
    return {f"{family}.json": entry(family) for family in _FAMILIES}


def entry(family: str) -> dict[str, Any]:
    """The `server.json` of a family: uvx starts the command with the toolbox beside it, in these versions."""
    description, options, variables = _FAMILIES[family]
    beside = {"type": "named", "name": "--with", "value": f"tooltrue-toolbox[{family}]=={__version__}"}
    words = [{"type": "positional", "value": word} for word in ("serve", family)]
    package = {
        "registryType": "pypi",
        "identifier": "tooltrue",
        "version": __version__,
        "runtimeHint": "uvx",
        "runtimeArguments": [beside],
        "packageArguments": [*words, *options],
        "environmentVariables": variables,
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": SCHEMA,
        "name": f"{NAMESPACE}/{family}",
        "title": f"tooltrue {family}",
        "description": description,
        "version": __version__,
        "packages": [package],
    }


def write() -> None:
    """Write all entries."""
    for name, content in entries().items():
        (FOLDER / name).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
