"""The engine of a server's tasks, while it serves."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from tooltrue._internal.platform.private_files import make_private_folder
from tooltrue.errors import ConfigurationError
from tooltrue.protocol.types import Value
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.sealing_keys import read_keys
from tooltrue.server.service import SILENT
from tooltrue.server.task_seals import SealedTasks
from tooltrue.server.wording import TASK_STORE_NEEDS_KEYS, TASK_STORE_NOT_WRITABLE
from tooltrue.state.new_file import write_new
from tooltrue.state.places import beside, without_password
from tooltrue.tasks.engine import TaskEngine
from tooltrue.tasks.opening import new_engine, store_url
from tooltrue.tasks.service import RecordAct, TaskService
from tooltrue.tasks.shared_engine import SharedEngine, name_of, rounds_of
from tooltrue.tools.toolset import Provider, Toolset
from tooltrue.tools.vocabulary import EVERYONE, RequestContext

__all__ = ["TasksOfServer", "running_tasks"]

_SWEEP_SECONDS = 60.0


class TasksOfServer(Value, frozen=True):
    """The ``service`` of a server that runs tasks through ``provider``. ``tools`` has the tools of ``provider``,
    without layers. Without a ``sealer`` whose keys outlive this process, keys lie beside the database, for ``realm``.
    """

    service: TaskService
    provider: Provider
    tools: Toolset
    sealer: Sealer | None
    realm: str
    record_act: RecordAct

    async def begin(self, keys: tuple[bytes, ...]) -> frozenset[str]:
        """Prepare the service, and return the names of the tools that have tasks."""
        seals = SealedTasks(self.sealer or Sealer(keys, realm=self.realm))
        listed = await self.tools.list_tools(RequestContext(EVERYONE, SILENT))
        names = frozenset(tool.name for tool in listed if tool.task is not None)
        self.service.serve(self.provider, seals, self.record_act, names)
        return names


@contextlib.asynccontextmanager
async def running_tasks(server: str, parts: Mapping[str, TasksOfServer], *, seconds: float) -> AsyncGenerator[None]:
    """Context in which calls of ``server`` become tasks, and those that earlier processes have left go on. At its end,
    steps that run have ``seconds`` to reach their checkpoint. ``parts`` are the server itself, under the empty name, or
    its views by their names.

    Raises ``ConfigurationError`` if the database cannot be opened.
    """
    store = store_url(next(iter(parts.values())).service.settings.store, server)
    engine = await new_engine(store, instance=server)
    has_keys = all(part.sealer is not None for part in parts.values())
    keys = () if has_keys else await asyncio.to_thread(_keys_beside, store)
    names = frozenset[str]().union(*[await part.begin(keys) for part in parts.values()])
    await _open(engine, {name: part.service for name, part in parts.items()}, names)
    sweeper = asyncio.create_task(_sweep(next(iter(parts.values())).service))
    try:
        yield
    finally:
        sweeper.cancel()
        await asyncio.wait((sweeper,))
        for part in parts.values():
            part.service.engine = None
        await engine.close(seconds)


async def _open(engine: TaskEngine, services: Mapping[str, TaskService], names: frozenset[str]) -> None:
    if (own := services.get("")) is not None:
        await engine.open(own.run, own.changed, own.noted, names)
        own.engine = engine
        return

    def changed(task: str) -> None:
        for service in services.values():
            service.changed(task)  # only its followers are concerned

    async def noted(task: str, note: str) -> None:
        state = await engine.look_up(task)
        if state is not None and (service := services.get(name_of(state.record))) is not None:
            await service.noted(task, note)

    run = rounds_of({name: service.run for name, service in services.items()})
    await engine.open(run, changed, noted, names)
    for name, service in services.items():
        service.engine = SharedEngine(engine, name)


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
