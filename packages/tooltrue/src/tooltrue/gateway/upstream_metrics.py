"""The metrics of the servers behind a gateway. Their labels are those of the operator's file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, get_args

from tooltrue.gateway.held_operations import HeldOperations
from tooltrue.gateway.relay import CallerRelay
from tooltrue.host.servers import State
from tooltrue.observe.meter import Figures, Sample

if TYPE_CHECKING:
    from tooltrue.host.host import ServerStatus

__all__ = ["upstream_metrics"]


def upstream_metrics(
    servers: Iterable[ServerStatus], relays: Iterable[CallerRelay], operations: HeldOperations
) -> Figures:
    """The current metrics, by family."""
    servers, by_server = tuple(servers), {relay.label: relay for relay in relays}

    def gauges(values: Iterable[tuple[str, float]]) -> list[Sample]:
        return [Sample("", {"server": server}, value) for server, value in values]

    return {
        "tooltrue_upstream_operations_total": [
            Sample("", {"server": server, "outcome": outcome}, count)
            for server, relay in by_server.items()
            for outcome, count in relay.traffic.series.outcomes.items()
        ],
        "tooltrue_upstream_operation_seconds": [
            sample
            for server, relay in by_server.items()
            for sample in relay.traffic.series.histogram({"server": server})
        ],
        "tooltrue_upstream_state": [
            Sample("", {"server": one.name, "state": state}, one.state == state)
            for one in servers
            for state in get_args(State)
        ],
        "tooltrue_upstream_starts_total": gauges((one.name, one.starts) for one in servers),
        "tooltrue_upstream_running": gauges((name, one.traffic.slots.running) for name, one in by_server.items()),
        "tooltrue_upstream_waiting": gauges((name, one.traffic.slots.waiting) for name, one in by_server.items()),
        "tooltrue_upstream_connections": gauges((name, one.callers.count) for name, one in by_server.items()),
        "tooltrue_upstream_breakers_open": gauges((name, one.traffic.open_breakers) for name, one in by_server.items()),
        "tooltrue_held_operations": [Sample("", {}, operations.count)],
    }
