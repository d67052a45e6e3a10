"""Metrics of a server, and their Prometheus text (exposition format 0.0.4).

Labels are the method, the tool, the outcome and the view, never the caller or the arguments. Callers cannot invent
labels: an unknown name is not used, and the number of names is limited.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

__all__ = ["BOUNDS", "Figures", "Meter", "Sample", "Series", "exposition", "own_worker"]

BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
"""Bucket boundaries in seconds, from the semantic conventions for the Model Context Protocol."""

_MAX_NAMES = 1_000
_OTHER = "(other)"

_FAMILIES = (
    ("tooltrue_operations_total", "counter", "Calls, reads, prompts and completions, by how they ended."),
    ("tooltrue_operation_seconds", "histogram", "How long they took."),
    ("tooltrue_refused_total", "counter", "What was refused, by the code of the reason."),
    ("tooltrue_signs_total", "counter", "Signs of abuse, and results that were cleaned, masked or cut."),
    ("tooltrue_running", "gauge", "Operations that run now."),
    ("tooltrue_streams_open", "gauge", "Streams to clients that are open now, and requests that take long."),
    ("tooltrue_listeners", "gauge", "Who listens for changes now."),
    ("tooltrue_audit_lost_total", "counter", "Records that could not be written since the log was opened."),
    ("tooltrue_audit_failing", "gauge", "1 while records cannot be written."),
    ("tooltrue_audit_behind", "gauge", "1 while calls wait for the log, which is slower than they are."),
    ("tooltrue_threads_abandoned", "gauge", "Threads that go on although their call has been answered."),
    ("tooltrue_upstream_operations_total", "counter", "Rounds of operations at the servers of a gateway, by outcome."),
    ("tooltrue_upstream_operation_seconds", "histogram", "How long they took, with their time in the queue."),
    ("tooltrue_upstream_state", "gauge", "1 for the state that a server is in."),
    ("tooltrue_upstream_starts_total", "counter", "How often a server has been started."),
    ("tooltrue_upstream_running", "gauge", "Operations that run at a server now."),
    ("tooltrue_upstream_waiting", "gauge", "Operations that wait for a server now."),
    ("tooltrue_upstream_connections", "gauge", "Connections of callers to a server."),
    ("tooltrue_upstream_breakers_open", "gauge", "Circuit breakers of a server that are open."),
    ("tooltrue_held_operations", "gauge", "Operations that are held while their caller answers a question."),
    ("tooltrue_files_refused", "gauge", "1 while a changed file of a gateway has a mistake, and is not used."),
)


class Sample(NamedTuple):
    """One line: the suffix of its name, its labels and its value."""

    suffix: str
    labels: Mapping[str, str]
    value: float


Figures = dict[str, list[Sample]]
"""The metrics of one process, by family."""


class Series:
    """The metrics of one tool, prompt, method or server: a count for each outcome, and the durations."""

    __slots__ = ("counts", "outcomes", "total")

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.counts = [0] * (len(BOUNDS) + 1)
        self.total = 0.0

    def count(self, outcome: str, seconds: float) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds

    def histogram(self, labels: Mapping[str, str]) -> Iterable[Sample]:
        so_far = 0
        for bound, count in zip((*map(_number, BOUNDS), "+Inf"), self.counts, strict=True):
            so_far += count
            yield Sample("_bucket", {**labels, "le": bound}, so_far)
        yield Sample("_sum", labels, self.total)
        yield Sample("_count", labels, so_far)


class Meter:
    """The metrics of one process. To be used on its event loop only.

    ``gauges`` are functions by family name, called on each read; ``sources`` give families with labels. ``views`` are
    the meters of the views of a gateway, by name; their samples have a label for it.
    """

    def __init__(self) -> None:
        self.running = 0
        self.gauges: dict[str, Callable[[], float]] = {"tooltrue_running": lambda: self.running}
        self.sources: list[Callable[[], Figures]] = []
        self.views: dict[str, Meter] = {}
        self._series: dict[tuple[str, str], Series] = {}
        self._refused: dict[str, int] = {}
        self._signs: dict[str, int] = {}

    def count_operation(self, method: str, name: str, outcome: str, seconds: float) -> None:
        """Count one operation. ``name`` is that of an existing tool or prompt, otherwise empty."""
        (self._series.get((method, name)) or self._begin(method, name)).count(outcome, seconds)

    def counter(self, method: str, name: str) -> Callable[[str, float], None]:
        """Return the function that counts the operations of one name, by outcome and seconds."""
        return (self._series.get((method, name)) or self._begin(method, name)).count

    def _begin(self, method: str, name: str) -> Series:
        key = (method, name if len(self._series) < _MAX_NAMES else _OTHER)
        return self._series.setdefault(key, Series())

    def refused(self, code: str) -> None:
        """Count a refusal by the ``code`` of its error."""
        self._refused[code] = self._refused.get(code, 0) + 1

    def count_event(self, kind: str) -> None:
        """Count an event reported by a layer, by its kind: a sign of abuse, a result that was cleaned or cut."""
        self._signs[kind] = self._signs.get(kind, 0) + 1

    def figures(self) -> Figures:
        """The current metrics."""
        counts = {
            "tooltrue_operations_total": [
                Sample("", {"method": method, "name": name, "outcome": outcome}, count)
                for (method, name), series in self._series.items()
                for outcome, count in series.outcomes.items()
            ],
            "tooltrue_operation_seconds": [
                sample
                for (method, name), series in self._series.items()
                for sample in series.histogram({"method": method, "name": name})
            ],
            "tooltrue_refused_total": [Sample("", {"code": code}, count) for code, count in self._refused.items()],
            "tooltrue_signs_total": [Sample("", {"kind": kind}, count) for kind, count in self._signs.items()],
        }
        figures = counts | {name: [Sample("", {}, gauge())] for name, gauge in self.gauges.items()}
        for source in self.sources:
            figures |= source()
        for view, meter in self.views.items():
            for family, samples in meter.figures().items():
                figures.setdefault(family, []).extend(
                    sample._replace(labels={**sample.labels, "view": view}) for sample in samples
                )
        return figures


def exposition(workers: Mapping[str, Figures]) -> str:
    """The Prometheus text of the metrics of all workers; each line names its worker."""
    lines: list[str] = []
    for family, kind, description in _FAMILIES:
        lines += (f"# HELP {family} {description}", f"# TYPE {family} {kind}")
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
    """The name of this process among the workers."""
    return str(os.getpid())
