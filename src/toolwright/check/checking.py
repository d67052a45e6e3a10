"""All rules over all tools."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from toolwright.check.card import Card, Level, cards
from toolwright.check.subject import Subject, subjects
from toolwright.contract.contract import Contract, Path, place
from toolwright.contract.shown import shown
from toolwright.jsonrpc.messages import Json
from toolwright.loading import load
from toolwright.protocol.types import Value
from toolwright.wording import sentence

__all__ = ["Finding", "Fix", "Problem", "Rule", "checked", "rules"]


class Fix(Value, frozen=True):
    """What is done about a problem without a person: ``value`` is put at ``path``; nothing that anybody would read."""

    path: Path
    value: Json


class Problem(Value, frozen=True):
    """What a rule has found at ``path``, from the definition. ``facts`` fill the sentences of its card.

    ``level`` differs from that of the card where this one is less sure, or worse. ``said`` is one of the
    card's ``also``, whose sentence is said then.
    """

    path: Path
    facts: Mapping[str, Any] = {}
    level: Level | None = None
    fix: Fix | None = None
    said: str | None = None


Rule: TypeAlias = Callable[[Subject], Iterable[Problem]]
"""Looks at one tool. It reads, quickly, and never raises, whatever the definition holds."""


class Finding(Value, frozen=True):
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
    """Yield the findings of all rules in the tools of these named servers. A model is taken to see all tools at once.

    Several processes judge many tools.
    """
    tools = subjects(contracts)
    count = 1 if len(tools) < _MANY else load("check.parallel:process_count")()
    if count == 1:
        yield from _found(tools)
        return
    # The first tools are judged before any process is started: it is found out then what all tools have in common.
    first, rest = tools[:_FIRST], tools[_FIRST:]
    yield from _found(first)
    size = -(-len(rest) // (count * _SHARES))
    shares = [rest[start : start + size] for start in range(0, len(rest), size)]
    results: Iterator[list[_Row]] = load("check.parallel:map_in_processes")(_problems, shares, count)
    for share, rows in zip(shares, results, strict=True):
        for number, rule, problem in rows:
            yield Finding(share[number].server, share[number].key, cards()[rule], problem)


_MANY: Final = 500
"""Fewer tools are judged by one process as quickly as by several, which have to be started."""
_FIRST: Final = 100
_SHARES: Final = 4
"""Shares of the tools that each process takes, one after the other: some take longer than others."""


def _found(tools: Sequence[Subject]) -> Iterator[Finding]:
    for tool in tools:
        for card, problems in rules():
            for problem in problems(tool):
                yield Finding(tool.server, tool.key, card, problem)


_Row: TypeAlias = tuple[int, str, Problem]
"""The place of a tool, the name of a rule, and what it has found: as it goes from one process to another."""


def _problems(tools: Sequence[Subject]) -> list[_Row]:
    return [
        (number, card.name, problem)
        for number, tool in enumerate(tools)
        for card, problems in rules()
        for problem in problems(tool)
    ]
