"""A finding in a definition: its place, its severity and the reason for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from tooltrue.contract.contract import Path, place
from tooltrue.contract.display import display_safe
from tooltrue.jsonrpc.messages import Json
from tooltrue.wording import sentence

__all__ = ["ScanFinding", "Severity", "is_blocked"]


class Severity(Enum):
    BLOCK = "block"
    WARN = "warn"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class ScanFinding:
    """A suspicious part of a definition: ``path`` leads to it from the definition, ``excerpt`` is safe to print."""

    code: str
    severity: Severity
    path: Path
    excerpt: str
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def place(self) -> str:
        return place(self.path)

    def say(self, language: str = "en") -> str:
        """The reason for the finding."""
        return display_safe(sentence(self.code, language, self.facts))

    def data(self) -> dict[str, Json]:
        return {
            "code": self.code,
            "severity": self.severity.value,
            "path": self.place,
            "excerpt": self.excerpt,
            "text": self.say(),
        }


def is_blocked(findings: Iterable[ScanFinding]) -> bool:
    return any(one.severity is Severity.BLOCK for one in findings)
