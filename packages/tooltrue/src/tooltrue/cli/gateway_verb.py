"""``tooltrue gateway``: the servers of a file behind one guard, for any client."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from tooltrue.cli import http_options
from tooltrue.cli.printing import own_output, tell
from tooltrue.cli.targets import unconfirmed
from tooltrue.cli.usage import Verb
from tooltrue.client.config import HostConfig
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.gateway import Gateway
from tooltrue.gateway.gateway_files import GatewayFiles
from tooltrue.gateway.servers_file import missing_variables, read_servers
from tooltrue.gateway.wording import VIEW_OPTION_FOR_STDIO
from tooltrue.host.launches import Launches
from tooltrue.policy.config import OperatorConfig, read_operator_config
from tooltrue.policy.consent.approvals import instance_of
from tooltrue.protocol.types import Value, replaced

if TYPE_CHECKING:  # stdio needs no HTTP
    from tooltrue.server.http_serving import HttpSettings

__all__ = ["GatewaySpec", "command", "read_words"]

_NEW_OBJECTS = 20_000
"""How many are made before Python looks for garbage, in place of 700. A call that waits for a server holds more than
200, and leaves no cycles when it is answered, so that each look at the calls of many callers would be in vain."""


class GatewaySpec(Value, frozen=True):
    """The words of the command line; each worker makes its own gateway of them. ``own_files`` are those that the parent
    of the workers looks at."""

    file: str
    config: str | None
    confirm: bool
    is_for_one: bool
    supervisor: str | None = None
    own_files: GatewayFiles | None = None

    def operator(self) -> OperatorConfig | None:
        return None if self.config is None else read_operator_config(self.config)

    def files(self) -> GatewayFiles:
        return GatewayFiles(self.file, self.config, [Launches().file])

    def load(self) -> Gateway:
        """Make the gateway of this process, which follows the changes of its files. A worker begins with their last
        good content while they have a mistake."""
        gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
        files = self.own_files or self.files()  # before they are read, so that no change is missed
        return files.begin(partial(self.gateway, files=files))

    def gateway(
        self,
        servers: HostConfig,
        operator: OperatorConfig | None,
        *,
        files: GatewayFiles | None = None,
        **settings: Any,
    ) -> Gateway:
        """Make the gateway of these servers; it follows ``files``, if there are some. ``settings`` are those of its
        host."""
        gateway = Gateway(
            servers,
            operator=operator,
            supervisor=self.supervisor,
            files=files,
            is_for_one=self.is_for_one,
            host_settings=settings,
        )
        # By its files, and not by all options: an approval holds at every machine that has the same files.
        gateway.started_as(instance_of(self.file, self.config or ""))
        if not self.confirm:
            unconfirmed(gateway)
        return gateway


@click.command(
    "gateway",
    cls=Verb,
    example="tooltrue gateway servers.json --config tooltrue.toml",
    short_help="Put a guard between servers and clients.",
)
@click.argument("file")
@click.option("--config", metavar="FILE", help="The operator's rules and settings, such as tooltrue.toml.")
@click.option("--view", metavar="NAME", help="The view of the operator's file to serve, on stdio.")
@http_options.options
def command(file: str, config: str | None, view: str | None, **options: Any) -> None:
    """Serve the tools, resources and prompts of all servers of FILE as one server, through the layers of the guard.

    FILE is the list of servers of any client, such as mcp.json. A server whose command no person has approved is not
    started: see tooltrue trust.
    """
    spec, settings = _spec_of(file, config, options)
    log_format = options["log_format"]
    servers = read_servers(file)
    for note in (*servers.notes, *missing_variables(servers, os.environ)):
        tell(note.say(), fg="yellow", err=True)
    if settings is not None:
        if view is not None:
            raise ConfigurationError.of(VIEW_OPTION_FOR_STDIO)
        _serve(spec, settings, log_format)
        return
    if log_format != "text":
        from tooltrue.cli.logs import begin  # noqa: PLC0415 - each command loads what it needs

        begin(log_format)
    with own_output():
        server = spec.load().view(view)
    server.run()


def _spec_of(file: str, config: str | None, options: Mapping[str, Any]) -> tuple[GatewaySpec, HttpSettings | None]:
    settings = http_options.http_settings(options)
    return GatewaySpec(file, config, not options["no_confirm"], settings is None), settings


def read_words(words: Sequence[str]) -> tuple[GatewaySpec, str | None, HttpSettings | None]:
    """Read the words behind ``tooltrue gateway``: the gateway, the view for stdio, and the settings for HTTP."""
    options = dict(command.make_context("gateway", list(words)).params)
    file, config, view = options.pop("file"), options.pop("config"), options.pop("view")
    if options["http"] is not None and view is not None:
        raise ConfigurationError.of(VIEW_OPTION_FOR_STDIO)
    spec, settings = _spec_of(file, config, options)
    return spec, view, settings


def _serve(spec: GatewaySpec, settings: HttpSettings, log_format: str) -> None:
    """Serve over HTTP. Several workers have a supervisor, which holds the servers that are programs."""
    from tooltrue.cli.serve_http import serve_http  # noqa: PLC0415 - each command loads what it needs

    if settings.workers == 1:
        serve_http(spec.load, settings, spec.file, log_format)
        return
    from tooltrue.gateway.supervisor_process import supervising  # noqa: PLC0415 - each command loads what it needs

    files = spec.files()
    with supervising(files, settings.begin_log, spec.gateway) as supervisor:
        spec = replaced(spec, supervisor=supervisor.address, own_files=files)
        settings = replaced(settings, companion=supervisor)
        serve_http(spec.load, settings, spec.file, log_format)
