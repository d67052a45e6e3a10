"""A gateway: the catalogue of a host as the toolset of a server."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from tooltrue.app import Server
from tooltrue.client.client import Target
from tooltrue.client.config import AskInput, HostConfig, ServerConfig
from tooltrue.gateway.distant_rounds import DistantRounds
from tooltrue.gateway.held_operations import HeldOperations
from tooltrue.gateway.relay import CallerRelay
from tooltrue.gateway.settings import bounds_of, has_pins, question_limits_of, tool_search_of, with_settings
from tooltrue.gateway.wording import GATEWAY_RULE_NAMES_NOTHING, GATEWAY_SERVER_UNTRUSTED
from tooltrue.host.host import Host, config_of
from tooltrue.host.launches import ApproveLaunch
from tooltrue.host.upstream_calls import OpenConnection
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.config import OperatorConfig
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.rules.globs import Globs, globs
from tooltrue.policy.tasks.declared_effects import declare_effects
from tooltrue.state.facts import Facts
from tooltrue.tools.search.searchable import ToolSearch
from tooltrue.tools.toolset import Provider
from tooltrue.version import __version__
from tooltrue.wording import coded_sentence, sentence

__all__ = ["Gateway"]

_log = logging.getLogger("tooltrue")

_HELD_SECONDS = 900.0
_MOST_INSTRUCTIONS = 20_000


class Gateway(Server):
    """A server whose tools, resources and prompts are those of the servers of a file.

    - ``servers``: those of a file, as :func:`tooltrue.client.config.read_config` reads it, or a mapping as for
      :class:`tooltrue.Host`.
    - ``operator``: the operator's file: rules and settings of the layers, ``[gateway]`` and ``[servers.NAME]``.
    - ``is_for_one``: there is one caller, as on stdio, so that each server is one process or session.
    - ``approve_launch`` and ``ask_input``: as for :class:`tooltrue.Host`; without them, a server that needs a person is
      not started, and the instructions for the model say so.
    - ``settings``: those of :class:`tooltrue.Server`, and ``host_settings`` those of :class:`tooltrue.Host`.
    """

    def __init__(
        self,
        servers: HostConfig | Mapping[str, ServerConfig | Target],
        *,
        operator: OperatorConfig | None = None,
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
        self._operator = operator
        self._bounds = bounds_of(operator)
        self._questions = question_limits_of(operator)
        self._is_for_one = is_for_one
        self._operations = HeldOperations(_HELD_SECONDS)
        self._relays: list[CallerRelay] = []
        self.host = Host(
            with_settings(config, operator),
            approve_launch=approve_launch,
            ask_input=ask_input,
            relay=self._relay,
            pins=has_pins(operator),
            guarding=_unguarded,
            audit=False,
            **(host_settings or {}),
        )
        super().__init__(
            name,
            version=version,
            toolsets=[self._with_effects(operator)],
            lifespan=self._living,
            instructions=self._instructions_of_servers,
            search=search or tool_search_of(operator),
            **settings,
        )
        if operator is not None:
            self.configure(operator)

    def _with_effects(self, operator: OperatorConfig | None) -> Provider:
        """The catalogue with the effects that the operator has declared."""
        if operator is None or not (declared := operator.tables.get("effects")):
            return self.host.catalogue
        effects: dict[Any, Globs] = {name: globs(tools) for name, tools in declared.items()}
        return declare_effects(effects)(self.host.catalogue)

    def _relay(self, one: ServerConfig, open_connection: OpenConnection) -> CallerRelay:
        relay = CallerRelay(
            one,
            open_connection,
            self._operations,
            self._bounds,
            self._questions,
            is_shared=one.shared or self._is_for_one,
        )
        self._relays.append(relay)
        return relay

    @contextlib.asynccontextmanager
    async def _living(self, server: Server) -> AsyncGenerator[None]:
        """The servers run while the gateway serves."""
        distant = DistantRounds(self.facts, self._operations)
        async with self.host:
            await distant.open()
            try:
                await self._report_rules()
                yield
            finally:
                await distant.close()
                self._operations.close()
                for relay in self._relays:
                    await relay.callers.close()

    async def check_rules(self) -> None:
        """Check no names yet: those of the servers are known once these run."""

    async def _report_rules(self) -> None:
        for problem in [] if self._operator is None else await self.unknown_references(self._operator):
            _log.warning("%s", coded_sentence(GATEWAY_RULE_NAMES_NOTHING, "en", {"problem": problem}))

    def _instructions_of_servers(self) -> str | None:
        """The instructions of the servers, each under its name, and what a person has to do for the others."""
        parts: list[str] = []
        for status in self.host.servers:
            if status.state == "refused":
                facts = {"server": status.name, "file": self.host.config.name}
                parts.append(sentence(GATEWAY_SERVER_UNTRUSTED, self.settings.language, facts))
            elif status.instructions:
                parts.append(_under(status.name, status.instructions, self.host.servers))
        return "\n\n".join(parts)[:_MOST_INSTRUCTIONS] or None


def _under(name: str, instructions: str, servers: Sequence[object]) -> str:
    return instructions if len(servers) == 1 else f"# {name}\n\n{instructions}"


def _unguarded(provider: Provider, guard: Guard, facts: Facts, recorder: Recorder, approvals: Approvals) -> Provider:
    """The catalogue itself: the layers are those of the server."""
    return provider
