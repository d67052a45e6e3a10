"""Durable tasks on DBOS Transact. With the other ``dbos_*.py``, owner of dbos and its sqlalchemy, which are an extra:
``tasks``.

A round of a task is a workflow, ``TASK/0``, ``TASK/1``, and so on. The state of a task is therefore one query by known
ids, and a round begins once, since its id is unique. An answer is a row ``TASK/N/KEY`` in a queue that no worker
serves: the first one counts. A task that waits for answers is these rows; nothing polls for it.

A workflow has a single step, the run of the round, and its checkpoints are events (``dbos_checkpoints.py``). DBOS
writes for the execution that owns the workflow alone, so a process that stalled, and whose rounds another one has taken
over, stores nothing any more.

Each process is an executor with a new id, and a row that it touches as a sign of life (``_beat``). Rounds of an
executor without such a sign are taken over by the others, or by the next process: DBOS puts them into its queue, from
which exactly one executor claims each.

DBOS is one per process, blocks the loop it is called on and replaces its default executor. It has a loop of its own
here, on a thread; only the rounds themselves run on the loop of the server.
"""

# The internals of DBOS that are named here are the reason why its version is bounded above:
# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import hashlib
import logging
import math
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar, cast
from urllib.parse import urlsplit

import sqlalchemy
from dbos import (
    DBOS,
    DBOSClient,
    DBOSContextSetAuth,
    SetWorkflowID,
    SetWorkflowTimeout,
    StepOptions,
    WorkflowStatus,
    _dbos,
    _serialization,
    _utils,
)
from dbos import error as dbos_errors
from sqlalchemy.exc import SQLAlchemyError

from tooltrue._internal.platform.file_urls import path_from_url
from tooltrue._internal.platform.private_files import ensure_private_file, make_private_folder
from tooltrue.errors import ConfigurationError, StateError
from tooltrue.state.places import without_password
from tooltrue.tasks.dbos_checkpoints import EventCheckpoints, RunningSteps
from tooltrue.tasks.dbos_json import JsonSerializer, NoPickle
from tooltrue.tasks.dbos_queries import Queries
from tooltrue.tasks.engine import (
    RoundAsks,
    RoundElsewhere,
    RoundEnd,
    RunRound,
    StepInterrupted,
    TaskRound,
    TaskState,
    note_ignored,
)
from tooltrue.tasks.loop_thread import LoopThread
from tooltrue.tasks.wording import (
    TASK_DATABASE_NOT_OPENABLE,
    TASK_DATABASE_SILENT,
    TASK_DATABASE_UNREACHABLE,
    TASK_ENGINE_BESIDE_DBOS,
    TASK_ENGINE_NOT_OPEN,
    TASK_ENGINE_TWICE,
    TASK_ROW_DAMAGED,
    TASK_URL_NOT_SUPPORTED,
)
from tooltrue.tools.rounds import MAX_ROUNDS
from tooltrue.wording import Worded

__all__ = ["DbosEngine"]

T = TypeVar("T")

_PICKLE = _serialization.DBOSDefaultSerializer
_log = logging.getLogger("tooltrue.tasks")

_ROWS_VERSION = 1
"""The version of the rows that this module writes: DBOS runs only workflows of the version that a process names."""
_ROUND, _ANSWER, _CANCEL, _WORKER = "tooltrue.round", "tooltrue.answer", "tooltrue.cancel", "tooltrue.worker"
_NOTE = "tooltrue.note"
_ROWS, _WORKERS, _NOTES = "tooltrue-rows", "tooltrue-workers", "tooltrue-notes"
"""Queues that are not registered: no worker serves them, and their rows are only looked up."""
_ASKING = {"asks": True}
"""The attributes of a round that ends with questions. No other row of a task has attributes."""
_SECOND = 1000
"""The precision, in milliseconds, of the times that DBOS writes to SQLite."""
_SWEPT = 20
"""Tasks that are removed at once."""
_ELSEWHERE = 1.0
"""Seconds between two looks at a task that another process runs."""
_UNCONFIRMED = 10_000
"""Milliseconds after which a note is taken whose writer has not told that it has acted: it has ended since."""


class DbosEngine:
    """Tasks in a database: ``sqlite:///path`` for the processes of one machine, ``postgresql://…`` for those of many.

    Engines with the same ``instance`` share their tasks. A process that gives no sign of life for ``lease`` seconds
    loses its rounds to the others. Calls raise ``StateError`` after ``patience`` seconds without the database; a
    running round waits for it. One engine can be open in a process.
    """

    _open: ClassVar[DbosEngine | None] = None
    _opening = threading.Lock()

    def __init__(
        self,
        url: str,
        *,
        instance: str = "tooltrue",
        lease: float = 10.0,
        patience: float = 5.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._place = without_password(url)
        self._path, self._url = _database(url)
        self._application = f"tooltrue-{hashlib.sha256(instance.encode()).hexdigest()[:16]}"
        self._version = f"{self._application}-{_ROWS_VERSION}"  # unique in a database that instances share
        self._lease = lease
        self._patience = patience
        self._clock = clock
        self._executor = secrets.token_hex(8)
        self._bodies: dict[str, concurrent.futures.Future[RoundEnd | None]] = {}
        self._running: set[asyncio.Task[Any]] = set()
        self._steps = RunningSteps()
        self._tools: Sequence[str] = ()
        self._waiting: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._is_open = False
        self._is_closing = False
        self._thread: LoopThread
        self._loop: asyncio.AbstractEventLoop
        self._run: RunRound
        self._changed: Callable[[str], None]
        self._noted: Callable[[str, str], Coroutine[Any, Any, None]]
        self._queries: Queries
        self._client: DBOSClient
        self._workflow: Callable[..., Coroutine[Any, Any, dict[str, Any]]]
        self._beats: asyncio.Task[None] | None = None

    # --- opening and closing

    async def open(
        self,
        run: RunRound,
        changed: Callable[[str], None] = lambda task: None,
        noted: Callable[[str, str], Coroutine[Any, Any, None]] = note_ignored,
        tools: Collection[str] = (),
    ) -> None:
        """Raises ``ConfigurationError`` if the database cannot be opened, or another engine of this process is."""
        with self._opening:
            if (other := DbosEngine._open) is not None:
                raise ConfigurationError.of(TASK_ENGINE_TWICE, url=self._place, other=other._place)
            if _dbos._dbos_global_instance is not None or _dbos._dbos_global_registry is not None:
                raise ConfigurationError.of(TASK_ENGINE_BESIDE_DBOS)
            DbosEngine._open = self
        self._run, self._changed, self._noted = run, changed, noted
        self._steps, self._tools = RunningSteps(), sorted(tools)
        self._loop = asyncio.get_running_loop()
        self._is_closing = False
        self._thread = LoopThread("tooltrue-tasks")
        try:
            await self._thread.run(self._launch())
        except BaseException as error:
            await self._stop()
            if isinstance(error, (SQLAlchemyError, dbos_errors.DBOSException, OSError)):
                raise ConfigurationError.of(
                    TASK_DATABASE_NOT_OPENABLE, url=self._place, problem=_first_line(error)
                ) from None
            raise
        self._is_open = True
        self._beats = asyncio.create_task(self._thread.run(self._beat_on()))

    async def _launch(self) -> None:
        """Start DBOS on this loop, which it adopts, and give the first sign of life."""
        if self._path is not None:
            _create(self._path)
        self._queries = Queries(
            self._url, self._path, self._patience, application=self._application, round=_ROUND, queue=_ROWS
        )
        logger = logging.getLogger("dbos")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())  # otherwise DBOS prints to standard error
        _serialization.DBOSDefaultSerializer = NoPickle()
        _utils.GlobalParams.dbos_cloud = False  # otherwise the environment names the database, and a remote control
        DBOS(
            config={
                "name": self._application,
                "system_database_url": self._url,
                "application_version": self._version,
                "executor_id": self._executor,
                "serializer": JsonSerializer(),
                "log_level": "CRITICAL",
                "use_listen_notify": False,
                "notification_listener_polling_interval_sec": 0.5,  # it sleeps, and looks at an empty table of waiters
                "scheduler_polling_interval_sec": 3600.0,
                "max_executor_threads": 32,
                "db_engine_kwargs": {"pool_size": 8, "connect_args": self._connect_arguments()},
            }
        )
        self._workflow = DBOS.workflow(name=_ROUND)(self._new_workflow())
        DBOS.launch()
        self._client = DBOSClient(
            system_database_engine=self._queries.pool,
            serializer=JsonSerializer(),
            application_name=self._application,
            retry_connection_errors=False,
        )
        self._queries.prepare()
        await self._beat()

    def _connect_arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {"connect_timeout": max(2, round(self._patience)), "application_name": "tooltrue"}
        if self._path is None:
            arguments["tcp_user_timeout"] = int(self._patience * 1000)  # a silent network is a lost connection
        return arguments

    async def close(self, seconds: float = 0.0) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._is_closing = self._steps.is_closed = True
        for id in [id for id in self._bodies if not self._steps.are_in(id)]:
            self._cancel_body(id)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._steps.end()
        if self._beats is not None:
            self._beats.cancel()
            await asyncio.wait((self._beats,))
        for id in list(self._bodies):
            self._cancel_body(id)
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=self._patience)
        with contextlib.suppress(TimeoutError, SQLAlchemyError):  # at once, rather than after the lease
            async with asyncio.timeout(self._patience):
                await self._thread.run(self._client.delete_workflow_async(self._executor_row))
        await self._stop()

    async def _stop(self) -> None:
        self._is_closing = True
        if (dbos := _dbos._dbos_global_instance) is not None and (store := dbos._sys_db_field) is not None:
            store._retry_connection_errors = False  # its threads end, even if the database never comes back
        await asyncio.to_thread(partial(DBOS.destroy, destroy_registry=True))
        await self._thread.stop()
        if hasattr(self, "_queries"):
            self._queries.pool.dispose()
        _serialization.DBOSDefaultSerializer = _PICKLE
        DbosEngine._open = None

    # --- requests

    async def start(self, task: str, record: str, *, owner: str, expires: float | None) -> None:
        deadline = None if expires is None else math.ceil(expires * 1000)
        await self._request(self._client.check_connection_async())  # which fails at once; DBOS would go on trying
        await self._begin_in_time(task, self._begin(f"{task}/0", (record, None, {}), owner, deadline))

    async def look_up(self, task: str) -> TaskState | None:
        return await self._request(self._look_up(task))

    async def answer(self, task: str, responses: Mapping[str, str]) -> None:
        await self._request(self._answer(task, responses))

    async def cancel(self, task: str) -> None:
        await self._request(self._cancel(task))

    async def has_room(self, owner: str, limit: int) -> bool:
        return await self._request(asyncio.to_thread(self._has_room, owner, limit))

    async def of_owner(self, owner: str) -> Sequence[str]:
        return await self._request(asyncio.to_thread(self._queries.newest, owner))

    async def is_elsewhere(self, tool: str) -> bool:
        return await self._request(self._is_elsewhere(tool))

    async def sweep(self) -> int:
        tasks = await self._request(asyncio.to_thread(self._queries.expired, int(self._clock() * 1000)))
        for start in range(0, len(tasks), _SWEPT):
            await self._request(self._remove(tasks[start : start + _SWEPT]))
        return len(tasks)

    async def ended(self, task: str, seconds: float) -> bool:
        changed = asyncio.Event()
        self._waiting[task].add(changed)
        ends = self._loop.time() + seconds
        try:
            while True:
                changed.clear()
                state = await self.look_up(task)
                if state is None or state.status != "working":
                    return True
                if (rest := ends - self._loop.time()) <= 0:
                    return False
                is_here = any(id.startswith(f"{task}/") for id in self._bodies)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(rest if is_here else min(rest, _ELSEWHERE)):
                        await changed.wait()
        finally:
            self._waiting[task].discard(changed)
            if not self._waiting[task]:
                del self._waiting[task]

    async def _request(self, work: Coroutine[Any, Any, T]) -> T:
        """Do this on the loop of DBOS, within ``patience``. Raises ``StateError``."""
        if not self._is_open:
            work.close()
            raise StateError.of(TASK_ENGINE_NOT_OPEN, url=self._place)
        try:
            async with asyncio.timeout(self._patience):
                return await self._thread.run(work)
        except (TimeoutError, SQLAlchemyError) as error:
            raise self._unreachable(error) from None

    async def _begin_in_time(self, task: str, work: Coroutine[Any, Any, None]) -> None:
        """As ``_request``, for the begin of a task, which DBOS tries until it succeeds: a late one is cancelled."""
        begin = asyncio.ensure_future(self._thread.run(work))
        try:
            async with asyncio.timeout(self._patience):
                await asyncio.shield(begin)
        except BaseException as error:
            if not begin.done():
                begin.add_done_callback(partial(self._abandon, task))
            if isinstance(error, TimeoutError):
                raise self._unreachable(error) from None
            raise

    def _abandon(self, task: str, begin: asyncio.Future[None]) -> None:
        if not begin.cancelled() and begin.exception() is None and self._is_open:
            late = asyncio.ensure_future(self._thread.run(self._cancel(task)))
            self._running.add(late)
            late.add_done_callback(self._abandoned)

    def _abandoned(self, late: asyncio.Task[None]) -> None:
        self._running.discard(late)
        if not late.cancelled() and (error := late.exception()) is not None:
            _log.warning("A task that began too late for its caller was not cancelled: %s", _first_line(error))

    def _unreachable(self, error: Exception) -> StateError:
        problem = Worded(TASK_DATABASE_SILENT, {}) if isinstance(error, TimeoutError) else _first_line(error)
        return StateError.of(TASK_DATABASE_UNREACHABLE, url=self._place, problem=problem)

    # --- on the loop of DBOS: the state of a task

    async def _rounds(self, task: str) -> Sequence[WorkflowStatus]:
        """The rows of the rounds of a task, in their order."""
        ids = [f"{task}/{number}" for number in range(MAX_ROUNDS + 1)]
        rows = await self._client.list_workflows_async(workflow_ids=ids, application_name=self._application)
        return sorted(rows, key=_number)

    async def _answers(self, last: WorkflowStatus) -> dict[str, str]:
        """The answers to the questions of a round, by key."""
        ids = {_answer_id(last.workflow_id, key): key for key in self._output(last)["asks"]}
        rows = await self._client.list_workflows_async(workflow_ids=list(ids), load_output=False)
        texts = {ids[row.workflow_id]: self._input(row)[0] for row in rows}
        return {key: texts[key] for key in ids.values() if key in texts}

    async def _look_up(self, task: str) -> TaskState | None:
        return await self._state(task, await self._rounds(task))

    async def _state(self, task: str, rounds: Sequence[WorkflowStatus]) -> TaskState | None:
        """The state of a task by its rounds."""
        if not rounds or rounds[0].name != _ROUND:
            return None
        first, last = rounds[0], rounds[-1]
        record = self._input(first)[0]
        began, updated = (first.created_at or 0) / 1000, (last.updated_at or 0) / 1000
        status = _status(last)
        if status == "working":
            return TaskState(status, record, began, updated, report=await self._report(last.workflow_id))
        if status != "ended":
            return TaskState(status, record, began, updated)
        output = self._output(last)
        if "outcome" in output:
            return TaskState("ended", record, began, updated, outcome=output["outcome"])
        if "asks" not in output or _number(last) == MAX_ROUNDS:
            return TaskState("failed", record, began, updated)
        answers = await self._answers(last)
        open_keys = frozenset(key for key in output["asks"] if key not in answers)
        if not open_keys:  # the process that stored the last answer ended before it began the next round
            await self._go_on(task, rounds, answers)
            return TaskState("working", record, began, updated)
        return TaskState("asks", record, began, updated, output["questions"], open_keys)

    async def _report(self, round: str) -> str:
        value = await asyncio.to_thread(self._queries.report, round)
        return JsonSerializer().deserialize(value) if value else ""

    async def _answer(self, task: str, responses: Mapping[str, str]) -> None:
        rounds = await self._rounds(task)
        if not rounds or _status(last := rounds[-1]) != "ended" or _number(last) == MAX_ROUNDS:
            return
        if "asks" not in (output := self._output(last)):
            return
        for key, response in responses.items():
            if key in output["asks"]:
                await self._insert(_ANSWER, _answer_id(last.workflow_id, key), task, rounds[0], response)
        answers = await self._answers(last)
        if len(answers) == len(output["asks"]):
            await self._go_on(task, rounds, answers)
        self._loop.call_soon_threadsafe(self._notify, task)

    async def _insert(self, name: str, id: str, task: str, first: WorkflowStatus, *values: str) -> None:
        """Store a row of a task, unless there is one of this id."""
        await self._client.enqueue_async(
            {
                "workflow_name": name,
                "queue_name": _ROWS,
                "workflow_id": id,
                "queue_partition_key": task,
                "authenticated_user": first.authenticated_user or "",
                "app_version": self._version,
            },
            *values,
        )

    async def _go_on(self, task: str, rounds: Sequence[WorkflowStatus], answers: Mapping[str, str]) -> None:
        first, last = rounds[0], rounds[-1]
        values = (self._input(first)[0], self._output(last)["memory"], dict(answers))
        with contextlib.suppress(dbos_errors.DBOSException):  # the row of another name: it was cancelled
            await self._begin(
                f"{task}/{_number(last) + 1}",
                values,
                first.authenticated_user or "",
                first.workflow_deadline_epoch_ms,
            )

    async def _begin(
        self, id: str, values: tuple[str, str | None, dict[str, str]], owner: str, deadline: int | None
    ) -> None:
        """Store a round and begin it here, unless there is one of this id."""
        seconds = None if deadline is None else max(0.001, deadline / 1000 - time.time())
        with SetWorkflowID(id), DBOSContextSetAuth(owner, None), SetWorkflowTimeout(seconds):
            await DBOS.start_workflow_async(self._workflow, *values)

    def _input(self, row: WorkflowStatus) -> list[Any]:
        match row.input:
            case {"args": [*values]}:
                return values
            case _:
                raise StateError.of(TASK_ROW_DAMAGED, url=self._place)

    def _output(self, row: WorkflowStatus) -> dict[str, Any]:
        match row.output:
            case {"asks": list(), "questions": str(), "memory": str()} | {"outcome": str()} | {"failed": True}:
                return cast("dict[str, Any]", row.output)
            case _:
                raise StateError.of(TASK_ROW_DAMAGED, url=self._place)

    # --- on the loop of DBOS: ends

    async def _cancel(self, task: str) -> None:
        while True:
            rounds = await self._rounds(task)
            if not rounds:
                return
            last = rounds[-1]
            match _status(last):
                case "working":
                    await self._client.cancel_workflow_async(last.workflow_id)
                    self._cancel_body(last.workflow_id)
                case "ended" if "asks" in self._output(last) and _number(last) < MAX_ROUNDS:
                    # The id of the next round: either it begins, or the task is cancelled.
                    await self._insert(_CANCEL, f"{task}/{_number(last) + 1}", task, rounds[0])
                case _:
                    break
        self._loop.call_soon_threadsafe(self._notify, task)

    def _cancel_body(self, id: str) -> None:
        if (body := self._bodies.get(id)) is not None:
            body.cancel()

    def _has_room(self, owner: str, limit: int) -> bool:
        # Mostly the quick count decides. It has rounds as well that asked, and were answered since.
        return self._queries.open_rounds(owner, limit) < limit or self._queries.open_tasks(owner, limit) < limit

    async def _remove(self, tasks: Sequence[str]) -> None:
        ids = [f"{task}/{number}" for task in tasks for number in range(MAX_ROUNDS + 1)]
        await self._client.cancel_workflows_async(ids)
        for id in ids:
            self._cancel_body(id)
        await self._client.delete_workflows_async([*ids, *await asyncio.to_thread(self._queries.beside, tasks)])

    # --- on the loop of DBOS: rounds

    def _new_workflow(self) -> Callable[..., Coroutine[Any, Any, dict[str, Any]]]:
        async def workflow(record: str, memory: str | None, responses: dict[str, str]) -> dict[str, Any]:
            id = DBOS.workflow_id or ""
            if (this := asyncio.current_task()) is not None:  # ends when DBOS has stored the end of the round
                this.add_done_callback(partial(self._recorded, id))
            options: StepOptions = {"name": "round", "preemptible": True}  # cancelled within a second if the task is
            return await DBOS.run_step_async(options, self._step, id, record, memory, responses)

        return workflow

    async def _step(self, id: str, record: str, memory: str | None, responses: dict[str, str]) -> dict[str, Any]:
        """Run a round on the loop of the server."""
        if self._is_closing:
            raise asyncio.CancelledError
        task, _, number = id.rpartition("/")
        checkpoints = EventCheckpoints(self._thread, id, self._steps)
        round = TaskRound(task, int(number), record, memory, responses, checkpoints)
        # In an empty context: that of DBOS is no concern of the tool.
        body = contextvars.Context().run(asyncio.run_coroutine_threadsafe, self._run_here(round), self._loop)
        self._bodies[id] = body
        try:
            end = await asyncio.wrap_future(body)
            if isinstance(end, RoundAsks):
                await self._client.update_workflow_attributes_async(id, _ASKING)  # before its end: none is left out
            return _stored(end)
        except RoundElsewhere:
            await self._hand_back(id)
            raise asyncio.CancelledError from None  # DBOS stores no end
        finally:
            if self._bodies.get(id) is body:
                del self._bodies[id]

    async def _hand_back(self, id: str) -> None:
        """Leave a round to another executor: the first that comes to the queue has it, and others hand it back again.
        Without the database this one keeps it, until it is taken over."""
        with contextlib.suppress(SQLAlchemyError):
            await asyncio.to_thread(self._queries.hand_back, id, self._executor, _utils.INTERNAL_QUEUE_NAME)

    def _recorded(self, id: str, _: object) -> None:
        """The end of a round is stored."""
        self._loop.call_soon_threadsafe(self._notify, id.rpartition("/")[0])

    # --- on the loop of the server

    async def _run_here(self, round: TaskRound) -> RoundEnd | None:
        """Run a round; ``None`` if it failed."""
        this = asyncio.current_task()
        assert this is not None
        self._running.add(this)
        try:
            return await self._run(round)
        except RoundElsewhere:
            raise
        except StepInterrupted as error:
            _log.error("The task %s failed: %s", round.task[:8], error)
            return None
        except Exception:  # noqa: BLE001 - a defect of the layer above, which ends this task and no other
            _log.exception("The task %s failed.", round.task[:8])
            return None
        finally:
            self._running.discard(this)

    def _notify(self, task: str) -> None:
        for waiting in self._waiting.get(task, ()):
            waiting.set()
        self._changed(task)

    # --- on the loop of DBOS: signs of life

    @property
    def _executor_row(self) -> str:
        return f"{_WORKER}/{self._executor}"

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(self._lease / 3)
            try:
                await self._take_notes(await self._beat())
            except Exception as error:  # noqa: BLE001 - without signs of life, others would take over what runs here
                _log.warning("The database of tasks cannot be used now: %s", _first_line(error))

    async def _beat(self) -> Mapping[str, WorkflowStatus]:
        """Give a sign of life, take over the rounds of executors without one, and end those that were taken from here.
        Return the rows of all executors.

        The clock is that of the database, which stamps the row when it is touched.
        """
        here = set(self._bodies)
        executors = await self._signs()
        alive = self._alive(executors)
        rounds = await self._client.list_workflows_async(
            name=_ROUND, status="PENDING", load_input=False, load_output=False
        )
        for id in here - {row.workflow_id for row in rounds if row.executor_id == self._executor}:
            self._cancel_body(id)
        if gone := {row.executor_id for row in rounds if row.executor_id} - alive:
            _log.info("Taking over the rounds of %d executors.", len(gone))
            await asyncio.to_thread(DBOS._recover_pending_workflows, sorted(gone))
        now = _touched(executors[self._executor])
        if old := [row.workflow_id for row in executors.values() if now - _touched(row) > self._lease * 10_000]:
            await self._client.delete_workflows_async(old)
        return executors

    def _alive(self, executors: Mapping[str, WorkflowStatus]) -> set[str]:
        """The executors that have given a sign of life within the lease."""
        since = _touched(executors[self._executor]) - self._lease * 1000 - _SECOND
        return {executor for executor, row in executors.items() if _touched(row) > since}

    async def _is_elsewhere(self, tool: str) -> bool:
        executors = await self._signs()
        others = [executors[executor].attributes or {} for executor in self._alive(executors) - {self._executor}]
        return any(tool in other.get("tools", ()) for other in others)

    async def _take_notes(self, executors: Mapping[str, WorkflowStatus]) -> None:
        """Hand over the notes of operators that have acted. A note that is not taken is handed over again, by another
        executor if this one has ended."""
        now, others = _touched(executors[self._executor]), self._alive(executors) - {self._executor}
        notes = await self._client.list_workflows_async(
            queue_name=_NOTES, application_name=self._application, load_output=False
        )
        for note in notes:
            has_acted = bool(note.attributes) or now - (note.created_at or 0) > _UNCONFIRMED
            if has_acted and await asyncio.to_thread(self._queries.claim, note.workflow_id, self._executor, others):
                await self._hand_over(note)

    async def _hand_over(self, note: WorkflowStatus) -> None:
        noted = self._noted(note.workflow_id.split("/")[1], self._input(note)[0])
        try:
            async with asyncio.timeout(self._patience):
                await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(noted, self._loop))
        except (StateError, TimeoutError) as error:
            _log.warning("The note of an operator about a task is not taken now: %s", _first_line(error))
        else:
            await self._client.delete_workflows_async([note.workflow_id])

    async def _signs(self) -> dict[str, WorkflowStatus]:
        """Give a sign of life, with the tools that are here; return the rows of all executors."""
        while True:
            await self._client.update_workflow_attributes_async(self._executor_row, {"tools": self._tools})
            rows = await self._client.list_workflows_async(
                queue_name=_WORKERS, application_name=self._application, load_input=False, load_output=False
            )
            executors = {row.workflow_id.rpartition("/")[2]: row for row in rows}
            if self._executor in executors:
                return executors
            await self._client.enqueue_async(
                {
                    "workflow_name": _WORKER,
                    "queue_name": _WORKERS,
                    "workflow_id": self._executor_row,
                    "app_version": self._version,
                }
            )


def _database(url: str) -> tuple[Path | None, str]:
    """The file of an SQLite database, and the URL of any as SQLAlchemy has it."""
    parts = urlsplit(url)
    match parts.scheme:
        case "sqlite" if parts.path and not (parts.netloc or parts.query or parts.fragment):
            path = path_from_url(parts.path).absolute()
            return path, sqlalchemy.URL.create("sqlite", database=str(path)).render_as_string()
        case "postgresql" | "postgres":
            return None, f"postgresql{url[len(parts.scheme) :]}"
        case _:
            raise ConfigurationError.of(TASK_URL_NOT_SUPPORTED, url=without_password(url))


def _create(path: Path) -> None:
    """Create the file for its user alone. SQLite gives the files beside it the same mode."""
    make_private_folder(path.parent)
    ensure_private_file(path)


def _status(row: WorkflowStatus) -> Literal["working", "ended", "cancelled", "failed"]:
    """The status of a task whose last round is this, but for what its output says."""
    if row.name == _CANCEL:
        return "cancelled"
    match row.status:
        case "PENDING" | "ENQUEUED" | "DELAYED":
            return "working"
        case "SUCCESS":
            return "ended"
        case "CANCELLED":
            return "cancelled"
        case _:
            return "failed"


def _stored(end: RoundEnd | None) -> dict[str, Any]:
    if end is None:
        return {"failed": True}
    if isinstance(end, RoundAsks):
        return {"asks": list(end.keys), "questions": end.questions, "memory": end.memory}
    return {"outcome": end.outcome}


def _touched(row: WorkflowStatus) -> int:
    """The time of the newest change of a row, in milliseconds."""
    return row.updated_at or 0


def _number(row: WorkflowStatus) -> int:
    return int(row.workflow_id.rpartition("/")[2])


def _answer_id(round: str, key: str) -> str:
    return f"{round}/{hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()[:32]}"


def _first_line(error: BaseException) -> str:
    """The first line of a message; SQLAlchemy adds the statement and its values."""
    return str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
