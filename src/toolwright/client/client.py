"""A client: connect to anything, list, call.

A tool's failure is a :class:`Result` with ``is_error``, for the model to read. A broken protocol is an ``RpcError``, a
broken carrier a ``TransportError``.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias, TypeVar

import msgspec

from toolwright.client.answers import Answers, Elicit, Sample
from toolwright.client.eras import Era, ServerFacts
from toolwright.client.negotiate import negotiate
from toolwright.errors import (
    ConfigurationError,
    ConnectionLost,
    DefinitionError,
    HeaderMismatch,
    MethodNotFound,
    RequestTimeout,
    RpcError,
    ToolError,
    TransportError,
)
from toolwright.jsonrpc.messages import (
    Id,
    Json,
    Notification,
    Request,
    encode,
    encode_notification,
    is_array,
    is_finite,
    is_id,
    is_object,
)
from toolwright.jsonrpc.peer import Exchange, Peer
from toolwright.protocol import headers as mirrored
from toolwright.protocol import versions
from toolwright.protocol.types import (
    UNSET,
    BlobResource,
    Completion,
    ContentBlock,
    Prompt,
    PromptMessage,
    PromptResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResource,
    Tool,
)
from toolwright.tracing import Tracing, tracing
from toolwright.transport.carrier import ClientLink
from toolwright.transport.http_client import HttpLink
from toolwright.transport.memory import Connectable, MemoryLink
from toolwright.transport.stdio_client import StdioLink

__all__ = ["Client", "Progress", "Result", "Target", "link_to"]

Target: TypeAlias = str | Sequence[str] | Connectable
T = TypeVar("T")
Progress: TypeAlias = Callable[[float, float | None, str | None], None]

_log = logging.getLogger("toolwright")

_MAX_PAGES = 1_000
_MAX_ITEMS = 10_000
_MAX_SKIPPED = 100
_MAX_ROUNDS = 32


@dataclass(frozen=True, slots=True)
class Result:
    """What a call came to. ``structured`` is ``UNSET`` when the server sent none; ``None`` is JSON's null."""

    content: tuple[Any, ...]
    structured: Any
    is_error: bool
    raw: Mapping[str, Json]

    @property
    def text(self) -> str:
        """The text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def value(self) -> Any:
        """The structured value where there is one, else the text. Raises ``ToolError`` when the call failed."""
        if self.is_error:
            raise ToolError(self.text)
        return self.text if self.structured is UNSET else self.structured


class Client:
    """``async with Client(target) as client``: a URL, a command (a string, a list, or the path of a ``.py`` file), or a
    :class:`toolwright.Server`.

    ``timeout`` bounds each request, in seconds, unless the call says otherwise. ``headers`` go with every HTTP request,
    ``env`` is added to the small environment of a command. ``on_tools_changed`` is called when the server says that its
    tools have changed. ``revision`` is the protocol revision to speak; without it, that is found out. ``facts`` tells
    what the server said of itself.

    ``elicit``, ``sample`` and ``roots`` answer what a server asks (:class:`toolwright.client.answers.Answers`); what
    nobody answers is not declared, so that servers do not ask. The time that an answer takes counts for no ``timeout``.
    """

    def __init__(
        self,
        target: Target,
        *,
        timeout: float = 60.0,
        headers: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        on_tools_changed: Callable[[], None] | None = None,
        elicit: Elicit | None = None,
        sample: Sample | None = None,
        roots: Sequence[str | Path] | None = None,
        revision: str | None = None,
    ) -> None:
        if revision is not None and revision not in versions.BY_NAME:
            raise ConfigurationError.of("TW4009", name="Client(revision=…)", wanted=f"one of {', '.join(versions.ALL)}")
        self._link = link_to(target, headers, env)
        self._revision = revision
        self._timeout = timeout
        self._on_tools_changed = on_tools_changed
        self._answers = Answers(elicit, sample, roots)
        self._events = _Events(self, self._answers)
        self._peer = Peer(self._send_plain, self._events, unreadable=self._skip)
        self._skipped = 0
        self._listening: asyncio.Task[None] | None = None
        self._era: Era | None = None
        self._facts: ServerFacts | None = None
        self._tools: dict[str, Tool] = {}
        self._tracing: Tracing | None = None

    async def __aenter__(self) -> Self:
        self._tracing = tracing()
        await self._link.open(self._peer)
        try:
            self._era, self._facts = await negotiate(
                self._ask, self._tell, self._timeout, self._answers.capabilities, self._revision
            )
            await self._hear_of_changes(self._era, self._facts)
        except BaseException:
            await self.close()
            raise
        return self

    async def _hear_of_changes(self, era: Era, facts: ServerFacts) -> None:
        """Return once a change could not be missed any more."""
        if self._on_tools_changed is None or not _tells_of_changes(facts):
            return
        if not era.listens_by_asking:
            await self._link.listen(era.headers("", {}))
            return
        self._listening = asyncio.get_running_loop().create_task(self._listen(era))
        acknowledged = asyncio.ensure_future(self._events.acknowledged.wait())
        try:
            await asyncio.wait((acknowledged, self._listening), timeout=self._timeout, return_when="FIRST_COMPLETED")
        finally:
            acknowledged.cancel()

    async def _listen(self, era: Era) -> None:
        """Keep a subscription open (2026-07-28, basic/patterns/subscriptions); it ends with the connection."""
        with contextlib.suppress(RpcError, TransportError):
            params: dict[str, Json] = {"notifications": {"toolsListChanged": True}}
            await self._ask(era, "subscriptions/listen", params, None)

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait((self._listening,))
        await self._peer.close()
        await self._link.close()

    @property
    def facts(self) -> ServerFacts:
        """What the server said about itself. Only inside of ``async with``."""
        if self._facts is None:
            raise TransportError.of("TW5001")
        return self._facts

    async def list_tools(self) -> list[Tool]:
        """All tools, every page of them, within the time of one request.

        A server that repeats a cursor, or never ends, is a ``TransportError``.
        """
        tools = await self._all("tools/list", "tools", Tool)
        # Nor may one be used over HTTP whose parameters cannot be mirrored into headers (server/tools "x-mcp-header").
        tools = tools if self._link.shared else list(filter(_can_be_mirrored, tools))
        self._tools = {tool.name: tool for tool in tools}
        return tools

    async def list_resources(self) -> list[Resource]:
        """All resources that the server lists; as ``list_tools``."""
        return await self._all("resources/list", "resources", Resource)

    async def list_templates(self) -> list[ResourceTemplate]:
        """All resource templates that the server lists; as ``list_tools``."""
        return await self._all("resources/templates/list", "resourceTemplates", ResourceTemplate)

    async def list_prompts(self) -> list[Prompt]:
        """All prompts that the server lists; as ``list_tools``."""
        return await self._all("prompts/list", "prompts", Prompt)

    async def _all(self, method: str, member: str, shape: type[T]) -> list[T]:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._all_pages(method, member, shape)
        except TimeoutError:
            raise RequestTimeout.of("TW5002", method=method, seconds=self._timeout) from None

    async def _all_pages(self, method: str, member: str, shape: type[T]) -> list[T]:
        items: list[T] = []
        cursor, seen = None, set[str]()
        for _ in range(_MAX_PAGES):
            result = await self._request(method, {} if cursor is None else {"cursor": cursor})
            items += _items(result, method, member, shape)
            cursor = result.get("nextCursor")
            if cursor is not None and not isinstance(cursor, str):
                raise TransportError.of("TW5009", method=method, problem="nextCursor is not a string")
            if cursor is None:
                return items
            if cursor in seen or len(items) > _MAX_ITEMS:
                break
            seen.add(cursor)
        raise TransportError.of("TW5009", method=method, problem="its pages never end")

    async def read_resource(self, uri: str) -> list[TextResource | BlobResource]:
        """What ``uri`` reads as. ``InvalidParams`` where there is no such resource."""
        result = await self._request("resources/read", {"uri": uri})
        contents = result.get("contents")
        parts: list[Any] = contents if is_array(contents) else []
        return [
            _converted(part, BlobResource if is_object(part) and "blob" in part else TextResource, "resources/read")
            for part in parts
        ]

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None) -> PromptResult:
        """The messages of a prompt. ``InvalidParams`` where there is none, or its arguments are wrong."""
        result = await self._request("prompts/get", {"name": name, "arguments": dict(arguments or {})})
        said = _converted(result, PromptResult, "prompts/get")
        messages = [
            PromptMessage(message.role, _converted(message.content, ContentBlock, "prompts/get"))
            for message in said.messages
        ]
        return PromptResult(messages, said.description, result.get("_meta"))

    async def complete(
        self, ref: Prompt | ResourceTemplate, argument: str, value: str, arguments: Mapping[str, str] | None = None
    ) -> Completion:
        """The values of a prompt's argument, or of a template's variable, that begin with ``value``.

        ``arguments`` are those that are settled already.
        """
        params: dict[str, Json] = {"ref": _ref(ref), "argument": {"name": argument, "value": value}}
        if arguments:
            params["context"] = {"arguments": dict(arguments)}
        result = await self._request("completion/complete", params)
        return _converted(result.get("completion"), Completion, "completion/complete")

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> Result:
        """Call a tool; arguments come as a mapping, as keywords, or both.

        ``progress(progress, total, message)`` is called as the server reports it. ``timeout`` in seconds bounds this
        call. Raises ``ValueError`` for what JSON cannot say, ``RpcError`` (an unknown tool among them),
        ``RequestTimeout`` or ``ConnectionLost``.
        """
        params: dict[str, Json] = {"name": name, "arguments": {**(arguments or {}), **more}}
        if not is_finite(params):
            raise ValueError("JSON has no NaN and no infinities")
        token = self._events.expect(progress) if progress is not None else None
        try:
            try:
                result = await self._request("tools/call", params, timeout, token)
            except HeaderMismatch:
                # Parameters may have to be mirrored into headers, which only the tool's newest schema tells.
                await self.list_tools()
                result = await self._request("tools/call", params, timeout, token)
        finally:
            self._events.forget(token)
        return _result(result)

    async def ping(self) -> None:
        """Ask for a sign of life: ``ping`` where there is one, ``server/discover`` where there is none any more."""
        era = self._settled()
        await self._request(era.sign_of_life, {})

    # --- one request -------------------------------------------------------------------------------------------------

    def _settled(self) -> Era:
        if self._era is None:
            raise TransportError.of("TW5001")
        return self._era

    async def _request(
        self, method: str, params: dict[str, Json], timeout: float | None = None, token: Id | None = None
    ) -> dict[str, Json]:
        era = self._settled()
        seconds = self._timeout if timeout is None else timeout
        result = await self._ask(era, method, params, seconds, token)
        for _ in range(_MAX_ROUNDS):
            if not era.asks(result):
                return era.finished(result, method)
            # A new request with the original parameters; what belongs to a round belongs to no other.
            result = await self._ask(era, method, {**params, **await self._input(result, method)}, seconds, token)
        raise TransportError.of("TW5012", limit=_MAX_ROUNDS)

    async def _input(self, result: Mapping[str, Json], method: str) -> dict[str, Json]:
        """What a result asks for, and its state, byte for byte, where it has one (basic/patterns/mrtr)."""
        asked, state = result.get("inputRequests"), result.get("requestState")
        given: dict[str, Json] = {}
        if asked is not None:
            if not is_object(asked) or not all(map(is_object, asked.values())):
                raise TransportError.of("TW5009", method=method, problem="inputRequests is not an object of requests")
            try:
                given["inputResponses"] = {key: await self._answers.to(request) for key, request in asked.items()}
            except MethodNotFound:
                raise TransportError.of("TW5010") from None  # made here, and no answer of the server's
        if state is not None:
            given["requestState"] = state
        if not given:
            raise TransportError.of("TW5009", method=method, problem="input is required, and nothing is asked")
        return given

    async def _ask(
        self, era: Era | None, method: str, params: dict[str, Json], seconds: float | None, token: Id | None = None
    ) -> Json:
        if self._tracing is None:
            return await self._send(era, method, params, seconds, token, {})
        facts = {} if era is None else {"mcp.protocol.version": era.revision}
        with self._tracing.request(method, params, facts) as traced:
            result = await self._send(era, method, params, seconds, token, traced.carried)
            traced.answered(is_error=is_object(result) and result.get("isError") is True)
            return result

    async def _send(
        self,
        era: Era | None,
        method: str,
        params: dict[str, Json],
        seconds: float | None,
        token: Id | None,
        carried: Mapping[str, str],
    ) -> Json:
        """``carried`` is the trace context that ``_meta`` has besides (basic "_meta")."""
        head = {} if era is None else {**era.headers(method, params), **self._param_headers(era, method, params)}
        return await self._peer.request(
            method,
            _carrying(params if era is None else era.params(params, token), carried),
            timeout=seconds,
            send=lambda frame, id: self._link.send(frame, id, head),
            abandoned=lambda id: self._abandon(era, id),
        )

    def _param_headers(self, era: Era, method: str, params: Mapping[str, Json]) -> dict[str, str]:
        tool = self._tools.get(params.get("name", "")) if method == "tools/call" else None
        if tool is None or self._link.shared or not era.mirrors_parameters:
            return {}
        return mirrored.param_headers(mirrored.find_mirrors(tool.inputSchema), params.get("arguments", {}))

    def _abandon(self, era: Era | None, id: Id) -> None:
        # Never for the handshake: a client must not cancel initialize (2025-11-25, basic/utilities/cancellation).
        if era is not None and (self._link.shared or not era.cancels_by_closing):
            self._tell(era, "notifications/cancelled", {"requestId": id})
        self._link.abandon(id)

    def _tell(self, era: Era, method: str, params: Mapping[str, Json] | None = None) -> None:
        said = era.params(params or {}, None)
        self._link.send(encode_notification(method, said), None, era.headers(method, said))

    def _send_plain(self, frame: bytes) -> None:
        """Answers to what a legacy server asks; a modern one may ask nothing."""
        if self._era is not None and self._era.listens_by_asking:
            return
        self._link.send(frame, None, {} if self._era is None else self._era.headers("", {}))

    def _skip(self, error: RpcError) -> None:
        """Servers print what is no message; a little of that is borne."""
        self._skipped += 1
        if self._skipped > _MAX_SKIPPED:
            self._peer.lose(ConnectionLost.of("TW5011", count=_MAX_SKIPPED))

    def answering(self) -> AbstractContextManager[None]:
        """While a question of the server's is being answered, nothing is late: it waits for us."""
        return self._peer.patience.paused()

    def question_withdrawn(self, id: Id) -> None:
        self._peer.cancel(id)

    def tools_changed(self) -> None:
        self._tools = {}
        if self._on_tools_changed is not None:
            self._on_tools_changed()


class _Events:
    """What a server says unasked, and what a legacy one asks."""

    takes_batches = True

    def __init__(self, client: Client, answers: Answers) -> None:
        self._client = client
        self._answers = answers
        self._progress: dict[Id, Progress] = {}
        self.acknowledged = asyncio.Event()
        self._tokens = 0

    def expect(self, progress: Progress) -> Id:
        self._tokens += 1
        self._progress[self._tokens] = progress
        return self._tokens

    def forget(self, token: Id | None) -> None:
        if token is not None:
            self._progress.pop(token, None)

    async def on_request(self, request: Request, exchange: Exchange) -> bytes:
        if request.method == "ping":
            return b"{}"
        with self._client.answering():
            return encode(await self._answers.to({"method": request.method, "params": request.params}))

    def on_notification(self, notification: Notification) -> None:
        params = notification.params
        match notification.method:
            case "notifications/progress":
                token = params.get("progressToken")
                progress = self._progress.get(token) if is_id(token) else None
                if progress is not None:
                    progress(params.get("progress", 0.0), params.get("total"), params.get("message"))
            case "notifications/cancelled":
                id = params.get("requestId")
                if is_id(id):
                    self._client.question_withdrawn(id)
            case "notifications/subscriptions/acknowledged":
                self.acknowledged.set()
            case "notifications/tools/list_changed":
                self._client.tools_changed()
            case _:
                pass


def _carrying(params: dict[str, Json], carried: Mapping[str, str]) -> dict[str, Json]:
    return {**params, "_meta": {**params.get("_meta", {}), **carried}} if carried else params


def link_to(
    target: Target, headers: Mapping[str, str] | None = None, env: Mapping[str, str] | None = None
) -> ClientLink:
    """The client's end of a carrier to ``target``, not yet open."""
    if isinstance(target, str):
        if target.startswith(("http://", "https://")):
            return HttpLink(target, headers=headers)
        is_script = target.endswith(".py") and Path(target).is_file()
        return StdioLink([sys.executable, target] if is_script else shlex.split(target), env=env)
    if isinstance(target, Sequence):
        return StdioLink(target, env=env)
    return MemoryLink(target)


def _tells_of_changes(facts: ServerFacts) -> bool:
    tools = facts.capabilities.get("tools")
    return is_object(tools) and tools.get("listChanged") is True


def _items(result: Mapping[str, Json], method: str, member: str, shape: type[T]) -> list[T]:
    """What one page lists. An item that is not valid costs itself, not the rest."""
    items: list[T] = []
    listed = result.get(member)
    if not is_array(listed):
        raise TransportError.of("TW5009", method=method, problem=f"{member} is not an array")
    for item in listed:
        try:
            items.append(msgspec.convert(item, shape))
        except msgspec.ValidationError as error:
            _log.warning("%s of the server: one is left out: %s", member, error)
    return items


def _can_be_mirrored(tool: Tool) -> bool:
    try:
        mirrored.find_mirrors(tool.inputSchema)
    except DefinitionError as error:
        _log.warning("a tool of the server is left out: %s", error)
        return False
    return True


def _ref(ref: Prompt | ResourceTemplate) -> dict[str, Json]:
    if isinstance(ref, Prompt):
        return {"type": "ref/prompt", "name": ref.name}
    return {"type": "ref/resource", "uri": ref.uriTemplate}


def _converted(value: Json, shape: Any, method: str) -> Any:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise TransportError.of("TW5009", method=method, problem=str(error).replace("`", "'")) from None


def _result(result: Mapping[str, Json]) -> Result:
    content = _converted(result.get("content", []), list[ContentBlock], "tools/call")
    structured = result.get("structuredContent", UNSET)
    return Result(tuple(content), structured, result.get("isError") is True, result)
