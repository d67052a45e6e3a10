"""The options of commands that serve over stdio or HTTP, and the settings that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from tooltrue.cli import callers
from tooltrue.cli.wording import OPTION_REQUIRES_HTTP
from tooltrue.errors import ConfigurationError

if TYPE_CHECKING:  # stdio needs no HTTP
    from tooltrue.server.http_serving import HttpSettings

__all__ = ["files_of_options", "http_settings", "options"]

F = TypeVar("F", bound=Callable[..., Any])

_BEFORE: Final = (
    click.option(
        "--http", metavar="HOST:PORT", help="Serve Streamable HTTP there instead of stdio; ':8000' is loopback."
    ),
    click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="HTTP: processes."),
    click.option(
        "--allow-host", "hosts", multiple=True, metavar="NAME", help="HTTP: a further host name to accept. Repeatable."
    ),
    click.option("--sse", is_flag=True, help="HTTP: serve the deprecated HTTP+SSE transport too, at /sse."),
    click.option("--rest", is_flag=True, help="HTTP: answer POST /tools/NAME too, for programs without MCP."),
    click.option("--no-confirm", is_flag=True, help="Run destructive tools without a question, for hosts that ask."),
)
_AFTER: Final = (
    click.option(
        "--state",
        metavar="URL",
        envvar="TOOLTRUE_STATE",
        help="HTTP: the store of shared state, redis://… for several machines. Default: a private SQLite file.",
    ),
    click.option(
        "--sealing-key-file",
        metavar="FILE",
        help="HTTP: the keys that seal state held by clients; several machines need the same.",
    ),
    click.option("--connections", type=click.IntRange(min=1), help="HTTP: open connections per worker. Default: 2000."),
    click.option(
        "--connections-per-address",
        type=click.IntRange(min=1),
        help="HTTP: open connections per address. Default: half.",
    ),
    click.option("--metrics", is_flag=True, help="HTTP: serve Prometheus metrics at /metrics."),
    click.option("--console", is_flag=True, help="HTTP: put the console of tooltrue-console at /console."),
    click.option(
        "--drain", type=click.FloatRange(0, 3600), default=0.0, help="HTTP: seconds between SIGTERM and the end."
    ),
    click.option(
        "--log-format", type=click.Choice(["text", "json"]), default="text", help="json: a line per operation."
    ),
)

_NEED_HTTP: Final = {
    "hosts": "--allow-host",
    "sse": "--sse",
    "rest": "--rest",
    "state": "--state",
    "sealing_key_file": "--sealing-key-file",
    "connections": "--connections",
    "connections_per_address": "--connections-per-address",
    "metrics": "--metrics",
    "console": "--console",
    "drain": "--drain",
}
"""The options that require ``--http`` where they have a value, by the names of their parameters."""


def options(function: F) -> F:
    """Add the options, for :func:`http_settings`."""
    for option in reversed(_AFTER):
        function = option(function)
    function = callers.options(function)
    for option in reversed(_BEFORE):
        function = option(function)
    return function


def files_of_options(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that the options name, which hold keys and secrets."""
    key_file = values["sealing_key_file"]
    return (*callers.callers_of(values).files, *([key_file] if key_file else []))


def http_settings(values: Mapping[str, Any]) -> HttpSettings | None:
    """The settings for HTTP; ``None`` for stdio. ``ConfigurationError`` for options that require another."""
    settings = callers.callers_of(values)
    if values["http"] is None:
        needing = [option for name, option in _NEED_HTTP.items() if values[name]]
        if values["workers"] > 1:
            needing.append("--workers")
        if settings.table:
            needing.append(settings.origin)
        if needing:
            raise ConfigurationError.of(OPTION_REQUIRES_HTTP, option=needing[0])
        return None
    from tooltrue.cli.logs import begin  # noqa: PLC0415 - each command loads what it needs
    from tooltrue.server.http_serving import HttpSettings  # noqa: PLC0415 - each command loads what it needs

    return HttpSettings(
        values["http"],
        settings,
        values["workers"],
        values["hosts"],
        values["state"],
        values["sealing_key_file"],
        sse=values["sse"],
        rest=values["rest"],
        metrics=values["metrics"],
        console=values["console"],
        drain=values["drain"],
        connections=values["connections"],
        connections_per_address=values["connections_per_address"],
        begin_log=partial(begin, values["log_format"]),
    )
