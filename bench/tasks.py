"""`make bench BENCH="--tasks"`: our tasks and those of FastMCP to their end (`docs/performance.md`).

Each task is started, polled as often as its server says, and fetched, over HTTP. A second table has the start of our
server, with a tool that is a task and without.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from harness import sides, wire
from harness.process import ServerFailed, running
from harness.sides import NotHere
from harness.stdio_client import Pipes
from harness.task_client import following
from harness.task_servers import (
    SERVERS,
    STORES,
    TaskServer,
    check_server,
    open_store,
    our_environment,
    serving_tasks,
)
from harness.warm_up import WarmUp
from harness.wire import MODERN, WrongAnswer, verified

__all__ = ["SECONDS", "STORES", "Figures", "report", "start_table", "tasks_table"]

SECONDS = 5.0
"""Timed, per server and round: a second has few tasks."""

_TOOL = "echo_later"
_WIDTH = 32
_POLL_MS = 100  # with many tasks in flight, polls must not be most of the work
_ONE_POLL_MS = 5
_STARTING = 2.0  # seconds of tasks, until the last worker has started
_STARTS = 3  # per round; the median counts
_LEAST = 8  # tasks that make a figure


@dataclass(slots=True)
class Figures:
    """The figures of a server, one of each a round: tasks a second, polls of a task and CPU time of a task with many
    in flight, and the milliseconds of one at a time."""

    rates: list[float] = field(default_factory=list)
    polls: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    took: list[float] = field(default_factory=list)


Measured = Mapping[TaskServer, Figures | str]
"""The figures of each server, or the text of its cells where it has none."""


def report(rounds: int, seconds: float, stores: Sequence[str] = STORES) -> int:
    """Print the tables; return 1 if tooltrue could not be measured on one of its stores, never for a missed lead."""
    sides.compile_ours()
    known = _known(stores)
    measured: dict[TaskServer, Figures | str] = {server: Figures() for server in known}
    starts: dict[str, list[float]] = {}
    for number in range(rounds):
        for server in known if number % 2 == 0 else known[::-1]:
            _say(f"round {number + 1}/{rounds}  {server.title}")
            _add_round(measured, server, seconds)
        _say(f"round {number + 1}/{rounds}  start")
        _add_starts(starts)
    print(tasks_table(measured), start_table(starts), sep="\n\n")
    return int(any(isinstance(measured[server], str) for server in known if server.key == "ours"))


def _known(stores: Sequence[str]) -> list[TaskServer]:
    """The servers that this machine can run."""
    known: list[TaskServer] = []
    for server in (server for server in SERVERS if server.store in stores):
        try:
            with tempfile.TemporaryDirectory() as folder:
                check_server(server, Path(folder))
            known.append(server)
        except (NotHere, subprocess.CalledProcessError) as reason:
            _say(f"without {server.title}: {reason}")
    return known


# -- tasks -------------------------------------------------------------------------------------------------------------


def _add_round(measured: dict[TaskServer, Figures | str], server: TaskServer, seconds: float) -> None:
    """Add a round to the figures, or record why there is none."""
    figures = measured[server]
    if isinstance(figures, str):
        return
    try:
        _measure_many(figures, server, seconds)
        figures.took.append(_one(server, seconds / 2))
    except (ServerFailed, WrongAnswer, OSError) as error:
        _say(f"failed: {server.title}: {error}")
        measured[server] = "failed"


def _measure_many(figures: Figures, server: TaskServer, seconds: float) -> None:
    with tempfile.TemporaryDirectory() as folder, serving_tasks(server, _POLL_MS, Path(folder)) as serving:
        with following(serving.port, _TOOL, _WIDTH) as client:
            client.run(_STARTING)
        # New connections: the first ones may all have reached the worker that opened the port.
        with following(serving.port, _TOOL, _WIDTH) as client:
            WarmUp.before(seconds).run(lambda time: client.run(time).rate)
            cpu, polls = serving.cpu_seconds(), client.polls
            tally = client.run(seconds)
            cpu, polls = serving.cpu_seconds() - cpu, client.polls - polls
    if tally.calls < _LEAST:
        raise ServerFailed(f"{tally.calls} tasks in {tally.seconds:.0f} s")
    figures.rates.append(tally.rate)
    figures.polls.append(polls / tally.calls)
    figures.cpu.append(cpu / tally.calls * 1_000)


def _one(server: TaskServer, seconds: float) -> float:
    """Milliseconds from the call of a task to its result, one task at a time."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serving_tasks(server, _ONE_POLL_MS, Path(folder)) as serving,
        following(serving.port, _TOOL, 1) as client,
    ):
        WarmUp.before(seconds).run(lambda time: client.run(time).rate)
        tally = client.run(seconds)
    if not tally.calls:
        raise ServerFailed(f"no task in {tally.seconds:.0f} s")
    return median(tally.took) * 1_000


# -- starts ------------------------------------------------------------------------------------------------------------


def _add_starts(starts: dict[str, list[float]]) -> None:
    """Add a round of milliseconds until `tooltrue serve` answers `tools/list` over stdio, by what it has."""
    for title, variables in (("no tool is a task", {"BENCH_TASK": "off"}), ("a tool is a task, on SQLite", {})):
        with tempfile.TemporaryDirectory() as folder, open_store("SQLite", Path(folder)) as url:
            environment = {**our_environment(url, Path(folder)), **variables}
            _started(environment)  # the tables of the store are made once, and not at each start
            starts.setdefault(title, []).append(median(_started(environment) for _ in range(_STARTS)))


def _started(environment: Mapping[str, str]) -> float:
    message = wire.tool_list(1, lambda result: len(result["tools"]) == 2, MODERN)
    begun = time.perf_counter()
    with running(sides.ours().cli("tasks"), environment) as process:
        answer = Pipes(process, MODERN).ask(message)
        elapsed = time.perf_counter() - begun
    verified(message, answer)
    return elapsed * 1_000


# -- the tables --------------------------------------------------------------------------------------------------------


def tasks_table(measured: Measured) -> str:
    """A row for each server; the ratio is to FastMCP on Redis with as many workers."""
    head = ("server", "store", "workers", f"tasks/s, {_WIDTH} in flight", "ratio", "polls", "CPU, ms", "one task, ms")
    lines = [head, ("---",) * len(head)]
    for server, figures in measured.items():
        lines.append((server.name, server.store, str(server.workers), *_cells(server, figures, measured)))
    return _markdown(lines)


def _cells(server: TaskServer, figures: Figures | str, measured: Measured) -> Sequence[str]:
    if isinstance(figures, str):
        return (figures, "", "", "", "")
    base = next((one for one in measured if one.store == "Redis" and one.workers == server.workers), None)
    peer = measured[base] if base is not None else "–"
    ratio = "" if isinstance(peer, str) else f"{median(figures.rates) / median(peer.rates):.2f}×"
    return (
        _spread(figures.rates, lambda value: f"{value:,.1f}"),
        "base" if peer is figures else ratio,
        f"{median(figures.polls):.1f}",
        f"{median(figures.cpu):.1f}",
        _spread(figures.took, lambda value: f"{value:,.1f}"),
    )


def start_table(starts: Mapping[str, Sequence[float]]) -> str:
    lines = [("start of `tooltrue serve`", "ms"), ("---", "---")]
    lines += [(title, _spread(values, lambda value: f"{value:,.0f}")) for title, values in starts.items()]
    return _markdown(lines)


def _spread(values: Sequence[float], shown: Callable[[float], str]) -> str:
    return f"{shown(median(values))} ({shown(min(values))}–{shown(max(values))})"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
