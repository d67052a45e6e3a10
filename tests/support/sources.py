"""The source files of all distributions, by names such as ``server/http.py`` and ``tooltrue_check/card.py``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import tooltrue
import tooltrue_check
import tooltrue_console
import tooltrue_toolbox

__all__ = ["CONSTANTS", "FILES", "ROOT", "SOURCES", "codes_in", "named"]

ROOT = Path(__file__).parents[2]
SOURCES = [
    Path(package.__file__ or "").parent for package in (tooltrue, tooltrue_check, tooltrue_console, tooltrue_toolbox)
]


def named(pattern: str) -> Iterator[tuple[str, Path]]:
    """Each file that matches the pattern, with its name."""
    for source in SOURCES:
        prefix = "" if source.name == "tooltrue" else f"{source.name}/"
        for path in sorted(source.rglob(pattern)):
            yield f"{prefix}{path.relative_to(source).as_posix()}", path


FILES = dict(named("*.py"))
"""Name → path of each module."""


def _constants() -> Iterator[tuple[str, str]]:
    for name, path in FILES.items():
        if name.endswith("wording.py"):
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                match node:
                    case ast.AnnAssign(
                        target=ast.Name(id=constant), value=ast.Call(args=[ast.Constant(value=code), *_])
                    ):
                        yield constant, str(code)


CONSTANTS = dict(_constants())
"""Constant → code of each message of all catalogues."""


def codes_in(path: Path) -> set[str]:
    """The codes of the messages that a file names, by their constants or as text. For a catalogue: the empty set."""
    if path.name == "wording.py":
        return set()
    text = path.read_text(encoding="utf-8")
    by_name = {CONSTANTS[word] for word in re.findall(r"\b[A-Z][A-Z0-9_]+\b", text) if word in CONSTANTS}
    return by_name | set(re.findall(r"\bTT\d{4}\b", text))
