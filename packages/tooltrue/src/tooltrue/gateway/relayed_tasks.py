"""Tasks of a stateless server that callers of a gateway follow themselves: requests about them, and their questions."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from tooltrue.client.call_results import Result
from tooltrue.client.task_status import TaskStatus
from tooltrue.client.tasks import TaskHandle
from tooltrue.errors import InvalidAnswer, InvalidResult, RpcError, TooltrueError, fact_of
from tooltrue.gateway.operations import RelayAnswers
from tooltrue.host.upstream_calls import TaskAnswer
from tooltrue.jsonrpc.wording import SERVER_RESPONSE_INVALID
from tooltrue.protocol.input_requests import InputRequest
from tooltrue.protocol.types import replaced
from tooltrue.server.wording import REASON_TOKEN_TOO_LONG
from tooltrue.tools.vocabulary import RemoteTask, TaskFollow
from tooltrue.wording import Worded

__all__ = ["TaskFollowers", "TaskQuestions", "ask"]

_log = logging.getLogger("tooltrue")

_MOST_QUESTIONS: Final = 10_000
_LONGEST_ID: Final = 2_048
"""The id of a task is a header over HTTP (2026-07-28, basic/transports/streamable-http)."""


async def ask(handle: TaskHandle[Any], task: RemoteTask) -> TaskAnswer | None:
    """Send the request. ``None`` for an acknowledgement."""
    match task.verb:
        case "update":
            await handle.answer(task.responses)
            return None
        case "cancel":
            await handle.cancel()
            return None
        case "get":
            status = await handle.status()
            return TaskAnswer(status, _result(handle, status) if status.state == "completed" else None)


def _result(handle: TaskHandle[Any], status: TaskStatus) -> Result:
    try:
        return handle.outcome(status)
    except InvalidResult as error:  # a layer above refuses it too, and says so to the caller
        return error.result


def with_short_id(status: TaskStatus) -> TaskStatus:
    """Return the status of a new task. Raises ``InvalidAnswer`` for an id that a client could not send back, once it is
    sealed."""
    if len(str(status.id).encode()) > _LONGEST_ID:
        problem = Worded(REASON_TOKEN_TOO_LONG, {"limit": _LONGEST_ID})
        raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method="tools/call", problem=problem)
    return status


class TaskQuestions:
    """Questions in the answers to ``tasks/get``. Each comes with every poll, and counts once."""

    def __init__(self) -> None:
        self._counted: OrderedDict[tuple[str, str], None] = OrderedDict()

    def checked(self, answer: TaskAnswer, answers: RelayAnswers) -> TaskAnswer:
        """Return the answer with the questions that a person may be shown. Raises ``InvalidAnswer`` for others, and for
        more than the limits of the server allow."""
        status = answer.status
        if not status.questions:
            return answer
        try:
            questions = {key: answers.checked(request) for key, request in status.questions.items()}
            self._count(str(status.id), questions, answers)
        except RpcError as error:
            problem = fact_of(error)
            raise InvalidAnswer.of(SERVER_RESPONSE_INVALID, method="tasks/get", problem=problem) from None
        return replaced(answer, status=replaced(status, questions=questions))

    def _count(self, task: str, questions: dict[str, InputRequest], answers: RelayAnswers) -> None:
        new = [(task, key) for key in questions if (task, key) not in self._counted]
        with answers.asking(questions[key]["method"] for _, key in new):
            self._counted.update(dict.fromkeys(new))
        while len(self._counted) > _MOST_QUESTIONS:
            self._counted.popitem(last=False)


class TaskFollowers:
    """Tasks of the server ``label`` whose changes callers want to hear of. Each is followed until its end, or until its
    caller wants it no longer."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, wish: TaskFollow, follow: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> None:
        """Run ``follow``, which calls its argument after each change."""
        task = asyncio.get_running_loop().create_task(self._follow(follow(wish.changed)), context=contextvars.Context())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        wish.end = partial(_cancel, task)

    async def _follow(self, following: Coroutine[Any, Any, None]) -> None:
        try:
            await following
        except TooltrueError as error:  # polling by the caller finds every change
            _log.info("%s: a task is not followed any more: %s", self._label, error)

    async def close(self) -> None:
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)


def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
