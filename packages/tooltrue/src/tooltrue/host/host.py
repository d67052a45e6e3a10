"""A host: many servers behind one object, and one guard around all of them."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence, Set
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, overload

from tooltrue.client.answers import Answerer, Elicitation, Reply, Sample
from tooltrue.client.client import Client, Progress, Result, Target
from tooltrue.client.config import AskInput, HostConfig, ServerConfig, read_config
from tooltrue.client.notifications import Log as OnLog
from tooltrue.client.question_limits import QuestionGate, QuestionLimits
from tooltrue.contract.neighbours import Neighbours
from tooltrue.errors import ConfigurationError, ConnectionLost, ToolError, TooltrueError
from tooltrue.host.admission import Judge, scanned
from tooltrue.host.aliases import check_alias, marks
from tooltrue.host.approval_prompts import ApprovalPrompter
from tooltrue.host.catalogue import Catalogue, CataloguePart, CatalogueRow
from tooltrue.host.connect import connect
from tooltrue.host.effects import effects_by
from tooltrue.host.exposed_tools import ExposedTools, exposed
from tooltrue.host.host_guard import STAGES, Hosting
from tooltrue.host.host_guard import guarding as guarded_by
from tooltrue.host.hosted_server import HostedServer, HostPlan
from tooltrue.host.inspection import QuarantinedDefinition, SuspiciousDefinition
from tooltrue.host.launches import ApproveLaunch, Launches
from tooltrue.host.logs import LogForwarder, OnServerLog
from tooltrue.host.models.model import Model, ModelInput
from tooltrue.host.pins import Pin, Pins, Review, instance_of
from tooltrue.host.remote import Remote
from tooltrue.host.run import RunResult, run
from tooltrue.host.servers import Life, Patience, State, Wake
from tooltrue.host.upstream_calls import CallerTargets, Relay, ServerRelay
from tooltrue.host.wording import (
    HOST_EFFECT_UNKNOWN,
    HOST_LAYERS_REPLACED,
    HOST_RENAME_COLLISION,
    HOST_SERVER_START_TIMEOUT,
)
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.consent.approvals import Approvals, approvals_url
from tooltrue.policy.guard import Guard
from tooltrue.policy.rules.globs import Globs, globs
from tooltrue.protocol import types as wire
from tooltrue.protocol.types import CallToolResult, PromptResult, ReadResourceResult, Value, replaced
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.state.log import Log
from tooltrue.state.on_demand import OnDemand
from tooltrue.tools.null import SILENT
from tooltrue.tools.tasks import Task
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import (
    LOCAL,
    Channel,
    Effect,
    PromptGet,
    ProviderChange,
    RequestContext,
    ResourceRead,
    Tool,
    ToolCall,
)
from tooltrue.tools.wording import USER_QUESTION_IMPOSSIBLE
from tooltrue.transport.carrier import Auth

if TYPE_CHECKING:  # few hosts have layers of their own
    from tooltrue.policy.placing import AuthorLayer

__all__ = ["Announcement", "Elicit", "Guarding", "Host", "ServerStatus", "config_of"]

Elicit: TypeAlias = Callable[[str, Elicitation], "Reply | Awaitable[Reply]"]
"""Answers a server's question to the person. Called with the server's label and the question."""

Guarding: TypeAlias = Callable[[Provider, Guard, Facts, Recorder, Approvals], Provider]
"""Puts the layers around the provider of all servers."""

_MAX_WAITING = 1_000
_ANSWER_SECONDS = 60.0

_log = logging.getLogger("tooltrue")


class ServerStatus(Value, frozen=True):
    """The state of a server. ``reason`` says why it cannot be used; ``starts`` counts how often it has been started."""

    name: str
    state: State
    reason: TooltrueError | None = None
    tools: int = 0
    starts: int = 0
    server: str = ""
    version: str = ""
    revision: str = ""
    instructions: str | None = None


class Announcement(Value, frozen=True):
    """A change: a server has a new state, tools were found or lost (``names``, as this host calls them), definitions
    are quarantined (``held``; ``names`` as their server calls them, and ``reviews`` has those that can be accepted), or
    listed despite suspicious content (``warned``; ``suspicions`` has the findings)."""

    kind: Literal["server", "found", "lost", "held", "warned"]
    server: str = ""
    state: State | None = None
    reason: TooltrueError | None = None
    names: tuple[str, ...] = ()


class Host:
    """``async with Host(servers) as host``: the tools of all servers, by stable names, behind one guard.

    - ``servers``: a file's :class:`HostConfig`, or a mapping: label → :class:`ServerConfig`, or any target of a client.
    - ``approve_launch``: is shown each command before it is started for the first time, and after each change. Without
      it, a command that has not been approved before is refused.
    - ``ask_input``: supplies the inputs of a file.
    - ``elicit``: answers the forms and visits of servers, for the user.
    - ``sample``: answers the servers' requests for a completion of the model.
    - ``roots``: the folders disclosed to servers.
    - ``questions``: limits on what each server may ask, restarts included.
    - ``heard``: receives the log messages of servers.
    - ``pins``: store the contract of each server of a file at first use, and quarantine changes until they are
      accepted.
    - ``judge``: decides about servers without a pin.
    - ``front``: puts questions to a person, such as ``terminal()`` or ``callback(function)``. Without one, a call that
      needs approval is refused with a ticket for ``tooltrue approvals``.
    - ``rules``: the operator's file. It takes precedence over ``guard`` and ``hosting``.
    - ``guard``: the settings of the layers that a server has too.
    - ``hosting``: the settings of the layers that only a host has.
    - ``layers``: the author's own middleware, placed among them as for :class:`tooltrue.Server`.
    - ``guarding``: replaces the layers, the author's too.
    - ``audit``: the destination of audit records, as for :class:`tooltrue.Server`.
    - ``facts``: the state of the layers, such as counts and approvals; by default in memory.
    - ``patience``: time limits and back-off for starting servers.
    - ``launches``: the store of approved commands.
    - ``relay``: makes the relays of a gateway, which pass operations, questions and log messages on for its callers;
      ``elicit``, ``sample`` and ``heard`` are not used then.
    """

    def __init__(
        self,
        servers: HostConfig | Mapping[str, ServerConfig | Target],
        *,
        approve_launch: ApproveLaunch | None = None,
        ask_input: AskInput | None = None,
        elicit: Elicit | None = None,
        sample: Sample | None = None,
        roots: Sequence[str | Path] | None = None,
        questions: QuestionLimits | None = None,
        heard: OnServerLog | None = None,
        pins: Pins | bool = True,
        judge: Judge = scanned,
        front: ApprovalPrompter | None = None,
        rules: str | Path | None = None,
        guard: Guard | None = None,
        hosting: Hosting | None = None,
        layers: Sequence[AuthorLayer] = (),
        guarding: Guarding | None = None,
        audit: Audit | Log | str | bool | None = None,
        facts: Facts | None = None,
        patience: Patience | None = None,
        launches: Launches | None = None,
        relay: Relay | None = None,
    ) -> None:
        self.config = servers if isinstance(servers, HostConfig) else config_of(servers)
        self.patience = patience or Patience()
        self._approve_launch = approve_launch
        self._ask_input = ask_input
        self._elicit = elicit
        self._sample = sample
        self._roots = roots
        self._questions = questions or QuestionLimits()
        self._on_log = heard
        self._launches = launches or Launches()
        self._relay = relay
        self._judge = judge
        self._inputs: dict[str, str] = {}
        self._at_person = asyncio.Lock()  # one question after the other
        self._is_of_a_file = bool(self.config.name)
        self._pins: Pins | None = None
        if pins is not False and self._is_of_a_file:
            self._pins = Pins() if pins is True else pins
        self._queues: set[asyncio.Queue[Announcement]] = set()
        self._stack = AsyncExitStack()

        self.present = HostPlan(self.config, {}, ())
        self.present = self.plan(self.config)
        """The servers of this host."""
        self._newest = self.present.servers
        self._alive: list[HostedServer] = []
        self._is_opening = False
        self._endings: set[asyncio.Task[None]] = set()
        self.catalogue = Catalogue(self.present.parts)
        self._names: frozenset[str] = frozenset()
        self._quarantined: frozenset[tuple[str, str]] = frozenset()
        self._warned: frozenset[tuple[str, str]] = frozenset()
        self.catalogue.watch(self._changed)

        self._common = Task()  # the taint of calls that belong to no task
        guard, self.hosting = _settings(guard or Guard(), hosting or Hosting(), rules, audit)
        if layers:
            if guarding is not None:
                raise ConfigurationError.of(HOST_LAYERS_REPLACED)
            from tooltrue.policy.placing import checked  # noqa: PLC0415 - few hosts have layers of their own

            guard = guard.with_settings("Host({}=…)", layers=checked(layers, [stage.name for stage in STAGES]))
        facts = MemoryFacts() if facts is None else facts
        self._recorder = Recorder(guard.audit)
        from tooltrue.state.urls import open_facts  # noqa: PLC0415 - only some settings need a store

        self._tickets = OnDemand(lambda: open_facts(approvals_url(guard.confirm.store)), facts)
        guarding = guarding or guarded_by(self.hosting, front)
        self.provider = guarding(self.catalogue, guard, facts, self._recorder, Approvals(self._tickets))
        """All servers as one provider, behind the guard."""

    def _server_of(self, one: ServerConfig, config: HostConfig) -> HostedServer:
        """A server as ``config`` has it: the one that runs, or a new one if the entry has changed."""
        server = self.present.servers.get(one.label)
        # One that was refused may start now: a person has agreed meanwhile, or a variable is set.
        if server is not None and server.config == one and server.life.state != "refused":
            return server
        _check_renamed(one)
        relay = None if self._relay is None else self._relay(one, partial(self._open_another, one, config))
        pin = None if self._pins is None else self._pins.of(config.name, one)
        remote = Remote(
            one.label,
            instance=instance_of(config.name, one),
            effects=effects_by(_configured_effects(one), hints=one.hints),
            visible=_visible(one),
            seconds=one.seconds,
            judge=self._judge_by(pin, relay),
            neighbours=partial(self._neighbours, one.label),
            calls=relay,
        )
        patience = self.patience if one.start_seconds is None else replaced(self.patience, start=one.start_seconds)
        life = Life(remote, self._connecting(one, config, relay), patience, self._announce_state)
        remote.trouble = life.doubt
        if relay is not None:
            relay.watch_lists(life.lists_changed)
        return HostedServer(one, life, pin, relay)

    def _judge_by(self, pin: Pin | None, relay: ServerRelay | None) -> Judge:
        """The judgement by the pin of a server, if it has one."""
        if pin is None:
            return self._judge
        return pin.judge if relay is None or relay.lists is None else pin.judge_list

    @classmethod
    def from_config(cls, path: str | Path, **settings: Any) -> Self:
        """The servers of a file: ``mcpServers`` JSON, VS Code's ``servers``, or TOML. ``ConfigurationError`` names the
        mistake in the file, and its place. ``settings`` are those of the class."""
        return cls(read_config(path), **settings)

    # --- opening and closing ------------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Start all servers. Returns once each is ready or has failed, and at the latest after ``patience.ready``;
        servers that are still starting continue to do so."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._recorder.open())
            await stack.enter_async_context(self._tickets)
            await stack.enter_async_context(self._living())
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self, seconds: float | None = None) -> None:
        """End all servers at the same time. With a limit of ``seconds``, programs that run longer than that are
        terminated, and killed in a moment."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stack.aclose()

    @contextlib.asynccontextmanager
    async def _living(self) -> AsyncGenerator[None]:
        """Runs a task per server. Leaving the context ends the tasks, and the server processes with them, at the same
        time."""
        self._alive = [*self.present.servers.values()]
        for one in self._alive:
            one.start()
        try:
            self._is_opening = True
            try:
                await self._all_settled(self._alive)
            finally:
                self._is_opening = False
            await self._reinspected()
            yield
        finally:
            ending, self._alive = self._alive, []
            for task in self._endings:
                task.cancel()
            await asyncio.gather(*self._endings, *(one.end() for one in ending), return_exceptions=True)

    async def _all_settled(self, servers: Sequence[HostedServer]) -> None:
        waiting = {asyncio.ensure_future(one.life.settled.wait()) for one in servers if one.config.enabled}
        is_asked = True
        while waiting and is_asked:  # the time a person takes to answer counts against no server
            is_asked = self._at_person.locked()
            _, waiting = await asyncio.wait(waiting, timeout=self.patience.ready)
            is_asked = is_asked or self._at_person.locked()
        for one in waiting:
            one.cancel()

    async def _reinspected(self) -> None:
        """Inspect the definitions of all servers among those of the others, which were not all known at first."""
        wakes = [one.life.wake for one in self._newest.values() if one.life.state == "ready"]
        for wake in wakes:
            wake.reinspect()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.patience.ready):
                for wake in wakes:
                    await wake.inspected.wait()

    def _neighbours(self, label: str) -> Neighbours:
        """The known tools of the other servers. The order of the file decides which server came first, so no server can
        influence it."""
        labels = list(self._newest)
        tools = {
            name: [tool.name for tool in one.life.remote.tools] for name, one in self._newest.items() if name != label
        }
        later = labels[labels.index(label) :] if label in labels else ()  # it may be about to end
        return Neighbours(tools, frozenset(later))

    def _connecting(
        self, one: ServerConfig, config: HostConfig, relay: ServerRelay | None
    ) -> Callable[[Wake], Awaitable[Client]]:
        # One gate per server: its connections come and go.
        gate = QuestionGate(self._questions, one.label)
        listening: OnLog | None = None if self._on_log is None else LogForwarder(one.label, self._on_log)
        answers = None if relay is None else relay.answers

        async def connect(wake: Wake) -> Client:
            target, settings = await self._reached(one, config)
            elicit = self._elicit
            return Client(
                target,
                timeout=max(one.seconds or 0.0, _ANSWER_SECONDS),  # calls pass the file's limit themselves
                on_tools_changed=wake.changed,
                on_resources_changed=wake.changed,
                on_prompts_changed=wake.changed,
                on_lost=wake.was_lost,
                on_log=listening if relay is None else relay.on_log,
                answers=answers,
                elicit=None if elicit is None else partial(elicit, one.label),
                sample=self._sample,
                roots=self._roots,
                questions=gate,
                **settings,
            )

        return connect

    async def _open_another(
        self,
        one: ServerConfig,
        config: HostConfig,
        caller: str,
        answers: Answerer,
        on_log: OnLog,
        on_lost: Callable[[Exception], None],
        on_lists_changed: Callable[[], None],
        *,
        auth: Auth | None = None,
    ) -> Client:
        """Open a connection beside that of the definitions, for a caller of a gateway, who may have credentials of its
        own."""
        target, settings = await self._reached(one if auth is None else dataclasses.replace(one, auth=auth), config)
        if isinstance(target, CallerTargets):
            target = target.for_caller(caller)
        timeout = max(one.seconds or 0.0, _ANSWER_SECONDS)
        client = Client(
            target,
            timeout=timeout,
            on_tools_changed=on_lists_changed,
            on_resources_changed=on_lists_changed,
            on_prompts_changed=on_lists_changed,
            on_lost=on_lost,
            on_log=on_log,
            answers=answers,
            **settings,
        )
        seconds = self.patience.start if one.start_seconds is None else one.start_seconds
        try:
            async with asyncio.timeout(seconds):
                return await client.__aenter__()
        except TimeoutError:
            raise ConnectionLost.of(HOST_SERVER_START_TIMEOUT, server=one.label, seconds=seconds) from None

    async def _reached(self, one: ServerConfig, config: HostConfig) -> tuple[Target, dict[str, Any]]:
        """The client's target, and its settings. ``ConfigurationError`` where a person has not agreed to it."""
        if one.target is not None:
            return one.target, {"auth": one.auth, "revision": one.revision}
        is_asked = self._approve_launch is not None or self._ask_input is not None
        async with self._at_person if is_asked else contextlib.nullcontext():
            return await connect(
                one,
                config,
                self._launches,
                self._approve_launch,
                self._ask_input,
                self._inputs,
                is_of_a_file=self._is_of_a_file,
            )

    # --- another list of servers --------------------------------------------------------------------------------------

    def plan(self, servers: HostConfig | Mapping[str, ServerConfig | Target]) -> HostPlan:
        """Other servers for :meth:`exchange`, none of which is started. Raises ``ConfigurationError``."""
        config = servers if isinstance(servers, HostConfig) else config_of(servers)
        named = marks(one.label for one in config.servers)
        by_label = {one.label: self._server_of(one, config) for one in config.servers}
        parts = tuple(
            CataloguePart(by_label[one.label].life.remote, named[one.label], dict(one.rename), one.prefix)
            for one in config.servers
        )
        return HostPlan(config, by_label, parts)

    async def exchange(self, plan: HostPlan) -> None:
        """Have the servers of ``plan``, made last by :meth:`plan`, in place of those of now, while the host is open.

        A server whose entry has not changed goes on. The others are started, and take the place of their predecessors
        once each is ready or has failed, at the latest after ``patience.ready``. A server that is not needed any more
        ends when its operations have, at the latest after ``patience.drain``.
        """
        fresh = [one for label, one in plan.servers.items() if self.present.servers.get(label) is not one]
        gone = [one for label, one in self.present.servers.items() if plan.servers.get(label) is not one]
        self._newest = plan.servers
        self._alive += fresh
        for one in fresh:
            one.start()
        await self._all_settled(fresh)
        self.present, self.config = plan, plan.config
        self.catalogue.exchange(plan.parts)
        for one in plan.servers.values():
            one.life.wake.reinspect()
        for one in gone:
            task = asyncio.get_running_loop().create_task(self._retire(one))
            self._endings.add(task)
            task.add_done_callback(self._endings.discard)

    async def _retire(self, one: HostedServer) -> None:
        await one.drain(self.patience.drain)
        await one.end()
        self._alive.remove(one)

    @property
    def relays(self) -> Sequence[ServerRelay]:
        """The relays of the servers, in the order of the file."""
        return [one.relay for one in self.present.servers.values() if one.relay is not None]

    def servers_of(self, label: str) -> Sequence[HostedServer]:
        """The servers of this label that run, for a program that serves them by itself: the newest is the first; others
        are about to end."""
        return [one for one in reversed(self._alive) if one.label == label]

    # --- what there is ------------------------------------------------------------------------------------------------

    @property
    def servers(self) -> tuple[ServerStatus, ...]:
        """The state of each server, in the order of the file."""
        return tuple(_status(one.life) for one in self.present.servers.values())

    @property
    def rows(self) -> tuple[CatalogueRow, ...]:
        """Which name stands for which tool of which server, and whether that tool is available now."""
        return self.catalogue.rows

    @property
    def quarantined(self) -> tuple[QuarantinedDefinition, ...]:
        """The quarantined definitions, with the reason for each."""
        return self.catalogue.quarantined

    async def list_tools(self) -> list[wire.ToolDefinition]:
        """The tools that the guard allows, by their names here."""
        return [tool.definition for tool in await self.tools()]

    @overload
    async def tools(self) -> tuple[Tool, ...]: ...

    @overload
    async def tools(self, provider: str) -> ExposedTools: ...

    async def tools(self, provider: str | None = None) -> tuple[Tool, ...] | ExposedTools:
        """The same tools as layers see them; or in the format of ``openai``, ``openai-responses``, ``anthropic`` or
        ``gemini``, with a mapping from the model's names back to tools, and the tools that were left out."""
        tools = await self.provider.list_tools(self.context())
        return tools if provider is None else exposed((tool.definition for tool in tools), provider)

    @property
    def suspicions(self) -> tuple[SuspiciousDefinition, ...]:
        """Findings in definitions that are listed nevertheless. A person should see them."""
        return tuple(one for server in self.present.servers.values() for one in server.life.remote.suspicions)

    def pinned_tools(self) -> dict[str, tuple[str, ...] | None]:
        """The names here of the tools in the pin of each server, accepted or under review; ``None`` for a server
        without a pin. Known before the servers run."""
        return self.present.pinned_tools()

    @property
    def reviews(self) -> tuple[Review, ...]:
        """Changes published by servers that await acceptance."""
        reviews = (
            one.pin.review(self._neighbours(label))
            for label, one in self.present.servers.items()
            if one.pin is not None
        )
        return tuple(review for review in reviews if review is not None)

    def accept(self, review: Review, names: Sequence[str] | None = None) -> None:
        """Accept a review on behalf of a person: the tools in ``names``, or all of it. They appear at once.
        ``ConfigurationError`` where the server has published something else since."""
        one = self.present.servers[review.server]
        assert one.pin is not None  # it has made the review
        one.pin.accept(review, names)
        one.life.wake.refresh_now()

    @property
    def audit_log(self) -> Log:
        """The audit log."""
        return self._recorder.log

    async def changes(self) -> AsyncIterator[Announcement]:
        """Changes from now on, as they happen. The queue is bounded: the oldest unread change is dropped."""
        queue: asyncio.Queue[Announcement] = asyncio.Queue(_MAX_WAITING)
        self._queues.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._queues.discard(queue)

    def _announce_state(self, life: Life) -> None:
        self._announce(Announcement("server", life.name, life.state, life.reason))

    def _changed(self, change: ProviderChange) -> None:
        if change.kind == "resource":
            return
        names_before, self._names = self._names, frozenset(row.alias for row in self.catalogue.rows)
        if lost := names_before - self._names:
            self._announce(Announcement("lost", names=tuple(sorted(lost))))
        if added := self._names - names_before:
            self._announce(Announcement("found", names=tuple(sorted(added))))
        if (lost or added) and not self._is_opening:  # each server that starts would have all others inspected again
            for one in self._newest.values():
                one.life.wake.reinspect()
        before, self._quarantined = self._quarantined, _names_of(self.catalogue.quarantined)
        self._announce_new("held", self._quarantined - before)
        before, self._warned = self._warned, _names_of(self.suspicions)
        self._announce_new("warned", self._warned - before)

    def _announce_new(self, kind: Literal["held", "warned"], named: Set[tuple[str, str]]) -> None:
        for server in sorted({server for server, _ in named}):
            names = tuple(sorted(name for owner, name in named if owner == server))
            self._announce(Announcement(kind, server, names=names))

    def _announce(self, announcement: Announcement) -> None:
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(announcement)

    def task(self) -> Task:
        """Create a task: the work for one request of the user, with a budget of its own."""
        return self.hosting.task()

    def _task_of_none(self) -> Task:
        """A task for a call that belongs to no task. It carries the taint of all other such calls."""
        task = self.task()
        task.share_taint(self._common)
        return task

    def context(self, channel: Channel = SILENT, *, task: Task | None = None) -> RequestContext:
        """The facts of a request that this host makes, as part of ``task`` if given."""
        return RequestContext(LOCAL, channel, task=task)

    # --- using it -----------------------------------------------------------------------------------------------------

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        /,
        *,
        progress: Progress | None = None,
        task: Task | None = None,
        **more: Any,
    ) -> Result:
        """Call a tool by its name here, through the guard. A failure is a result with ``is_error``, for the model;
        ``UnknownTool`` is raised. The call is part of ``task``, made by :meth:`task`. Without one, it has a budget of
        its own, and carries the taint of all other calls without a task."""
        channel = SILENT if progress is None else _ProgressChannel(progress)
        context = self.context(channel, task=task or self._task_of_none())
        outcome = await self.provider.call_tool(ToolCall(name, {**(arguments or {}), **more}, context))
        if not isinstance(outcome, CallToolResult):
            raise ToolError.of(USER_QUESTION_IMPOSSIBLE)
        return Result.of(outcome)

    async def run(self, model: Model, messages: ModelInput, *, task: Task | None = None, **settings: Any) -> RunResult:
        """Let ``model`` answer with the available tools, through the guard, as part of ``task``, or of a new one.
        Messages of an earlier run bring its taint along. ``settings`` are those of :func:`tooltrue.host.run.run`.
        Raises ``ModelError``."""
        settings = {"context": lambda: self.context(task=task or self.task()), **settings}
        return await run(model, messages, self.provider, **settings)

    async def read_resource(self, uri: str, *, task: Task | None = None) -> list[Any]:
        """Read the resource at ``uri``, through the guard, as part of ``task``. Without a task, the address counts as
        the caller's own choice, and the taint of the content goes to all calls without a task."""
        part = task or self.task()
        try:
            outcome = await self.provider.read_resource(ResourceRead(uri, self.context(task=part)))
        finally:
            if task is None:
                self._common.add_all_taint(part.current_taint())
        if not isinstance(outcome, ReadResourceResult):
            raise ToolError.of(USER_QUESTION_IMPOSSIBLE)
        return outcome.contents

    async def get_prompt(
        self, name: str, arguments: Mapping[str, str] | None = None, *, task: Task | None = None
    ) -> PromptResult:
        """The messages of a prompt, by its name here, through the guard, as part of ``task``."""
        context = self.context(task=task or self._task_of_none())
        outcome = await self.provider.get_prompt(PromptGet(name, dict(arguments or {}), context))
        if not isinstance(outcome, PromptResult):
            raise ToolError.of(USER_QUESTION_IMPOSSIBLE)
        return outcome


class _ProgressChannel:
    """The channel that reports the progress of one call."""

    def __init__(self, report: Progress) -> None:
        self._report = report

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self._report(progress, total, message)

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


def _names_of(definitions: Iterable[QuarantinedDefinition | SuspiciousDefinition]) -> frozenset[tuple[str, str]]:
    return frozenset((one.server, one.name) for one in definitions)


def _status(life: Life) -> ServerStatus:
    facts = life.client.facts if life.client is not None else None
    identity = {} if facts is None else {"server": facts.name, "version": facts.version, "revision": facts.revision}
    tools = len(life.remote.tools)
    return ServerStatus(
        life.name, life.state, life.reason, tools, life.starts, instructions=life.remote.instructions, **identity
    )


def _settings(
    guard: Guard, hosting: Hosting, rules: str | Path | None, audit: Audit | Log | str | bool | None
) -> tuple[Guard, Hosting]:
    """The settings of the layers, overridden by the operator's file."""
    guard = replaced(guard, server=guard.server or "host")
    if rules is not None:
        operators = read_operator_config(rules)
        guard, hosting = operators.over(guard, guard.server), hosting.over(operators)
    if audit is not None:
        guard = replaced(guard, audit=Audit.of(audit))
    return replaced(guard, audit=guard.audit.at(guard.server)), hosting


def config_of(servers: Mapping[str, ServerConfig | Target]) -> HostConfig:
    """The configuration of servers that come from no file."""
    every = tuple(
        one if isinstance(one, ServerConfig) else ServerConfig(label, label, hints=_is_here(one), target=one)
        for label, one in servers.items()
    )
    return HostConfig("", Path.cwd(), every)


def _is_here(target: Target) -> bool:
    """Whether the server is an object of this process, whose author vouches for its annotations. A link is none: it
    leads elsewhere."""
    return hasattr(target, "connect")


def _visible(one: ServerConfig) -> Callable[[str], bool]:
    """A predicate for the tools that the operator's file includes."""
    only = None if one.only is None else globs(one.only)
    without = globs(one.without) if one.without else None

    def visible(name: str) -> bool:
        return (only is None or only.match(name)) and (without is None or not without.match(name))

    return visible


def _configured_effects(one: ServerConfig) -> Callable[[str], Effect | None]:
    """The effect that the operator's file gives a tool; if several patterns match, the worst."""
    worst: tuple[Effect, ...] = ("destructive", "open-world", "write", "read")
    unknown = set(one.effects) - set(worst)
    if unknown:
        raise ConfigurationError.of(HOST_EFFECT_UNKNOWN, path=one.path, names=", ".join(sorted(unknown)))
    patterns: list[tuple[Effect, Globs]] = [
        (effect, globs(one.effects[effect])) for effect in worst if one.effects.get(effect)
    ]

    def effect_of(name: str) -> Effect | None:
        return next((effect for effect, pattern in patterns if pattern.match(name)), None)

    return effect_of


def _check_renamed(one: ServerConfig) -> None:
    for name in one.rename.values():
        check_alias(name)
    if len(set(one.rename.values())) < len(one.rename):
        raise ConfigurationError.of(HOST_RENAME_COLLISION, path=one.path)
