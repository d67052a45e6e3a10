"""The faults, in order. Each has workers of its own on a new database, and returns figures and the faults in words."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from endurance.measuring import Figure, exactly, resident, up_to
from task_faults.kills import Killing
from task_faults.ledger import opened_ledger
from task_faults.load import Load, Verdict
from task_faults.outages import full_disk, locked_by_another, proxied
from task_faults.tasks import Followed, Plan
from task_faults.workers import TERMINAL, Fleet, Worker, fleet

__all__ = ["ROWS", "STORES", "Row", "Setting"]

STORES = ("sqlite", "postgresql")
OUTAGE_SECONDS = 10.0
AT_ONCE = 8
"""Calls that begin waiting tasks at the same time."""


@dataclass(frozen=True)
class Setting:
    """A new database, a new folder, the log of the workers, and how much is wanted."""

    url: str
    folder: Path
    log: Path
    seed: int
    kills: int
    waiting: int

    def fleet(self, random: Random, url: str | None = None, workers: int = 2) -> AbstractAsyncContextManager[Fleet]:
        return _with_ledger(self, random, url or self.url, workers)


Measured: TypeAlias = tuple[Sequence[Figure], Sequence[str]]


@dataclass(frozen=True)
class Row:
    """A kind of fault, and the databases that can have it."""

    key: str
    title: str
    stores: Sequence[str]
    measure: Callable[[Setting], Coroutine[Any, Any, Measured]]


@contextlib.asynccontextmanager
async def _with_ledger(setting: Setting, random: Random, url: str, workers: int):
    with opened_ledger() as ledger:
        async with fleet(url, setting.folder, setting.log, ledger, random, [1] * workers) as started:
            yield started


def counted(what: str, value: float, unit: str = "") -> Figure:
    """A figure without a bound."""
    return Figure(what, value, unit, "", held=True, roughly=True)


def figures_of(verdict: Verdict, begun: float) -> list[Figure]:
    return [
        counted("tasks", verdict.tasks),
        counted("begins without an acknowledgement", verdict.unacknowledged),
        *(counted(f"ended as {state}", verdict.ends[state]) for state in sorted(verdict.ends)),
        counted("tasks that went on in another process", verdict.resumed),
        counted("steps with a checkpoint", verdict.steps),
        exactly("steps run again after their checkpoint", len(verdict.again), 0),
        exactly("lost results", len(verdict.lost), 0),
        exactly("other faults", len(verdict.faults), 0),
        counted("requests that ended with an error", verdict.errors),
        counted("time", time.monotonic() - begun, "s"),
    ]


async def kills(setting: Setting) -> Measured:
    random, begun = Random(setting.seed), time.monotonic()
    async with setting.fleet(random) as workers:
        async with Load(workers, random) as load:
            await (killing := Killing(workers, load, random)).run(setting.kills)
        verdict = await load.judge(workers.killed)
    counts = [counted(state, killing.kills[state]) for state in sorted(killing.kills)]
    return [exactly("kills", killing.kills.total(), setting.kills), *counts, *figures_of(verdict, begun)], [
        *verdict.again,
        *verdict.faults,
    ]


# --- the database is away --------------------------------------------------------------------------------------------


async def outage(setting: Setting) -> Measured:
    """A lock of another process on SQLite, or no connection to PostgreSQL."""
    if setting.url.startswith("sqlite"):
        return await _away(setting, setting.url, lambda workers: locked_by_another(setting.url))
    async with proxied(setting.url) as (url, proxy):
        return await _away(setting, url, lambda workers: proxy.stopped())


async def disk(setting: Setting) -> Measured:
    return await _away(setting, setting.url, full_disk)


async def _away(
    setting: Setting, url: str, away: Callable[[Sequence[Worker]], AbstractAsyncContextManager[None]]
) -> Measured:
    """Tasks that begin before, within and after the time without a database. Both workers may lose rounds in it."""
    random, begun = Random(setting.seed), time.monotonic()
    async with setting.fleet(random, url) as workers:
        async with Load(workers, random) as load:
            await _begin_for(load, 3.0)
            async with away(workers.workers):
                await _begin_for(load, OUTAGE_SECONDS)
            await _begin_for(load, 3.0)
        verdict = await load.judge([worker.pid for worker in workers.workers])
    return figures_of(verdict, begun), [*verdict.again, *verdict.faults]


async def _begin_for(load: Load, seconds: float) -> None:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        load.add()
        await asyncio.sleep(0.25)


# --- a later version of the server -----------------------------------------------------------------------------------


async def rollout(setting: Setting) -> Measured:
    """Tasks wait for answers while one worker after the other is replaced by one of the next version."""
    random, begun = Random(setting.seed), time.monotonic()
    async with setting.fleet(random) as workers:
        stay = [Followed(f"stays{n}", Plan("work", 3, 1, retry=False)) for n in range(10)]
        gone = [Followed(f"goes{n}", Plan("work_of_version_1", 3, 1, retry=False)) for n in range(10)]
        await _until_waiting([*stay, *gone], workers)
        for worker in tuple(workers.workers):
            await workers.kill(worker)
            await workers.start(version=2)
        await asyncio.gather(*(task.follow(workers) for task in [*stay, *gone]))
    completed = sum(task.end is not None and task.end["status"] == "completed" for task in stay)
    told = sum(task.end is not None and "TT5605" in str(task.end.get("error")) for task in gone)
    problems = [f"{task.name}: {problem}" for task in [*stay, *gone] for problem in task.problems]
    return [
        exactly("tasks of a tool that stayed, completed", completed, len(stay)),
        exactly("tasks of a tool that is gone, failed with a sentence", told, len(gone)),
        counted("time", time.monotonic() - begun, "s"),
    ], problems


async def _until_waiting(tasks: Sequence[Followed], workers: Fleet) -> None:
    for task in tasks:
        worker = workers.any()
        assert worker is not None
        task.acknowledged(await task.begin(worker))
        await task.until_waiting(worker)


# --- many tasks that wait --------------------------------------------------------------------------------------------


async def waiting(setting: Setting) -> Measured:
    random, begun, warm = Random(setting.seed), time.monotonic(), setting.waiting // 20
    async with setting.fleet(random, workers=1) as workers:
        worker = workers.workers[0]
        tasks = [Followed(f"w{n}", Plan("work", 1, 0, retry=False)) for n in range(setting.waiting + warm)]
        await _begin_all(tasks[:warm], worker)
        before = resident(worker.pid)["VmRSS"]
        await _begin_all(tasks[warm:], worker)
        grown, seconds = resident(worker.pid)["VmRSS"] - before, time.monotonic() - begun
        sample = random.sample(tasks, min(100, len(tasks)))
        waited = sum([(await worker.ask("tasks/get", taskId=task.id))["status"] not in TERMINAL for task in sample])
        await asyncio.gather(*(task.follow(workers) for task in sample))
    completed = sum(task.end is not None and task.end["status"] == "completed" for task in sample)
    return [
        exactly("tasks that wait", len([task for task in tasks[warm:] if task.id is not None]), setting.waiting),
        up_to("memory grown", grown, 50, "MB"),
        exactly(f"of {len(sample)}, waiting", waited, len(sample)),
        exactly("of those, completed after their answers", completed, len(sample)),
        counted("tasks begun", len(tasks) / seconds, "/s"),
        counted("time", time.monotonic() - begun, "s"),
    ], [problem for task in tasks for problem in task.problems]


async def _begin_all(tasks: Sequence[Followed], worker: Worker) -> None:
    """Begin tasks, again where a busy database was too slow, and wait until the last of them asks."""
    for start in range(0, len(tasks), AT_ONCE):
        some = tasks[start : start + AT_ONCE]
        while some := [task for task in some if task.id is None]:
            for task, answer in [(task, task.begin(worker)) for task in some]:
                task.acknowledged(await answer)
    for task in tasks[-AT_ONCE:]:
        await task.until_waiting(worker)


ROWS: Sequence[Row] = (
    Row("kills", "kill -9 of one of two workers", STORES, kills),
    Row("outage", f"the database away for {OUTAGE_SECONDS:g} s", STORES, outage),
    Row("disk", f"a full disk for {OUTAGE_SECONDS:g} s", ("sqlite",), disk),
    Row("rollout", "a later version without a tool", STORES, rollout),
    Row("waiting", "tasks that wait for an answer", STORES, waiting),
)
