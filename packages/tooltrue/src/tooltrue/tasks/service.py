"""Tasks of one server: begun by calls, run by a durable engine through the same layers, and asked for by their clients.

A call that becomes a task has passed every layer down to ``tasks``: it was authorized, limited, approved and recorded.
Each round that the engine runs is a call of the same tool by the same caller through all layers again; those that ask,
count or consume once leave it alone. Its questions and its outcome have left these layers before they are stored,
sealed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any, TypeAlias

from tooltrue.errors import (
    ConfigurationError,
    InternalError,
    InvalidParams,
    MissingCapability,
    RpcError,
    StateError,
    ToolError,
    UnknownEntry,
    UnknownTool,
)
from tooltrue.jsonrpc.messages import EncodedJson, decode, encode, error_members
from tooltrue.jsonrpc.wording import INTERNAL_SERVER_ERROR
from tooltrue.protocol.input_requests import lacking, malformed
from tooltrue.protocol.types import CallToolResult, InputRequiredResult, TaskCreated, ToolOutcome, Value
from tooltrue.tasks.engine import (
    RoundAsks,
    RoundElsewhere,
    RoundEnd,
    RoundOutcome,
    TaskEngine,
    TaskRound,
    TaskState,
)
from tooltrue.tasks.progress import Progress, TaskChannel
from tooltrue.tasks.records import OperatorAct, TaskRecord, TaskSeals, owner_of, plain_memory
from tooltrue.tasks.rounds import TaskRounds
from tooltrue.tasks.upstream import UpstreamServers
from tooltrue.tasks.wording import (
    STATE_OF_TASK_UNREADABLE,
    TASK_CALL_INTERRUPTED,
    TASK_CURSOR_STALE,
    TASK_NOT_STORED,
    TASK_QUESTION_NOT_DECLARED,
    TASK_SERVER_AWAY,
    TASK_TOOL_GONE,
    TASK_WITHOUT_OUTCOME,
    TASKS_NOT_RUNNING,
    TOO_MANY_TASKS,
)
from tooltrue.tools.rounds import Memory, Rounds, remembered, sent_mark
from tooltrue.tools.toolset import Provider, unknown
from tooltrue.tools.vocabulary import CallRecord, Principal, ProviderChange, RequestContext, TaskRequest, Tool, ToolCall
from tooltrue.tools.wording import INVALID_INPUT_RESPONSE, TASK_UNKNOWN
from tooltrue.wording import LABEL_NUMBER_ABOVE_ZERO, SETTING_INVALID, Worded

__all__ = ["OwnTask", "RecordAct", "TaskService", "Tasks"]

_log = logging.getLogger("tooltrue")

_DIRECT_SECONDS = 1.0
"""How long a call that becomes a task only if it is slow is waited for."""

_LISTED = 50
"""The tasks of a page."""

_NOTICE = b"notice"
"""How a stored outcome begins that is an error of this server, with nothing of the tool in it."""


class Tasks(Value, frozen=True):
    """The settings of tasks. ``store`` is the URL of the engine's database, SQLite or PostgreSQL; by default that in
    ``$TOOLTRUE_TASKS``, or else a file in the user's state folder. A task and its result are removed after
    ``ttl_seconds`` from its begin. Clients ask for it every ``poll_seconds``. A caller has at most ``caller`` tasks
    that have not ended.
    """

    store: str | None = None
    ttl_seconds: float = 86_400.0
    poll_seconds: float = 1.0
    caller: int = 100

    def __post_init__(self) -> None:
        for name in ("ttl_seconds", "poll_seconds", "caller"):
            if not 0 < getattr(self, name) < float("inf"):
                raise ConfigurationError.of(
                    SETTING_INVALID, name=f"Tasks({name}=…)", wanted=Worded(LABEL_NUMBER_ABOVE_ZERO, {})
                )


RecordAct: TypeAlias = Callable[[str, OperatorAct], Awaitable[None]]
"""Records the act of an operator on a task. ``StateError`` if that fails."""


class OwnTask(Value, frozen=True):
    """A task of the caller that asks for it."""

    task: str
    state: TaskState
    record: TaskRecord


class TaskService:
    """Begins tasks, runs their rounds, and answers requests about them. It does so while ``engine`` is set. A gateway
    has ``servers``."""

    def __init__(
        self,
        settings: Tasks,
        encode_result: Callable[[CallToolResult], bytes],
        *,
        servers: UpstreamServers | None = None,
        language: str = "en",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self.engine: TaskEngine | None = None
        self._encode_result = encode_result
        self._servers = servers
        self._language = language
        self._clock = clock
        self._provider: Provider
        self._seals: TaskSeals
        self._record_act: RecordAct
        self._tools: Collection[str]
        self.watchers: list[Callable[[ProviderChange], None]] = []
        self._direct: dict[str, asyncio.Future[CallToolResult]] = {}

    def serve(self, provider: Provider, seals: TaskSeals, record_act: RecordAct, tools: Collection[str]) -> None:
        """Run the rounds through ``provider``, which has all layers, from the time at which ``engine`` is set.
        ``tools`` are the names of its tools, whoever may call them."""
        self._tools = tools
        self._provider = provider
        self._seals = seals
        self._record_act = record_act

    async def sweep(self) -> None:
        """Remove expired tasks."""
        try:
            await self._running().sweep()
        except StateError as error:
            _log.error("Expired tasks are not removed now: %s", error)

    # --- calls that become tasks

    async def start(self, call: ToolCall, tool: Tool, secret: Collection[str]) -> ToolOutcome:
        """Begin a task, and return it once it is durable; or the result of a call that was quick enough to need none.
        ``secret`` are the names of the arguments that an operator does not see. ``ToolError`` if its caller has too
        many, or if it cannot be stored."""
        try:
            return await self._start(self._running(), call, tool, secret)
        except StateError as error:
            _log.error("A task of %s was not begun: %s", tool.name, error)
            raise ToolError.of(TASK_NOT_STORED, tool=tool.name) from error

    async def _start(self, engine: TaskEngine, call: ToolCall, tool: Tool, secret: Collection[str]) -> ToolOutcome:
        settings, owner = self.settings, owner_of(call.context.principal)
        if not await engine.has_room(owner, settings.caller):
            raise ToolError.of(TOO_MANY_TASKS, tool=tool.name, limit=settings.caller)
        task, now, wish = secrets.token_hex(16), self._clock(), call.wish
        id, ttl = self._seals.seal_id(task, call.context.principal.id), settings.ttl_seconds
        if wish is not None and wish.seconds is not None:
            ttl = min(ttl, wish.seconds)
        record = TaskRecord.of(call, tool, now, secret, id=id, ttl=ttl)
        if (trail := call.context.trail) is not None:
            trail.note(f"task {task[:8]}")
        quick = tool.task == "when-slow" and wish is None
        if quick:
            self._direct[task] = asyncio.get_running_loop().create_future()
        try:
            await engine.start(task, self._seals.hide(task, record.encoded()), owner=owner, expires=now + ttl)
            if quick and (result := await self._quick_result(task)) is not None:
                return result
        finally:
            self._direct.pop(task, None)
        return TaskCreated(
            id,
            "working",
            _timestamp(now),
            _timestamp(now),
            round(ttl * 1000),
            round(settings.poll_seconds * 1000),
        )

    async def _quick_result(self, task: str) -> CallToolResult | None:
        await asyncio.wait((self._direct[task],), timeout=_DIRECT_SECONDS)
        return self._direct[task].result() if self._direct[task].done() else None

    # --- rounds

    async def run(self, round: TaskRound) -> RoundEnd:
        """Run one round: the call through all layers."""
        task = round.task
        record = TaskRecord.decoded(self._reveal(task, round.record))
        responses = {_key_in(key): decode(self._reveal(task, text)) for key, text in round.responses.items()}
        stored = record.memory if round.memory is None else decode(self._reveal(task, round.memory))
        rounds = TaskRounds(
            record.tool,
            None if stored is None else Memory(**stored),
            responses,
            round.checkpoints,
            lambda value: self._seals.hide(task, value),
            lambda text: self._reveal(task, text),
        )

        async def report(progress: Progress) -> None:
            await round.checkpoints.report(self._seals.hide(task, progress.encoded()))
            self.changed(task)

        channel, trail = TaskChannel(report), CallRecord()
        trail.note(f"task {task[:8]}")
        context = RequestContext(
            record.caller(),
            channel,
            record.capabilities,
            record.meta,
            rounds,
            trail=trail,
            language=record.language,
            carried=record.carried,
        )
        try:
            if not await self._may_have_been_sent(round, record, rounds):
                await self._settled(record)
            outcome = await self._provider.call_tool(ToolCall(record.tool, record.arguments, context))
            if isinstance(outcome, InputRequiredResult):
                return self._questions(task, round.number, record, outcome, rounds)
        except UnknownTool:
            text = encode(error_members(await self._missing_tool(round, record, rounds), self._language))
            return RoundOutcome(self._seals.hide(task, b"%b:%b" % (_NOTICE, text)))
        except RpcError as error:
            outcome = error
        except ToolError as error:  # too many rounds
            outcome = InternalError(error.say(record.language), code=error.code, facts=error.facts)
        finally:
            await channel.close()
        return RoundOutcome(self._seals.hide(task, self._outcome(task, outcome)))

    async def _may_have_been_sent(self, round: TaskRound, record: TaskRecord, rounds: Rounds) -> bool:
        """Whether an earlier process has begun to send the call of this round to a server of the gateway."""
        return bool(record.server) and await round.checkpoints.has(sent_mark(rounds.number))

    async def _settled(self, record: TaskRecord) -> None:
        if record.server and self._servers is not None:
            await self._servers.settled(record.server)

    async def _missing_tool(self, round: TaskRound, record: TaskRecord, rounds: Rounds) -> InternalError:
        """Return why the tool cannot be called now. ``RoundElsewhere`` if another process has it."""
        if await self._may_have_been_sent(round, record, rounds):
            return InternalError.of(TASK_CALL_INTERRUPTED, tool=record.tool, server=record.server)
        if await self._is_elsewhere(record.tool):
            raise RoundElsewhere from None
        if self._is_away(record):
            return InternalError.of(TASK_SERVER_AWAY, tool=record.tool, server=record.server)
        return InternalError.of(TASK_TOOL_GONE, tool=record.tool)

    def _questions(
        self, task: str, number: int, record: TaskRecord, outcome: InputRequiredResult, rounds: TaskRounds
    ) -> RoundAsks:
        requests = {f"{number}:{key}": request for key, request in (outcome.inputRequests or {}).items()}
        if missing := lacking(requests.values(), record.capabilities):
            error = MissingCapability.of(TASK_QUESTION_NOT_DECLARED, tool=record.tool, missing=", ".join(missing))
            error.data = {"requiredCapabilities": missing}
            raise error
        if not requests:
            raise InternalError.of(TASK_WITHOUT_OUTCOME)
        memory = encode(plain_memory(remembered(outcome, rounds)))
        return RoundAsks(tuple(requests), self._seals.hide(task, encode(requests)), self._seals.hide(task, memory))

    def _outcome(self, task: str, outcome: ToolOutcome | RpcError) -> bytes:
        """The stored form of an outcome: the name of its member of the task, and the JSON of that."""
        if isinstance(outcome, CallToolResult):
            if (direct := self._direct.get(task)) is not None and not direct.done():
                direct.set_result(outcome)
            return b"result:%b" % self._encode_result(outcome)
        if isinstance(outcome, RpcError):
            return b"error:%b" % encode(error_members(outcome, self._language))
        id = secrets.token_hex(4)
        _log.error("task %s ended as another task, internal error %s", task[:8], id)
        return b"error:%b" % encode(error_members(InternalError.of(INTERNAL_SERVER_ERROR, id=id), self._language))

    def changed(self, task: str) -> None:
        """Tell those that follow the task that it has changed."""
        for watcher in tuple(self.watchers):
            watcher(ProviderChange("task", task))

    async def noted(self, task: str, note: str) -> None:
        """Record the act of an operator, and tell those that follow the task."""
        if (text := self._seals.reveal(task, note)) is None:
            _log.error("a note about the task %s cannot be opened with the keys of this server", task[:8])
            return
        await self._record_act(task, OperatorAct.decoded(text))
        self.changed(task)

    # --- requests of clients

    async def find(self, request: TaskRequest) -> OwnTask:
        """Return the task of this caller that a request names, as it was when the request first asked for it.
        ``InvalidParams`` for all others."""
        if not request.lookup:
            request.lookup.append(await self._find(request))
        return request.lookup[0]

    async def _find(self, request: TaskRequest) -> OwnTask:
        engine, principal = self._running(), request.context.principal
        task = self._seals.open_id(request.uri, principal.id)
        state = None if task is None else await engine.look_up(task)
        if task is None or state is None or (record := self._record(task, state, principal)) is None:
            raise unknown(request)
        return OwnTask(task, state, record)

    def id_of(self, id: str, principal: Principal) -> str:
        """Return the id here of a task that this caller has by ``id``. ``InvalidParams`` for any other."""
        if (task := self._seals.open_id(id, principal.id)) is None:
            raise UnknownEntry.of(TASK_UNKNOWN)
        return task

    def seal_id(self, task: str, principal: Principal) -> str:
        """Return an id by which this caller may ask for the task ``task``."""
        return self._seals.seal_id(task, principal.id)

    async def wait(self, id: str, principal: Principal) -> None:
        """Wait until a task of this caller asks, has ended or has expired."""
        await self._running().ended(self.id_of(id, principal), self.settings.ttl_seconds)

    async def list_own(self, request: TaskRequest) -> None:
        """Fill in the reply to ``list``: ``tasks``, the newest first, and ``next`` if there are more. Tasks of tools
        that the caller may not use are left out. ``InvalidParams`` if the task before the page has expired."""
        context = request.context
        principal = context.principal
        tasks = await self._running().of_owner(owner_of(principal))
        if request.uri:
            if (last := self._seals.open_id(request.uri, principal.id)) not in tasks:
                raise InvalidParams.of(TASK_CURSOR_STALE)
            tasks = tasks[tasks.index(last) + 1 :]
        ids = [self._seals.seal_id(task, principal.id) for task in tasks[:_LISTED]]
        replies = [await self._listed(TaskRequest(id, context, "get", {}, {})) for id in ids]
        request.reply["tasks"] = [reply for reply in replies if reply]
        if len(tasks) > len(ids):
            request.reply["next"] = ids[-1]

    async def _listed(self, request: TaskRequest) -> dict[str, Any]:
        """Return the members of a task; none if the caller may not see it, or if it has expired meanwhile."""
        with contextlib.suppress(RpcError):
            tools = await self._provider.find_entries(request)
            await self.answer(request, await self.find(request), is_offered=bool(tools))
        return request.reply

    async def answer(self, request: TaskRequest, own: OwnTask, *, is_offered: bool) -> None:
        """Fill in the reply to a request: the members of the task after ``get``, and none otherwise. The result of a
        tool that is not offered to the caller any more stays here."""
        engine = self._running()
        match request.verb:
            case "get":
                is_offered = is_offered or self._is_without_result(own)
                if not is_offered and (self._is_away(own.record) or await self._is_elsewhere(own.record.tool)):
                    # Another process decides who may have its result, or this one later.
                    state = TaskState("working", own.state.record, own.state.began, own.state.updated)
                    own, is_offered = OwnTask(own.task, state, own.record), True
                request.reply.update(self._members(own, is_offered=is_offered))
            case "update":
                await self._update(engine, own, request.responses)
            case "cancel":
                await engine.cancel(own.task)
            case "list":
                pass  # about no single task: list_own answers it

    async def _update(self, engine: TaskEngine, own: OwnTask, responses: Mapping[str, Any]) -> None:
        if own.state.status != "asks":
            return
        requests = decode(self._reveal(own.task, own.state.questions))
        answers = dict[str, str]()
        for key, answer in responses.items():
            if key in own.state.open_keys:
                if problem := malformed(requests[key], answer):
                    raise InvalidParams.of(INVALID_INPUT_RESPONSE, key=key[:80], problem=problem)
                answers[key] = self._seals.hide(own.task, encode(answer))
        if answers:
            await engine.answer(own.task, answers)

    def _members(self, own: OwnTask, *, is_offered: bool) -> dict[str, Any]:
        state = own.state
        members: dict[str, Any] = {
            "taskId": own.record.id,
            "status": _STATUS[state.status],
            "createdAt": _timestamp(own.record.created),
            "lastUpdatedAt": _timestamp(max(state.updated, own.record.created)),
            "ttlMs": round(own.record.ttl * 1000),
            "pollIntervalMs": round(self.settings.poll_seconds * 1000),
        }
        if state.report:
            progress = Progress.decoded(self._reveal(own.task, state.report))
            members["statusMessage"] = progress.message or progress.share
        if not is_offered:
            gone = InternalError.of(TASK_TOOL_GONE, tool=own.record.tool)
            return {**members, "status": "failed", "error": error_members(gone, self._language)}
        if state.status == "asks":
            requests = decode(self._reveal(own.task, state.questions))
            members["inputRequests"] = {key: requests[key] for key in requests if key in state.open_keys}
        elif state.status == "failed":
            members["error"] = error_members(InternalError.of(TASK_WITHOUT_OUTCOME), self._language)
        elif state.status == "ended":
            name, _, value = self._reveal(own.task, state.outcome).partition(b":")
            if name == b"result":
                members["result"] = EncodedJson(value)
            else:
                members |= {"status": "failed", "error": EncodedJson(value), "statusMessage": decode(value)["message"]}
        return members

    # --- helpers

    def _running(self) -> TaskEngine:
        if self.engine is None:
            raise StateError.of(TASKS_NOT_RUNNING)
        return self.engine

    def _is_away(self, record: TaskRecord) -> bool:
        """Whether the gateway does not know now if the caller still has the tool."""
        return bool(record.server) and self._servers is not None and self._servers.is_away(record.server)

    def _is_without_result(self, own: OwnTask) -> bool:
        """Whether the task has ended with nothing that its tool gave."""
        state = own.state
        if state.status == "ended":
            return self._reveal(own.task, state.outcome).startswith(b"%b:" % _NOTICE)
        return state.status in ("cancelled", "failed")

    async def _is_elsewhere(self, tool: str) -> bool:
        """Whether this process lacks the tool, and another one has it, as while a new version replaces an old one. As
        long as that is not known, it is so."""
        if tool in self._tools:
            return False
        try:
            return await self._running().is_elsewhere(tool)
        except StateError:
            return True

    def _reveal(self, task: str, text: str) -> bytes:
        value = self._seals.reveal(task, text)
        if value is None:
            raise StateError.of(STATE_OF_TASK_UNREADABLE)
        return value

    def _record(self, task: str, state: TaskState, principal: Principal) -> TaskRecord | None:
        text = self._seals.reveal(task, state.record)
        record = None if text is None else TaskRecord.decoded(text)
        return record if record is not None and record.principal[0] == principal.id else None


def _timestamp(seconds: float) -> str:
    """The time as ISO 8601, in UTC with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_STATUS = {
    "working": "working",
    "asks": "input_required",
    "ended": "completed",
    "cancelled": "cancelled",
    "failed": "failed",
}


def _key_in(key: str) -> str:
    """The author's key of a question. A client sees it with the number of its round, so that no key comes twice."""
    return key.partition(":")[2]
