"""The entries of our toolboxes for the registry of MCP servers, one `server.json` for each family.

    python -m release.registry      writes them

The registry accepts an entry if the README of the package on the index has `mcp-name: NAME` with its name, in a comment
of HTML too: https://modelcontextprotocol.io/registry/package-types. The same command writes these lines. `NAMESPACE` is
a placeholder until the repository has its place: a name in `io.github.OWNER` needs a sign-in as this owner.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tooltrue.cli.families import Family, FamilyOption
from tooltrue.version import __version__
from tooltrue_toolbox import families

__all__ = ["FOLDER", "README", "SCHEMA", "entries", "entry", "readme"]

FOLDER = Path(__file__).parent
README = FOLDER.parents[1] / "packages" / "tooltrue" / "README.md"
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
NAMESPACE = "io.github.tooltrue"


@dataclass(frozen=True)
class _Entry:
    """A family in the registry: what it does, the options without which it does not start, those that are not offered,
    and its variables."""

    description: str
    required: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    variables: tuple[Mapping[str, Any], ...] = ()


def _secret(name: str, description: str, *, required: bool = False) -> Mapping[str, Any]:
    return {"name": name, "description": description, "isRequired": required, "isSecret": True}


_ENTRIES: Mapping[str, _Entry] = {
    "catalog": _Entry("Search products of a shop by words, category and price."),
    "command": _Entry(
        "Run programs that you have allowed, without a shell, and confined on Linux.",
        required=("--root", "--commands"),
        left_out=("--allow",),  # instead of --commands
    ),
    "files": _Entry(
        "Read, find, write, edit, move and delete files within the folders that you name.", required=("--root",)
    ),
    "github": _Entry(
        "Search, read and write issues of the GitHub repositories that you name.",
        required=("--repo",),
        variables=(_secret("GITHUB_TOKEN", "A token for these repositories"),),
    ),
    "language": _Entry(
        "Translate texts with a service that has the API of LibreTranslate.",
        required=("--translate-url",),
        variables=(_secret("TRANSLATE_API_KEY", "The key of the service, if it needs one"),),
    ),
    "mail": _Entry(
        "Send plain-text mail by SMTP to recipients that you have allowed, after you have seen it.",
        required=("--smtp", "--mail-from", "--mail-to"),
        variables=(_secret("TOOLTRUE_SMTP_PASSWORD", "The password of the user in the URL"),),
    ),
    "math": _Entry("Calculate exactly."),
    "openapi": _Entry(
        "Use an HTTP API by the tools that are made of its OpenAPI description.", required=("--spec", "--api-url")
    ),
    "settings": _Entry("Store named settings and a log in a file.", required=("--store",)),
    "sql": _Entry(
        "Query a SQLite, DuckDB, PostgreSQL or MySQL database; reading only, unless you allow more.",
        left_out=("--database",),  # its URL may have a password, which a variable keeps out of the command line
        variables=(_secret("TOOLTRUE_DATABASE", "The URL of the database", required=True),),
    ),
    "tables": _Entry(
        "Query CSV, Parquet, JSON and Excel files within the folders that you name.", required=("--root",)
    ),
    "web": _Entry("Read pages of the public web as text, and the weather."),
}


def entries() -> dict[str, dict[str, Any]]:
    """Name of a file → its content."""
    return {f"{family}.json": entry(family) for family in _ENTRIES}


def entry(family: str) -> dict[str, Any]:
    """The `server.json` of a family: uvx starts the command with the toolbox beside it, in these versions."""
    facts = _ENTRIES[family]
    made: Family = getattr(families, family.upper())
    beside = {"type": "named", "name": "--with", "value": f"tooltrue-toolbox[{family}]=={__version__}"}
    words = [{"type": "positional", "value": word} for word in ("serve", family)]
    options = [_argument(option, facts) for option in made.options if option.name not in facts.left_out]
    package = {
        "registryType": "pypi",
        "identifier": "tooltrue",
        "version": __version__,
        "runtimeHint": "uvx",
        "runtimeArguments": [beside],
        "packageArguments": [*words, *options],
        "environmentVariables": list(facts.variables),
        "transport": {"type": "stdio"},
    }
    return {
        "$schema": SCHEMA,
        "name": _name(family),
        "title": f"tooltrue {family}",
        "description": facts.description,
        "version": __version__,
        "packages": [package],
    }


def _name(family: str) -> str:
    return f"{NAMESPACE}/{family}"


def _argument(option: FamilyOption, facts: _Entry) -> dict[str, Any]:
    """An option with its help, without the names of the families that stand before it."""
    text, repeatable, _ = option.help.partition(" Repeatable.")
    kind = {"format": "filepath"} if option.placeholder in ("DIR", "FILE") else {}
    return {
        "type": "named",
        "name": option.name,
        "description": text.partition(": ")[2],
        **kind,
        "isRequired": option.name in facts.required,
        "isRepeated": bool(repeatable),
    }


def readme(text: str) -> str:
    """The README of the package with the lines that the registry looks for, at its end."""
    lines = "".join(f"<!-- mcp-name: {_name(family)} -->\n" for family in _ENTRIES)
    return re.sub(r"\n*(<!-- mcp-name: \S+ -->\n)*$", "", text, count=1) + "\n\n" + lines


def write() -> None:
    """Write all entries, and the lines of the README."""
    for name, content in entries().items():
        (FOLDER / name).write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    README.write_text(readme(README.read_text("utf-8")), "utf-8")
