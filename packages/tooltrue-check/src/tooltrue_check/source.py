"""A server to be judged, and the known places of its definitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from tooltrue.contract.contract import Contract, Path
from tooltrue.jsonrpc.messages import Json
from tooltrue_check.positions import Positions

__all__ = ["FileLine", "Rewrite", "ToolSource"]

Rewrite: TypeAlias = Callable[["ToolSource", Sequence[tuple[str, Path, Json]]], "ToolSource"]
"""Applies values at paths of tools to a source. Returns the source itself if none of them has a place in its text."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line, from 1, of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class ToolSource:
    """A server and the origin of its definitions. ``target`` is the argument of the command, ``server`` the name in a
    report.

    Sources from a file have ``file`` and ``text``; if it is JSON, also ``roots``, the path to the definition of each
    tool. Servers built with tooltrue have ``places``, the places of their functions, and ``excused``, the rules that
    a tool does not follow. ``rewrite`` is set if a change of the file changes the definitions.
    """

    target: str
    server: str
    contract: Contract
    file: str = ""
    text: str = field(default="", repr=False)
    roots: Mapping[str, Path] = field(default_factory=dict[str, Path])
    rewrite: Rewrite | None = field(default=None, repr=False)
    places: Mapping[str, FileLine] = field(default_factory=dict[str, FileLine])
    excused: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.text)

    def place(self, tool: str, path: Path) -> FileLine | None:
        """The place of a value, as exact as it is known."""
        if tool in self.roots:
            return FileLine(self.file, self.positions.line((*self.roots[tool], *path)))
        return self.places.get(tool)
