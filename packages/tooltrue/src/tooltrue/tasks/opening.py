"""The engine for a URL, and the inspector. Their package is loaded here, and only here: servers without tasks never
import it."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from functools import partial
from typing import TYPE_CHECKING

from tooltrue.errors import ConfigurationError
from tooltrue.extras import required
from tooltrue.state.places import sqlite_url, tasks_file
from tooltrue.tasks.engine import TaskEngine, TaskInspector
from tooltrue.tasks.wording import TASK_PACKAGE_MISSING

if TYPE_CHECKING:
    from tooltrue.tasks.dbos_inspector import DbosInspector

__all__ = ["inspecting", "new_engine", "store_url"]


def store_url(store: str | None, server: str) -> str:
    """Return the URL of the tasks of a server: ``store``, ``$TOOLTRUE_TASKS``, or a file in the user's state folder."""
    return store or os.environ.get("TOOLTRUE_TASKS") or sqlite_url(tasks_file(server))


async def new_engine(url: str, *, instance: str = "tooltrue") -> TaskEngine:
    """Return the engine for ``sqlite:///path`` or ``postgresql://…``, not opened yet. Servers with the same
    ``instance`` share their tasks. ``ConfigurationError`` for other URLs, and if the extra is missing."""
    # On a thread: the import takes half a second.
    return await asyncio.to_thread(_new_engine, url, instance)


def _new_engine(url: str, instance: str) -> TaskEngine:
    with required("dbos", "tasks", partial(_missing, "dbos")):
        from tooltrue.tasks.dbos_engine import DbosEngine  # noqa: PLC0415 - DBOS comes with an extra

        return DbosEngine(url, instance=instance)


@contextlib.asynccontextmanager
async def inspecting(url: str, *, instance: str | None = None) -> AsyncGenerator[TaskInspector]:
    """Context with the tasks of ``instance`` at ``url``, which this process does not run; without a name, those of the
    only one. ``ConfigurationError`` if there are several, or no database, and as of :func:`new_engine`."""
    # On a thread: the import takes half a second.
    inspector = await asyncio.to_thread(_new_inspector, url, instance)
    async with inspector.attached() as attached:
        yield attached


def _new_inspector(url: str, instance: str | None) -> DbosInspector:
    with required("dbos", "tasks", partial(_missing, "dbos")):
        from tooltrue.tasks.dbos_inspector import DbosInspector  # noqa: PLC0415 - DBOS comes with an extra

        return DbosInspector(url, instance=instance)


def _missing(package: str, command: str) -> ConfigurationError:
    return ConfigurationError.of(TASK_PACKAGE_MISSING, package=package, command=command)
