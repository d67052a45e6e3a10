"""Admission of the definitions that a server publishes, before they are shown to anyone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from tooltrue.contract.contract import Contract
from tooltrue.contract.finding import ScanFinding, is_blocked
from tooltrue.contract.neighbours import Neighbours
from tooltrue.contract.scan import scan, scan_text
from tooltrue.errors import DefinitionError
from tooltrue.host.wording import DEFINITION_POISONED
from tooltrue.protocol.types import Value

__all__ = ["AdmissionVerdict", "Entry", "Judge", "poisoned", "scanned", "suspicious"]

Entry: TypeAlias = tuple[str, str]
"""A definition of a contract: its section (``tools``, ``prompts`` or ``resources``), and its name or URI."""


class AdmissionVerdict(Value, frozen=True):
    """The parts of a contract to quarantine: definitions, each with the reason, and the instructions of the server.
    ``findings`` are all suspicious contents, quarantined or not."""

    quarantined: Mapping[Entry, DefinitionError] = {}
    holds_instructions: bool = False
    findings: Mapping[Entry, tuple[ScanFinding, ...]] = {}


Judge: TypeAlias = Callable[[Contract, Neighbours], AdmissionVerdict]
"""Judges a contract before it is shown to anyone, on a thread of its own. The neighbours are the tools of other
servers. Of resources, a contract has only the templates: single resources are data that comes and goes."""


def scanned(contract: Contract, neighbours: Neighbours) -> AdmissionVerdict:
    """Quarantine text that seems meant for a model and hidden from a person."""
    findings = suspicious(contract, neighbours)
    quarantined = {entry: poisoned(entry[1], what) for entry, what in findings.items() if is_blocked(what)}
    return AdmissionVerdict(quarantined, is_blocked(_instructions(contract, neighbours)), findings)


def suspicious(contract: Contract, neighbours: Neighbours) -> dict[Entry, tuple[ScanFinding, ...]]:
    """The findings of each suspicious definition."""
    own = frozenset(contract.tools)
    every = [
        ((section, name), definition)
        for section, entries in contract.sections()
        for name, definition in sorted(entries.items())
    ]
    return {entry: findings for entry, definition in every if (findings := scan(definition, neighbours, own))}


def _instructions(contract: Contract, neighbours: Neighbours) -> tuple[ScanFinding, ...]:
    return scan_text(contract.instructions or "", neighbours=neighbours, own=frozenset(contract.tools))


def poisoned(name: str, findings: Iterable[ScanFinding]) -> DefinitionError:
    excerpts = "; ".join(f"{one.place}: {one.say()} {one.excerpt}".strip() for one in findings)
    return DefinitionError.of(DEFINITION_POISONED, name=name[:128], findings=excerpts[:1_000])
