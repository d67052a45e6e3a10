"""What a server counts of itself, and the text that Prometheus reads (exposition format 0.0.4).

Numbers only: a count knows the method, the tool and how it ended, never who called or with what. Whoever calls cannot
make up labels either: a name that nobody knows is not one, and there are only so many.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

__all__ = ["BOUNDS", "Figures", "Meter", "Sample", "exposition", "own_worker"]

BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Seconds; those of the conventions for the Model Context Protocol."""

_MAX_NAMES = 1_000
_OTHER = "(other)"

_FAMILIES = (
    ("toolwright_operations_total", "counter", "Calls, reads, prompts and completions, by how they ended."),
    ("toolwright_operation_seconds", "histogram", "How long they took."),
    ("toolwright_refused_total", "counter", "What was refused, by the code of the reason."),
    ("toolwright_signs_total", "counter", "Signs of abuse, and results that were cleaned, masked or cut."),
    ("toolwright_running", "gauge", "Operations that run now."),
    ("toolwright_streams_open", "gauge", "Streams to clients that are open now, and requests that take long."),
    ("toolwright_listeners", "gauge", "Who listens for changes now."),
    ("toolwright_audit_lost_total", "counter", "Records that could not be written since the log was opened."),
    ("toolwright_audit_failing", "gauge", "1 while records cannot be written."),
    ("toolwright_audit_behind", "gauge", "1 while calls wait for the log, which is slower than they are."),
    ("toolwright_threads_abandoned", "gauge", "Threads that go on although their call has been answered."),
)


class Sample(NamedTuple):
    """One line: what its name ends in, its labels and its value."""

    suffix: str
    labels: Mapping[str, str]
    value: float


Figures = dict[str, list[Sample]]
"""What one process has counted, by family."""


class _Series:
    """What is counted of one tool or prompt, or of one method: how often it ended how, and how long it took."""

    __slots__ = ("counts", "outcomes", "total")

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def histogram(self, labels: Mapping[str, str]) -> Iterable[Sample]:
        so_far = 0
        for bound, count in zip((*map(_number, BOUNDS), "+Inf"), self.counts, strict=True):
            so_far += count
            yield Sample("_bucket", {**labels, "le": bound}, so_far)
        yield Sample("_sum", labels, self.total)
        yield Sample("_count", labels, so_far)


class Meter:
    """The counts of one process. Used on its event loop only.

    ``gauges`` are asked when somebody looks, by the name of their family.
    """

    def __init__(self) -> None:
        self.running = 0
        self.gauges: dict[str, Callable[[], float]] = {"toolwright_running": lambda: self.running}
        self._series: dict[tuple[str, str], _Series] = {}
        self._refused: dict[str, int] = {}
        self._signs: dict[str, int] = {}

    def ended(self, method: str, name: str, outcome: str, seconds: float) -> None:
        """One operation. ``name`` is that of a tool or prompt that there is, otherwise empty."""
        series = self._series.get((method, name)) or self._begin(method, name)
        series.outcomes[outcome] = series.outcomes.get(outcome, 0) + 1
        series.counts[bisect_left(BOUNDS, seconds)] += 1
        series.total += seconds

    def _begin(self, method: str, name: str) -> _Series:
        key = (method, name if len(self._series) < _MAX_NAMES else _OTHER)
        return self._series.setdefault(key, _Series())

    def refused(self, code: str) -> None:
        """``code`` is that of the error that said why."""
        self._refused[code] = self._refused.get(code, 0) + 1

    def noticed(self, kind: str) -> None:
        """A sign of abuse, a result that was cleaned or cut: whatever a layer notices, of a kind that it names."""
        self._signs[kind] = self._signs.get(kind, 0) + 1

    def figures(self) -> Figures:
        """All counts as they are now."""
        counts = {
            "toolwright_operations_total": [
                Sample("", {"method": method, "name": name, "outcome": outcome}, count)
                for (method, name), series in self._series.items()
                for outcome, count in series.outcomes.items()
            ],
            "toolwright_operation_seconds": [
                sample
                for (method, name), series in self._series.items()
                for sample in series.histogram({"method": method, "name": name})
            ],
            "toolwright_refused_total": [Sample("", {"code": code}, count) for code, count in self._refused.items()],
            "toolwright_signs_total": [Sample("", {"kind": kind}, count) for kind, count in self._signs.items()],
        }
        return counts | {name: [Sample("", {}, read())] for name, read in self.gauges.items()}


def exposition(workers: Mapping[str, Figures]) -> str:
    """The text for Prometheus of what each worker has counted; each line says whose it is."""
    lines: list[str] = []
    for family, kind, said in _FAMILIES:
        lines += (f"# HELP {family} {said}", f"# TYPE {family} {kind}")
        for worker, figures in sorted(workers.items()):
            for sample in figures.get(family, ()):
                lines.append(_line(family, Sample(sample.suffix, {**sample.labels, "worker": worker}, sample.value)))
    return "\n".join(lines) + "\n"


def _line(family: str, sample: Sample) -> str:
    labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
    return f"{family}{sample.suffix}{{{labels}}} {_number(sample.value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def own_worker() -> str:
    """What this process is called among the workers."""
    return str(os.getpid())
