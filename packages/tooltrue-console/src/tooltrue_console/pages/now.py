"""*Now*: the servers and their health, the last hour, paused callers, and the calls that wait for a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, get_args
from urllib.parse import urlencode

from tooltrue.errors import TooltrueError
from tooltrue.host.servers import State
from tooltrue_console.activity import MINUTES, LogHour, MinuteCounts, ServerHour
from tooltrue_console.charts import HEIGHT, WIDTH, HourChart, chart
from tooltrue_console.desk import Desk
from tooltrue_console.live_parts import live_part
from tooltrue_console.phrases import phrase
from tooltrue_console.visits import Answer, Endpoint, Html, PageVisit

__all__ = ["ENDPOINTS"]

_SHOWN_TICKETS: Final = 5
_RENEWED_SECONDS: Final = 5.0
"""Each look counts all records that were written since the last one."""


async def show(desk: Desk, visit: PageVisit) -> Answer:
    return Html("now.html", await _values(desk, visit), title="now")


async def _values(desk: Desk, visit: PageVisit) -> Mapping[str, Any]:
    chosen = visit.query.get("log", "")
    if chosen:
        desk.logs.url(chosen)
    snapshot = await desk.now()
    hours = [hour for hour in snapshot.hours if chosen in ("", hour.log)]
    servers = [server for hour in hours for server in hour.servers]
    now = desk.clock()
    return {
        "chosen": chosen,
        "names": [hour.log for hour in snapshot.hours],
        "charts": _charts(servers),
        "width": WIDTH,
        "height": HEIGHT,
        "servers": [_server(server, snapshot.hours) for server in servers],
        "quiet": [hour.log for hour in hours if hour.is_counted and not hour.servers],
        "uncounted": ", ".join(hour.log for hour in hours if not hour.is_counted and hour.problem is None),
        "partly": [(hour.log, hour.counted_since.replace("T", " ")) for hour in hours if hour.counted_since],
        "problems": [_problem(hour.log, hour.problem, visit.language) for hour in hours if hour.problem is not None],
        "health": snapshot.health,
        "states": {state: phrase(f"state_server_{state}", visit.language) for state in get_args(State)},
        "paused": [one for hour in hours for one in hour.paused if one.until > now],
        "pending": len(snapshot.pending),
        "tickets": snapshot.pending[:_SHOWN_TICKETS],
        "query": urlencode({"log": chosen} if chosen else {}),
    }


def _charts(servers: Sequence[ServerHour]) -> Sequence[HourChart]:
    minutes = [MinuteCounts() for _ in range(MINUTES)]
    for server in servers:
        for whole, one in zip(minutes, server.minutes, strict=True):
            whole += one
    total = MinuteCounts()
    for one in minutes:
        total += one
    return [
        chart("calls_hour", [one.calls for one in minutes], total.calls),
        chart("refusals_hour", [one.refusals for one in minutes], total.refusals),
        chart("errors_hour", [one.errors for one in minutes], total.errors),
        chart("time_hour", [one.mean_milliseconds for one in minutes], total.mean_milliseconds, " ms"),
    ]


def _server(server: ServerHour, hours: Sequence[LogHour]) -> Mapping[str, Any]:
    total = server.total
    query = {"log": server.log, **({"instance": server.server} if server.server else {})}
    return {
        "name": server.server or server.log,
        "log": server.log,
        "last": server.last[:19].replace("T", " "),
        "calls": total.calls,
        "refusals": total.refusals,
        "errors": total.errors,
        "ms": f"{total.mean_milliseconds:.1f}",
        "query": urlencode(query),
    }


def _problem(log: str, problem: TooltrueError, language: str) -> tuple[str, str]:
    return log, problem.say(language)


# --- live -------------------------------------------------------------------------------------------------------------


async def follow(desk: Desk, visit: PageVisit) -> Answer:
    """The part that changes, for a page that is open already."""
    return live_part(
        desk, visit, ("now", visit.query.get("log", "")), partial(_part, desk, visit), every=_RENEWED_SECONDS
    )


async def _part(desk: Desk, visit: PageVisit) -> Html:
    return Html("_now.html", await _values(desk, visit))


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint("GET", "/now", show),
    Endpoint("GET", "/now/events", follow),
)
