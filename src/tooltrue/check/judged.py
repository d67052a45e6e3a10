"""Findings of the runtime's own checks as the problems of a rule, whose card lists the codes that it passes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tooltrue.check.card import Level, cards
from tooltrue.check.checking import Finding, Problem
from tooltrue.check.subject import Subject
from tooltrue.contract.contract import Contract
from tooltrue.contract.finding import Finding as Suspicion
from tooltrue.contract.finding import Severity
from tooltrue.contract.scan import scan_contract
from tooltrue.protocol.types import replaced

__all__ = ["beside_tools", "problems_of", "refusals", "suspicions"]

_LEVELS: Final = {Severity.BLOCK: Level.ERROR, Severity.WARN: Level.WARNING, Severity.NOTE: Level.HINT}


def suspicions(tool: Subject, rule: str) -> Iterator[Problem]:
    """The findings of the definition scan with the codes of this rule."""
    return problems_of(tool.suspicions, rule) if tool.suspicions else iter(())


def problems_of(found: Iterable[Suspicion], rule: str) -> Iterator[Problem]:
    codes = cards()[rule].also
    for one in found:
        if one.code in codes:
            facts = {**one.facts, "excerpt": one.excerpt}
            yield Problem(one.path, facts, _LEVELS[one.severity], said=one.code)


def beside_tools(server: str, contract: Contract) -> Iterator[Finding]:
    """Findings of the definition scan outside of tools: in instructions, prompts and resources. They have no tool, and
    their paths start at the contract."""
    found = scan_contract(replaced(contract, tools={}))
    for card in cards().values() if found else ():
        for problem in problems_of(found, card.name):
            yield Finding(server, "", card, problem)


def refusals(tool: Subject, rule: str) -> Iterator[Problem]:
    """The schemas that the validator of calls refuses, with the codes of this rule."""
    for field, error in tool.refusals:
        if error.code in cards()[rule].also:
            yield Problem((field,), error.facts, said=error.code)
