"""The author's entry point: combines tools, the standard pipeline and the protocol handlers, and adds no logic."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import logging
import os
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Never, TypeVar, Unpack, overload

from tooltrue._internal.platform import event_loop
from tooltrue._internal.platform.terminal_input import is_terminal
from tooltrue.errors import ConfigurationError, DefinitionError, StateError
from tooltrue.extras import companion_command
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.consent.approvals import Approvals, approvals_url, instance_of
from tooltrue.policy.guard import Guard, Limits
from tooltrue.policy.layers.abuse import Abuse
from tooltrue.policy.layers.concurrency import Concurrency
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.layers.rate import RateLimits
from tooltrue.policy.pipeline import STAGES, described, standard
from tooltrue.policy.rules.rule import Decide, Rules
from tooltrue.protocol.types import Implementation, Value, replaced
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer, ServerSession
from tooltrue.server.service import SILENT, ServedProvider
from tooltrue.server.watchdog import Watchdog
from tooltrue.server.wording import (
    AUTHENTICATION_SET_TWICE,
    HINT_STDIO_SERVER_WAITING,
    LABEL_KEYS_OF_LENGTH,
    LABEL_ONE_OR_MORE,
    MOUNT_TAKES_NO_SETTINGS,
    RUN_SETTING_REQUIRES_HTTP,
    RUN_TAKES_NO_SETTINGS,
    RUN_WITHIN_EVENT_LOOP,
    SETTINGS_FROZEN_WHILE_SERVING,
    SOURCE_NOT_INSTALLED,
    UNKNOWN_SERVER_SETTING,
    WORKERS_WITHOUT_SHARED_STATE,
)
from tooltrue.state.facts import Facts, MemoryFacts, Values
from tooltrue.state.log import Log
from tooltrue.state.on_demand import OnDemand
from tooltrue.tools.advice import MOUNT, RUN, SERVER, SETTINGS, missing
from tooltrue.tools.bounds import Rate
from tooltrue.tools.library import LocalLibrary, shelved
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider, Source, parts_of, provider_of, servers_in
from tooltrue.tools.views import prefixed, switchable
from tooltrue.tools.vocabulary import EVERYONE, LOCAL, Personal, Principal, RequestContext, Secrets, Tool
from tooltrue.tools.wording import (
    HINT_EQUIVALENT_HERE,
    MOUNT_WHILE_SERVING,
    NOTHING_TO_SWITCH,
    SERVER_MOUNTED_IN_ITSELF,
)
from tooltrue.transport import stdio
from tooltrue.transport.carrier import Carrier
from tooltrue.wording import LANGUAGES, SETTING_INVALID, Worded, alternatives, coded_sentence, sentence

if TYPE_CHECKING:  # not needed by a server on stdio
    from tooltrue.policy.config import OperatorConfig
    from tooltrue.policy.mounting import ServerSettings
    from tooltrue.policy.placing import AuthorLayer
    from tooltrue.policy.rules.lint import Inventory
    from tooltrue.rest.endpoint import RestEndpoint
    from tooltrue.server.auth_settings import AuthSettings
    from tooltrue.server.http import HttpEndpoint
    from tooltrue.server.identity import Authenticate
    from tooltrue.server.lifespan import LifespanFunction, ServerLifespan
    from tooltrue.server.routes import RouteTable
    from tooltrue.server.running_tasks import TasksOfServer
    from tooltrue.server.sse import SseEndpoint
    from tooltrue.tasks.service import Tasks, TaskService
    from tooltrue.tasks.upstream import UpstreamServers, UpstreamTasks
    from tooltrue.tools.mounting import Contents
    from tooltrue.tools.search.searchable import ToolSearch
    from tooltrue.tools.settings import PromptSettings, ResourceSettings, ToolSettings
    from tooltrue.transport.http_middleware import AsgiMiddleware
    from tooltrue.transport.http_server import AllowedHosts, HttpApp, Page


__all__ = ["Server"]

F = TypeVar("F", bound=Callable[..., Any])

_WRONG_SETTING = 2  # the exit code of the command

_log = logging.getLogger("tooltrue")


def _as_it_is(guard: Guard) -> Guard:
    return guard


class Deployment(Value, frozen=True):
    """The decisions of the code that serves a server, beside those of its author: the operator's file, the name of this
    instance, the authentication over HTTP in place of the file's, the keys and facts that ``workers`` share (their name
    and number; ``has_new_keys`` if the keys do not outlive them), and settings that override all others.
    """

    config: OperatorConfig | None = None
    started: str = ""
    auth_settings: AuthSettings | None = None
    keys: Sequence[bytes] = ()
    facts: Facts | None = None
    workers: tuple[str, int] = ("", 1)
    metrics: bool = False
    has_new_keys: bool = False
    override: Callable[[Guard], Guard] = _as_it_is


class ServerAssembly(Value, frozen=True):
    """The parts of a server, made once by :meth:`Server._build`."""

    recorder: Recorder
    tickets: OnDemand
    served: ServedProvider
    protocol: ProtocolServer


def _companion_source(name: str) -> Callable[..., Source]:
    """The function of another distribution that makes a toolset, by its entry point."""
    from importlib.metadata import entry_points  # noqa: PLC0415 - few servers have one

    for point in entry_points(group="tooltrue.sources", name=name):
        return point.load()
    command = companion_command("tooltrue-toolbox")
    raise ConfigurationError.of(SOURCE_NOT_INSTALLED, name=name, command=command)


class Server:
    """A tool server for stateless and session-based clients, with safe defaults.

    - ``name``: the name that clients see. Audit records, approvals and the operator's file use it too.
    - ``version``: the version that clients see.
    - ``title``: the name that a person sees in a client, by default ``name``.
    - ``instructions``: text about the server as a whole, for the model of a client, or a function that returns it.
    - ``toolsets``: served beside the server's own tools. A ``Server`` among them is mounted, as by :meth:`mount`.
    - ``layers``: the author's own middleware, each a class or function that makes a layer of the provider below:
      innermost, or where :func:`tooltrue.placed` places it.
    - ``routes``: HTTP routes beside the endpoint: :class:`Route` objects, or those of Starlette.
    - ``middleware``: ASGI middleware around the endpoint and the routes, the first one outermost; each takes an
      application and returns one.
    - ``lifespan``: an async context manager function of the server, or a list of them: entered before the first
      request, left at the end; tools get what it yields by ``Annotated[T, Lifespan]``.
    - ``limits``: the limits on every call that has no limits of its own: its time, the sizes of its result and of its
      arguments.
    - ``rate``: how often callers may call.
    - ``concurrency``: how many calls run at once.
    - ``abuse``: when a caller is paused.
    - ``decide``: an access decision in code. A call must be allowed by it and by ``rules``.
    - ``audit``: the destination of audit records: a URL, a ``Log``, an :class:`Audit` with more settings, or ``False``
      for none. By default a file in the user's state folder.
    - ``rules``: the operator's file, such as ``tooltrue.toml``, which may set other parts too.
    - ``confirm``: the tools that need a person's approval.
    - ``secrets``: ``mask`` secrets in output, which is the default, or ``keep`` them.
    - ``personal``: ``mask`` personal data in output, or ``keep`` it, which is the default.
    - ``instance``: names the object this server works on, to separate servers of the same name: an approval for one
      instance is not valid for another.
    - ``language``: that of error messages, ``en`` or ``zh``.
    - ``keys``: the keys, each of at least 16 bytes, that seal the state that clients carry for us; the first one seals.
      Without them a restart ends sessions, cursors and open questions.
    - ``facts``: the state shared by several workers.
    - ``authenticate``: authenticates HTTP callers. Without it the server listens on loopback only.
    - ``metrics``: serves metrics at ``/metrics`` over HTTP; with ``authenticate``, to callers with the scope
      ``metrics``.
    - ``search``: ``ToolSearch(…)``, so that callers with too many tools search for them; see docs/gateway.md.
    - ``tasks``: the settings of calls that become tasks, ``Tasks(…)``; see docs/tasks.md.
    - ``page_size``: how many tools, resources or prompts one page of a list has.
    - ``threads``: how many plain functions run at once, each on a thread.
    """

    def __init__(
        self,
        name: str,
        *others: Never,
        version: str = "0.0.0",
        title: str | None = None,
        instructions: str | Callable[[], str | None] | None = None,
        toolsets: Sequence[Source] = (),
        layers: Sequence[AuthorLayer] = (),
        limits: Limits | None = None,
        rate: Rate | RateLimits | None = None,
        concurrency: Concurrency | None = None,
        abuse: Abuse | None = None,
        decide: Decide | None = None,
        audit: Audit | Log | str | bool | None = None,
        rules: str | Path | Rules | None = None,
        confirm: Confirm | None = None,
        secrets: Secrets | None = None,
        personal: Personal | None = None,
        instance: str = "",
        language: str = "en",
        keys: Sequence[bytes] = (),
        facts: Facts | None = None,
        authenticate: Authenticate | None = None,
        metrics: bool = False,
        routes: Sequence[object] = (),
        middleware: Sequence[object] = (),
        search: ToolSearch | None = None,
        tasks: Tasks | None = None,
        page_size: int = 1000,
        threads: int = 32,
        lifespan: LifespanFunction | Sequence[LifespanFunction] | None = None,
        **more: Never,
    ) -> None:
        _refuse(UNKNOWN_SERVER_SETTING, *others, *more)
        _check(secrets=secrets in (None, "mask", "keep"), personal=personal in (None, "mask", "keep"))
        _check(language=language in LANGUAGES, threads=threads >= 1, page_size=page_size >= 1)
        _check(keys=all(len(key) >= _KEY_BYTES for key in keys))
        self.name = name
        self.authenticate = authenticate
        self.tools = LocalToolset(threads=threads)
        self.library = LocalLibrary(threads=threads)
        self._enters_lifespan = True
        self._lifespan = None if lifespan is None else self._own_lifespan(lifespan)
        self._guard = _recording(Guard(language=language, server=name, instance=instance), audit, name).with_settings(
            "Server({}=…)",
            limits=limits,
            rate=rate and RateLimits.of(rate),
            concurrency=concurrency,
            abuse=abuse,
            decide=decide,
            confirm=confirm,
            secrets=secrets,
            personal=personal,
            layers=_placed(layers) if layers else None,
        )
        meter = self._guard.meter
        meter.gauges["tooltrue_threads_abandoned"] = lambda: sum(
            pool.abandoned for server in (self, *self._mounted) for pool in (server.tools.pool, server.library.pool)
        )
        meter.gauges["tooltrue_audit_lost_total"] = lambda: self._assembly.recorder.log.lost
        meter.gauges["tooltrue_audit_failing"] = lambda: self._assembly.recorder.log.failing
        meter.gauges["tooltrue_audit_behind"] = lambda: self._assembly.recorder.log.behind
        self._guard.abuse_events.listen(lambda event: meter.count_event(event.kind))
        own = shelved(self.tools, self.library)
        self._provider = switchable(own, *toolsets) if toolsets else own
        self._contents: Contents | None = None
        self._facts = facts
        self._keys = keys
        self._info = Implementation(name=name, version=version, title=title)
        self._instructions = instructions if callable(instructions) else lambda: instructions
        self._metrics = metrics
        self._routes: RouteTable | None = None
        if routes:
            self._route_table().add(routes)
        self._middleware = _factories(middleware) if middleware else ()
        self._search = search
        self._tasks = tasks
        self._page_size = page_size
        self._deployment = Deployment()
        self._built: ServerAssembly | None = None
        if isinstance(rules, Rules):
            self._guard = self._guard.with_settings("Server({}=…)", rules=rules.on(name))
        elif rules is not None:
            from tooltrue.policy import config  # noqa: PLC0415 - only an operator's file needs it

            self._deployment = Deployment(config=config.read_operator_config(rules))
        self._effective = self._settings()
        self._check_mounted(self._mounted)

    @classmethod
    def from_openapi(
        cls,
        name: str,
        spec: str | Path | None = None,
        *,
        app: object = None,
        url: str = "",
        operations: Sequence[str] = (),
        plan: str | Path | None = None,
        api_secrets: Mapping[str, str] | None = None,
        responses: Literal["strict", "log", "off"] = "log",
        **settings: Any,
    ) -> Server:
        """A server whose tools are the operations of an HTTP API. It needs ``tooltrue-toolbox[openapi]``.

        - ``spec``: the file or the address of a description, OpenAPI 3 or Swagger 2.0.
        - ``app``: an ASGI application of this process, such as one of FastAPI: it receives the requests, and its
          ``/openapi.json`` is the description unless there is a ``spec``. Its lifespan is not entered here.
        - ``url``: the address of the API; an application is called as ``http://localhost`` without it.
        - ``operations``: patterns such as ``tag:pets``; ``plan``: a file of ``tooltrue openapi plan``.
        - ``api_secrets``: by the names of the security schemes.
        - ``responses``: what happens to an answer that differs from the description: ``strict`` refuses it, ``log``
          reports it, ``off`` does not look.

        ``settings`` are those of :class:`Server`. Where the definitions of the tools take more than 10,000 tokens,
        callers are shown the three tools of the search alone. Requests that read keep their connection to the API for
        15 s, for the next one; every other request opens its own, and closes it.
        """
        from tooltrue.tools.search.searchable import ToolSearch  # noqa: PLC0415 - only some servers have one

        make = _companion_source("openapi")
        tools = make(spec, app, url, operations, plan, api_secrets or {}, responses)
        sources: Sequence[Source] = settings.pop("toolsets", ())
        more: dict[str, Any] = {"search": ToolSearch(shown=()), **settings}
        return cls(name, toolsets=(tools, *sources), **more)

    def _own_lifespan(self, functions: LifespanFunction | Sequence[LifespanFunction]) -> ServerLifespan:
        from tooltrue.server.lifespan import ServerLifespan  # noqa: PLC0415 - only some servers have one

        lifespan = ServerLifespan(functions, self, self.name)
        lifespan.provide(self.tools.lifespan_values())
        lifespan.provide(self.library.lifespan_values())
        return lifespan

    @property
    def lifespans(self) -> Sequence[ServerLifespan]:
        """The lifespans that are entered for this server, in order: its own, then those of the servers whose toolsets
        it serves. Raises ``ConfigurationError`` if a toolset needs one, and there is none.
        """
        local = [part for part in parts_of(self._provider) if isinstance(part, LocalToolset | LocalLibrary)]
        if not (held := [part.lifespan for part in local if part.lifespan is not None]):
            return ()
        from tooltrue.server.lifespan import lifespans_of  # noqa: PLC0415 - only some servers have one

        return lifespans_of(self._lifespan, held, self.name)

    @property
    def lifespan_seconds(self) -> float:
        """How long the end of this server waits for its lifespans; 0 if there are none."""
        return self.settings.limits.lifespan_seconds if self.lifespans else 0.0

    @property
    def end_seconds(self) -> float:
        """How long the end of this server waits for steps of tasks, and then for its lifespans."""
        return self.lifespan_seconds + (self.settings.limits.lifespan_seconds if self._has_tasks() else 0.0)

    def in_lifespan(self) -> AbstractAsyncContextManager[None]:
        """Context in which the lifespans are entered: :meth:`serving` enters it, and each client in memory. They are
        entered for the first of them, and left with the last.
        """
        if not (self._enters_lifespan and (lifespans := self.lifespans)):
            return contextlib.nullcontext()
        from tooltrue.server.lifespan import entered  # noqa: PLC0415 - only some servers have one

        return entered(lifespans, self.settings.limits.lifespan_seconds)

    def without_lifespan(self) -> Server:
        """The same server for clients in memory that only list: they do not enter its lifespan."""
        other = copy.copy(self)
        other._enters_lifespan = False
        return other

    if not TYPE_CHECKING:  # a type checker reports missing attributes better

        def __getattr__(self, name: str) -> Any:
            raise missing(self, name, SERVER)

    def _deploy(self, **changes: Any) -> None:
        """Change the deployment, before the first use."""
        if self._built is not None:
            raise ConfigurationError.of(SETTINGS_FROZEN_WHILE_SERVING, server=self.name, settings=", ".join(changes))
        self._deployment = replaced(self._deployment, **changes)
        self._effective = self._settings()  # the file is checked now, and not at the first use

    @property
    def _assembly(self) -> ServerAssembly:
        """The pipeline and the protocol handlers, built at the first use. Tools may be added later, settings not."""
        if self._built is None:
            self._built = self._build()
        return self._built

    def _build(self) -> ServerAssembly:
        self._check_mounted(self._mounted, log=True)
        settings, deployment = self.settings, self._deployment
        configured = deployment.facts if self._facts is None else self._facts
        facts = MemoryFacts() if configured is None else configured  # empty facts are false
        recorder = self._new_recorder()
        tickets = OnDemand(self._open_tickets, facts)
        approvals = Approvals(tickets)
        tasks = self._task_service() if self._has_tasks() else None
        sealer = Sealer(
            self._keys or deployment.keys or (new_key(),),
            own=not (self._keys or deployment.keys),
            realm=self._realm,
        )
        guard = partial(
            standard,
            guard=settings,
            facts=facts,
            recorder=recorder,
            approvals=approvals,
            task_service=tasks,
            upstream_tasks=self._upstream_tasks(sealer, facts),
        )
        served = ServedProvider(
            self._info,
            self._searchable(guard),
            sealer,
            facts,
            instructions=self._instructions,
            page_size=self._page_size,
            language=settings.language,
            tasks=tasks,
        )
        return ServerAssembly(recorder, tickets, served, ProtocolServer(served))

    def _has_tasks(self) -> bool:
        local = [part for part in parts_of(self._provider) if isinstance(part, LocalToolset)]
        return self._tasks is not None or any(part.has_tasks for part in local)

    def _task_service(self) -> TaskService:
        from tooltrue.protocol.modern import Results  # noqa: PLC0415 - few servers run tasks
        from tooltrue.tasks.service import Tasks, TaskService  # noqa: PLC0415 - few servers run tasks

        results, language = Results(self._info).call, self.settings.language
        return TaskService(self._tasks or Tasks(), results, servers=self._servers_of_tasks(), language=language)

    def _servers_of_tasks(self) -> UpstreamServers | None:
        """The servers that the calls of tasks reach; only a gateway has some."""

    def _upstream_tasks(self, sealer: Sealer, facts: Facts) -> UpstreamTasks | None:
        """The tasks of other servers that callers follow; only a gateway has some."""

    def _running_tasks(self) -> AbstractAsyncContextManager[None]:
        """Context in which calls become tasks, if tools want that."""
        if not (parts := self._task_parts()):
            return contextlib.nullcontext()
        from tooltrue.server.running_tasks import running_tasks  # noqa: PLC0415 - few servers run tasks

        return running_tasks(self.name, parts, seconds=self.settings.limits.lifespan_seconds)

    def _task_parts(self) -> Mapping[str, TasksOfServer]:
        """The runners of tasks here: this server itself, under the empty name, or the views that have pipelines."""
        return {"": self._own_tasks()} if self._has_tasks() else {}

    def _own_tasks(self) -> TasksOfServer:
        from tooltrue.policy.audit.operator_records import record_act  # noqa: PLC0415 - few servers run tasks
        from tooltrue.server.running_tasks import TasksOfServer  # noqa: PLC0415 - few servers run tasks

        served, deployment = self._assembly.served, self._deployment
        assert served.tasks is not None  # as it has tasks
        has_lasting_keys = bool(self._keys) or (bool(deployment.keys) and not deployment.has_new_keys)
        return TasksOfServer(
            served.tasks,
            served.provider,
            self._provider,
            served.sealer if has_lasting_keys else None,
            self._realm,
            partial(record_act, self._assembly.recorder),
        )

    _realm = ""
    """The realm of what this server seals, where servers share keys."""

    def _new_recorder(self) -> Recorder:
        return Recorder(self.settings.audit, self.settings.which)

    def _searchable(self, guard: Callable[[Provider], Provider]) -> Provider:
        """The guarded provider, for callers that may have too many tools if the author says so."""
        if self._search is None:
            return guard(self._provider)
        from tooltrue.tools.search.searchable import searchable  # noqa: PLC0415 - few servers have so many tools

        return searchable(self._provider, self._search, guard, self.settings.language)

    @overload
    def tool(self, function: F, /, **settings: Unpack[ToolSettings]) -> F: ...

    @overload
    def tool(self, /, **settings: Unpack[ToolSettings]) -> Callable[[F], F]: ...

    def tool(self, function: F | None = None, /, **settings: Unpack[ToolSettings]) -> F | Callable[[F], F]:
        """Register a function as a tool: ``@server.tool``, ``@server.tool(effect="read", …)``, or
        ``server.tool(function, effect="read", …)``."""
        decorate = self.tools.tool(**settings)
        return decorate if function is None else decorate(function)

    def add_tool(self, function: Callable[..., Any], **settings: Unpack[ToolSettings]) -> Tool:
        """Register any callable as a tool, methods included; also while the server runs."""
        return self.tools.add(function, **settings)

    def add_raw_tool(
        self,
        name: str,
        input_schema: Mapping[str, Any],
        handler: Callable[..., Any],
        /,
        *,
        output_schema: Mapping[str, Any] | None = None,
        **settings: Unpack[ToolSettings],
    ) -> Tool:
        """Register a tool with a JSON Schema and ``handler(arguments)`` or ``handler(arguments, context)``."""
        return self.tools.add_raw(name, input_schema, handler, output_schema=output_schema, **settings)

    def remove_tool(self, name: str) -> None:
        """Remove a tool, also while the server runs. Raises ``UnknownTool``."""
        self.tools.remove(name)

    def tools_changed(self) -> None:
        """Announce that the inputs of ``visible=`` have changed; clients whose list changes are notified."""
        self.tools.changed()

    def resource(self, uri: str, /, **settings: Unpack[ResourceSettings]) -> Callable[[F], F]:
        """Register a function as a resource, ``@server.resource("docs://guide")``, or as a resource template, if it has
        parameters: ``@server.resource("docs://{name}")``."""
        return self.library.resource(uri, **settings)

    def add_resource(self, uri: str, function: Callable[..., Any], /, **settings: Unpack[ResourceSettings]) -> None:
        """Register any callable as a resource or template; also while the server runs."""
        self.library.add_resource(uri, function, **settings)

    def remove_resource(self, uri: str) -> None:
        """Remove a resource or template, also while the server runs. Raises ``UnknownEntry``."""
        self.library.remove_resource(uri)

    def resource_updated(self, uri: str) -> None:
        """Notify the subscribers of ``uri`` that its content has changed. Thread-safe."""
        self.library.resource_updated(uri)

    @overload
    def prompt(self, function: F, /, **settings: Unpack[PromptSettings]) -> F: ...

    @overload
    def prompt(self, /, **settings: Unpack[PromptSettings]) -> Callable[[F], F]: ...

    def prompt(self, function: F | None = None, /, **settings: Unpack[PromptSettings]) -> F | Callable[[F], F]:
        """Register a function as a prompt: ``@server.prompt``, ``@server.prompt(title="…", …)``, or
        ``server.prompt(function, title="…", …)``."""
        decorate = self.library.prompt(**settings)
        return decorate if function is None else decorate(function)

    def add_prompt(self, function: Callable[..., Any], /, **settings: Unpack[PromptSettings]) -> None:
        """Register any callable as a prompt; also while the server runs."""
        self.library.add_prompt(function, **settings)

    def remove_prompt(self, name: str) -> None:
        """Remove a prompt, also while the server runs. Raises ``UnknownEntry``."""
        self.library.remove_prompt(name)

    def mount(self, other: Source, prefix: str | None = None, **more: Never) -> None:
        """Serve all of another server, or of a provider, before the first use: its tools as ``prefix_name``, its
        resources and prompts under their own names, and everything that is added to it later.

        It passes the pipeline of this server, once. Settings of its tools hold; settings of the other server do not.
        Raises ``DefinitionError`` if protections would be lost by that, and for a server that would be in itself.
        """
        _refuse(MOUNT_TAKES_NO_SETTINGS, *_no_text(prefix), *more, table=MOUNT)
        if self._built is not None:
            raise ConfigurationError.of(MOUNT_WHILE_SERVING, name=self.name)
        part = provider_of(other) if prefix is None else prefixed(other, prefix)
        if any(server is self for server in servers_in(part)):
            raise DefinitionError.of(SERVER_MOUNTED_IN_ITSELF, name=self.name)
        self._check_mounted(servers_in(part))
        self._provider = switchable(self._provider, part)
        self.mountable.replace(self._provider)

    def disable(
        self,
        *tools: str,
        tags: Collection[str] = (),
        resources: Collection[str] = (),
        prompts: Collection[str] = (),
    ) -> None:
        """Disable tools by name or by tag, and the server's own resources (by URI) and prompts; also while it runs.

        A disabled tool is neither listed nor called, and reads like an unknown one. A tag also holds for tools that are
        registered later. Calls that already run finish. Raises ``UnknownTool`` or ``UnknownEntry``. Thread-safe.
        """
        self._switch(tools, tags, resources, prompts, on=False)

    def enable(
        self,
        *tools: str,
        tags: Collection[str] = (),
        resources: Collection[str] = (),
        prompts: Collection[str] = (),
    ) -> None:
        """Enable again, as :meth:`disable`. A name also holds for a tool that one of its tags has disabled."""
        self._switch(tools, tags, resources, prompts, on=True)

    def _switch(
        self,
        tools: Collection[str],
        tags: Collection[str],
        resources: Collection[str],
        prompts: Collection[str],
        *,
        on: bool,
    ) -> None:
        from tooltrue.tools.switches import switch  # noqa: PLC0415 - few servers disable tools

        if resources or prompts:
            (self.library.enable if on else self.library.disable)(resources=resources, prompts=prompts)
        elif not tools and not tags:
            raise DefinitionError.of(NOTHING_TO_SWITCH)
        if tools or tags:
            switch(self.tools, self._provider, tools, tags, on=on)

    @property
    def mountable(self) -> Contents:
        """The provider of the server's tools, resources and prompts without its pipeline, for views of it."""
        if self._contents is None:
            from tooltrue.tools.mounting import Contents  # noqa: PLC0415 - few servers are mounted

            self._contents = Contents(self._provider, self)
        return self._contents

    @property
    def _mounted(self) -> list[Server]:
        """The servers that this one serves, directly or within each other, each once."""
        return servers_in(self._provider)

    def _check_mounted(self, servers: Sequence[Server], *, log: bool = False) -> None:
        """Raise ``DefinitionError`` for a mounted server with protections that would not hold here."""
        if not servers:
            return
        from tooltrue.policy.mounting import check_mounted, log_ignored  # noqa: PLC0415 - few servers are mounted

        for server in servers:
            check_mounted(self._own_settings, server._own_settings)
            if log:
                log_ignored(self._own_settings, server._own_settings)

    @property
    def _own_settings(self) -> ServerSettings:
        from tooltrue.policy.mounting import ServerSettings  # noqa: PLC0415 - few servers are mounted

        return ServerSettings(
            self.name,
            self._guard,
            self.authenticate,
            self._deployment.config is not None,
            tuple(name for name, _ in self._middleware),
            self._routes is not None,
        )

    @overload
    def route(
        self, path: str, /, *, methods: Iterable[str] | None = None, public: bool = False
    ) -> Callable[[F], F]: ...

    @overload
    def route(self, path: str, endpoint: F, /, *, methods: Iterable[str] | None = None, public: bool = False) -> F: ...

    def route(
        self, path: str, endpoint: F | None = None, /, *, methods: Iterable[str] | None = None, public: bool = False
    ) -> F | Callable[[F], F]:
        """Serve an async function of a request, or an ASGI application, beside the endpoint over HTTP:
        ``@server.route("/hooks", methods=["POST"])``. Takes the settings of :class:`Route`.
        """
        if endpoint is None:
            return partial(self.route, path, methods=methods, public=public)
        from tooltrue.server.routes import Route  # noqa: PLC0415 - stdio needs no HTTP

        self._route_table().add([Route(path, endpoint, methods=methods, public=public)])
        return endpoint

    def _route_table(self) -> RouteTable:
        if self._routes is None:
            from tooltrue.server.routes import RouteTable  # noqa: PLC0415 - stdio needs no HTTP

            self._routes = RouteTable()
        return self._routes

    @property
    def provider(self) -> Provider:
        """The provider of all that is served, behind the whole pipeline."""
        return self._assembly.served.provider

    @property
    def bare_provider(self) -> Provider:
        """The tools, resources and prompts alone, without any layer: for tests."""
        return self._provider

    def connect(self, write: Callable[[bytes], None], principal: Principal | None = None) -> ServerSession:
        """Open a session in memory, the server side of ``tooltrue.Client(server)``. Its caller is ``principal``, whom
        the code that connects has authenticated; by default the local one."""
        return self._assembly.protocol.connect(write, Carrier("memory"), principal)

    def servers_for(self, principal: Principal) -> Mapping[str, Server]:
        """The servers of this one that a caller reaches, by name: this one alone, and of a gateway with views those
        views that are for this caller."""
        return {self.name: self}

    def run(
        self,
        transport: str = "stdio",
        *others: Never,
        host: str | None = None,
        port: int | None = None,
        allow_hosts: Sequence[str] = (),
        **more: Never,
    ) -> None:
        """Serve standard input and output until the input ends, or SIGINT or SIGTERM arrives.

        ``run("http", port=8000)`` serves HTTP instead, as ``tooltrue serve FILE.py --http HOST:PORT`` does in one
        process: ``host`` is by default 127.0.0.1, and another address needs ``authenticate``; ``allow_hosts`` are
        further names for Host and Origin. ``run("sse")`` serves the deprecated HTTP+SSE too.

        The process then ends at once, even if a tool neither ends nor accepts cancellation. If a setting is wrong, the
        port is taken, or the audit log cannot be written, it ends with one sentence on standard error and exit code 2.
        """
        _refuse(RUN_TAKES_NO_SETTINGS, *others, *more, table=RUN)
        if event_loop.is_running():
            raise RuntimeError(coded_sentence(RUN_WITHIN_EVENT_LOOP, self.settings.language, {}))
        try:
            serve = self._serve_on(transport, host, port, allow_hosts)
            self._name_instance()
            # All objects of the start stay until the process ends, so that no collection needs to look at them.
            gc.freeze()
            serve()
        except (ConfigurationError, StateError) as error:
            _tell(error.say(self.settings.language))
            sys.exit(_WRONG_SETTING)

    def _serve_on(
        self, transport: str, host: str | None, port: int | None, allow_hosts: Sequence[str]
    ) -> Callable[[], None]:
        """The function that serves a transport until its end."""
        if transport == "stdio":
            pairs = (("host", host), ("port", port), ("allow_hosts", allow_hosts or None))
            given = [name for name, value in pairs if value is not None]
            if given:
                raise ConfigurationError.of(RUN_SETTING_REQUIRES_HTTP, name=given[0])
            self._explain_waiting()
            return lambda: event_loop.run(self.serve_stdio())
        from tooltrue.server import http_serving  # noqa: PLC0415 - stdio needs no HTTP

        settings = http_serving.settings_of_run(transport, host, port, allow_hosts)
        return lambda: http_serving.serve_http(lambda: self, settings, self.name, lambda _, text, address: _tell(text))

    def _explain_waiting(self) -> None:
        """Explain on a terminal that the script is waiting for a client; print no text when a host runs it."""
        script = sys.argv[0] if sys.argv else ""
        if script.endswith(".py") and is_terminal(sys.stdin) and is_terminal(sys.stderr):
            text = sentence(HINT_STDIO_SERVER_WAITING, self.settings.language, {"server": self.name, "target": script})
            _tell(text)

    async def serve_stdio(self) -> None:
        """The same as :meth:`run`, within a running event loop."""
        more_seconds = max(0.0, self.end_seconds - stdio.LIFESPAN_SECONDS)
        await stdio.serve(
            lambda write: self._assembly.protocol.connect(write, Carrier("stdio")), self.serving, more_seconds
        )
        if _is_held_up():
            os._exit(0)

    def http_app(
        self, *, access: AllowedHosts | None = None, sse: bool = False, rest: bool = False, signals: bool = True
    ) -> HttpApp:
        """The endpoint, ``/mcp``, as an ASGI application. The caller is responsible for the address it listens on:
        beyond loopback the server needs ``authenticate``, and an ``access`` that names the hosts. ``/healthz`` and
        ``/readyz`` report liveness and readiness to any client.

        ``sse`` adds ``/sse`` and ``/messages`` for clients that support only HTTP+SSE (2024-11-05, deprecated). This
        requires a single process: a session exists only in the process that holds its stream.

        ``rest`` adds ``POST /tools/NAME`` and ``GET /openapi.json`` for programs that speak no MCP, and so does
        ``rest = true`` below ``[http]`` in the operator's file.

        SIGINT and SIGTERM end open streams before the ASGI server's own handler runs, whose graceful shutdown would
        wait for them; ``signals=False`` installs no handlers.
        """
        self._name_instance()
        self._warn_of_workers()
        from tooltrue.server.health_pages import HealthPages  # noqa: PLC0415 - stdio needs no HTTP
        from tooltrue.transport import http_server as http  # noqa: PLC0415 - stdio needs no HTTP

        old = self._sse() if sse else None
        endpoint = self._assembly.protocol.http(self.authenticator())
        has_metrics = self._metrics or self._deployment.metrics
        workers = self._deployment.workers if has_metrics else None
        health_pages = HealthPages(endpoint, self._assembly.served, self._guard.meter, workers)
        access_rules = access or http.AllowedHosts()
        if has_rest := rest or self._has_rest:
            bases = [path.removesuffix("/mcp") for path in self.endpoint_paths]
            self._route_table().check_free(*(base + path for base in bases for path in ("/tools", "/openapi.json")))
        others = self._other_endpoints(access_rules, rest=has_rest)
        metadata = [pages for _, pages in others.values()] or [endpoint.pages]
        pages = {path: page for one in (*metadata, health_pages.by_path()) for path, page in one.items()}
        around = partial(health_pages.around, self.serving)
        app = self._http_type()(
            endpoint,
            access_rules,
            sse=old,
            pages=pages,
            sites=self._route_table(),
            once=endpoint.once,
            credentials=self._declared_credentials(),
            around=around,
            signals=signals,
            language=self._assembly.served.language,
            path=None if others else self.endpoint_paths[0],
            others={path: other for path, (other, _) in others.items()},
            rest=self._rest(endpoint) if has_rest and not others else None,
        )
        return health_pages.of(app)

    @property
    def endpoint_paths(self) -> Sequence[str]:
        """The paths at which clients reach this server over HTTP."""
        return ("/mcp",)

    @property
    def _has_rest(self) -> bool:
        """Whether the operator's file asks for the endpoint of programs that speak no MCP."""
        config = self._deployment.config
        return config is not None and config.tables.get("http", {}).get("rest", False)

    def _rest(self, endpoint: HttpEndpoint) -> RestEndpoint:
        """The endpoint of programs that speak no MCP."""
        from tooltrue.rest.endpoint import RestEndpoint  # noqa: PLC0415 - few servers have it

        return RestEndpoint(self._assembly.served, endpoint)

    def _other_endpoints(self, access: AllowedHosts, *, rest: bool) -> Mapping[str, tuple[HttpApp, Mapping[str, Page]]]:
        """The endpoints that are served in place of that of this server, by path, with the pages of their metadata."""
        return {}

    def _http_type(self) -> Callable[..., HttpApp]:
        if not self._middleware:
            from tooltrue.transport.http_server import HttpApp  # noqa: PLC0415 - stdio needs no HTTP

            return HttpApp
        from tooltrue.transport.http_middleware import HttpAppWithMiddleware  # noqa: PLC0415 - stdio needs no HTTP

        return partial(HttpAppWithMiddleware, middleware=[wrap for _, wrap in self._middleware])

    def _declared_credentials(self) -> Callable[[], Collection[str]]:
        """Return the function that returns the headers with credentials of the caller that tools declare."""
        toolsets = [part for part in parts_of(self._provider) if isinstance(part, LocalToolset)]
        return lambda: {name for toolset in toolsets for name in toolset.credentials}

    def _sse(self) -> SseEndpoint:
        from tooltrue.server.sse import SseEndpoint  # noqa: PLC0415 - few clients need it

        return SseEndpoint(self._assembly.protocol)

    def _warn_of_workers(self) -> None:
        """Warn in the log if another HTTP server has visibly started several workers: they do not share state."""
        from tooltrue.server.worker_count import workers_started  # noqa: PLC0415 - stdio needs no HTTP

        workers = workers_started(sys.argv, os.environ)
        if workers > 1 and not self._deployment.keys and (not self._keys or self._facts is None):
            _log.warning("%s", coded_sentence(WORKERS_WITHOUT_SHARED_STATE, "en", {"workers": workers}))

    def configure(self, config: OperatorConfig) -> None:
        """Apply the operator's file, before the first use; its settings override the author's."""
        self._deploy(config=config)

    @property
    def operator_config(self) -> OperatorConfig | None:
        """The operator's file, if there is one."""
        return self._deployment.config

    def started_as(self, started: str) -> None:
        """Set the name of this instance, before the first use, unless one is set already."""
        if not (self.settings.instance or self._deployment.started):
            self._deploy(started=started)

    def _name_instance(self) -> None:
        """Name this instance after the program; a server that was used in memory before keeps the name it had."""
        if self._built is None:
            self.started_as(instance_of(*sys.argv or ("",)))

    def use_auth(self, auth_settings: AuthSettings) -> None:
        """Use ``auth_settings`` for authentication over HTTP, before the first use, instead of the operator's file."""
        self._deploy(auth_settings=auth_settings)

    @property
    def auth_settings(self) -> AuthSettings:
        """The operator's settings for authentication over HTTP."""
        from tooltrue.server.auth_settings import AuthSettings  # noqa: PLC0415 - stdio needs no authentication

        if self._deployment.auth_settings is not None:
            return self._deployment.auth_settings
        config = self._deployment.config
        return AuthSettings() if config is None else AuthSettings(*config.settings_of("auth"))

    def authenticator(self) -> Authenticate | None:
        """The authentication of HTTP callers, set by the operator or the author; ``None``: loopback only."""
        methods = self.auth_settings.methods()
        if methods and self.authenticate is not None:
            raise ConfigurationError.of(AUTHENTICATION_SET_TWICE, target=self.name, option=self.auth_settings.origin)
        return methods or self.authenticate

    @property
    def has_keys(self) -> bool:
        """Whether the author gave keys; otherwise the code that serves must provide them."""
        return bool(self._keys)

    def share(
        self,
        *,
        keys: Sequence[bytes],
        facts: Facts,
        workers: tuple[str, int] = ("", 1),
        metrics: bool = False,
        has_new_keys: bool = False,
    ) -> None:
        """Use the keys and facts shared by all workers, before the first use, unless the author gave some.
        ``workers`` is the name and size of the group of workers; ``metrics`` serves metrics, like the setting.
        ``has_new_keys``: the keys were made for these workers, and seal nothing that outlives them.
        """
        self._deploy(keys=keys, facts=facts, workers=workers, metrics=metrics, has_new_keys=has_new_keys)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Context that opens the resources needed while serving; :meth:`run` and the lifespan of :meth:`http_app` enter
        it. Raises ``DefinitionError`` if the tools cannot be listed together, ``ConfigurationError`` if the lifespan
        cannot be started.
        """
        await self.provider.list_tools(RequestContext(LOCAL, SILENT))
        await self.check_rules()
        async with (
            self._assembly.recorder.open(),
            self._assembly.tickets,
            Watchdog(self.settings.limits.blocked_seconds),
            self.in_lifespan(),
            self._running_tasks(),
        ):
            yield

    @property
    def facts(self) -> Facts:
        """The state that the workers of this server share."""
        return self._assembly.served.facts

    @property
    def audit_log(self) -> Log:
        """The audit log. While the server does not serve, and when it runs in memory, the log is kept in memory."""
        return self._assembly.recorder.log

    async def check_rules(self) -> None:
        """Raise ``ConfigurationError`` if the operator's file refers to tools or other names that this server lacks."""
        config = self._deployment.config
        if config is not None and (problems := await self.unknown_references(config)):
            raise problems[0]

    async def unknown_references(self, config: OperatorConfig) -> list[ConfigurationError]:
        """The errors for all names in a file that this server lacks."""
        rules = config.over(self._guard, self.name).rules
        if rules is None:
            return []
        from tooltrue.policy.rules import lint  # noqa: PLC0415 - only an operator's file needs it

        return [*lint.unknown_references(rules, await self.inventory(), config.place)]

    async def inventory(self) -> Inventory:
        """All tools and other entries, regardless of the caller."""
        from tooltrue.policy.rules import lint  # noqa: PLC0415 - only an operator's file needs it

        return await lint.inventory(self._searchable(lambda provider: provider), RequestContext(EVERYONE, SILENT))

    @property
    def settings(self) -> Guard:
        """The effective settings of all layers: the author's, then the operator's file, then :meth:`with_guard`."""
        return self._effective

    def _settings(self) -> Guard:
        deployment = self._deployment
        guard = replaced(self._guard, started=deployment.started) if deployment.started else self._guard
        if deployment.config is not None:
            guard = deployment.config.over(guard, self.name)
        return deployment.override(guard)

    def _open_tickets(self) -> AbstractAsyncContextManager[Values]:
        """Open the store that ``tooltrue approvals`` uses too."""
        from tooltrue.state.urls import open_facts  # noqa: PLC0415 - only some settings need a store

        return open_facts(approvals_url(self.settings.confirm.store))

    def with_guard(self, origin: str = "with_guard({}=…)", **settings: Any) -> Server:
        """The same tools behind other settings: ``server.with_guard(confirm=Confirm.never())``, for tests. The settings
        override the operator's file. ``origin`` names their source in :meth:`guard`."""
        other = copy.copy(self)
        other._built = None
        other._override(origin, settings)
        return other

    def _override(self, origin: str, settings: Mapping[str, Any]) -> None:
        """Override settings of this server, as :meth:`with_guard` does for another, before the first use."""
        before = self._deployment.override

        def override(guard: Guard) -> Guard:
            return before(guard).with_settings(origin, **settings)

        self._deploy(override=override)

    def guard(self) -> list[tuple[str, str, str]]:
        """The authentication, and each layer, outermost first: its name, its effect, and the source of its setting."""
        authenticator = self.authenticator()
        origin = self.auth_settings.origin or ("default" if authenticator is None else "Server(authenticate=…)")
        from tooltrue.server import identity  # noqa: PLC0415 - only inspect needs it

        around = ", ".join(name for name, _ in self._middleware)
        return [
            *([("middleware", f"HTTP: {around}", "Server(middleware=…)")] if around else []),
            *([("search", f"on: {self._search}", "Server(search=…)")] if self._search is not None else []),
            ("identity", identity.described(authenticator), origin),
            *described(self.settings),
        ]

    def http_routes(self) -> list[tuple[str, str, str]]:
        """The routes beside the endpoint: the path, the methods, and whether the callers are authenticated."""
        return [] if self._routes is None else self._routes.described()

    async def exceptions(self) -> list[tuple[str, str]]:
        """The tools' own settings of the guard, and their former names: the tool's name, and the setting as written."""
        tools = await self.provider.list_tools(RequestContext(LOCAL, SILENT))
        return [
            (tool.name, f"{setting}={value}")
            for tool in tools
            for setting, value in (
                ("confirm", tool.confirm),
                ("seconds", tool.seconds),
                ("max_bytes", tool.max_bytes),
                ("replaces", ", ".join(tool.replaces) or None),
                ("deprecated", tool.deprecated or None),
                ("credentials", ", ".join(tool.credentials) or None),
            )
            if value is not None
        ]


def _factories(middleware: Sequence[object]) -> Sequence[tuple[str, AsgiMiddleware]]:
    from tooltrue.transport.http_middleware import factories  # noqa: PLC0415 - few servers have middleware

    return factories(middleware)


_KEY_BYTES = 16
_WANTED = {
    "language": alternatives(LANGUAGES),
    "secrets": alternatives(("mask", "keep")),
    "personal": alternatives(("mask", "keep")),
    "threads": Worded(LABEL_ONE_OR_MORE, {}),
    "page_size": Worded(LABEL_ONE_OR_MORE, {}),
    "keys": Worded(LABEL_KEYS_OF_LENGTH, {"count": _KEY_BYTES}),
}


def _refuse(code: str, *names: object, table: Mapping[str, str] = SETTINGS) -> None:
    """Raise ``TypeError`` for the first unexpected argument, as Python would, with a hint at its name here."""
    for name in names:
        here = table.get(str(name))
        advice = sentence(HINT_EQUIVALENT_HERE, "en", {"here": here}) if here else ""
        raise TypeError(f"{sentence(code, 'en', {'name': name, 'advice': advice}).rstrip()} [{code}]")


def _no_text(value: object) -> tuple[object, ...]:
    """The value, unless it is text or absent."""
    return () if value is None or isinstance(value, str) else (value,)


def _check(**settings: bool) -> None:
    for name, holds in settings.items():
        if not holds:
            raise ConfigurationError.of(SETTING_INVALID, name=f"Server({name}=…)", wanted=_WANTED[name])


def _placed(layers: Sequence[AuthorLayer]) -> tuple[AuthorLayer, ...]:
    from tooltrue.policy.placing import checked  # noqa: PLC0415 - few servers have layers of their own

    return checked(layers, [stage.name for stage in STAGES])


def _recording(guard: Guard, audit: Audit | Log | str | bool | None, name: str) -> Guard:
    """The guard with the audit settings of the author, else of the environment, else with the user's default file."""
    if audit is not None:
        return guard.with_settings("Server({}=…)", audit=Audit.of(audit).at(name))
    if setting := os.environ.get(_AUDIT):
        return guard.with_settings(_AUDIT, audit=Audit.of(setting != "off" and setting).at(name))
    return replaced(guard, audit=Audit().at(name))


_AUDIT = "TOOLTRUE_AUDIT"


def _tell(text: str) -> None:
    from tooltrue.protocol.terminal import tell  # noqa: PLC0415 - most servers start without a sentence

    tell(text)


def _is_held_up() -> bool:
    """Whether a task or thread of a tool would keep the process from ending."""
    others = (thread for thread in threading.enumerate() if thread is not threading.main_thread())
    return len(asyncio.all_tasks()) > 1 or not all(thread.daemon for thread in others)
