"""The sections of the console, in the order of the navigation. A section that is not listed does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tooltrue_console.pages import approvals, calls, contracts, doctor, log, now, rules, tasks, trial
from tooltrue_console.visits import Endpoint

__all__ = ["SECTIONS", "ConsoleSection", "section_of"]


@dataclass(frozen=True, slots=True)
class ConsoleSection:
    """A section: ``name`` is its phrase, and the first part of its addresses."""

    name: str
    endpoints: Sequence[Endpoint]

    @property
    def path(self) -> str:
        return f"/{self.name}"


SECTIONS: Final[Sequence[ConsoleSection]] = (
    ConsoleSection("now", now.ENDPOINTS),
    ConsoleSection("approvals", approvals.ENDPOINTS),
    ConsoleSection("calls", calls.ENDPOINTS),
    ConsoleSection("tasks", tasks.ENDPOINTS),
    ConsoleSection("contracts", contracts.ENDPOINTS),
    ConsoleSection("try", trial.ENDPOINTS),
    ConsoleSection("rules", rules.ENDPOINTS),
    ConsoleSection("log", log.ENDPOINTS),
    ConsoleSection("doctor", doctor.ENDPOINTS),
)


def section_of(path: str) -> str:
    """The name of the section that an address belongs to."""
    return path.split("/")[1]
