"""Excuses: rules that a tool does not follow, for a stated reason, beside the tool or in the operator's file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tooltrue.errors import ConfigurationError
from tooltrue.policy.rules.globs import Globs, globs
from tooltrue.spelling import closest
from tooltrue_check.card import cards
from tooltrue_check.findings import RuleFinding
from tooltrue_check.source import ToolSource
from tooltrue_check.wording import EXCUSE_OBSOLETE, EXCUSE_RULE_UNKNOWN

if TYPE_CHECKING:  # a check without an operator's file does not import the guard
    from tooltrue.policy.config import OperatorConfig

__all__ = ["Excuse", "Excused", "excuses_in", "excuses_of", "unused"]

_BY_SERVER = "TT9703"
"""The rule that depends on the name of the server: a tool that is excused from it may be in several servers."""


@dataclass(frozen=True, slots=True)
class Excuse:
    """An excuse from a rule. ``place`` is where it is written, ``in_source`` whether that is beside the tool."""

    code: str
    tools: Globs
    servers: Globs
    reason: str
    place: str
    in_source: bool = False

    def covers(self, finding: RuleFinding) -> bool:
        return finding.code == self.code and self.tools.match(finding.tool) and self.servers.match(finding.server)


@dataclass(frozen=True, slots=True)
class Excused:
    """A finding that is not held against the tool."""

    finding: RuleFinding
    excuse: Excuse


def excuses_of(source: ToolSource) -> Iterator[Excuse]:
    """The excuses of ``@tool(excused={"TT9710": "why"})``."""
    for tool, reasons in source.excused.items():
        place = str(source.places.get(tool, f"{source.server}: {tool}"))
        for code, reason in reasons.items():
            yield _check_code(Excuse(code, globs(tool), globs(source.server), reason, place, in_source=True))


def excuses_in(config: OperatorConfig) -> Iterator[Excuse]:
    """The excuses of ``[[check.excused]]``. ``ConfigurationError`` names the line of an unknown rule code."""
    rows: Sequence[Mapping[str, Any]] = config.tables.get("check", {}).get("excused", ())
    for number, row in enumerate(rows):
        place = config.place(("check", "excused", number))
        yield _check_code(Excuse(row["code"], globs(row["tools"]), globs(row.get("server", "*")), row["reason"], place))


def _check_code(excuse: Excuse) -> Excuse:
    codes = [card.code for card in cards().values()]
    if excuse.code not in codes:
        nearest = closest(excuse.code, codes)
        raise ConfigurationError.of(EXCUSE_RULE_UNKNOWN, place=excuse.place, rule=excuse.code, nearest=nearest)
    return excuse


def unused(excuses: Iterable[Excuse], excused: Iterable[Excused]) -> Iterator[ConfigurationError]:
    """A note for each excuse that no longer covers a finding."""
    used = {id(one.excuse) for one in excused}
    for one in excuses:
        if id(one) not in used and not (one.in_source and one.code == _BY_SERVER):
            tools = ", ".join(one.tools.patterns)
            yield ConfigurationError.of(EXCUSE_OBSOLETE, place=one.place, rule=one.code, tools=tools)
