"""Application of all rules to all tools."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from tooltrue.check.card import Card, Level, cards
from tooltrue.check.subject import Subject, subjects
from tooltrue.contract.contract import Contract, Path, place
from tooltrue.contract.shown import shown
from tooltrue.jsonrpc.messages import Json
from tooltrue.loading import load
from tooltrue.protocol.types import Value
from tooltrue.wording import sentence

__all__ = ["Finding", "Fix", "Problem", "Rule", "checked", "rules"]


class Fix(Value, frozen=True):
    """An automatic fix for a problem: ``value`` is put at ``path``. Texts that a person or a model reads are never
    changed."""

    path: Path
    value: Json


class Problem(Value, frozen=True):
    """A problem that a rule has found at ``path``, from the definition. ``facts`` fill the sentences of its card.

    ``level`` overrides that of the card if this problem is less certain, or worse. ``said`` is one of the card's
    ``also`` codes, whose sentence is used instead.
    """

    path: Path
    facts: Mapping[str, Any] = {}
    level: Level | None = None
    fix: Fix | None = None
    said: str | None = None


Rule: TypeAlias = Callable[[Subject], Iterable[Problem]]
"""A check of one tool. It only reads, is fast, and never raises, whatever the definition contains."""


class Finding(Value, frozen=True):
    """A problem of a tool, by its key in the contract, with the card of the rule."""

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
        """The description of the problem."""
        if self.problem.said is not None:
            return shown(sentence(self.problem.said, language, self.problem.facts))
        return shown(self.card.words[language].says.format(**self.problem.facts))

    def instead(self, language: str = "en") -> str:
        """The suggested correction."""
        return shown(self.card.words[language].instead.format(**self.problem.facts))


@functools.cache
def rules() -> tuple[tuple[Card, Rule], ...]:
    """All rules: the function ``problems`` of each module in ``rules/`` that has a card."""
    return tuple((card, load(f"check.rules.{name}:problems")) for name, card in cards().items())


def checked(contracts: Iterable[tuple[str, Contract]]) -> Iterator[Finding]:
    """Yield the findings of all rules in the tools of these named servers. A model is assumed to see all tools at once.

    Many tools are shared among several processes.
    """
    tools = subjects(contracts)
    count = 1 if len(tools) < _MANY else load("check.parallel:process_count")()
    if count == 1:
        yield from _found(tools)
        return
    # The first tools are judged before any process is started: this computes the facts about all tools together.
    first, rest = tools[:_FIRST], tools[_FIRST:]
    yield from _found(first)
    size = -(-len(rest) // (count * _SHARES))
    shares = [rest[start : start + size] for start in range(0, len(rest), size)]
    results: Iterator[list[_Row]] = load("check.parallel:map_in_processes")(_problems, shares, count)
    for share, rows in zip(shares, results, strict=True):
        for number, rule, problem in rows:
            yield Finding(share[number].server, share[number].key, cards()[rule], problem)


_MANY: Final = 500
"""With fewer tools, one process is as fast as several, which take time to start."""
_FIRST: Final = 100
_SHARES: Final = 4
"""Shares per process, which takes one after the other: some take longer than others."""


def _found(tools: Sequence[Subject]) -> Iterator[Finding]:
    for tool in tools:
        for card, problems in rules():
            for problem in problems(tool):
                yield Finding(tool.server, tool.key, card, problem)


_Row: TypeAlias = tuple[int, str, Problem]
"""The index of a tool, the name of a rule, and a problem: the form in which results are sent between processes."""


def _problems(tools: Sequence[Subject]) -> list[_Row]:
    return [
        (number, card.name, problem)
        for number, tool in enumerate(tools)
        for card, problems in rules()
        for problem in problems(tool)
    ]
