"""A view of a gateway as a server: its own pipeline, endpoint and seals, in the lifespan of the gateway."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tooltrue.app import Server
from tooltrue.gateway.view_callers import ViewCallers, auth_of_view, is_for
from tooltrue.gateway.views import ViewSettings
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.protocol.modern import Results
from tooltrue.protocol.types import Implementation, replaced
from tooltrue.server.identity import Authenticate, methods_of
from tooltrue.server.sealed_tokens import Sealer, realm_of_view
from tooltrue.server.task_seals import SealedUpstreamTasks
from tooltrue.state.facts import Facts
from tooltrue.state.log import Log
from tooltrue.state.prefixed import PrefixedFacts
from tooltrue.tasks.upstream import UpstreamServers, UpstreamTasks
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.http_server import AllowedHosts, HttpApp, Page

if TYPE_CHECKING:  # the gateway makes its views
    from tooltrue.server.auth_settings import AuthSettings
    from tooltrue.server.lifespan import ServerLifespan

__all__ = ["GatewayView", "upstream_tasks"]


def upstream_tasks(
    info: Implementation, language: str, sealer: Sealer, facts: Facts, is_away: Callable[[str], bool]
) -> UpstreamTasks:
    """The tasks of other servers that callers of a view follow, or those of a whole gateway."""
    return UpstreamTasks(SealedUpstreamTasks(sealer), facts, Results(info).call, is_away=is_away, language=language)


class GatewayView(Server):
    """The server of one view of ``gateway``.

    It is a server of its own in all that a client carries or a person agrees to: sessions, cursors, states of questions
    and approvals hold in this view alone, and its calls are counted and recorded under its name. The servers behind it,
    the audit log and the metrics are those of the gateway.
    """

    def __init__(
        self,
        gateway: Server,
        view: ViewSettings,
        provider: Provider,
        *,
        servers: UpstreamServers,
        **settings: Any,
    ) -> None:
        self._servers = servers
        self.view = view
        self._gateway = gateway
        self._realm = realm_of_view(view.name)
        if (facts := settings.get("facts")) is not None:
            settings["facts"] = self._own_facts(facts)
        super().__init__(view.name, toolsets=[provider], **settings)

    def _own_facts(self, facts: Facts) -> Facts:
        return PrefixedFacts(facts, f"view {self.view.name}:")

    def share(
        self,
        *,
        keys: Sequence[bytes],
        facts: Facts,
        workers: tuple[str, int] = ("", 1),
        metrics: bool = False,
        has_new_keys: bool = False,
    ) -> None:
        super().share(keys=keys, facts=self._own_facts(facts), workers=workers, has_new_keys=has_new_keys)

    def _has_tasks(self) -> bool:
        return self._gateway._has_tasks()

    # --- of the gateway -----------------------------------------------------------------------------------------------

    @property
    def lifespans(self) -> Sequence[ServerLifespan]:
        return self._gateway.lifespans

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """That of the gateway, with all of its views."""
        async with self._gateway.serving():
            yield

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Context in which calls are recorded and approved; that of the gateway is around it."""
        async with self._assembly.recorder.open(), self._assembly.tickets:
            yield

    def _servers_of_tasks(self) -> UpstreamServers:
        return self._servers

    def _upstream_tasks(self, sealer: Sealer, facts: Facts) -> UpstreamTasks:
        return upstream_tasks(self._info, self.settings.language, sealer, facts, self._servers.is_away)

    def _new_recorder(self) -> Recorder:
        """A recorder of this view's calls that writes to the log of the gateway."""
        audit, instance = self.settings.audit, self.settings.which or self.name
        if audit.is_kept:
            audit = replaced(audit, to=_LogOfGateway(self._gateway), seal="")
        return Recorder(audit, instance)

    # --- over HTTP ----------------------------------------------------------------------------------------------------

    @property
    def auth_settings(self) -> AuthSettings:
        return auth_of_view(self._gateway.auth_settings, self.view)

    def authenticator(self) -> Authenticate | None:
        authenticate = super().authenticator()
        if self.view.principals is None and not self.view.scopes:
            return authenticate
        return ViewCallers(self.view, methods_of(authenticate), lambda: self.settings.local_scopes)

    def admits(self, principal: Principal) -> bool:
        """Return whether the view is for this caller."""
        return is_for(self.view, principal, self.settings.local_scopes)

    def _declared_credentials(self) -> Callable[[], Collection[str]]:
        return self._gateway._declared_credentials()

    def endpoint(self, access: AllowedHosts, *, rest: bool) -> tuple[HttpApp, Mapping[str, Page]]:
        """The endpoint of this view as an application, with that of programs that speak no MCP if there is to be
        ``rest``, and the pages of its metadata."""
        endpoint = self._assembly.protocol.http(self.authenticator())
        served, path = self._assembly.served, self.view.path
        self._guard.meter.gauges["tooltrue_listeners"] = lambda: served.hub.listening
        app = HttpApp(
            endpoint,
            access,
            path=path,
            once=endpoint.once,
            credentials=self._declared_credentials(),
            signals=False,
            language=served.language,
            rest=self._rest(endpoint) if rest else None,
        )
        pages = {place: page for place, page in endpoint.pages.items() if self.view.is_default or place.endswith(path)}
        return app, pages


class _LogOfGateway:
    """The audit log of a gateway, which is open for longer than any view records."""

    def __init__(self, gateway: Server) -> None:
        self._gateway = gateway

    async def __aenter__(self) -> Log:
        return self._gateway.audit_log

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
