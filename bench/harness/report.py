"""Figures of all rounds to a Markdown table, and to plain data. No measuring here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from harness.rows import Row

OURS = "ours"


@dataclass(frozen=True, slots=True)
class Figures:
    """The measurements of one row: per side, one figure a round. `failures` gives the reason for missing figures."""

    row: Row
    of: Mapping[str, Sequence[float]] = field(default_factory=dict)
    failures: Mapping[str, str] = field(default_factory=dict)

    def with_one(self, side: str, figure: float) -> "Figures":
        return replace(self, of={**self.of, side: [*self.of.get(side, ()), figure]})

    def failed(self, side: str, reason: str) -> "Figures":
        return replace(self, failures={**self.failures, side: reason})

    def has(self, side: str) -> bool:
        return side in self.of and side not in self.failures

    def ratio(self, side: str, base: str) -> float | None:
        """The median of ``side`` divided by that of ``base``; `None` if either side has no figure."""
        return median(self.of[side]) / median(self.of[base]) if self.has(side) and self.has(base) else None

    def best_ratio(self, side: str, base: str) -> float:
        """The best of ``side`` divided by that of ``base``, of calls a second; 0 where one of them has no figure."""
        return max(self.of[side]) / max(self.of[base]) if self.has(side) and self.has(base) else 0.0

    def ratios(self, side: str, base: str) -> list[float]:
        """The same of each round, whose parts ran next to each other."""
        return [one / other for one, other in zip(self.of[side], self.of[base], strict=True)]

    @property
    def base(self) -> str:
        """The base of the row's ratio: the side that its goal names, otherwise the first side."""
        return self.row.goal.of if self.row.goal else self.row.sides[0]

    @property
    def met(self) -> bool | None:
        """Whether the row meets its goal: the ratio, and the lead over the named sides; `None` without a goal."""
        goal, ratio = self.row.goal, self.ratio(OURS, self.base)
        if goal is None or ratio is None:
            return None if goal is None else False
        return goal.met(ratio) and all(self._is_ahead_of(side) for side in goal.ahead if self.has(side))

    def _is_ahead_of(self, side: str) -> bool:
        ratio = self.ratio(OURS, side)
        lead = self.row.goal.lead if self.row.goal else 1
        return ratio is not None and (ratio > lead if self.row.more_is_better else ratio * lead < 1)


def table(all_figures: Sequence[Figures], names: Mapping[str, str]) -> str:
    """The base in its unit, and every other side as a ratio to it."""
    others = [key for key in names if key != OURS and any(one.has(key) and one.base != key for one in all_figures)]
    head = ("row", "unit", "base", *(names[key] for key in others), names[OURS], "goal", "")
    lines = [head, ("---",) * len(head), *(_cells(one, others) for one in all_figures)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def data(figures: Figures) -> dict[str, Any]:
    """The `--json` data of one row."""
    ratio = figures.ratio(OURS, figures.base)
    return {
        "key": figures.row.key,
        "title": figures.row.title,
        "unit": figures.row.unit,
        "base": figures.base,
        "figures": dict(figures.of),
        "failures": dict(figures.failures),
        "ratio": ratio,
        "goal": figures.row.goal.text if figures.row.goal else None,
        "met": figures.met,
    }


def _cells(figures: Figures, others: Iterable[str]) -> Sequence[str]:
    row, base = figures.row, figures.base
    goal = "–" if row.goal is None else row.goal.text
    measured = _spread(figures.of[base]) if figures.has(base) else "failed"
    mark = {True: "✓", False: "✗", None: ""}[figures.met]
    return (row.title, row.unit, measured, *(_ratio_of(figures, key) for key in others), _ours(figures), goal, mark)


def _ours(figures: Figures) -> str:
    ratio = figures.ratio(OURS, figures.base)
    if ratio is None:
        return "failed"
    return f"**{_ratio(ratio)}** ({_range(figures.ratios(OURS, figures.base), _ratio)})"


def _ratio_of(figures: Figures, side: str) -> str:
    if side == figures.base or side not in figures.row.sides:
        return ""
    ratio = figures.ratio(side, figures.base)
    return "failed" if side in figures.failures else "–" if ratio is None else _ratio(ratio)


def _spread(values: Sequence[float]) -> str:
    return f"{_number(median(values))} ({_range(values, _number)})" if values else "–"


def _range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    return f"{shown(min(values))}–{shown(max(values))}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(value: float) -> str:
    return f"{value:.1f}×" if value >= 2 else f"{value:.2f}×"
