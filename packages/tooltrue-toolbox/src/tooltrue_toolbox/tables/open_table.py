"""A file that is open for one call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from tooltrue.tools.vocabulary import Slice
from tooltrue_toolbox.tables.layout import Layout
from tooltrue_toolbox.tables.notation import numbers_note
from tooltrue_toolbox.tables.table_results import Analysis, Description, Rows, Skipped

__all__ = ["OpenTable"]

R = TypeVar("R", "Description", "Rows", "Analysis")


@dataclass(frozen=True, slots=True)
class OpenTable:
    """An open file, its layout, and its version, by which a cursor recognises it."""

    fd: int
    display_path: str
    layout: Layout
    version: str
    size: int
    skipped: list[Skipped]
    """The rows that the last reading has left out, if any."""
    slices: list[Slice]

    def beginning(self, cell: str, most: int) -> str:
        """The first ``most`` characters of a cell; the cut is recorded, since a secret may end there."""
        if len(cell) > most:
            self.slices.append(Slice.of(cell, 0, most))
        return cell[:most]

    def call_ambiguous(self, name: str) -> None:
        """Mark a column as ambiguous whose first ambiguous number stands far down in the file."""
        notes = self.layout.read_as.setdefault("numbers", [])
        if not any(name in each["columns"] for each in notes):
            notes.append(numbers_note(".", "", True, [name]))

    def note(self, result: R) -> R:
        if self.skipped:
            result["skipped"] = self.skipped[0]
        return result
