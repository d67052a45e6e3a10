"""The MCP client: connect, list, call.

A tool's failure is a :class:`Result` with ``is_error``, for the model to read. A protocol error is an ``RpcError``, a
broken transport a ``TransportError``, a result that breaks the tool's schema an ``InvalidResult``.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar, overload

from tooltrue._internal.platform.command_lines import words_of
from tooltrue.client.answers import Answerer, Answers, Elicit, Sample
from tooltrue.client.cached_lists import ListHints, Lists
from tooltrue.client.call_results import Result, contents_of, converted, prompt_of, result_of
from tooltrue.client.connection import ClientConnection, ConnectionSettings
from tooltrue.client.eras import ServerFacts
from tooltrue.client.known_tools import KnownTools, mirrors_of
from tooltrue.client.notifications import LISTS, Changed, Log, LogMessage, NotificationCallbacks, Progress, Updated
from tooltrue.client.question_limits import QuestionGate, QuestionLimits
from tooltrue.client.relayed import RelayedRequest
from tooltrue.client.task_status import TaskStarted, TaskStatus
from tooltrue.client.tasks import FinishedTask, TaskHandle, followed
from tooltrue.client.wording import AUTH_FOR_HTTP_ONLY, AUTHORIZATION_SET_TWICE, CLIENT_NOT_OPEN, CLIENT_TARGET_INVALID
from tooltrue.errors import ConfigurationError, HeaderMismatch, RequestTimeout, TransportError
from tooltrue.jsonrpc.messages import EncodedJson, Json, encode, is_finite
from tooltrue.jsonrpc.wording import REQUEST_TIMEOUT
from tooltrue.protocol import versions
from tooltrue.protocol.modern import LOG_LEVELS, TASKS
from tooltrue.protocol.types import (
    BlobResource,
    Completion,
    Prompt,
    PromptResult,
    ResourceDefinition,
    ResourceTemplate,
    TextResource,
    ToolDefinition,
)
from tooltrue.transport.carrier import Auth, Authorizer, Refusal, TransportLink
from tooltrue.transport.client_link import ClientLink, ClientLinkAdapter
from tooltrue.transport.http_client import HttpLink
from tooltrue.transport.memory import Connectable, MemoryLink
from tooltrue.transport.sse_client import SseLink
from tooltrue.transport.stdio_client import StdioLink
from tooltrue.wording import LABEL_ONE_OF, LABEL_ONE_OR_OTHER, SETTING_INVALID, Worded

__all__ = ["Client", "LogMessage", "Progress", "Result", "Target", "link_to"]

Target: TypeAlias = str | Sequence[str] | Connectable | ClientLink
T = TypeVar("T")


class Client:
    """``async with Client(target) as client``: a connection to one server.

    A capability without a handler (``elicit``, ``sample``, ``roots``) is not declared, so that servers do not ask. The
    time that an answer or a sign-in takes counts toward no limit. ``facts`` describes the server in its own words.

    - ``target``: a URL, a command (a string, a list, or the path of a ``.py`` file), a :class:`tooltrue.Server`,
      or a :class:`tooltrue.ClientLink`, the client's end of a transport of one's own.
    - ``timeout``: the limit on each wait for an answer, in seconds; progress that the caller follows restarts it.
    - ``total_timeout``: the limit on a request regardless of progress, in seconds.
    - ``headers``: go with every HTTP request.
    - ``auth``: authenticates the client to a server on HTTP.
    - ``env``: variables that are added to the small environment of a command.
    - ``cwd``: the folder in which a command runs.
    - ``on_tools_changed``: called when the server reports that its list of tools has changed.
    - ``on_resources_changed``: called when the server reports that its list of resources has changed.
    - ``on_prompts_changed``: called when the server reports that its list of prompts has changed.
    - ``on_lost``: called when a channel breaks that this end has not closed.
    - ``on_log``: receives log messages of the server.
    - ``log_level``: the lowest level that ``on_log`` receives.
    - ``elicit``: answers forms and visits, for the user (:class:`tooltrue.client.answers.Answers`).
    - ``sample``: answers requests for a completion of the client's model.
    - ``roots``: the folders that the client offers.
    - ``questions``: limits on what a server may ask: :class:`tooltrue.QuestionLimits`, or the
      :class:`tooltrue.client.question_limits.QuestionGate` that several clients of one server share.
    - ``answers``: answers all questions in place of ``elicit``, ``sample`` and ``roots``, for a program that passes
      them on (:class:`tooltrue.client.answers.Answerer`).
    - ``tasks``: whether a stateless server may run a call as a task, which the client then follows to its end.
    - ``revision``: the protocol revision to speak. Without it, the revision is negotiated, and remembered for as long
      as the process lives.
    - ``transport``: that of a URL: ``"http"`` is Streamable HTTP, ``"sse"`` the deprecated HTTP+SSE. Without it the
      second is tried if the first is refused.
    """

    def __init__(
        self,
        target: Target,
        *,
        timeout: float = 60.0,
        total_timeout: float = 600.0,
        headers: Mapping[str, str] | None = None,
        auth: Auth | None = None,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        on_tools_changed: Changed | None = None,
        on_resources_changed: Changed | None = None,
        on_prompts_changed: Changed | None = None,
        on_lost: Callable[[Exception], None] | None = None,
        on_log: Log | None = None,
        log_level: str = "info",
        elicit: Elicit | None = None,
        sample: Sample | None = None,
        roots: Sequence[str | Path] | None = None,
        questions: QuestionLimits | QuestionGate | None = None,
        answers: Answerer | None = None,
        tasks: bool = True,
        revision: str | None = None,
        transport: Literal["http", "sse"] | None = None,
    ) -> None:
        if transport not in (None, "http", "sse"):
            raise ConfigurationError.of(
                SETTING_INVALID,
                name="Client(transport=…)",
                wanted=Worded(LABEL_ONE_OR_OTHER, {"one": "http", "other": "sse"}),
            )
        if revision is not None and revision not in versions.BY_NAME:
            raise ConfigurationError.of(
                SETTING_INVALID,
                name="Client(revision=…)",
                wanted=Worded(LABEL_ONE_OF, {"names": ", ".join(versions.ALL)}),
            )
        if log_level not in LOG_LEVELS:
            raise ConfigurationError.of(
                SETTING_INVALID,
                name="Client(log_level=…)",
                wanted=Worded(LABEL_ONE_OF, {"names": ", ".join(LOG_LEVELS)}),
            )
        self._link = link = link_to(
            target, headers, env, None if auth is None else _Patient(auth, self._authorizing), cwd, transport
        )
        self._timeout = timeout
        gate = questions if isinstance(questions, QuestionGate) else QuestionGate(questions or QuestionLimits())
        self._answers = answers or Answers(elicit, sample, roots, gate)
        self._relayed: RelayedRequest | None = None
        self._follows_tasks = True
        callbacks = {
            "notifications/tools/list_changed": on_tools_changed,
            "notifications/resources/list_changed": on_resources_changed,
            "notifications/prompts/list_changed": on_prompts_changed,
        }
        changed = {method: callback for method, callback in callbacks.items() if callback is not None}
        older: Callable[[], TransportLink] | None = None
        if isinstance(link, HttpLink) and transport is None and revision not in versions.MODERN:
            older = functools.partial(SseLink, link.target)
        settings = ConnectionSettings(
            timeout,
            total_timeout,
            revision,
            None if on_log is None else log_level,
            on_lost,
            older,
            {TASKS: {}} if tasks else {},
        )
        self._connection = ClientConnection(
            self._link, self._answers, NotificationCallbacks(changed, self._changed, on_log), settings
        )
        self._lists = Lists(self._connection.request)
        self._known_tools = KnownTools()

    async def __aenter__(self) -> Self:
        await self._connection.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End the connection, and the process that was started for it, even if the caller is cancelled meanwhile: then
        the process has less than a second to end."""
        closing = asyncio.ensure_future(self._connection.close())
        try:
            await asyncio.shield(closing)
        except asyncio.CancelledError:
            if isinstance(self._link, StdioLink):
                self._link.terminate()
            await asyncio.wait((closing,))
            raise

    def relaying(self, request: RelayedRequest) -> Self:
        """The same connection, for one request that is made for another client: :meth:`call_tool`,
        :meth:`read_resource` and :meth:`get_prompt` raise ``InputRequested`` for a question of a stateless server, and
        send the answers that ``request`` has."""
        return self._with(_relayed=request)

    def _with(self, **members: object) -> Self:
        """The same connection, with other members."""
        other = object.__new__(type(self))
        other.__dict__ = vars(self).copy()  # three times as fast as an update of the new one
        vars(other).update(members)
        return other

    @property
    def facts(self) -> ServerFacts:
        """The server's description of itself. Only inside of ``async with``."""
        if self._connection.facts is None:
            raise TransportError.of(CLIENT_NOT_OPEN)
        return self._connection.facts

    @property
    def list_hints(self) -> ListHints:
        """The strictest cache hints of the lists that were read last (server/utilities/caching)."""
        return self._lists.hints

    @property
    def stderr(self) -> str:
        """The end of the standard error of a server that this client has started; otherwise empty."""
        return self._link.stderr if isinstance(self._link, StdioLink) else ""

    def _changed(self, method: str) -> None:
        self._lists.forget(*LISTS[method].methods)
        if "tools/list" in LISTS[method].methods:
            self._known_tools.forget()

    def _authorizing(self) -> AbstractContextManager[None]:
        """Pause timeouts during authorization, and drop private lists, because the identity may change."""
        self._lists.forget_private()
        return self._connection.answering()

    # --- tools -------------------------------------------------------------------------------------------------------

    async def list_tools(self, *, refresh: bool = False) -> list[ToolDefinition]:
        """All tools, every page of them, within the time of one request.

        The list is cached for the server's TTL, unless the server reports a change or ``refresh`` is set. A server that
        repeats a cursor, or sends pages without end, is a ``TransportError``.
        """
        tools = await self._all("tools/list", "tools", ToolDefinition, refresh)
        mirrors = {} if self._link.shared else {tool.name: mirrors_of(tool) for tool in tools}
        usable = [tool for tool in tools if mirrors.get(tool.name, ()) is not None]
        self._known_tools.learn((tool, mirrors.get(tool.name) or ()) for tool in usable)
        return usable

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        returns: type[T],
        timeout: float | None = None,
        total_timeout: float | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> Result[T]: ...

    @overload
    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        total_timeout: float | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> Result[Any]: ...

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        returns: Any = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> Result[Any]:
        """Call a tool; arguments come as a mapping, as keywords, or both.

        The result of a tool that has been listed is checked against its output schema. ``returns`` is the type of its
        ``value``: a dataclass, a ``TypedDict``, a pydantic model, ``list[int]``. ``progress(progress, total, message)``
        is called as the server reports it. ``timeout`` and ``total_timeout`` in seconds limit this call.

        A call that the server runs as a task is followed to its end (:meth:`TaskHandle.result`). Then ``timeout``
        limits each request about the task, and ``total_timeout`` the task, if it is set here. A task that is given up,
        because of such a limit or because this is cancelled, is cancelled at the server.

        Raises ``ValueError`` for values that JSON cannot express, ``RpcError`` (an unknown tool among them),
        ``InvalidResult``, ``TaskCancelled``, ``RequestTimeout`` or ``ConnectionLost``. A call is never sent twice if
        its tool may have run.
        """
        call = {**(arguments or {}), **more}
        encoded = encode(call)
        if b"null" in encoded and not is_finite(call):  # NaN and infinities are encoded as null
            raise ValueError("JSON has no NaN and no infinities")
        params: dict[str, Json] = {"name": name, "arguments": EncodedJson(encoded)}
        try:
            try:
                members = await self._call(params, call, timeout, total_timeout, progress)
            except HeaderMismatch:
                # Parameters may have to be mirrored into headers, which only the tool's newest schema shows.
                await self.list_tools(refresh=True)
                members = await self._call(params, call, timeout, total_timeout, progress)
        except TaskStarted as started:
            if not self._follows_tasks or self._relayed is not None:
                raise
            return await followed(self._task(started.status, name, returns, timeout), total_timeout, progress)
        result = result_of(name, members, returns)
        self._known_tools.check(name, result)
        return result

    def _call(
        self,
        params: dict[str, Json],
        arguments: Mapping[str, Json],
        timeout: float | None,
        total: float | None,
        progress: Progress | None,
    ) -> Coroutine[Any, Any, dict[str, Json]]:
        era, others = self._connection.settled(), self._headers_of_caller
        headers = self._known_tools.headers(params["name"], arguments, others) if era.mirrors_parameters else None
        return self._connection.request(
            "tools/call",
            params,
            timeout=timeout,
            total=total,
            progress=progress,
            headers=headers,
            relayed=self._relayed,
        )

    @overload
    async def start_task(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        returns: type[T],
        timeout: float | None = None,
        total_timeout: float | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> TaskHandle[T]: ...

    @overload
    async def start_task(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        timeout: float | None = None,
        total_timeout: float | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> TaskHandle[Any]: ...

    async def start_task(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        returns: Any = None,
        timeout: float | None = None,
        total_timeout: float | None = None,
        progress: Progress | None = None,
        **more: Any,
    ) -> TaskHandle[Any]:
        """Call a tool, as :meth:`call_tool` does, and return as soon as the server has made a task of the call.

        Whether it does so is the server's decision: if it answers with a result, the handle has that, and no ``id``.
        ``total_timeout`` and ``progress`` are those of the request, and not of the task; ``timeout`` limits each
        request about the task too.
        """
        call = self._with(_follows_tasks=False).call_tool
        limits: dict[str, Any] = {"timeout": timeout, "total_timeout": total_timeout, "progress": progress}
        try:
            return FinishedTask(await call(name, {**(arguments or {}), **more}, returns=returns, **limits))
        except TaskStarted as started:
            return self._task(started.status, name, returns, timeout)

    @overload
    def task(
        self, id: str, *, returns: type[T], tool: str | None = None, timeout: float | None = None
    ) -> TaskHandle[T]: ...

    @overload
    def task(self, id: str, *, tool: str | None = None, timeout: float | None = None) -> TaskHandle[Any]: ...

    def task(
        self, id: str, *, returns: Any = None, tool: str | None = None, timeout: float | None = None
    ) -> TaskHandle[Any]:
        """The handle of a task that was started earlier, in this process or another one; no request is sent.

        With the name of its ``tool``, its result is checked against the output schema if the tool has been listed.
        """
        finish = functools.partial(self._finished, tool, returns)
        return TaskHandle(self._connection, id, finish, timeout, None, self._relayed)

    def _task(self, status: TaskStatus, tool: str, returns: Any, timeout: float | None) -> TaskHandle[Any]:
        finish = functools.partial(self._finished, tool, returns)
        return TaskHandle(self._connection, str(status.id), finish, timeout, status, self._relayed)

    def _finished(self, tool: str | None, returns: Any, members: Mapping[str, Json]) -> Result[Any]:
        result = result_of(tool or "tools/call", members, returns)
        if tool is not None:
            self._known_tools.check(tool, result)
        return result

    @property
    def _headers_of_caller(self) -> Mapping[str, str]:
        return {} if self._relayed is None else self._relayed.headers

    # --- resources and prompts ---------------------------------------------------------------------------------------

    async def list_resources(self, *, refresh: bool = False) -> list[ResourceDefinition]:
        """All resources that the server lists; like ``list_tools``."""
        return await self._all("resources/list", "resources", ResourceDefinition, refresh)

    async def list_templates(self, *, refresh: bool = False) -> list[ResourceTemplate]:
        """All resource templates that the server lists; like ``list_tools``."""
        return await self._all("resources/templates/list", "resourceTemplates", ResourceTemplate, refresh)

    async def list_prompts(self, *, refresh: bool = False) -> list[Prompt]:
        """All prompts that the server lists; like ``list_tools``."""
        return await self._all("prompts/list", "prompts", Prompt, refresh)

    async def _all(self, method: str, member: str, shape: type[T], refresh: bool) -> list[T]:
        try:
            async with asyncio.timeout(self._timeout):
                return await self._lists.read(method, member, shape, refresh=refresh)
        except TimeoutError:
            raise RequestTimeout.of(REQUEST_TIMEOUT, method=method, seconds=self._timeout) from None

    async def read_resource(self, uri: str) -> list[TextResource | BlobResource]:
        """Read the contents of ``uri``. Raises ``InvalidParams`` if there is no such resource."""
        result = await self._connection.request(
            "resources/read", {"uri": uri}, headers=self._headers_of_caller, relayed=self._relayed
        )
        return contents_of(result)

    async def subscribe(self, uri: str, updated: Updated) -> None:
        """Have ``updated(uri)`` called when the resource changes, or one below it; until :meth:`unsubscribe`.

        Returns once no later change can be missed. Raises ``TransportError`` for a server without subscriptions.
        """
        await self._connection.follow(uri, updated)

    async def unsubscribe(self, uri: str) -> None:
        """End the subscription to the resource."""
        await self._connection.unfollow(uri)

    async def get_prompt(self, name: str, arguments: Mapping[str, str] | None = None, /, **more: str) -> PromptResult:
        """The messages of a prompt; arguments come as a mapping, as keywords, or both. Raises ``InvalidParams`` if
        there is no such prompt, or its arguments are wrong.
        """
        params = {"name": name, "arguments": {**(arguments or {}), **more}}
        result = await self._connection.request(
            "prompts/get", params, headers=self._headers_of_caller, relayed=self._relayed
        )
        return prompt_of(result)

    async def complete(
        self, ref: Prompt | ResourceTemplate, argument: str, value: str, arguments: Mapping[str, str] | None = None
    ) -> Completion:
        """The values of a prompt's argument, or of a template's variable, that begin with ``value``.

        ``arguments`` are those that are settled already.
        """
        params: dict[str, Json] = {"ref": _ref(ref), "argument": {"name": argument, "value": value}}
        if arguments:
            params["context"] = {"arguments": dict(arguments)}
        result = await self._connection.request("completion/complete", params)
        return converted(result.get("completion"), Completion, "completion/complete")

    async def ping(self) -> None:
        """Check that the server answers: with ``ping``, or with ``server/discover`` in revisions without ``ping``."""
        await self._connection.request(self._connection.settled().sign_of_life, {})


@dataclass(frozen=True, slots=True)
class _Patient:
    """Pauses request timeouts while authorization may be waiting for a person."""

    auth: Auth
    waiting: Callable[[], AbstractContextManager[None]]

    def for_server(self, url: str) -> Authorizer:
        return _PatientAuthorizer(self.auth.for_server(url), self.waiting)


@dataclass(frozen=True, slots=True)
class _PatientAuthorizer:
    inner: Authorizer
    waiting: Callable[[], AbstractContextManager[None]]

    async def headers(self, method: str) -> Mapping[str, str]:
        return await self.inner.headers(method)

    def ready(self) -> Mapping[str, str] | None:
        return self.inner.ready()

    async def challenged(self, refusal: Refusal) -> bool:
        with self.waiting():
            return await self.inner.challenged(refusal)


def link_to(
    target: Target,
    headers: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    auth: Auth | None = None,
    cwd: str | Path | None = None,
    transport: Literal["http", "sse"] | None = None,
) -> TransportLink:
    """Return the client's end of a transport to ``target``, not yet open."""
    if isinstance(target, str) and target.startswith(("http://", "https://")):
        if auth is not None and "authorization" in map(str.lower, headers or {}):
            raise ConfigurationError.of(AUTHORIZATION_SET_TWICE)
        link = HttpLink(target, headers=headers, authorize=None if auth is None else auth.for_server(target))
        return SseLink(link.target) if transport == "sse" else link
    if auth is not None:
        raise ConfigurationError.of(AUTH_FOR_HTTP_ONLY)
    if isinstance(target, str):
        is_script = target.endswith(".py") and Path(target).is_file()
        return StdioLink([sys.executable, target] if is_script else words_of(target), env=env, cwd=cwd)
    if isinstance(target, Sequence):
        return StdioLink(target, env=env, cwd=cwd)
    if isinstance(target, ClientLink):
        return ClientLinkAdapter(target)
    if not callable(getattr(target, "connect", None)):
        raise ConfigurationError.of(CLIENT_TARGET_INVALID, kind=type(target).__name__)
    return MemoryLink(target)


def _ref(ref: Prompt | ResourceTemplate) -> dict[str, Json]:
    if isinstance(ref, Prompt):
        return {"type": "ref/prompt", "name": ref.name}
    return {"type": "ref/resource", "uri": ref.uriTemplate}
