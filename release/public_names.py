"""The public names of the distributions, and the promise about them: a name is deprecated in a release before it goes.

    python -m release.public_names      adds the new names to public_names.toml

`public_names.toml` lists each name that a release had or the next one has, and is never shortened: a name that is
removed stays in it with the releases that deprecated and removed it.
"""

from __future__ import annotations

import importlib
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from click import Command, Context, Group
from packaging.version import Version

from tooltrue.cli.main import cli
from tooltrue.version import __version__

__all__ = ["FILE", "MODULES", "Name", "deprecated_in_code", "exported", "faults", "load"]

FILE = Path(__file__).with_name("public_names.toml")
FAMILIES = ("catalog", "command", "files", "github", "language", "mail", "math", "settings", "sql", "tables", "web")
MODULES = ("tooltrue", "tooltrue.testing", *(f"tooltrue_toolbox.{family}" for family in FAMILIES))
"""The modules whose `__all__` is public."""
COMMAND = "the command"
"""In the place of a module: the verbs of the command, with their options."""


@dataclass(frozen=True)
class Name:
    """The releases of a public name."""

    since: str
    deprecated: str | None = None
    removed: str | None = None
    instead: str | None = None


Names = Mapping[str, Mapping[str, Name]]
"""Module → name → its releases."""


def load(text: str) -> Names:
    """Read the list."""
    read = tomllib.loads(text)
    return {module: {name: Name(**facts) for name, facts in names.items()} for module, names in read.items()}


def exported() -> dict[str, set[str]]:
    """Module → the names that it exports now."""
    found = {module: set(importlib.import_module(module).__all__) for module in MODULES}
    return {**found, COMMAND: set(_verbs())}


def _verbs() -> Iterator[str]:
    waiting: list[tuple[tuple[str, ...], Command]] = [((), cli)]
    while waiting:
        path, command = waiting.pop()
        yield from (" ".join((*path, word)) for one in command.params for word in one.opts if word.startswith("--"))
        if isinstance(command, Group):
            for name in command.list_commands(Context(command)):
                member = command.get_command(Context(command), name)
                assert member is not None
                yield " ".join((*path, name))
                waiting.append(((*path, name), member))


def deprecated_in_code() -> dict[str, dict[str, tuple[str, str]]]:
    """Module → the names whose use warns, with the release that deprecated each and its replacement."""
    modules = {module: importlib.import_module(module) for module in MODULES}
    return {name: dict(getattr(module, "_DEPRECATED", {})) for name, module in modules.items()}


def faults(listed: Names, now: Mapping[str, set[str]], version: str) -> Iterator[str]:
    """Report what breaks the promise: `now` has the exported names, and `version` is the release to come."""
    for module, names in listed.items():
        for name, releases in names.items():
            yield from (
                f"{module}: {name} {fault}" for fault in _faults(releases, name in now[module], Version(version))
            )
    for module, names in now.items():
        for name in sorted(names - listed.get(module, {}).keys()):
            yield f"{module}: {name} is new: run python -m release.public_names"


def _faults(name: Name, is_exported: bool, version: Version) -> Iterator[str]:
    if name.deprecated and Version(name.since) >= Version(name.deprecated):
        yield "is deprecated by the release that adds it, or before"
    if name.removed:
        if is_exported:
            yield "is exported, but listed as removed"
        if not name.deprecated or Version(name.deprecated) >= Version(name.removed):
            yield "is removed without a release before that deprecates it"
    elif not is_exported:
        gone = name.deprecated and Version(name.deprecated) < version
        yield f"has vanished: add removed = {str(version)!r}" if gone else "has vanished, and no release deprecated it"


def written(listed: Names) -> str:
    """The list as TOML, in alphabetical order."""
    return "# Written by release/public_names.py. A line is never deleted.\n" + "".join(_tables(listed))


def _tables(listed: Names) -> Iterator[str]:
    for module, names in listed.items():
        yield f"\n[{json.dumps(module)}]\n"
        for name, one in sorted(names.items()):
            facts = ", ".join(f"{key} = {json.dumps(value)}" for key, value in vars(one).items() if value)
            yield f"{json.dumps(name)} = {{ {facts} }}\n"


def main() -> int:
    listed = load(FILE.read_text("utf-8")) if FILE.exists() else {}
    now = exported()
    added = {module: {name: Name(__version__) for name in names} for module, names in now.items()}
    merged = {module: {**names, **listed.get(module, {})} for module, names in added.items()}
    FILE.write_text(written(merged), "utf-8")
    left = list(faults(merged, now, __version__))
    print(*left, sep="\n", end="\n" if left else "", file=sys.stderr)
    return int(bool(left))


if __name__ == "__main__":
    sys.exit(main())
