"""Detection rates over the project's own corpus: attacks found in a family, and benign look-alikes flagged.

Where detection is heuristic, "blocked" would promise too much. A row of ``rows.toml`` names a measurement instead
(``heuristic = "definitions"``), and ``docs/security.md`` states its figures. A measurement uses no clock, no network
and no randomness, so that the page with its figures is the same on every machine.
"""

from __future__ import annotations

import functools
import tomllib
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from security import spellings
from tooltrue.contract.finding import ScanFinding, Severity
from tooltrue.contract.scan import scan
from tooltrue.errors import DefinitionError
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.input_requests import InputRequest, check_request, elicitation_form

__all__ = ["MEASUREMENTS", "PLACES", "Measured", "definitions", "forms", "is_refused", "measure"]

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Measured:
    """``found`` of ``attacks`` were found; ``flagged`` of ``twins``, which are benign, were flagged all the same."""

    found: int
    attacks: int
    flagged: int
    twins: int

    def state(self) -> str:
        recall, alarms = self.found / self.attacks, self.flagged / self.twins
        return (
            f"heuristic: finds {recall:.0%} ({self.found} of {self.attacks}), "
            f"flags {alarms:.0%} of benign ones ({self.flagged} of {self.twins})"
        )


@functools.cache
def measure(name: str) -> Measured:
    return MEASUREMENTS[name]()


def definitions(*, measured: bool = True, languages: Collection[str] = ()) -> Measured:
    """Measure one half of the texts of ``orders.toml``, each as a tool's description. A text is found or flagged if a
    person is warned of it, or never sees it."""
    said = tomllib.loads((FOLDER / "orders.toml").read_text("utf-8"))
    chosen = [groups for language, groups in said.items() if not languages or language in languages]
    attacks = [text for groups in chosen for kind, texts in groups.items() if kind != "benign" for text in texts]
    twins = [text for groups in chosen for text in groups["benign"]]
    attacks, twins = ([text for text in texts if _is_measured(text) is measured] for texts in (attacks, twins))
    found, flagged = (sum(_is_flagged(scan(_tool(text))) for text in texts) for texts in (attacks, twins))
    return Measured(found, len(attacks), flagged, len(twins))


def _is_measured(text: str) -> bool:
    """Whether a text belongs to the half that is measured; the other one is for tuning."""
    return zlib.crc32(text.encode()) % 2 == 1


def _tool(description: str) -> dict[str, Any]:
    return {"name": "t", "description": description, "inputSchema": {"type": "object"}}


def _is_flagged(findings: tuple[ScanFinding, ...]) -> bool:
    return any(one.severity is not Severity.NOTE for one in findings)


def _secrets() -> Measured:
    """Measure secrets of each kind in each spelling; a secret is found if it is redacted without a usable remainder."""
    rows = list(spellings.family())
    found = sum(spellings.is_masked(secret, spelling) for _, secret, spelling in rows)
    twins = spellings.benign()
    return Measured(found, len(rows), sum(spellings.swept(text) != text for text in twins), len(twins))


def forms() -> Measured:
    """Measure the texts of ``forms.toml``, each in every text field of a form; found means refused."""
    said = tomllib.loads((FOLDER / "forms.toml").read_text("utf-8"))
    counts = [
        [is_refused(place(text)) for text in said[kind] for place in PLACES.values()] for kind in ("asks", "benign")
    ]
    return Measured(sum(counts[0]), len(counts[0]), sum(counts[1]), len(counts[1]))


def _form(message: str = "Please fill in", name: str = "value", **field: Json) -> InputRequest:
    return elicitation_form(message, {"type": "object", "properties": {name: {"type": "string", **field}}})


PLACES: Mapping[str, Callable[[str], InputRequest]] = {
    "name": lambda text: _form(name=text),
    "title": lambda text: _form(title=text),
    "description": lambda text: _form(description=text),
    "message": _form,
    "default": lambda text: _form(default=text),
    "enum": lambda text: _form(enum=["other", text]),
    "titled choice": lambda text: _form(oneOf=[{"const": "a", "title": text}]),
}


def is_refused(request: InputRequest) -> bool:
    try:
        check_request(request)
    except DefinitionError as error:
        return error.code == "TT3202"
    return False


MEASUREMENTS: Mapping[str, Callable[[], Measured]] = {
    "definitions": definitions,
    "forms": forms,
    "secrets": _secrets,
}
"""By the name that a row of ``rows.toml`` gives as ``heuristic``."""
