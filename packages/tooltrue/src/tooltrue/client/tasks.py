"""Calls that a server runs as tasks (2026-07-28, extension ``io.modelcontextprotocol/tasks``), from the client's side.

A task outlives its request, and the connection on which it began. It is polled at the interval that the server
suggests; its questions are answered as those of a call.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Generic

from tooltrue.client.call_results import Result, T
from tooltrue.client.connection import ClientConnection, may_pass
from tooltrue.client.notifications import CallProgress, Progress
from tooltrue.client.relayed import RelayedRequest
from tooltrue.client.task_status import TaskStatus, task_status
from tooltrue.client.wording import (
    TASK_CANCELLED,
    TASK_CONNECTION_LOST,
    TASK_EXPIRED,
    TASK_TIMEOUT,
    TASKS_NOT_SPOKEN,
)
from tooltrue.errors import (
    ConnectionLost,
    InvalidAnswer,
    RequestTimeout,
    RpcError,
    TaskCancelled,
    TooltrueError,
    TransportError,
    fact_of,
)
from tooltrue.jsonrpc.messages import Json
from tooltrue.jsonrpc.peer import internal_error
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.protocol.types import replaced

__all__ = ["FinishedTask", "TaskHandle", "followed"]

_log = logging.getLogger("tooltrue")

_INTERVAL_SECONDS = 1.0
_SHORTEST_INTERVAL_SECONDS = 0.02
_LONGEST_INTERVAL_SECONDS = 60.0
_RETRY_SECONDS = 300.0  # how long a server may be away that a task is followed at
_FIRST_RETRY_SECONDS = 0.5
_LONGEST_RETRY_SECONDS = 30.0
_CANCEL_SECONDS = 2.0

Finish = Callable[[Mapping[str, Json]], "Result[Any]"]
"""Makes a result from its members on the wire, and checks it."""


class TaskHandle(Generic[T]):
    """A call that runs at its server as a task, and goes on there whether it is followed or not.

    Keep its ``id`` to come back to it: ``Client.task`` makes another handle, in this process or a later one. ``id`` is
    ``None`` if the server has answered the call without a task: then the handle has its result already.
    """

    def __init__(
        self,
        connection: ClientConnection,
        id: str,
        finish: Finish,
        timeout: float | None,
        status: TaskStatus | None,
        relayed: RelayedRequest | None = None,
    ) -> None:
        self.id: str | None = id
        self._id = id
        self._connection = connection
        self._finish = finish
        self._timeout = timeout
        self._relayed = relayed
        self._newest: TaskStatus | None = None
        self._polled_at = self._since = 0.0
        self._answers: dict[str, Json] = {}  # those that the server may not have
        self._sent: set[str] = set()
        self._asking: set[str] = set()
        if status is not None and status.state == "working":  # the answer to a call lacks what other states add
            self._learn(status)

    async def status(self) -> TaskStatus:
        """Ask the server for the status of the task, once. Raises ``InvalidParams`` if it does not know the task."""
        return self._learn(task_status(await self._request("tasks/get"), self._id, "tasks/get"))

    async def updates(self) -> AsyncIterator[TaskStatus]:
        """Follow the task to its end, and yield each new status, the last one included. Questions are for the caller to
        answer, by :meth:`answer`.

        Raises ``InvalidParams`` for a task that the server does not know, ``RequestTimeout`` at the end of its TTL, and
        ``ConnectionLost`` if the server cannot be reached for a while.
        """
        last: TaskStatus | None = None
        async with contextlib.aclosing(self._statuses(asyncio.Event())) as statuses:
            async for status in statuses:
                previous, last = last, replaced(status, raw={})
                if last != previous:
                    yield status

    async def result(self, *, total_timeout: float | None = None, progress: Progress | None = None) -> Result[T]:
        """Follow the task to its end, and return its result, checked as that of ``Client.call_tool``. Questions are
        answered by the functions of the client.

        ``progress(number, None, message)`` is called with each new message of the server, numbered. The time of a
        person's answer does not count toward ``total_timeout``. The task goes on if this raises or is cancelled;
        :meth:`cancel` ends it. Raises the error of a call that failed, ``TaskCancelled``, and the errors of
        :meth:`updates`.
        """
        late = functools.partial(RequestTimeout.of, TASK_TIMEOUT, id=self._id, seconds=total_timeout)
        async with self._connection.limited(total_timeout, late):
            return self.outcome(await self._end(progress))

    async def answer(self, answers: Mapping[str, Json]) -> None:
        """Answer questions of the task by their keys, each in the form of its method, such as
        ``{"action": "accept", "content": {…}}``. Other questions stay open."""
        await self._request("tasks/update", inputResponses=dict(answers))
        self._sent.update(answers)
        for key in answers:
            self._answers.pop(key, None)

    async def cancel(self) -> None:
        """Ask the server to cancel the task. It may come to another end nevertheless."""
        await self._request("tasks/cancel")

    # --- following ---------------------------------------------------------------------------------------------------

    async def _end(self, progress: Progress | None) -> TaskStatus:
        """Follow the task to its end, and answer its questions."""
        changed = asyncio.Event()
        questions = _Questions(self._answer_open, self._sent, self._asking, changed)
        messages = _Messages(progress)
        try:
            async with contextlib.aclosing(self._statuses(changed)) as statuses:
                async for status in statuses:
                    messages.tell(status.message)
                    await questions.take(status.questions)
        finally:
            await questions.close()
            messages.close()
        assert self._newest is not None
        return self._newest

    async def _statuses(self, changed: asyncio.Event) -> AsyncGenerator[TaskStatus]:
        """Poll the task up to its end, and yield each status; notifications of the server bring some of them sooner.
        ``changed`` ends the wait for the next poll."""
        newest = self._newest
        if newest is None or (not newest.is_final and self._next_poll(newest) <= _now()):
            await self._poll()
        watching: asyncio.Task[None] | None = None
        try:
            while (status := self._newest) is not None:
                yield status
                if status.is_final:
                    return
                await self._pause(status, changed)
                if self._newest is status:
                    await self._poll()
                if watching is None:  # not before the first poll: many tasks are short
                    notified = functools.partial(self._notified, changed)
                    watching = asyncio.create_task(self._connection.watch_task(self._id, notified))
        finally:
            await _stop(watching)

    async def _pause(self, status: TaskStatus, changed: asyncio.Event) -> None:
        """Wait until the next poll. Raises ``RequestTimeout`` at the end of the TTL."""
        until = self._next_poll(status)
        if status.ttl is not None:
            # From the first status that this process has seen: clocks of two machines differ.
            end = self._since + status.ttl
            if _now() >= end:
                raise RequestTimeout.of(TASK_EXPIRED, id=self._id, seconds=status.ttl)
            until = min(until, end)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                await changed.wait()
        changed.clear()

    def _next_poll(self, status: TaskStatus) -> float:
        interval = _INTERVAL_SECONDS if status.interval is None else status.interval
        return self._polled_at + min(max(interval, _SHORTEST_INTERVAL_SECONDS), _LONGEST_INTERVAL_SECONDS)

    async def _poll(self) -> None:
        """Ask for the status, again and again while the server cannot be reached."""
        pause, until = _FIRST_RETRY_SECONDS, _now() + _RETRY_SECONDS
        while True:
            try:
                await self.status()
                return
            except (RpcError, TransportError) as error:
                if not may_pass(error):
                    raise
                is_gone = isinstance(error, ConnectionLost) and not self._connection.is_restored
                if is_gone or _now() + pause > until:
                    raise ConnectionLost.of(TASK_CONNECTION_LOST, id=self._id, problem=fact_of(error)) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_RETRY_SECONDS)

    def _notified(self, changed: asyncio.Event, params: dict[str, Json]) -> None:
        try:
            status = task_status(params, self._id, "notifications/tasks")
        except InvalidAnswer as error:
            _log.warning("%s", error)
            return
        if self._newest is None or status.updated >= self._newest.updated:
            self._learn(status)
            changed.set()

    def _learn(self, status: TaskStatus) -> TaskStatus:
        self._polled_at = _now()
        if self._newest is None:
            self._since = self._polled_at
        if self._newest is None or not self._newest.is_final:  # an end that a notification brought may be newer
            self._newest = status
        return status

    async def _answer_open(self, questions: Mapping[str, InputRequest]) -> None:
        """Answer the questions, each of them once, however often the server is sent the answer."""
        new = {key: question for key, question in questions.items() if key not in self._answers}
        if new:
            with self._connection.answering():
                self._answers.update(await self._connection.input_responses(new, "tasks/get"))
        try:
            await self.answer({key: self._answers[key] for key in questions})
        except (RpcError, TransportError) as error:
            if not may_pass(error):
                raise

    def outcome(self, status: TaskStatus) -> Result[T]:
        """Return the result of the task, checked, from its last ``status``. Raises the error of a call that failed, and
        ``TaskCancelled``."""
        match status.state:
            case "completed":
                # Its `resultType` may be missing, and has to be that of a complete result.
                return self._finish(self._connection.settled().finished(status.raw["result"], "tasks/get"))
            case "failed":
                error = status.raw["error"]
                raise RpcError.received(error["code"], error["message"], error.get("data"))
            case _:
                cancelled = TaskCancelled.of(TASK_CANCELLED, id=self._id)
                cancelled.status = status
                raise cancelled

    # --- requests ----------------------------------------------------------------------------------------------------

    async def _request(self, method: str, **more: Json) -> dict[str, Json]:
        if not self._connection.settled().has_tasks:
            raise TransportError.of(TASKS_NOT_SPOKEN)
        params: dict[str, Json] = {"taskId": self._id, **more}
        return await self._connection.request(method, params, timeout=self._timeout, relayed=self._relayed)

    async def give_up(self) -> None:
        """Ask the server to cancel a task that is not known to have ended, even if the caller is cancelled meanwhile;
        for a short time, and without an error."""
        if self._newest is not None and self._newest.is_final:
            return
        cancelling = asyncio.ensure_future(self._try_to_cancel())
        try:
            await asyncio.shield(cancelling)
        except asyncio.CancelledError:
            await asyncio.wait((cancelling,))
            raise

    async def _try_to_cancel(self) -> None:
        with contextlib.suppress(TooltrueError, TimeoutError):
            async with asyncio.timeout(_CANCEL_SECONDS):
                await self.cancel()


async def followed(task: TaskHandle[T], total_timeout: float | None, progress: Progress | None) -> Result[T]:
    """Return the result for a caller that does not get the handle: a task that it gives up is cancelled, unless the
    server cannot be reached."""
    try:
        return await task.result(total_timeout=total_timeout, progress=progress)
    except ConnectionLost:
        raise
    except BaseException:
        await task.give_up()
        raise


class FinishedTask(TaskHandle[T]):
    """The handle of a call that was answered without a task."""

    def __init__(self, result: Result[T]) -> None:
        self.id = None
        now = datetime.now(UTC)
        self._status = TaskStatus(None, "completed", now, now, raw={"result": result.raw})
        self._result = result

    async def status(self) -> TaskStatus:
        return self._status

    async def updates(self) -> AsyncIterator[TaskStatus]:
        yield self._status

    async def result(self, *, total_timeout: float | None = None, progress: Progress | None = None) -> Result[T]:
        return self._result

    def outcome(self, status: TaskStatus) -> Result[T]:
        return self._result

    async def answer(self, answers: Mapping[str, Json]) -> None:
        """Do nothing: the call asks nothing any more."""

    async def cancel(self) -> None:
        """Do nothing: the call has ended."""


class _Questions:
    """The questions of a task that is followed. They are answered while polling goes on, since the task may end, or
    another client may answer them, before the person does: then the person is no longer asked.

    ``answer`` answers some of them. ``sent`` are the keys of answers that the server has, ``asking`` those of questions
    that are being put, by any follower of the task. ``changed`` is set when ``answer`` fails.
    """

    def __init__(
        self,
        answer: Callable[[Mapping[str, InputRequest]], Any],
        sent: set[str],
        asking: set[str],
        changed: asyncio.Event,
    ) -> None:
        self._answer = answer
        self._sent = sent
        self._asking = asking
        self._changed = changed
        self._keys: frozenset[str] = frozenset()
        self._answering: asyncio.Task[None] | None = None

    async def take(self, questions: Mapping[str, InputRequest]) -> None:
        """Begin to answer what is open, and no longer answer what is not. Raises the error of an earlier answer."""
        if self._answering is not None and self._answering.done():
            answering, self._answering = self._answering, None
            answering.result()
        if self._answering is not None and self._keys.isdisjoint(questions):
            await self.close()
        if self._answering is not None:
            return
        new = {key: question for key, question in questions.items() if key not in self._sent | self._asking}
        if new:
            self._keys = frozenset(new)
            self._asking |= self._keys
            self._answering = asyncio.create_task(self._answer(new))
            self._answering.add_done_callback(self._done)

    def _done(self, answering: asyncio.Task[None]) -> None:
        self._asking -= self._keys
        if not answering.cancelled() and answering.exception() is not None:
            self._changed.set()

    async def close(self) -> None:
        """Take back the questions that are being put."""
        answering, self._answering = self._answering, None
        await _stop(answering)


class _Messages:
    """Reports the messages of a task as the progress of its call."""

    def __init__(self, progress: Progress | None) -> None:
        self._report = None if progress is None else CallProgress(progress)
        self._last: str | None = None
        self._count = 0

    def tell(self, message: str | None) -> None:
        if self._report is None or message is None or message == self._last:
            return
        self._last, self._count = message, self._count + 1
        try:
            self._report.report({"progress": self._count, "message": message})
        except Exception as error:  # noqa: BLE001 - as in callbacks of notifications
            internal_error(error)

    def close(self) -> None:
        if self._report is not None:
            self._report.end()


async def _stop(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait((task,))


def _now() -> float:
    return asyncio.get_running_loop().time()
