"""Tasks of other servers that callers of a gateway follow: their ids here, their number, and their members on the wire.

A gateway stores no such task. The id that a caller has is sealed: it holds the server, the tool and the id there, and
opens for this caller alone. The workers of a gateway share three facts: the number of a caller's tasks that are not
known to have ended, the ends that have been seen, and the questions that have an answer.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

from tooltrue.contract.digests import pin
from tooltrue.errors import InvalidParams, MissingCapability, RpcError, StateError, ToolError
from tooltrue.jsonrpc.messages import EncodedJson, decode, encode, error_members
from tooltrue.protocol.input_requests import InputRequest, lacking, malformed
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, TaskCreated, ToolOutcome, Value
from tooltrue.state.facts import Values
from tooltrue.tasks.records import owner_of
from tooltrue.tasks.wording import (
    TASK_NOT_STORED,
    TASK_QUESTION_NOT_DECLARED,
    TOO_MANY_TASKS,
    UPSTREAM_TASK_AWAY,
    UPSTREAM_TASK_TOOL_CHANGED,
)
from tooltrue.tools.vocabulary import Principal, RequestContext, Tool
from tooltrue.tools.wording import INVALID_INPUT_RESPONSE

__all__ = ["UpstreamSeals", "UpstreamServers", "UpstreamTask", "UpstreamTasks"]

_log = logging.getLogger("tooltrue")

_DAY: Final = 86_400.0
_MOST_FULL: Final = 1_000


class UpstreamSeals(Protocol):
    """Seals ids for their callers. ``open`` returns ``None`` for anything else."""

    def seal(self, payload: bytes, owner: str) -> str: ...

    def open(self, id: str, owner: str) -> bytes | None: ...


class UpstreamTask(Value, frozen=True):
    """A task ``id`` of the server ``server``, which ``instance`` tells from others of that label. ``tool`` is the name
    here of the tool that it runs, and ``pin`` the digest of its definition when the task began."""

    server: str
    instance: str
    tool: str
    pin: str
    id: str

    @property
    def key(self) -> str:
        """A digest, by which it is known in records and in the facts."""
        return hashlib.sha256(encode([self.server, self.instance, self.id])).hexdigest()[:32]

    def is_of(self, tool: Tool) -> bool:
        """Whether ``tool`` is still one of the server that has the task."""
        return (tool.server, tool.instance) == (self.server, self.instance)


class UpstreamServers(Protocol):
    """The servers of a gateway, by their labels."""

    def is_away(self, server: str) -> bool:
        """Whether the tools of a server are not known now: it starts, or is lost."""
        ...

    async def settled(self, server: str) -> None:
        """Wait until a server that starts has started, or has failed to."""
        ...


class UpstreamTasks:
    """The tasks of other servers that callers of one view follow. A caller has at most ``limit`` that are not known to
    have ended. ``is_away`` says whether the tools of a server, by its label, are not known now."""

    def __init__(
        self,
        seals: UpstreamSeals,
        facts: Values,
        encode_result: Callable[[CallToolResult], bytes],
        *,
        is_away: Callable[[str], bool] = lambda server: False,
        language: str = "en",
        limit: int = 100,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._seals = seals
        self._facts = facts
        self._encode_result = encode_result
        self._is_away = is_away
        self._language = language
        self._limit = limit
        self._clock = clock
        self._full = dict[str, None]()

    # --- ids

    def task_of(self, tool: Tool, id: str) -> UpstreamTask:
        """Return the task as which the server of a tool runs a call."""
        return UpstreamTask(tool.server, tool.instance, tool.name, pin(tool.definition), id)

    def seal(self, task: UpstreamTask, principal: Principal) -> str:
        """Return the id by which this caller may ask for the task."""
        return self._seals.seal(encode([task.server, task.instance, task.tool, task.pin, task.id]), principal.id)

    def find(self, id: str, principal: Principal) -> UpstreamTask | None:
        """Return the task that this caller has by ``id``; ``None`` for any other."""
        payload = self._seals.open(id, principal.id)
        return None if payload is None else UpstreamTask(*decode(payload))

    def check_present(self, task: UpstreamTask) -> None:
        """Raise ``ToolError`` while it cannot be known whether the caller still has the tool of the task."""
        if self._is_away(task.server):
            raise ToolError.of(UPSTREAM_TASK_AWAY, server=task.server)

    # --- how many there are

    def may_be_full(self, principal: Principal) -> bool:
        """Whether the caller has had as many tasks as it may have, as far as this process knows."""
        return owner_of(principal) in self._full if self._full else False

    async def is_full(self, principal: Principal) -> bool:
        """Whether the caller has as many tasks as it may have now."""
        owner = owner_of(principal)
        try:
            _, tasks = await self._open_tasks(owner)
        except StateError as error:
            _log.error("The tasks of a caller cannot be counted: %s", error)
            return True
        if len(tasks) >= self._limit:
            return True
        self._full.pop(owner, None)
        return False

    async def admit(self, principal: Principal, task: UpstreamTask, ttl_ms: int | None) -> None:
        """Count a task from now on. Raises ``ToolError`` if its caller has too many, or if it cannot be counted."""
        owner, seconds = owner_of(principal), min(_DAY, _DAY if ttl_ms is None else max(1.0, ttl_ms / 1000))
        try:
            while True:
                old, tasks = await self._open_tasks(owner)
                if len(tasks) >= self._limit:
                    self._mark_full(owner)
                    raise self.too_many(task.tool)
                if await self._put(owner, old, {**tasks, task.key: self._clock() + seconds}):
                    break
            if len(tasks) + 1 >= self._limit:
                self._mark_full(owner)
        except StateError as error:
            _log.error("A task of %s cannot be counted: %s", task.tool, error)
            raise ToolError.of(TASK_NOT_STORED, tool=task.tool) from error

    def too_many(self, tool: str) -> ToolError:
        return ToolError.of(TOO_MANY_TASKS, tool=tool, limit=self._limit)

    async def end(self, principal: Principal, task: UpstreamTask) -> bool:
        """Count a task no longer. Returns whether it is the first time that its end is seen."""
        owner = owner_of(principal)
        try:
            if not await self._facts.put_if_absent(f"upstream task ended {task.key}", b"1", _DAY):
                return False
            while True:
                old, tasks = await self._open_tasks(owner)
                if old is None or await self._put(owner, old, {k: v for k, v in tasks.items() if k != task.key}):
                    return True
        except StateError as error:
            _log.error("The end of a task of %s cannot be stored: %s", task.tool, error)
            return True  # rather twice in the log than not at all

    async def _open_tasks(self, owner: str) -> tuple[bytes | None, dict[str, float]]:
        """The stored value, and what it says: the tasks that are counted, with the time at which that ends."""
        old, now = await self._facts.get(_open_key(owner)), self._clock()
        tasks: dict[str, float] = {} if old is None else decode(old)
        return old, {key: until for key, until in tasks.items() if until > now}

    async def _put(self, owner: str, old: bytes | None, tasks: Mapping[str, float]) -> bool:
        key, value = _open_key(owner), encode(dict(tasks))
        if old is None:
            return await self._facts.put_if_absent(key, value, _DAY)
        return await self._facts.replace(key, old, value, _DAY)

    def _mark_full(self, owner: str) -> None:
        while len(self._full) >= _MOST_FULL:
            del self._full[next(iter(self._full))]
        self._full[owner] = None

    # --- answers of callers

    def answers(
        self, task: UpstreamTask, tool: Tool, questions: Mapping[str, InputRequest], responses: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the responses to open questions. Raises ``InvalidParams`` for one that is no answer to its question,
        and if the definition of the tool is not the one with which the task began: a person may have been shown
        another."""
        if pin(tool.definition) != task.pin:
            raise InvalidParams.of(UPSTREAM_TASK_TOOL_CHANGED, tool=task.tool)
        answers = {key: response for key, response in responses.items() if key in questions}
        for key, response in answers.items():
            if problem := malformed(questions[key], response):
                raise InvalidParams.of(INVALID_INPUT_RESPONSE, key=key[:80], problem=problem)
        return answers

    @asynccontextmanager
    async def answering(self, task: UpstreamTask, keys: Collection[str]) -> AsyncGenerator[Collection[str]]:
        """Context in which answers to those of ``keys`` are sent that have none yet: each question is answered once,
        whichever worker it reaches. If this raises, they may be answered again."""
        claims = {key: f"upstream task answered {task.key} {hashlib.sha256(key.encode()).hexdigest()}" for key in keys}
        own = [key for key, claim in claims.items() if await self._facts.put_if_absent(claim, b"1", _DAY)]
        try:
            yield own
        except BaseException:
            for key in own:
                await self._facts.remove(claims[key])
            raise

    # --- on the wire

    def members(
        self, id: str, status: TaskCreated, outcome: ToolOutcome | RpcError, context: RequestContext, tool: Tool
    ) -> dict[str, Any]:
        """Return the members of a task. Raises ``MissingCapability`` for a question that the client cannot answer."""
        members: dict[str, Any] = {
            "taskId": id,
            "status": status.status,
            "createdAt": status.createdAt,
            "lastUpdatedAt": status.lastUpdatedAt,
            "ttlMs": status.ttlMs,
            "pollIntervalMs": status.pollIntervalMs,
        }
        match outcome:
            case CallToolResult():
                members["result"] = EncodedJson(self._encode_result(outcome))
            case InputRequiredResult():
                members["inputRequests"] = _askable(outcome.inputRequests or {}, context, tool)
            case TaskCreated() if outcome.statusMessage is not None:
                members["statusMessage"] = outcome.statusMessage
            case TaskCreated():
                pass
            case error:
                members["error"] = error_members(error, self._language)
                members["statusMessage"] = members["error"]["message"]
        return members


def _askable(requests: Mapping[str, InputRequest], context: RequestContext, tool: Tool) -> Mapping[str, InputRequest]:
    if missing := lacking(requests.values(), context.capabilities):
        error = MissingCapability.of(TASK_QUESTION_NOT_DECLARED, tool=tool.name, missing=", ".join(missing))
        error.data = {"requiredCapabilities": missing}
        raise error
    return requests


def _open_key(owner: str) -> str:
    return f"upstream tasks {owner}"
