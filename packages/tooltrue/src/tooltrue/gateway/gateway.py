"""A gateway: the catalogue of a host as the toolset of a server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tooltrue.app import Server
from tooltrue.client.client import Target
from tooltrue.client.config import AskInput, HostConfig, ServerConfig
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.caller_grants import CallerGrants, GrantSettings
from tooltrue.gateway.distant_rounds import DistantRounds
from tooltrue.gateway.gateway_files import GatewayFiles
from tooltrue.gateway.held_operations import HELD_SECONDS, HeldOperations
from tooltrue.gateway.relay import CallerRelay
from tooltrue.gateway.settings import (
    bounds_of,
    caller_grants_of,
    changed_tables,
    check_task_modes,
    entries_of,
    exchanges_of,
    has_common_lists,
    has_pins,
    question_limits_of,
    sign_in_of,
    task_mode_of,
    tool_search_of,
    upstream_limits_of,
    with_settings,
)
from tooltrue.gateway.token_exchange import CallerExchange
from tooltrue.gateway.upstream_metrics import upstream_metrics
from tooltrue.gateway.upstream_traffic import UpstreamTraffic
from tooltrue.gateway.view import GatewayView, upstream_tasks
from tooltrue.gateway.views import ViewSettings, check_known_names, view_problems, views_of
from tooltrue.gateway.wording import (
    GATEWAY_AUDIT_UNAVAILABLE,
    GATEWAY_GRANTS_AT_START,
    GATEWAY_RESTART_NEEDED,
    GATEWAY_RULE_NAMES_NOTHING,
    GATEWAY_SERVER_UNTRUSTED,
    GATEWAY_SERVERS_EXCHANGED,
    GATEWAY_TASKS_AT_START,
    VIEW_NOT_CHOSEN,
    VIEW_UNKNOWN,
    VIEWS_WITHOUT_SSE,
)
from tooltrue.host.catalogue import Catalogue
from tooltrue.host.host import Host, config_of
from tooltrue.host.host_guard import unguarded
from tooltrue.host.hosted_server import HostPlan
from tooltrue.host.launches import ApproveLaunch
from tooltrue.host.upstream_calls import CallerTargets, OpenConnection
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.config import OperatorConfig
from tooltrue.policy.rules.globs import Globs, globs
from tooltrue.policy.rules.lint import together, unknown_references
from tooltrue.policy.rules.rule import Rules
from tooltrue.policy.tasks.declared_effects import declare_effects, declare_tasks
from tooltrue.protocol.types import Value, replaced
from tooltrue.server.sealed_tokens import Sealer
from tooltrue.spelling import closest
from tooltrue.state.facts import Facts
from tooltrue.tasks.upstream import UpstreamServers, UpstreamTasks
from tooltrue.tools.search.searchable import ToolSearch
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.http_server import AllowedHosts, HttpApp, Page
from tooltrue.version import __version__
from tooltrue.wording import coded_sentence, sentence

if TYPE_CHECKING:  # stdio needs no HTTP
    from tooltrue.gateway.browser_sign_in import BrowserSignIn
    from tooltrue.server.running_tasks import TasksOfServer

__all__ = ["Gateway"]

_log = logging.getLogger("tooltrue")

_MOST_INSTRUCTIONS = 20_000
_SHARE_OF_PROGRAMS = 0.4
"""The part of the time for the end in which programs can end by themselves; then they are terminated, and killed."""


class Gateway(Server):
    """A server whose tools, resources and prompts are those of the servers of a file.

    - ``servers``: those of a file, as :func:`tooltrue.client.config.read_config` reads it, or a mapping as for
      :class:`tooltrue.Host`.
    - ``operator``: the operator's file: rules and settings of the layers, ``[gateway]`` and ``[servers.NAME]``.
    - ``supervisor``: the address of the supervisor, which holds the servers that are programs for all workers.
    - ``files``: those that ``servers`` and ``operator`` come from. While the gateway serves it follows their changes.
    - ``is_for_one``: there is one caller, as on stdio, so that each server is one process or session.
    - ``approve_launch`` and ``ask_input``: as for :class:`tooltrue.Host`; without them, a server that needs a person is
      not started, and the instructions for the model say so.
    - ``settings``: those of :class:`tooltrue.Server`, and ``host_settings`` those of :class:`tooltrue.Host`.

    ``views`` are servers too: the views of the operator's file, by name. Over HTTP each has a path of its own; with
    views, the gateway itself has no endpoint.
    """

    def __init__(
        self,
        servers: HostConfig | Mapping[str, ServerConfig | Target],
        *,
        operator: OperatorConfig | None = None,
        supervisor: str | None = None,
        files: GatewayFiles | None = None,
        is_for_one: bool = False,
        approve_launch: ApproveLaunch | None = None,
        ask_input: AskInput | None = None,
        name: str = "gateway",
        version: str = __version__,
        search: ToolSearch | None = None,
        host_settings: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        config = servers if isinstance(servers, HostConfig) else config_of(servers)
        self._entries = entries_of(config, operator)
        config = with_settings(config, operator, is_for_one=is_for_one)
        search = search or tool_search_of(operator)
        views = views_of(operator, [one.label for one in config.servers], config.name)
        self._supervisor = supervisor
        self._files = files
        self._operator = operator
        self._bounds = bounds_of(operator)
        self._questions = question_limits_of(operator)
        self._is_for_one = is_for_one
        self._operations = HeldOperations(HELD_SECONDS)
        self._grants = None if is_for_one else caller_grants_of(config, operator)
        self._upstream = self._upstream_settings(config, operator, self._grants)
        self._runs_tasks = check_task_modes(operator)
        hosting: dict[str, Any] = {"pins": has_pins(operator), **(host_settings or {})}
        self.host = Host(
            self._supervised(config),
            approve_launch=approve_launch,
            ask_input=ask_input,
            relay=self._relay,
            guarding=unguarded,
            audit=False,
            **hosting,
        )
        super().__init__(
            name,
            version=version,
            toolsets=[self._declared(self.host.catalogue)],
            lifespan=self._living,
            instructions=self._instructions_of_servers,
            search=search,
            **settings,
        )
        self._own_names = search.names
        self.views = {view.name: self._view(view, version, {**settings, "search": search}) for view in views}
        self._guard.meter.sources.append(lambda: upstream_metrics(self.host.servers, self._relays(), self._operations))
        if files is not None:
            self._guard.meter.gauges["tooltrue_files_refused"] = lambda: files.is_refused
        if operator is not None:
            self.configure(operator)
        self._sign_in: BrowserSignIn | None = None
        if self._grants is not None and operator is not None:
            self._add_grant_pages(self._grants, operator)

    def _add_grant_pages(self, grants: CallerGrants, operator: OperatorConfig) -> None:
        from tooltrue.gateway.grant_pages import pages_of  # noqa: PLC0415 - stdio needs no HTTP

        if (settings := sign_in_of(grants, operator)) is not None:
            from tooltrue.gateway.browser_sign_in import BrowserSignIn  # noqa: PLC0415 - few gateways have one

            place = operator.place(("gateway", "sign_in"))
            self._sign_in = BrowserSignIn(settings, grants, self.authenticator, place)
        self._route_table().add(pages_of(grants, self._sign_in))

    def _view(self, view: ViewSettings, version: str, settings: Mapping[str, Any]) -> GatewayView:
        catalogue = self.host.catalogue.selected(view.selection)
        settings = {**settings, "search": view.search_in(settings["search"])}
        server = GatewayView(
            self,
            view,
            self._declared(catalogue),
            servers=self,
            version=version,
            instructions=partial(self._instructions_of_view, view),
            **{name: value for name, value in settings.items() if name not in _OF_GATEWAY},
        )
        self._guard.meter.views[view.name] = server.settings.meter
        return server

    def view(self, name: str | None) -> Server:
        """The server of a view; without a name, that of the default view, and the gateway itself where there are no
        views. Raises ``ConfigurationError``."""
        if not self.views and name is None:
            return self
        if name is None:
            default = next((one for one in self.views.values() if one.view.is_default), None)
            if default is None:
                file = "" if self._operator is None else self._operator.name
                raise ConfigurationError.of(VIEW_NOT_CHOSEN, file=file, names=", ".join(self.views))
            return default
        if name not in self.views:
            nearest = closest(name, self.views) or ", ".join(self.views) or "-"
            raise ConfigurationError.of(VIEW_UNKNOWN, name=name, nearest=nearest)
        return self.views[name]

    # --- settings, which the views share ------------------------------------------------------------------------------

    def configure(self, config: OperatorConfig) -> None:
        super().configure(config)
        for name, view in self.views.items():
            view.configure(replaced(config, view=name))

    def started_as(self, started: str) -> None:
        super().started_as(started)
        for view in self.views.values():
            view.started_as(started)

    def share(
        self,
        *,
        keys: Sequence[bytes],
        facts: Facts,
        workers: tuple[str, int] = ("", 1),
        metrics: bool = False,
        has_new_keys: bool = False,
    ) -> None:
        super().share(keys=keys, facts=facts, workers=workers, metrics=metrics, has_new_keys=has_new_keys)
        for view in self.views.values():
            view.share(keys=keys, facts=facts, workers=workers, has_new_keys=has_new_keys)

    def with_guard(self, origin: str = "with_guard({}=…)", **settings: Any) -> Server:
        """This very gateway with other settings, before its first use: it has one host, and its lifespan is its own."""
        self._override(origin, settings)
        for view in self.views.values():
            view._override(origin, settings)
        return self

    @property
    def endpoint_paths(self) -> Sequence[str]:
        return [view.view.path for view in self.views.values()] or super().endpoint_paths

    def servers_for(self, principal: Principal) -> Mapping[str, Server]:
        views = {name: view for name, view in self.views.items() if view.admits(principal)}
        return views if self.views else super().servers_for(principal)

    def http_app(
        self, *, access: AllowedHosts | None = None, sse: bool = False, rest: bool = False, signals: bool = True
    ) -> HttpApp:
        """The endpoints of all views, or without views that of the gateway, as an ASGI application."""
        if sse and self.views:
            raise ConfigurationError.of(VIEWS_WITHOUT_SSE)
        if self._sign_in is not None:
            self._sign_in.oauth()  # there is an issuer to sign in at
        return super().http_app(access=access, sse=sse, rest=rest, signals=signals)

    def _other_endpoints(self, access: AllowedHosts, *, rest: bool) -> Mapping[str, tuple[HttpApp, Mapping[str, Page]]]:
        return {view.view.path: view.endpoint(access, rest=rest) for view in self.views.values()}

    def _declared(self, catalogue: Catalogue) -> Provider:
        """The catalogue with what the operator has declared for its tools."""
        operator, provider = self._operator, catalogue
        if operator is not None and (declared := operator.tables.get("effects")):
            effects: dict[Any, Globs] = {name: globs(tools) for name, tools in declared.items()}
            provider = declare_effects(effects)(provider)
        if self._runs_tasks:
            provider = declare_tasks(lambda label: task_mode_of(self._upstream.operator, label))(provider)
        return provider

    def _has_tasks(self) -> bool:
        return self._runs_tasks

    def _task_parts(self) -> Mapping[str, TasksOfServer]:
        views = {name: view._own_tasks() for name, view in self.views.items() if self._runs_tasks}
        return views or super()._task_parts()

    def _relay(self, one: ServerConfig, open_connection: OpenConnection) -> CallerRelay:
        return CallerRelay(
            one,
            open_connection,
            self._operations,
            self._bounds,
            self._questions,
            UpstreamTraffic(one.label, upstream_limits_of(self._upstream.operator, one.label)),
            # The supervisor shares a process itself, and has to know each caller for that.
            is_shared=self._is_for_one or (one.shared and not isinstance(one.target, CallerTargets)),
            grants=self._grants if one.label in self._upstream.grants else None,
            exchange=self._upstream.exchanges.get(one.label),
            common_lists=has_common_lists(self._upstream.operator, one.label),
        )

    def _relays(self) -> list[CallerRelay]:
        return [relay for relay in self.host.relays if isinstance(relay, CallerRelay)]

    def _upstream_settings(
        self, config: HostConfig, operator: OperatorConfig | None, grants: CallerGrants | None
    ) -> _UpstreamSettings:
        exchanges = {} if self._is_for_one else exchanges_of(config, operator)
        return _UpstreamSettings(operator, exchanges, {} if grants is None else grants.servers)

    def _supervised(self, config: HostConfig) -> HostConfig:
        if self._supervisor is None:
            return config
        from tooltrue.gateway.supervised import supervised  # noqa: PLC0415 - only several workers have one

        return supervised(config, self._supervisor)

    def is_away(self, server: str) -> bool:
        """Whether the tools of a server, by its label, are not known now: it starts, or is lost."""
        return any(status.name == server and status.state != "ready" for status in self.host.servers)

    async def settled(self, server: str) -> None:
        """Wait until a server that starts, by its label, has started or has failed to."""
        if (hosted := self.host.present.servers.get(server)) is not None and hosted.config.enabled:
            await hosted.life.settled.wait()

    def _servers_of_tasks(self) -> UpstreamServers:
        return self

    def _upstream_tasks(self, sealer: Sealer, facts: Facts) -> UpstreamTasks:
        return upstream_tasks(self._info, self.settings.language, sealer, facts, self.is_away)

    def _new_recorder(self) -> Recorder:
        return Recorder(self.settings.audit, self.settings.which, unavailable=GATEWAY_AUDIT_UNAVAILABLE)

    def _declared_credentials(self) -> Callable[[], Collection[str]]:
        """A token exchange is the one reason to keep the token of a caller; its relay takes it from the context."""
        own = super()._declared_credentials()
        return lambda: ("authorization", *own()) if self._upstream.exchanges else own()

    # --- changes of the files -----------------------------------------------------------------------------------------

    async def use(self, servers: HostConfig, operator: OperatorConfig | None) -> None:
        """Have the servers of changed files in place of those of now, as :meth:`tooltrue.Host.exchange` does. Of the
        operator's file only ``[servers.NAME]`` takes effect. Raises ``ConfigurationError`` for the mistakes in servers,
        views and rules that the start of a gateway would refuse; then nothing has changed."""
        config = with_settings(servers, operator, is_for_one=self._is_for_one)
        views = views_of(operator, [one.label for one in config.servers], config.name)
        grants = None if self._is_for_one else caller_grants_of(config, operator)
        if grants is not None and self._grants is None:
            raise ConfigurationError.of(GATEWAY_GRANTS_AT_START, server=next(iter(grants.servers)))
        if check_task_modes(operator) and not self._runs_tasks:
            label = next(one.label for one in config.servers if task_mode_of(operator, one.label) is not None)
            raise ConfigurationError.of(GATEWAY_TASKS_AT_START, server=label)
        entries, present = entries_of(servers, operator), {one.label: one for one in self.host.config.servers}
        same = {label for label, entry in entries.items() if entry == self._entries.get(label)}
        config = self._supervised(config)
        config = replace(
            config, servers=tuple(present[one.label] if one.label in same else one for one in config.servers)
        )
        before, self._upstream = self._upstream, self._upstream_settings(config, operator, grants)
        try:
            plan = self.host.plan(config)
            if operator is not None:
                check_known_names(operator, views, plan.pinned_tools(), self._own_names)
        except ConfigurationError:
            self._upstream = before
            raise
        self._entries = entries
        if grants is not None and self._grants is not None:
            self._grants.servers = {**self._grants.servers, **grants.servers}  # a server that ends needs its own still
        await self._exchange(plan)
        if tables := changed_tables(self._operator, operator):
            facts = {"file": operator.name if operator is not None else "", "tables": ", ".join(tables)}
            _log.warning("%s", coded_sentence(GATEWAY_RESTART_NEEDED, "en", facts))
        await self._report_rules()

    async def _exchange(self, plan: HostPlan) -> None:
        before, after = self.host.present.servers, plan.servers
        starts = [label for label, one in after.items() if before.get(label) is not one]
        ends = [label for label, one in before.items() if after.get(label) is not one]
        await self.host.exchange(plan)
        if starts or ends:
            facts = {"started": ", ".join(starts) or "-", "ended": ", ".join(ends) or "-"}
            _log.info("%s", coded_sentence(GATEWAY_SERVERS_EXCHANGED, "en", {"file": plan.config.name, **facts}))

    @contextlib.asynccontextmanager
    async def _living(self, server: Server) -> AsyncGenerator[None]:
        """The servers run while the gateway serves."""
        distant = DistantRounds(self.facts, self._operations)
        async with self.host:
            await distant.open()
            if self._grants is not None:
                await self._grants.open()
            follower = None if self._files is None else asyncio.create_task(self._files.follow(self.use))
            try:
                await self._report_rules()
                yield
            finally:
                if follower is not None:
                    follower.cancel()
                    await asyncio.wait([follower])
                await distant.close()
                self._operations.close()
                await self.host.close(_SHARE_OF_PROGRAMS * self.lifespan_seconds)
                if self._grants is not None:
                    await self._grants.close()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        async with super().serving(), contextlib.AsyncExitStack() as stack:
            for view in self.views.values():
                await stack.enter_async_context(view.open())
            yield

    async def check_rules(self) -> None:
        """Check the names that the pins know. Other names are known once the servers run: then there is a warning."""
        if self._operator is not None:
            views = [view.view for view in self.views.values()]
            check_known_names(self._operator, views, self.host.pinned_tools(), self._own_names)

    async def _report_rules(self) -> None:
        for problem in [] if self._operator is None else await self._problems(self._operator):
            _log.warning("%s", coded_sentence(GATEWAY_RULE_NAMES_NOTHING, "en", {"problem": problem}))

    async def _problems(self, operator: OperatorConfig) -> list[ConfigurationError]:
        """References to names that the servers which run do not have."""
        tools_by_server = {
            status.name: [row.alias for row in self.host.rows if row.server == status.name]
            if status.state == "ready"
            else None
            for status in self.host.servers
        }
        problems = [
            problem for view in self.views.values() for problem in view_problems(operator, view.view, tools_by_server)
        ]
        served: Mapping[str, Server] = self.views or {"": self}
        inventories = {name: await server.inventory() for name, server in served.items()}
        for rule in operator.rules.rules if operator.rules is not None else ():
            concerned = [there for name, there in inventories.items() if rule.is_for_view(name)]
            everywhere = Rules((replaced(rule, view=None),), self.name)
            problems += unknown_references(everywhere, together(concerned), operator.place)
        return problems

    def _instructions_of_view(self, view: ViewSettings) -> str | None:
        return self._instructions_of(view.selection.has_server) if view.instructions is None else view.instructions

    def _instructions_of_servers(self) -> str | None:
        return self._instructions_of(lambda label: True)

    def _instructions_of(self, is_shown: Callable[[str], bool]) -> str | None:
        """The instructions of the servers, each under its name, and what a person has to do for the others."""
        parts: list[str] = []
        statuses = [status for status in self.host.servers if is_shown(status.name)]
        for status in statuses:
            if status.state == "refused":
                facts = {"server": status.name, "file": self.host.config.name}
                parts.append(sentence(GATEWAY_SERVER_UNTRUSTED, self.settings.language, facts))
            elif status.instructions:
                parts.append(_under(status.name, status.instructions, statuses))
        return "\n\n".join(parts)[:_MOST_INSTRUCTIONS] or None


class _UpstreamSettings(Value, frozen=True):
    """The settings of relays: the limits in the operator's file, the exchanges of tokens, and the servers whose callers
    have grants."""

    operator: OperatorConfig | None
    exchanges: Mapping[str, CallerExchange]
    grants: Mapping[str, GrantSettings]


_OF_GATEWAY = frozenset({"routes", "middleware", "metrics"})
"""Settings of the whole application, which its views do not have."""


def _under(name: str, instructions: str, servers: Sequence[object]) -> str:
    return instructions if len(servers) == 1 else f"# {name}\n\n{instructions}"
