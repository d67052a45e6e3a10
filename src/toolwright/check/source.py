"""A server that is judged, and what is known of where its definitions are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from toolwright.check.positions import Positions
from toolwright.contract.contract import Contract, Path
from toolwright.jsonrpc.messages import Json

__all__ = ["Place", "Rewrite", "Source"]

Rewrite: TypeAlias = Callable[["Source", Sequence[tuple[str, Path, Json]]], "Source"]
"""What a source would be with values at paths of tools; itself where none of them has a place in its text."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line, from 1, of a file."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Source:
    """``target`` is what was asked for, ``server`` what it is called in a report.

    Of a file ``file`` and ``text`` are there; where it is JSON, for each tool ``roots``, the path to its definition in
    it; of a server of ours ``written``, the places of its functions, and ``excused``, the rules that a tool does not
    follow. ``rewrite`` is there where whoever changes the file changes the definitions.
    """

    target: str
    server: str
    contract: Contract
    file: str = ""
    text: str = field(default="", repr=False)
    roots: Mapping[str, Path] = field(default_factory=dict[str, Path])
    rewrite: Rewrite | None = field(default=None, repr=False)
    written: Mapping[str, Place] = field(default_factory=dict[str, Place])
    excused: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.text)

    def place(self, tool: str, path: Path) -> Place | None:
        """Where that is written, as near as it is known."""
        if tool in self.roots:
            return Place(self.file, self.positions.line((*self.roots[tool], *path)))
        return self.written.get(tool)
