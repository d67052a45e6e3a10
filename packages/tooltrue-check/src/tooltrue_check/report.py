"""The report of a check: findings to show, known and excused ones, and targets that could not be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tooltrue.errors import ConfigurationError, TooltrueError
from tooltrue_check.baseline import FindingKey, key_of
from tooltrue_check.card import Card, Level
from tooltrue_check.excuses import Excuse, Excused, excuses_of, unused
from tooltrue_check.findings import RuleFinding, check_contracts
from tooltrue_check.runtime_checks import beside_tools
from tooltrue_check.source import FileLine, ToolSource

__all__ = ["CheckReport", "ToolFindings", "Unjudged", "judge"]


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A target, or a server of one, whose tools could not be obtained."""

    target: str
    reason: TooltrueError


@dataclass(frozen=True, slots=True)
class ToolFindings:
    """The findings of one tool, worst first."""

    server: str
    tool: str
    findings: tuple[RuleFinding, ...]

    @property
    def counts(self) -> Mapping[Level, int]:
        return Counter(one.level for one in self.findings)


@dataclass(frozen=True)
class CheckReport:
    """The result of a check. ``findings`` are those to show: neither excused, nor in the baseline, nor filtered out.
    ``gone_keys`` are entries of the baseline that no longer occur; ``notes`` are excuses that no longer cover a
    finding."""

    sources: tuple[ToolSource, ...]
    findings: tuple[RuleFinding, ...]
    excused: tuple[Excused, ...] = ()
    known_keys: tuple[FindingKey, ...] = ()
    gone_keys: tuple[FindingKey, ...] = ()
    notes: tuple[ConfigurationError, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()

    @cached_property
    def by_server(self) -> Mapping[str, ToolSource]:
        return {one.server: one for one in self.sources}

    @property
    def tools(self) -> int:
        """The number of tools that were judged."""
        return sum(len(one.contract.tools) for one in self.sources)

    @cached_property
    def groups(self) -> tuple[ToolFindings, ...]:
        """A group for each tool with findings, the worst first."""
        by_tool: dict[tuple[str, str], list[RuleFinding]] = {}
        for one in self.findings:
            by_tool.setdefault((one.server, one.tool), []).append(one)
        groups = (ToolFindings(*key, tuple(sorted(findings, key=_worst_first))) for key, findings in by_tool.items())
        return tuple(sorted(groups, key=_weight))

    @cached_property
    def cards(self) -> Mapping[str, Card]:
        """The cards of all findings, excused or not, by code."""
        every = [*self.findings, *(one.finding for one in self.excused)]
        return dict(sorted({one.code: one.card for one in every}.items()))

    @property
    def levels(self) -> Mapping[Level, int]:
        """The number of findings by level, the worst level first."""
        counts = Counter(one.level for one in self.findings)
        return {level: counts[level] for level in (Level.ERROR, Level.WARNING, Level.HINT)}

    @cached_property
    def rules(self) -> Sequence[tuple[Level, Card, int]]:
        """The number of findings of each rule and level, the worst first."""
        counts = Counter((one.level, one.code) for one in self.findings)
        rows = [(level, self.cards[code], count) for (level, code), count in counts.items()]
        return sorted(rows, key=lambda row: (-row[0].rank, -row[2], row[1].code))

    @property
    def clean(self) -> Sequence[tuple[str, str]]:
        """The tools without findings, by server and name."""
        with_findings = {(group.server, group.tool) for group in self.groups}
        every = ((one.server, tool) for one in self.sources for tool in one.contract.tools)
        return [key for key in every if key not in with_findings]

    def place(self, finding: RuleFinding) -> FileLine | None:
        """The place in the source, if known."""
        return self.by_server[finding.server].place(finding.tool, finding.problem.path)

    def key_of(self, finding: RuleFinding) -> FindingKey:
        """The entry of a finding in a baseline."""
        contract = self.by_server[finding.server].contract
        return key_of(finding, contract.tools.get(finding.tool, {}) if finding.tool else contract.data())

    def fails(self, least: Level | None) -> bool:
        """Whether any finding is at least as severe as ``least``."""
        return least is not None and any(one.level.rank >= least.rank for one in self.findings)


def _worst_first(finding: RuleFinding) -> tuple[int, str, str]:
    return (-finding.level.rank, finding.code, finding.place)


def _weight(group: ToolFindings) -> tuple[int, int, int, str, str]:
    levels = [one.level for one in group.findings]
    error, warning, hint = (-levels.count(level) for level in (Level.ERROR, Level.WARNING, Level.HINT))
    return (error, warning, hint, group.server, group.tool)


def _every(finding: RuleFinding) -> bool:
    return True


def judge(
    sources: Sequence[ToolSource],
    *,
    excuses: Iterable[Excuse] = (),
    baseline: frozenset[FindingKey] = frozenset(),
    is_reported: Callable[[RuleFinding], bool] = _every,
    unjudged: Sequence[Unjudged] = (),
) -> CheckReport:
    """Apply all rules to all tools. Excuses are applied first, then the baseline, then the filter ``is_reported``."""
    everything = [*excuses, *(one for source in sources for one in excuses_of(source))]
    remaining: list[RuleFinding] = []
    excused: list[Excused] = []
    beside = (extra for one in sources for extra in beside_tools(one.server, one.contract))
    for finding in (*check_contracts((one.server, one.contract) for one in sources), *beside):
        excuse = next((one for one in everything if one.covers(finding)), None) if everything else None
        remaining.append(finding) if excuse is None else excused.append(Excused(finding, excuse))
    notes = () if unjudged else tuple(unused(everything, excused))
    whole = CheckReport(tuple(sources), tuple(remaining), tuple(excused), notes=notes, unjudged=tuple(unjudged))
    return _apply_baseline(whole, baseline, is_reported)


def _apply_baseline(
    whole: CheckReport, baseline: frozenset[FindingKey], is_reported: Callable[[RuleFinding], bool]
) -> CheckReport:
    new: list[RuleFinding] = []
    matches: set[FindingKey] = set()
    for finding in whole.findings:
        key = whole.key_of(finding) if baseline else None
        if key is not None and key in baseline:
            matches.add(key)
        elif is_reported(finding):
            new.append(finding)
    return CheckReport(
        whole.sources,
        tuple(new),
        whole.excused,
        tuple(sorted(matches)),
        tuple(sorted(one for one in baseline - matches if one.server in whole.by_server)),
        whole.notes,
        whole.unjudged,
    )
