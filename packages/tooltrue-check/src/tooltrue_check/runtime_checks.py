"""Findings of the runtime's own checks as the problems of a rule, whose card lists the codes that it passes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tooltrue.contract.contract import Contract
from tooltrue.contract.finding import ScanFinding as Suspicion
from tooltrue.contract.finding import Severity
from tooltrue.contract.scan import scan_contract
from tooltrue.protocol.types import replaced
from tooltrue_check.card import Level, cards
from tooltrue_check.findings import Problem, RuleFinding
from tooltrue_check.subject import Subject

__all__ = ["beside_tools", "problems_of", "refusals", "suspicions"]

_LEVELS: Final = {Severity.BLOCK: Level.ERROR, Severity.WARN: Level.WARNING, Severity.NOTE: Level.HINT}


def suspicions(tool: Subject, rule: str) -> Iterator[Problem]:
    """The findings of the definition scan with the codes of this rule."""
    return problems_of(tool.suspicions, rule) if tool.suspicions else iter(())


def problems_of(suspicions: Iterable[Suspicion], rule: str) -> Iterator[Problem]:
    codes = cards()[rule].also
    for one in suspicions:
        if one.code in codes:
            facts = {**one.facts, "excerpt": one.excerpt}
            yield Problem(one.path, facts, _LEVELS[one.severity], sentence_code=one.code)


def beside_tools(server: str, contract: Contract) -> Iterator[RuleFinding]:
    """Findings of the definition scan outside of tools: in instructions, prompts and resources. They have no tool, and
    their paths start at the contract."""
    suspicions = scan_contract(replaced(contract, tools={}))
    for card in cards().values() if suspicions else ():
        for problem in problems_of(suspicions, card.name):
            yield RuleFinding(server, "", card, problem)


def refusals(tool: Subject, rule: str) -> Iterator[Problem]:
    """The schemas that the validator of calls refuses, with the codes of this rule."""
    for field, error in tool.refusals:
        if error.code in cards()[rule].also:
            yield Problem((field,), error.facts, sentence_code=error.code)
