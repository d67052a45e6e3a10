"""Figures of all rounds to a Markdown table, and to plain data. No measuring here."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from harness.rows import Row


@dataclass(frozen=True, slots=True)
class Figures:
    """What one row measured, one pair a round; `failure` says why there is nothing, or not all."""

    row: Row
    peer: list[float]
    ours: list[float]
    failure: str | None = None

    @property
    def ratio(self) -> float:
        """toolwright's median divided by the peer's."""
        return median(self.ours) / median(self.peer)

    @property
    def ratios(self) -> list[float]:
        """The same of each round, whose two halves ran next to each other."""
        return [ours / peer for ours, peer in zip(self.ours, self.peer, strict=True)]

    @property
    def met(self) -> bool | None:
        """Whether the goal is; None without a goal."""
        return None if self.row.goal is None else self.failure is None and self.row.goal.met(self.ratio)


def table(all_figures: Iterable[Figures], peer: str, ours: str) -> str:
    head = ("row", "unit", peer, ours, "ratio", "goal", "")
    lines = [head, ("---",) * len(head), *map(_cells, all_figures)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def data(figures: Figures) -> dict[str, Any]:
    """What `--json` writes of one row."""
    measured = {"peer": figures.peer, "toolwright": figures.ours}
    ratio = {} if figures.failure else {"ratio": figures.ratio, "ratios": figures.ratios}
    goal = figures.row.goal.text if figures.row.goal else None
    verdict = {"goal": goal, "met": figures.met, "failure": figures.failure}
    return {
        "key": figures.row.key,
        "title": figures.row.title,
        "unit": figures.row.unit,
        **measured,
        **ratio,
        **verdict,
    }


def _cells(figures: Figures) -> Sequence[str]:
    row = figures.row
    goal = row.goal.text if row.goal else "–"
    if figures.failure:
        return (row.title, row.unit, _spread(figures.peer), _spread(figures.ours), "failed", goal, "✗")
    ratio = f"**{_ratio(figures.ratio)}** ({_range(figures.ratios, _ratio)})"
    mark = {True: "✓", False: "✗", None: ""}[figures.met]
    return (row.title, row.unit, _spread(figures.peer), _spread(figures.ours), ratio, goal, mark)


def _spread(values: Sequence[float]) -> str:
    return f"{_number(median(values))} ({_range(values, _number)})" if values else "–"


def _range(values: Sequence[float], shown: Callable[[float], str]) -> str:
    return f"{shown(min(values))}–{shown(max(values))}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _ratio(value: float) -> str:
    return f"{value:.1f}×" if value >= 2 else f"{value:.2f}×"
