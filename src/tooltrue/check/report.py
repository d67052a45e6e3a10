"""The report of a check: findings to show, known and excused ones, and targets that could not be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tooltrue.check.baseline import Known, known_of
from tooltrue.check.card import Card, Level
from tooltrue.check.checking import Finding, checked
from tooltrue.check.excuses import Excuse, Excused, excuses_of, unused
from tooltrue.check.judged import beside_tools
from tooltrue.check.source import Place, Source
from tooltrue.errors import ConfigurationError, TooltrueError

__all__ = ["Group", "Report", "Unjudged", "judge"]


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A target, or a server of one, whose tools could not be obtained."""

    target: str
    reason: TooltrueError


@dataclass(frozen=True, slots=True)
class Group:
    """The findings of one tool, worst first."""

    server: str
    tool: str
    findings: tuple[Finding, ...]

    @property
    def counts(self) -> Mapping[Level, int]:
        return Counter(one.level for one in self.findings)


@dataclass(frozen=True)
class Report:
    """The result of a check. ``findings`` are those to show: neither excused, nor in the baseline, nor filtered out.
    ``gone`` are entries of the baseline that no longer occur; ``notes`` are excuses that no longer cover a finding."""

    sources: tuple[Source, ...]
    findings: tuple[Finding, ...]
    excused: tuple[Excused, ...] = ()
    known: tuple[Known, ...] = ()
    gone: tuple[Known, ...] = ()
    notes: tuple[ConfigurationError, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()

    @cached_property
    def by_server(self) -> Mapping[str, Source]:
        return {one.server: one for one in self.sources}

    @property
    def tools(self) -> int:
        """The number of tools that were judged."""
        return sum(len(one.contract.tools) for one in self.sources)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """A group for each tool with findings, the worst first."""
        by_tool: dict[tuple[str, str], list[Finding]] = {}
        for one in self.findings:
            by_tool.setdefault((one.server, one.tool), []).append(one)
        groups = (Group(*key, tuple(sorted(found, key=_worst_first))) for key, found in by_tool.items())
        return tuple(sorted(groups, key=_weight))

    @cached_property
    def cards(self) -> Mapping[str, Card]:
        """The cards of all findings, excused or not, by code."""
        found = [*self.findings, *(one.finding for one in self.excused)]
        return dict(sorted({one.code: one.card for one in found}.items()))

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
        told = {(group.server, group.tool) for group in self.groups}
        every = ((one.server, tool) for one in self.sources for tool in one.contract.tools)
        return [key for key in every if key not in told]

    def place(self, finding: Finding) -> Place | None:
        """The place in the source, if known."""
        return self.by_server[finding.server].place(finding.tool, finding.problem.path)

    def known_by(self, finding: Finding) -> Known:
        """The entry of a finding in a baseline."""
        contract = self.by_server[finding.server].contract
        return known_of(finding, contract.tools.get(finding.tool, {}) if finding.tool else contract.data())

    def fails(self, least: Level | None) -> bool:
        """Whether any finding is at least as severe as ``least``."""
        return least is not None and any(one.level.rank >= least.rank for one in self.findings)


def _worst_first(finding: Finding) -> tuple[int, str, str]:
    return (-finding.level.rank, finding.code, finding.place)


def _weight(group: Group) -> tuple[int, int, int, str, str]:
    levels = [one.level for one in group.findings]
    error, warning, hint = (-levels.count(level) for level in (Level.ERROR, Level.WARNING, Level.HINT))
    return (error, warning, hint, group.server, group.tool)


def _every(finding: Finding) -> bool:
    return True


def judge(
    sources: Sequence[Source],
    *,
    excuses: Iterable[Excuse] = (),
    baseline: frozenset[Known] = frozenset(),
    is_told: Callable[[Finding], bool] = _every,
    unjudged: Sequence[Unjudged] = (),
) -> Report:
    """Apply all rules to all tools. Excuses are applied first, then the baseline, then the filter ``is_told``."""
    everything = [*excuses, *(one for source in sources for one in excuses_of(source))]
    left: list[Finding] = []
    excused: list[Excused] = []
    beside = (found for one in sources for found in beside_tools(one.server, one.contract))
    for finding in (*checked((one.server, one.contract) for one in sources), *beside):
        excuse = next((one for one in everything if one.covers(finding)), None) if everything else None
        left.append(finding) if excuse is None else excused.append(Excused(finding, excuse))
    notes = () if unjudged else tuple(unused(everything, excused))
    whole = Report(tuple(sources), tuple(left), tuple(excused), notes=notes, unjudged=tuple(unjudged))
    return _without_known(whole, baseline, is_told)


def _without_known(whole: Report, baseline: frozenset[Known], is_told: Callable[[Finding], bool]) -> Report:
    new: list[Finding] = []
    met: set[Known] = set()
    for finding in whole.findings:
        known = whole.known_by(finding) if baseline else None
        if known is not None and known in baseline:
            met.add(known)
        elif is_told(finding):
            new.append(finding)
    return Report(
        whole.sources,
        tuple(new),
        whole.excused,
        tuple(sorted(met)),
        tuple(sorted(one for one in baseline - met if one.server in whole.by_server)),
        whole.notes,
        whole.unjudged,
    )
