"""A remote server, as a provider like any other.

Its definitions are inspected before they are listed (:mod:`tooltrue.host.inspection`). While the server is not
connected its tools stay listed, and calls fail with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from tooltrue._internal.deadline import Deadline
from tooltrue.client.client import Client, Result
from tooltrue.client.task_status import TaskStatus
from tooltrue.contract.neighbours import NOBODY, Neighbours
from tooltrue.errors import (
    InvalidAnswer,
    InvalidParams,
    MethodNotFound,
    RequestTimeout,
    RpcError,
    TaskCancelled,
    ToolError,
    ToolTimeout,
    TransportError,
    UnknownEntry,
    UnknownTool,
    Unreachable,
)
from tooltrue.host.admission import Judge, scanned
from tooltrue.host.caller_lists import CallerLists
from tooltrue.host.definitions import NO_DEFINITIONS, Definitions
from tooltrue.host.effects import Effects, effects_by
from tooltrue.host.inspection import (
    Inspection,
    Inspector,
    PublishedDefinitions,
    QuarantinedDefinition,
    SuspiciousDefinition,
    published,
)
from tooltrue.host.remote_tasks import created_task, outcome_of
from tooltrue.host.upstream_calls import CallerRefused, DirectCalls, TaskAnswer, UpstreamCalls
from tooltrue.host.wording import (
    CALLER_CONNECT_TOOL,
    CALLER_CONNECTED,
    HOST_SERVER_UNAVAILABLE,
    REMOTE_CALL_CONNECTION_LOST,
    REMOTE_CALL_TIMEOUT,
    REMOTE_REQUEST_REFUSED,
    REMOTE_RESPONSE_UNUSABLE,
    REMOTE_RESULT_UNUSABLE,
    REMOTE_TASK_CANCELLED,
    REMOTE_TOOL_REFUSED,
    RESOURCE_NOT_FOLLOWED,
)
from tooltrue.jsonrpc.messages import Json, is_object
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED, REQUEST_TIMEOUT
from tooltrue.policy.layers.validate import check_arguments
from tooltrue.protocol import types as wire
from tooltrue.protocol import versions
from tooltrue.protocol.characters import cleaned
from tooltrue.protocol.modern import SERVER_INFO, declares_tasks
from tooltrue.protocol.schema import compile_schema
from tooltrue.protocol.types import (
    BlobResource,
    CallToolResult,
    Completion,
    EmbeddedResource,
    InputRequiredResult,
    PromptOutcome,
    ReadOutcome,
    ReadResourceResult,
    TextContent,
    TextResource,
    ToolOutcome,
    replaced,
)
from tooltrue.tools.content import failed
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import (
    EVERYONE,
    LIST_KINDS,
    CompletionGet,
    Entry,
    LibraryOperation,
    PromptGet,
    ProviderChange,
    RemoteTask,
    RequestContext,
    ResourceFollow,
    ResourceRead,
    Tool,
    ToolCall,
    Unwatch,
)
from tooltrue.tools.wording import TASK_UNKNOWN
from tooltrue.wording import sentence

__all__ = ["Remote"]

T = TypeVar("T")

_RECONNECT_SECONDS = 300.0
"""How long a call that follows a task waits for the next connection."""

_THREADS: Final = ThreadPool(2)
"""The threads that inspect definitions; each server uses one at the most."""


class Remote:
    """The provider for the server called ``server``, with the server's own names. ``instance`` tells it from others of
    that label.

    ``attach`` gives it a connection, ``detach`` takes it away, ``refresh`` fetches and inspects everything again,
    ``inspect_again`` inspects the known definitions against the current tools of its neighbours. ``trouble`` is called
    when a call finds the connection broken. ``calls`` sends the operations to the server, by default over that
    connection. ``suspicions`` are the findings in definitions that are listed
    nevertheless.
    """

    def __init__(
        self,
        server: str,
        *,
        instance: str = "",
        effects: Effects | None = None,
        visible: Callable[[str], bool] = lambda name: True,
        seconds: float | None = None,
        judge: Judge = scanned,
        neighbours: Callable[[], Neighbours] = lambda: NOBODY,
        trouble: Callable[[], None] = lambda: None,
        calls: UpstreamCalls | None = None,
    ) -> None:
        self.server = server
        self.running = 0
        """How many operations run at the server."""
        self._inspector = Inspector(server, instance, effects or effects_by(lambda name: None), visible, seconds, judge)
        self._lane = _THREADS.lane(f"look at {server}", 1, silent=True)
        self._seconds = seconds
        self._neighbours = neighbours
        self.trouble = trouble
        self._calls = calls or DirectCalls(self._reconnected)
        self._client: Client | None = None
        self._why_not: Exception = TransportError.of(CONNECTION_CLOSED)
        self._is_over = False
        self._waiting: set[asyncio.Future[Client | None]] = set()
        self._published: PublishedDefinitions | None = None
        self._definitions = NO_DEFINITIONS
        # Until it is known: a caller may ask for a task of before.
        self._offers = frozenset({"tasks"}) if self._calls.passed_tasks else frozenset[str]()
        lists = self._calls.lists
        self._connect_tool = None if lists is None or not lists.connects else _connect_tool(server, instance)
        self._callers: CallerLists | None = None
        if lists is not None:
            # A caller may have what others have not.
            self._offers = frozenset({"resources", "prompts", "completions", "tasks"})
            self._callers = CallerLists(
                server,
                lists,
                self._inspection,
                lambda kind, caller: self._announce(ProviderChange(kind, caller=caller)),
                lambda: self._definitions,
                own=self._connect_tool,
            )
        self._watchers: list[Callable[[ProviderChange], None]] = []

    @property
    def is_there(self) -> bool:
        return self._client is not None

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The admitted tools, sorted by name; the same tuple while they do not change."""
        return self._definitions.tool_list

    @property
    def instructions(self) -> str | None:
        return self._definitions.instructions

    @property
    def quarantined(self) -> tuple[QuarantinedDefinition, ...]:
        """The quarantined definitions, those of callers included: each once for each reason."""
        every = {(note.kind, note.name, str(note.problem)): note for one in self._every for note in one.quarantined}
        return tuple(every.values())

    @property
    def suspicions(self) -> tuple[SuspiciousDefinition, ...]:
        every = {(note.kind, note.name, repr(note.findings)): note for one in self._every for note in one.suspicions}
        return tuple(every.values())

    @property
    def _every(self) -> tuple[Definitions, ...]:
        return (self._definitions,) if self._callers is None else (self._definitions, *self._callers.every)

    # --- the lists of callers -----------------------------------------------------------------------------------------

    @property
    def reads_for_callers(self) -> bool:
        """Whether callers have credentials of their own, with which lists can be read."""
        return self._callers is not None

    @property
    def has_lists_of_callers(self) -> bool:
        """Whether each caller has lists of its own: it has credentials of its own, and the server does not say that its
        lists are for everyone."""
        return self._callers is not None and (self._published is None or self._published.is_private)

    def definitions(self, context: RequestContext | None = None) -> Definitions:
        """The admitted definitions for this caller; without one, those that the host itself reads. The same object
        while they do not change."""
        if self._callers is None:
            return self._definitions
        callers = self._callers_of(context)
        return self._definitions if callers is None or context is None else callers.definitions(context)

    async def prepare(self, context: RequestContext, *, is_missing: bool = False) -> None:
        """Have the lists of this caller read if they are stale, or if a name ``is_missing`` in them."""
        if (callers := self._callers_of(context)) is not None:
            await callers.prepare(context, is_missing=is_missing)

    def problem(self, context: RequestContext) -> ToolError | None:
        """Why this caller has no lists, if they could not be read."""
        callers = self._callers_of(context)
        problem = None if callers is None else callers.problem(context)
        return None if problem is None else ToolError.of(problem.code, **problem.facts)

    def _callers_of(self, context: RequestContext | None) -> CallerLists | None:
        is_of_rules = context is None or context.principal is EVERYONE
        return None if is_of_rules or not self.has_lists_of_callers else self._callers

    def lists_changed(self, caller: str) -> bool:
        """Have the lists of this caller read again when it uses them next. Returns whether it has lists of its own."""
        if self._callers is None or not self.has_lists_of_callers:
            return False
        self._callers.announced(caller)
        return True

    async def close(self) -> None:
        """End what is being read for callers."""
        if self._callers is not None:
            await self._callers.close()

    # --- the connection of the host -----------------------------------------------------------------------------------

    async def attach(self, client: Client) -> None:
        """Send calls to ``client``, which is connected, from now on. Raises what :meth:`refresh` raises."""
        await self._refresh(client)
        self._client, self._is_over = client, False
        self._stop_waiting(client)

    def detach(self, why: Exception, *, is_last: bool = False) -> None:
        """Drop the connection. Calls fail with ``why``; those that follow a task wait for the next connection, unless
        this was the last."""
        self._client, self._why_not, self._is_over = None, why, is_last
        if is_last:
            self._stop_waiting(None)

    async def _reconnected(self, lost: Client) -> Client | None:
        """Return the connection that has replaced ``lost``, or does so in the next minutes."""
        if self._client is not None and self._client is not lost:
            return self._client
        if self._is_over:
            return None
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        self.trouble()
        try:
            async with asyncio.timeout(_RECONNECT_SECONDS):
                return await waiting
        except TimeoutError:
            return None
        finally:
            self._waiting.discard(waiting)

    def _stop_waiting(self, client: Client | None) -> None:
        for waiting in self._waiting:
            if not waiting.done():
                waiting.set_result(client)

    async def refresh(self) -> None:
        """Fetch and inspect all that the server publishes now, and notify watchers of changes.

        ``DefinitionError`` where it publishes more than the limits of inspection allow; ``TransportError`` or
        ``RpcError`` where it fails to list it.
        """
        if self._callers is not None:
            self._callers.expire()
        if (client := self._here()) is not None:
            await self._refresh(client)

    async def _refresh(self, client: Client) -> None:
        listing = await published(self.server, client, self._published or PublishedDefinitions())
        self._offers |= frozenset({"resources", "prompts", "completions"} & client.facts.capabilities.keys())
        if not _declares_completions(client) and self._offers & {"resources", "prompts"}:
            self._offers |= {"completions"}
        self._offers -= {"tasks"}
        if self._calls.passed_tasks and declares_tasks(client.facts.capabilities):
            self._offers |= {"tasks"}
        await self._inspect(listing)
        was_of_callers = self.has_lists_of_callers
        self._published = listing
        if was_of_callers != self.has_lists_of_callers:  # callers see other lists now
            for kind in LIST_KINDS:
                self._announce(ProviderChange(kind))

    async def inspect_again(self) -> None:
        """Inspect the known definitions again: other servers' tools have changed, and definitions here may refer to
        them."""
        if self._callers is not None:
            self._callers.expire()
        if self._published is not None:
            await self._inspect(self._published)

    async def _inspect(self, listing: PublishedDefinitions) -> None:
        inspection = await self._inspection(listing, self._definitions.tools)
        before, self._definitions = self._definitions, self._definitions.inspected(inspection)
        for kind in self._definitions.changes_since(before):
            self._announce(ProviderChange(kind))

    async def _inspection(self, listing: PublishedDefinitions, current: Mapping[str, Tool]) -> Inspection:
        return await self._lane.run(partial(self._inspector.at, listing, self._neighbours(), current))

    def _announce(self, change: ProviderChange) -> None:
        for changed in tuple(self._watchers):
            changed(change)

    def watch(self, changed: Callable[[ProviderChange], None]) -> Unwatch:
        self._watchers.append(changed)
        return lambda: self._watchers.remove(changed) if changed in self._watchers else None

    # --- tools --------------------------------------------------------------------------------------------------------

    async def list_tools(self, context: RequestContext) -> tuple[Tool, ...]:
        await self.prepare(context)
        return self.definitions(context).tool_list

    async def find_tool(self, name: str, context: RequestContext) -> Tool:
        tool = self.known_tool(name, context)
        if tool is None:
            await self.prepare(context, is_missing=True)
            tool = self.known_tool(name, context)
        if tool is None:
            raise self.problem(context) or UnknownTool(name)
        return tool

    def known_tool(self, name: str, context: RequestContext) -> Tool | None:
        return self.definitions(context).tools.get(name)

    async def call_tool(self, call: ToolCall) -> ToolOutcome:
        tool = self.known_tool(call.name, call.context) or await self.find_tool(call.name, call.context)
        if call.tool is not None and call.tool.input is not tool.input:
            raise UnknownTool(call.name)  # exchanged since its arguments were checked
        if tool is self._connect_tool:
            return await self._connect(call.context)
        if call.task is not None:
            return await self._outcome_of_task(call, call.task)
        client = self._here()
        arguments = call.arguments
        if not call.is_checked_by(tool.input):
            arguments = check_arguments(call.tool or tool, arguments)
        name = tool.name if call.tool is None else call.tool.name  # the name under which the caller knows it
        self.running += 1
        try:
            return _outcome(await self._calls.call_tool(client, call, arguments, self._seconds))
        except CallerRefused as refusal:
            raise refusal.error from None
        except RpcError as error:
            return failed(
                ToolError.of(REMOTE_TOOL_REFUSED, server=self.server, tool=name, said=_refusal_text(error)).say()
            )
        except RequestTimeout as error:
            raise ToolTimeout.of(REMOTE_CALL_TIMEOUT, server=self.server, tool=name, problem=error) from None
        except TaskCancelled:
            raise ToolError.of(REMOTE_TASK_CANCELLED, server=self.server, tool=name) from None
        except InvalidAnswer as error:
            raise ToolError.of(
                REMOTE_RESULT_UNUSABLE, server=self.server, tool=name, problem=_plain_text(error)
            ) from None
        except TransportError as error:
            self.trouble()
            raise Unreachable.of(
                REMOTE_CALL_CONNECTION_LOST, server=self.server, tool=name, problem=_plain_text(error)
            ) from None
        finally:
            self.running -= 1

    async def ask_task(self, call: ToolCall, task: RemoteTask) -> TaskAnswer | None:
        """Ask the server about a task, over a connection of the caller; ``call`` has the name of its tool, if that is
        known. ``None`` for an acknowledgement. ``UnknownEntry`` if the server does not know the task."""
        if (passed := self._calls.passed_tasks) is None:
            raise UnknownEntry.of(TASK_UNKNOWN)
        try:
            asking = passed.ask_task(self._here(), call, task, self._seconds)
            return await self._asking("tasks/" + task.verb, asking)
        except InvalidParams:
            if task.verb == "update":  # the server knows the task, and refuses the answers
                raise
            raise UnknownEntry.of(TASK_UNKNOWN) from None

    async def _outcome_of_task(self, call: ToolCall, task: RemoteTask) -> ToolOutcome:
        answer = await self.ask_task(call, task)
        name = call.name if call.tool is None else call.tool.name
        return CallToolResult([]) if answer is None else outcome_of(answer, task, self.server, name, _outcome)

    async def _connect(self, context: RequestContext) -> ToolOutcome:
        """Have the caller asked, and read its lists."""
        assert self._callers is not None
        assert self._calls.lists is not None
        if (question := await self._calls.lists.connect(context)) is not None:
            return question
        await self._callers.read_again(context)
        if (problem := self.problem(context)) is not None:
            raise problem
        facts = {"server": self.server, "count": len(self._callers.definitions(context).tool_list) - 1}
        return CallToolResult([TextContent(sentence(CALLER_CONNECTED, context.language, facts))])

    def _here(self) -> Client | None:
        if self._client is None and not self.has_lists_of_callers:
            raise Unreachable.of(HOST_SERVER_UNAVAILABLE, server=self.server, problem=_plain_text(self._why_not))
        return self._client

    # --- library ------------------------------------------------------------------------------------------------------

    def offers(self) -> frozenset[str]:
        return self._offers

    async def list_resources(self, context: RequestContext) -> tuple[wire.ResourceDefinition, ...]:
        await self.prepare(context)
        return self.definitions(context).resource_list

    async def list_templates(self, context: RequestContext) -> tuple[wire.ResourceTemplate, ...]:
        await self.prepare(context)
        return self.definitions(context).template_list

    async def list_prompts(self, context: RequestContext) -> tuple[wire.Prompt, ...]:
        await self.prepare(context)
        return self.definitions(context).prompt_list

    async def find_entries(self, operation: LibraryOperation) -> tuple[Entry, ...]:
        context = operation.context
        try:
            return self.definitions(context).find_entries(operation)
        except UnknownEntry:
            if self._callers_of(context) is None:
                raise
        await self.prepare(context, is_missing=True)
        return self.definitions(context).find_entries(operation)

    async def read_resource(self, request: ResourceRead) -> ReadOutcome:
        await self.find_entries(request)
        if isinstance(request, ResourceFollow):
            await self._follow(request)
            return ReadResourceResult([])
        return await self._asking("resources/read", self._calls.read_resource(self._here(), request))

    async def _follow(self, request: ResourceFollow) -> None:
        """Have watchers notified when the resource changes. ``InvalidParams`` where the server offers no subscription,
        or is not there: other subscriptions of the caller are not concerned."""
        try:
            await self._calls.follow(self._here(), request, self._updated)
        except (RpcError, TransportError, ToolError) as error:
            problem = _plain_text(error)
            raise InvalidParams.of(
                RESOURCE_NOT_FOLLOWED, server=self.server, uri=request.uri, problem=problem
            ) from None

    def _updated(self, uri: str, caller: str) -> None:
        self._announce(ProviderChange("resource", uri, caller))

    async def get_prompt(self, get: PromptGet) -> PromptOutcome:
        await self.find_entries(get)
        return await self._asking("prompts/get", self._calls.get_prompt(self._here(), get))

    async def complete(self, get: CompletionGet) -> Completion:
        (entry, *_) = await self.find_entries(get)
        assert isinstance(entry, wire.Prompt | wire.ResourceTemplate)
        return await self._asking("completion/complete", self._completed(entry, get))

    async def _completed(self, entry: wire.Prompt | wire.ResourceTemplate, get: CompletionGet) -> Completion:
        client = self._here()
        try:
            return await self._calls.complete(client, entry, get)
        except MethodNotFound:
            if client is None or _declares_completions(client):
                raise
            return Completion([])

    async def _asking(self, method: str, answer: Any) -> Any:
        self.running += 1
        try:
            return await self._in_time(method, answer)
        except CallerRefused as refusal:
            raise refusal.error from None
        except RpcError as error:
            raise ToolError.of(REMOTE_REQUEST_REFUSED, server=self.server, said=_refusal_text(error)) from None
        except InvalidAnswer as error:
            raise ToolError.of(REMOTE_RESPONSE_UNUSABLE, server=self.server, problem=_plain_text(error)) from None
        except TransportError as error:
            self.trouble()
            raise Unreachable.of(HOST_SERVER_UNAVAILABLE, server=self.server, problem=_plain_text(error)) from None
        finally:
            self.running -= 1

    async def _in_time(self, method: str, answer: Any) -> Any:
        """Apply the time limit that the file gives this server. Without one, only that of the guard applies."""
        if self._seconds is None:
            return await answer
        deadline = Deadline(self._seconds)
        try:
            return await answer
        except BaseException:
            if deadline.was_the_reason():
                raise RequestTimeout.of(REQUEST_TIMEOUT, method=method, seconds=self._seconds) from None
            raise
        finally:
            deadline.end()


CONNECT: Final = "connect"


def _declares_completions(client: Client) -> bool:
    """Whether the revision of the server has a capability for completions; 2024-11-05 has the method alone."""
    revision = versions.BY_NAME.get(client.facts.revision)
    return revision is None or revision.completions


def _connect_tool(server: str, instance: str) -> Tool:
    """The tool by which a caller connects a server whose tools it cannot list before."""
    schema: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
    description = sentence(CALLER_CONNECT_TOOL, "en", {"server": server})
    definition = wire.ToolDefinition(CONNECT, schema, description=description)
    return Tool(definition, "write", compile_schema(schema), server=server, instance=instance)


_MOST_WORDS = 1_000


def _plain_text(error: Exception) -> str:
    return cleaned(str(error), {})[:_MOST_WORDS]


def _refusal_text(error: RpcError) -> str:
    """A server's refusal in its own words: untrusted, so it is cut and cleaned."""
    return f"{_plain_text(error)} ({error.number})"


def _outcome(result: Result | InputRequiredResult | TaskStatus) -> ToolOutcome:
    if isinstance(result, InputRequiredResult):
        return result
    if isinstance(result, TaskStatus):
        return created_task(result)
    content = [block if type(block) is TextContent else _block(block) for block in result.content]
    return CallToolResult(content, result.structured, result.is_error, _meta_of(result))


def _meta_of(result: Result) -> dict[str, Json] | None:
    """The ``_meta`` of a result, without the facts of the server about itself: the caller gets those of the server that
    it speaks to."""
    meta = result.raw.get("_meta")
    if not is_object(meta) or (len(meta) == 1 and SERVER_INFO in meta):
        return None
    return {name: value for name, value in meta.items() if name != SERVER_INFO} or None


def _block(block: Any) -> Any:
    """An embedded resource as its own type: the wire does not tag it."""
    if not isinstance(block, EmbeddedResource) or not is_object(block.resource):
        return block
    resource = block.resource
    uri, kind, meta = str(resource.get("uri", "")), resource.get("mimeType"), resource.get("_meta")
    kind, meta = kind if isinstance(kind, str) else None, meta if is_object(meta) else None
    if isinstance(resource.get("blob"), str):
        return replaced(block, resource=BlobResource(uri, resource["blob"], kind, meta))
    return replaced(block, resource=TextResource(uri, str(resource.get("text", "")), kind, meta))
