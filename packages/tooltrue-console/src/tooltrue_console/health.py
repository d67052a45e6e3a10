"""The health of the server beside which the console stands, and of the servers behind it, from the server's metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tooltrue.observe.meter import Figures, Meter, Sample

__all__ = ["ServerHealth", "UpstreamHealth", "health_of"]


@dataclass(frozen=True, slots=True)
class UpstreamHealth:
    """A server behind a gateway: its ``state``, and how many operations run there and wait for it. ``breakers`` are its
    circuit breakers that are open."""

    name: str
    state: str
    starts: int
    running: int
    waiting: int
    breakers: int

    @property
    def is_well(self) -> bool:
        return self.state in ("ready", "disabled") and not self.breakers


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """The server of this process. ``lost`` audit records could not be written; ``is_failing``: none can be now."""

    name: str
    running: int
    lost: int
    is_failing: bool
    abandoned: int
    upstreams: tuple[UpstreamHealth, ...]

    @property
    def is_well(self) -> bool:
        return not (self.is_failing or self.lost)


def health_of(name: str, meter: Meter) -> ServerHealth:
    """Return the health of the server of this name. To be called on its event loop."""
    figures: Figures = {}
    for source in meter.sources:
        figures |= source()
    gauges = {family: int(gauge()) for family, gauge in meter.gauges.items() if family in _GAUGES}
    return ServerHealth(
        name,
        gauges.get("tooltrue_running", 0),
        gauges.get("tooltrue_audit_lost_total", 0),
        bool(gauges.get("tooltrue_audit_failing", 0)),
        gauges.get("tooltrue_threads_abandoned", 0),
        tuple(_upstreams(figures)),
    )


_GAUGES = (
    "tooltrue_running",
    "tooltrue_audit_lost_total",
    "tooltrue_audit_failing",
    "tooltrue_threads_abandoned",
)


def _upstreams(figures: Mapping[str, list[Sample]]) -> Iterable[UpstreamHealth]:
    def by_server(family: str) -> Mapping[str, int]:
        return {sample.labels["server"]: int(sample.value) for sample in figures.get(family, ())}

    starts, running = by_server("tooltrue_upstream_starts_total"), by_server("tooltrue_upstream_running")
    waiting, breakers = by_server("tooltrue_upstream_waiting"), by_server("tooltrue_upstream_breakers_open")
    for sample in figures.get("tooltrue_upstream_state", ()):
        if sample.value:
            name = sample.labels["server"]
            counts = [one.get(name, 0) for one in (starts, running, waiting, breakers)]
            yield UpstreamHealth(name, sample.labels["state"], *counts)
