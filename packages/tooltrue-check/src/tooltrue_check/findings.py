"""Application of all rules to all tools."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final, TypeAlias

from tooltrue._internal.computed_imports import load
from tooltrue.contract.contract import Contract, Path, place
from tooltrue.contract.display import display_safe
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import Value
from tooltrue.wording import sentence
from tooltrue_check.card import Card, Level, cards
from tooltrue_check.subject import Subject, lazy, subjects

__all__ = ["Fix", "Problem", "Rule", "RuleFinding", "check_contracts", "rules"]


class Fix(Value, frozen=True):
    """An automatic fix for a problem: ``value`` is put at ``path``. Texts that a person or a model reads are never
    changed."""

    path: Path
    value: Json


class Problem(Value, frozen=True):
    """A problem that a rule has found at ``path``, from the definition. ``facts`` fill the sentences of its card.

    ``level`` overrides that of the card if this problem is less certain, or worse. ``sentence_code`` is one of the
    card's ``also`` codes, whose sentence is used instead.
    """

    path: Path
    facts: Mapping[str, Any] = {}
    level: Level | None = None
    fix: Fix | None = None
    sentence_code: str | None = None


Rule: TypeAlias = Callable[[Subject], Iterable[Problem]]
"""A check of one tool. It only reads, is fast, and never raises, whatever the definition contains."""


class RuleFinding(Value, frozen=True, dict=True):
    """A problem of a tool, by its key in the contract, with the card of the rule."""

    server: str
    tool: str
    card: Card
    problem: Problem

    @property
    def code(self) -> str:
        return self.card.code

    @lazy
    def level(self) -> Level:
        return self.problem.level or self.card.level

    @lazy
    def place(self) -> str:
        return place(self.problem.path)

    def say(self, language: str = "en") -> str:
        """The description of the problem."""
        if self.problem.sentence_code is not None:
            return display_safe(sentence(self.problem.sentence_code, language, self.problem.facts))
        return display_safe(self.card.words[language].says.format(**self.problem.facts))

    def instead(self, language: str = "en") -> str:
        """The suggested correction."""
        return display_safe(self.card.words[language].instead.format(**self.problem.facts))


@functools.cache
def rules() -> tuple[tuple[Card, Rule], ...]:
    """All rules: the function ``problems`` of each module in ``rules/`` that has a card."""
    return tuple((card, _rule(name)) for name, card in cards().items())


def _rule(name: str) -> Rule:
    return load(f"tooltrue_check.rules.{name}:problems")


def check_contracts(contracts: Iterable[tuple[str, Contract]]) -> Iterator[RuleFinding]:
    """Yield the findings of all rules in the tools of these named servers. A model is assumed to see all tools at once.

    Many tools are shared among several processes.
    """
    tools = subjects(contracts)
    if len(tools) < _MANY or (count := _process_count()) == 1:
        rows = _rows((tools, range(len(tools)), range(len(cards()))))
    else:
        rows = _rows_of_processes(tools, count)
    ordered = list(cards().values())
    for number, rule, problem in rows:
        yield RuleFinding(tools[number].server, tools[number].key, ordered[rule], problem)


def _process_count() -> int:
    from tooltrue_check.parallel import process_count  # noqa: PLC0415 - few runs need it

    return process_count()


_MANY: Final = 500
"""With fewer tools, one process is as fast as several, which take time to start."""
_SHARES: Final = 8
"""Shares per process, which takes one after the other: some take longer than others."""
_COMPARING: Final = frozenset({"confusable", "same_description"})
"""The rules whose first answer takes long, since it compares all tools: one process applies them to all tools."""
_VALIDATING: Final = frozenset({"vague_type"})
"""The rules that pass on nothing, but ask whether the validator refuses a schema."""

_Share: TypeAlias = tuple[Sequence[Subject], Sequence[int], Sequence[int]]
"""All tools, and the indices of those to judge and of the rules to apply."""
_Row: TypeAlias = tuple[int, int, Problem]
"""The indices of a tool and of a rule, and a problem: the form in which results are sent between processes."""


def _rows_of_processes(tools: Sequence[Subject], count: int) -> list[_Row]:
    """Some processes begin with the rules that pass on findings of the runtime, and load its patterns; the others with
    all other rules, and load the Chinese dictionary."""
    from tooltrue_check.parallel import map_in_processes  # noqa: PLC0415 - few runs need it

    by_kind: dict[str, list[int]] = {"comparing": [], "passing on": [], "reading": []}
    for number, card in enumerate(cards().values()):
        is_passed_on = card.also or card.name in _VALIDATING
        kind = "comparing" if card.name in _COMPARING else "passing on" if is_passed_on else "reading"
        by_kind[kind].append(number)
    size = -(-len(tools) // (count * _SHARES))
    parts = [range(len(tools))[start : start + size] for start in range(0, len(tools), size)]
    passing_on: list[_Share] = [(tools, part, by_kind["passing on"]) for part in parts]
    reading: list[_Share] = [(tools, part, by_kind["reading"]) for part in parts]
    comparing: _Share = (tools, range(len(tools)), by_kind["comparing"])
    share_rows = map_in_processes(_list_of_rows, [passing_on, [comparing, *reading]], count)
    return sorted(
        chain.from_iterable(share_rows), key=itemgetter(0, 1)
    )  # stable: problems of one rule keep their order


def _list_of_rows(share: _Share) -> list[_Row]:
    return list(_rows(share))


def _rows(share: _Share) -> Iterator[_Row]:
    tools, numbers, applied = share
    names = list(cards())
    chosen = [(rule, _rule(names[rule])) for rule in applied]
    for number in numbers:
        for rule, problems in chosen:
            for problem in problems(tools[number]):
                yield number, rule, problem
