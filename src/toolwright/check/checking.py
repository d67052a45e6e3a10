"""All rules over all tools."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from toolwright.check.card import Card, Level, cards
from toolwright.check.subject import Subject, subjects
from toolwright.contract.contract import Contract, Path, place
from toolwright.contract.shown import shown
from toolwright.jsonrpc.messages import Json
from toolwright.loading import load
from toolwright.wording import sentence

__all__ = ["Finding", "Fix", "Problem", "Rule", "checked", "rules"]


@dataclass(frozen=True, slots=True)
class Fix:
    """What is done about a problem without a person: ``value`` is put at ``path``; nothing that anybody would read."""

    path: Path
    value: Json


@dataclass(frozen=True, slots=True)
class Problem:
    """What a rule has found at ``path``, from the definition. ``facts`` fill the sentences of its card.

    ``level`` differs from that of the card where this one is less sure, or worse. ``said`` is one of the
    card's ``also``, whose sentence is said then.
    """

    path: Path
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    level: Level | None = None
    fix: Fix | None = None
    said: str | None = None


Rule: TypeAlias = Callable[[Subject], Iterable[Problem]]
"""Looks at one tool. It reads, quickly, and never raises, whatever the definition holds."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem of a tool, by its key in the contract, and the card that it goes by."""

    server: str
    tool: str
    card: Card
    problem: Problem

    @property
    def code(self) -> str:
        return self.card.code

    @property
    def level(self) -> Level:
        return self.problem.level or self.card.level

    @property
    def place(self) -> str:
        return place(self.problem.path)

    def say(self, language: str = "en") -> str:
        """What is wrong."""
        if self.problem.said is not None:
            return shown(sentence(self.problem.said, language, self.problem.facts))
        return shown(self.card.words[language].says.format(**self.problem.facts))

    def instead(self, language: str = "en") -> str:
        """What to write instead."""
        return shown(self.card.words[language].instead.format(**self.problem.facts))


@functools.cache
def rules() -> tuple[tuple[Card, Rule], ...]:
    """The rules there are: ``problems`` of each module in ``rules/`` that has a card."""
    return tuple((card, load(f"check.rules.{name}:problems")) for name, card in cards().items())


def checked(contracts: Iterable[tuple[str, Contract]]) -> Iterator[Finding]:
    """What all rules find in the tools of these servers, named. The tools of all are taken to be seen at once."""
    for subject in subjects(contracts):
        for card, problems in rules():
            for problem in problems(subject):
                yield Finding(subject.server, subject.key, card, problem)
