"""The faults, in order. Each has workers of its own on a new database, and returns figures and the faults in words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias

from endurance.measuring import Figure, exactly
from task_faults.kills import Killed, killed
from task_faults.ledger import opened_ledger
from task_faults.workers import fleet

__all__ = ["ROWS", "Row", "Setting"]


@dataclass(frozen=True)
class Setting:
    """A new database, a new folder, the log of the workers, and how much is wanted."""

    url: str
    folder: Path
    log: Path
    seed: int
    kills: int
    waiting: int


Measured: TypeAlias = tuple[Sequence[Figure], Sequence[str]]


@dataclass(frozen=True)
class Row:
    """A kind of fault."""

    key: str
    title: str
    stores: Sequence[str]
    measure: Callable[[Setting], Awaitable[Measured]]


def counted(what: str, value: float, unit: str = "") -> Figure:
    """A figure without a bound."""
    return Figure(what, value, unit, "", held=True, roughly=True)


async def kills(setting: Setting) -> Measured:
    random = Random(setting.seed)
    with opened_ledger() as ledger:
        async with fleet(setting.url, setting.folder, setting.log, ledger, random) as workers:
            result = await killed(workers, ledger, random, setting.kills)
    return _figures(result, setting.kills), result.faults


def _figures(result: Killed, kills: int) -> list[Figure]:
    return [
        exactly("kills", sum(result.kills.values()), kills),
        *(counted(state, result.kills[state]) for state in sorted(result.kills)),
        counted("begins without an acknowledgement", result.unacknowledged),
        counted("tasks", result.tasks),
        *(counted(f"ended as {state}", result.ends[state]) for state in sorted(result.ends)),
        counted("went on in another process", result.resumed),
        counted("steps with a checkpoint", result.steps),
        exactly("steps run twice after their checkpoint", len(result.again), 0),
        exactly("lost results", len(result.lost), 0),
        exactly("other faults", len(result.faults), 0),
        counted("requests that ended with an error", result.errors),
        counted("time", result.seconds, "s"),
    ]


BOTH = ("sqlite", "postgresql")

ROWS: Sequence[Row] = (Row("kills", "kill -9 of one of two workers", BOTH, kills),)
