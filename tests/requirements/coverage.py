"""The duties of a server and of a client, as rows, and the tests that each of them is tied to.

``make requirements`` prints how many are tied, by group and by revision, then the gaps by their
reasons, and fails when something is wrong: a row with neither test nor reason, a reason that a test has overtaken, a
name that no row has.

A row is owed unless it has ``not_offered``: it applies to a feature that does not exist here. STATED rows, duties that
the specification gives without a keyword, count with MUST and MUST NOT. A test that is skipped or expected to fail
covers no row.
"""

from __future__ import annotations

import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Literal

from support.collected import Named, whole_suite

__all__ = [
    "FOLDER",
    "LEVELS",
    "REVISIONS",
    "Requirement",
    "Ties",
    "load",
    "main",
    "report",
    "stale",
    "ties_of",
    "titles",
    "unknown",
    "untied",
]

FOLDER = Path(__file__).parent

Level = Literal["MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "STATED"]
Ties = Mapping[str, list[str]]
"""For each id that a test names, the tests that do."""

LEVELS: tuple[Level, ...] = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "STATED")
REVISIONS = ("2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
EXTENSION = "extension"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A duty. ``revisions`` is one date, the first and the last with two dots between, or ``extension``.

    ``gap`` says why it is owed and not tied; ``not_offered`` why it is not owed.
    """

    id: str
    revisions: str
    role: Literal["server", "client", "both"]
    level: Level
    section: str
    text: str
    gap: str | None = None
    not_offered: str | None = None

    @property
    def group(self) -> str:
        return self.id.rpartition("-")[0]

    @property
    def is_must(self) -> bool:
        return not self.level.startswith("SHOULD")

    def applies(self, revision: str) -> bool:
        if EXTENSION in (self.revisions, revision):
            return self.revisions == revision
        first, _, last = self.revisions.partition("..")
        return first <= revision <= (last or first)


def load(folder: Path = FOLDER) -> tuple[Requirement, ...]:
    """Every row of every file, in the order of the files' names. An unknown member is a ``TypeError``."""
    files = sorted(folder.glob("*.toml"))
    return tuple(Requirement(**row) for file in files for row in tomllib.loads(file.read_text())["requirement"])


def titles(folder: Path = FOLDER) -> dict[str, str]:
    """The title of each group, by its name."""
    return {file.stem.upper(): tomllib.loads(file.read_text())["title"] for file in sorted(folder.glob("*.toml"))}


# --- which tests there are --------------------------------------------------------------------------------------------


def ties_of(tests: Iterable[Named]) -> Ties:
    """The tests that name each row, but for those that will not run."""
    found: dict[str, list[str]] = {}
    for test in tests:
        for id in test.markers["requirement"] if test.runs else ():
            found.setdefault(id, []).append(test.id)
    return found


# --- faults -----------------------------------------------------------------------------------------------------------


def untied(rows: Iterable[Requirement], ties: Ties) -> list[Requirement]:
    """Rows with neither a test nor a reason."""
    return [row for row in rows if row.id not in ties and row.gap is None and row.not_offered is None]


def stale(rows: Iterable[Requirement], ties: Ties) -> list[Requirement]:
    """Rows whose reason no longer holds: there is a test."""
    return [row for row in rows if row.id in ties and (row.gap is not None or row.not_offered is not None)]


def unknown(rows: Iterable[Requirement], ties: Ties) -> list[str]:
    """The identifiers that tests name and no row has."""
    return sorted(ties.keys() - {row.id for row in rows})


# --- the table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Count:
    tied: int
    owed: int

    def __str__(self) -> str:
        return f"{self.tied} of {self.owed}"


def _count(rows: Iterable[Requirement], ties: Ties) -> _Count:
    owed = [row for row in rows if row.not_offered is None]
    return _Count(sum(row.id in ties for row in owed), len(owed))


def _line(name: str, rows: list[Requirement], ties: Ties) -> str:
    must = _count((row for row in rows if row.is_must), ties)
    should = _count((row for row in rows if not row.is_must), ties)
    gaps = sum(row.gap is not None for row in rows)
    return f"{name:<12}{must!s:>12}{should!s:>12}{gaps:>7}{sum(row.not_offered is not None for row in rows):>14}"


def _table(title: str, parts: Iterable[tuple[str, list[Requirement]]], ties: Ties) -> Iterator[str]:
    yield f"{title:<12}{'MUST':>12}{'SHOULD':>12}{'gaps':>7}{'not offered':>14}"
    yield from (_line(name, rows, ties) for name, rows in parts if rows)
    yield ""


def _listed(title: str, rows: Iterable[Requirement], why: Callable[[Requirement], str | None]) -> Iterator[str]:
    """The ids of ``rows`` under the reason that they share, which may be the title alone."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        reasons.setdefault(why(row) or "", []).append(row.id)
    if reasons:
        yield title
    for reason, ids in reasons.items():
        yield from [f"  {reason}"] if reason else []
        yield from textwrap.wrap(", ".join(ids), 100, initial_indent="    ", subsequent_indent="    ")
    yield from [""] if reasons else []


def report(rows: tuple[Requirement, ...], ties: Ties) -> Iterator[str]:
    groups = [(name, list(part)) for name, part in groupby(rows, lambda row: row.group)]
    revisions = [(name, [row for row in rows if row.applies(name)]) for name in (*REVISIONS, EXTENSION)]
    yield from _table("group", groups, ties)
    yield from _table("revision", revisions, ties)
    yield from _listed("gaps", (row for row in rows if row.gap is not None), lambda row: row.gap)
    yield from _listed("neither test nor reason", untied(rows, ties), lambda row: None)
    yield from _listed("a test, and a reason why there is none", stale(rows, ties), lambda row: None)
    yield from [f"named by a test, and no row: {', '.join(unknown(rows, ties))}", ""] if unknown(rows, ties) else []
    must = _count((row for row in rows if row.is_must), ties)
    should = _count((row for row in rows if not row.is_must), ties)
    yield f"MUST {must}, SHOULD {should}, gaps {sum(row.gap is not None for row in rows)}"


def main() -> int:
    rows, ties = load(), ties_of(whole_suite())
    print("\n".join(report(rows, ties)))
    return 1 if untied(rows, ties) or stale(rows, ties) or unknown(rows, ties) else 0


if __name__ == "__main__":
    sys.exit(main())
