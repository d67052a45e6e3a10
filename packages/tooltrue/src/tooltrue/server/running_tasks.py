"""The engine of a server's tasks, while it serves."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from tooltrue._internal.platform.private_files import make_private_folder
from tooltrue.errors import ConfigurationError
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.sealing_keys import read_keys
from tooltrue.server.service import SILENT
from tooltrue.server.task_seals import SealedTasks
from tooltrue.server.wording import TASK_STORE_NEEDS_KEYS, TASK_STORE_NOT_WRITABLE
from tooltrue.state.new_file import write_new
from tooltrue.state.places import beside, without_password
from tooltrue.tasks.opening import new_engine, store_url
from tooltrue.tasks.service import RecordAct, TaskService
from tooltrue.tools.toolset import Provider, Toolset
from tooltrue.tools.vocabulary import EVERYONE, RequestContext

__all__ = ["running_tasks"]

_SWEEP_SECONDS = 60.0


@contextlib.asynccontextmanager
async def running_tasks(
    service: TaskService,
    provider: Provider,
    tools: Toolset,
    server: str,
    sealer: Sealer | None,
    record_act: RecordAct,
    *,
    seconds: float,
) -> AsyncGenerator[None]:
    """Context in which calls of ``server`` become tasks, and those that earlier processes have left go on. At its end,
    steps that run have ``seconds`` to reach their checkpoint. ``tools`` has the tools of ``provider``, without layers.

    Without a ``sealer`` whose keys outlive this process, their keys lie beside the database. Raises
    ``ConfigurationError`` if that cannot be opened.
    """
    store = store_url(service.settings.store, server)
    engine = await new_engine(store, instance=server)
    seals = SealedTasks(sealer or Sealer(await asyncio.to_thread(_keys_beside, store)))
    listed = await tools.list_tools(RequestContext(EVERYONE, SILENT))
    names = frozenset(tool.name for tool in listed if tool.task is not None)
    service.serve(provider, seals, record_act, names)
    await engine.open(service.run, service.changed, service.noted, names)
    service.engine = engine
    sweeper = asyncio.create_task(_sweep(service))
    try:
        yield
    finally:
        sweeper.cancel()
        await asyncio.wait((sweeper,))
        service.engine = None
        await engine.close(seconds)


async def _sweep(service: TaskService) -> None:
    while True:
        await asyncio.sleep(_SWEEP_SECONDS)
        await service.sweep()


def _keys_beside(store: str) -> tuple[bytes, ...]:
    """The keys in the file beside an SQLite database; it is created with the first key."""
    if not (name := beside(store, ".key")):
        raise ConfigurationError.of(TASK_STORE_NEEDS_KEYS, store=without_password(store))
    path = Path(name)
    try:
        make_private_folder(path.parent)
        with contextlib.suppress(FileExistsError):
            write_new(path, f"{base64.b64encode(new_key()).decode()}\n")
    except OSError as error:
        problem = error.strerror or str(error)
        raise ConfigurationError.of(TASK_STORE_NOT_WRITABLE, path=path, problem=problem) from None
    return read_keys(name)
