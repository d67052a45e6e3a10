"""Tasks of processes elsewhere, by the client of DBOS alone: looked up, answered and cancelled, and never run here."""

# As in dbos_engine.py:
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence

from dbos import DBOSClient, EnqueueOptions, WorkflowStatus, _serialization, _utils
from dbos import error as dbos_errors
from sqlalchemy.exc import SQLAlchemyError

from tooltrue.errors import ConfigurationError, StateError
from tooltrue.tasks.dbos_engine import (
    _NOTE,
    _NOTES,
    _PICKLE,
    _ROUND,
    _ROWS,
    _ROWS_VERSION,
    DbosEngine,
    _first_line,
    _number,
)
from tooltrue.tasks.dbos_json import JsonSerializer, NoPickle
from tooltrue.tasks.dbos_queries import Queries
from tooltrue.tasks.engine import DamagedTask, StoredTask
from tooltrue.tasks.loop_thread import LoopThread
from tooltrue.tasks.wording import TASK_DATABASE_NOT_OPENABLE, TASKS_OF_SEVERAL_SERVERS
from tooltrue.tools.rounds import MAX_ROUNDS

__all__ = ["DbosInspector"]

_LOADED = 25
"""Tasks whose rounds are loaded at once."""


class DbosInspector(DbosEngine):
    """The rows of an engine, in a process that is no executor. A round that an answer begins is a row in the queue of
    DBOS, from which one of the server's processes claims it.

    Without ``instance``, the only one that has tasks in the database.
    """

    def __init__(self, url: str, *, instance: str | None = None) -> None:
        super().__init__(url, instance=instance or "")
        self._is_named = instance is not None

    @contextlib.asynccontextmanager
    async def attached(self) -> AsyncGenerator[DbosInspector]:
        """Context in which the database is open, instead of :meth:`open`. ``ConfigurationError`` if it cannot be, or if
        it has the tasks of several instances and none is named. It is not created."""
        self._loop = asyncio.get_running_loop()
        self._changed = lambda task: None
        self._thread = LoopThread("tooltrue-task-inspector")
        try:
            try:
                await self._thread.run(self._connect())
            except (SQLAlchemyError, dbos_errors.DBOSException, OSError) as error:
                problem = (isinstance(error, OSError) and error.strerror) or _first_line(error)
                raise ConfigurationError.of(TASK_DATABASE_NOT_OPENABLE, url=self._place, problem=problem) from None
            self._is_open = True
            yield self
        finally:
            await self.close()

    async def _connect(self) -> None:
        if self._path is not None:
            self._path.stat()  # to connect would create it
        logger = logging.getLogger("dbos")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
        _serialization.DBOSDefaultSerializer = NoPickle()
        _utils.GlobalParams.dbos_cloud = False
        self._queries = self._new_queries()
        if not self._is_named and (names := self._queries.applications()):
            if len(names) > 1:
                raise ConfigurationError.of(TASKS_OF_SEVERAL_SERVERS, url=self._place)
            self._queries.pool.dispose()
            self._application = names[0]
            self._version = f"{names[0]}-{_ROWS_VERSION}"
            self._queries = self._new_queries()
        self._client = DBOSClient(
            system_database_engine=self._queries.pool,
            serializer=JsonSerializer(),
            application_name=self._application,
            retry_connection_errors=False,
        )

    def _new_queries(self) -> Queries:
        return Queries(self._url, self._path, self._patience, application=self._application, round=_ROUND, queue=_ROWS)

    async def close(self, seconds: float = 0.0) -> None:
        self._is_open = False
        await self._thread.stop()
        if hasattr(self, "_queries"):
            self._queries.pool.dispose()
        if DbosEngine._open is None:
            _serialization.DBOSDefaultSerializer = _PICKLE

    @contextlib.asynccontextmanager
    async def noting(self, task: str, note: str) -> AsyncGenerator[None]:
        options: EnqueueOptions = {
            "workflow_name": _NOTE,
            "queue_name": _NOTES,
            "workflow_id": f"{_NOTE}/{task}/{secrets.token_hex(8)}",
            "app_version": self._version,
        }
        await self._request(self._store(options, note))
        yield
        await self._request(self._client.update_workflow_attributes_async(options["workflow_id"], {"acted": True}))

    async def _store(self, options: EnqueueOptions, note: str) -> None:
        await self._client.enqueue_async(options, note)

    async def newest(self) -> AsyncGenerator[StoredTask | DamagedTask]:
        tasks = await self._request(asyncio.to_thread(self._queries.newest, ""))
        for start in range(0, len(tasks), _LOADED):
            for task in await self._request(self._stored(tasks[start : start + _LOADED])):
                yield task

    async def starting(self, prefix: str) -> Sequence[StoredTask]:
        tasks = await self._request(asyncio.to_thread(self._queries.starting, prefix))
        stored = list[StoredTask]()
        for task in await self._request(self._stored(tasks)) if tasks else ():  # DBOS takes no ids for any ids
            if isinstance(task, DamagedTask):
                raise task.error
            stored.append(task)
        return tuple(stored)

    async def _stored(self, tasks: Sequence[str]) -> list[StoredTask | DamagedTask]:
        ids = [f"{task}/{number}" for task in tasks for number in range(MAX_ROUNDS + 1)]
        rows = await self._client.list_workflows_async(workflow_ids=ids, application_name=self._application)
        by_task = defaultdict[str, list[WorkflowStatus]](list)
        for row in sorted(rows, key=_number):
            by_task[row.workflow_id.rpartition("/")[0]].append(row)
        stored = [await self._stored_task(task, by_task[task]) for task in tasks]
        return [one for one in stored if one is not None]

    async def _stored_task(self, task: str, rounds: Sequence[WorkflowStatus]) -> StoredTask | DamagedTask | None:
        try:
            state = await self._state(task, rounds)
        except StateError as error:
            return DamagedTask(task, error)
        if state is None:
            return None  # it was removed meanwhile
        deadline = rounds[0].workflow_deadline_epoch_ms
        begun = sum(row.name == _ROUND for row in rounds)
        return StoredTask(task, state, begun, None if deadline is None else deadline / 1000)

    async def _begin(
        self, id: str, values: tuple[str, str | None, dict[str, str]], owner: str, deadline: int | None
    ) -> None:
        """Store a round for the first process of the server that claims it, unless there is one of this id."""
        options: EnqueueOptions = {
            "workflow_name": _ROUND,
            "queue_name": _utils.INTERNAL_QUEUE_NAME,
            "workflow_id": id,
            "authenticated_user": owner,
            "app_version": self._version,
        }
        if deadline is not None:
            options["workflow_timeout"] = max(0.001, deadline / 1000 - time.time())
        await self._client.enqueue_async(options, *values)
