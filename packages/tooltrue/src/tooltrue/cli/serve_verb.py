"""``tooltrue serve``: a tooltrue server over stdio, or over HTTP with any number of workers."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from tooltrue.cli import callers
from tooltrue.cli.author_notes import note_gaps
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import is_somebody_here, own_output, tell
from tooltrue.cli.targets import Spec, files_of, load_server
from tooltrue.cli.wording import OPTIONS_REQUIRE_HTTP
from tooltrue.errors import ConfigurationError
from tooltrue.server.wording import HINT_STDIO_SERVER_WAITING
from tooltrue.wording import sentence

__all__ = ["command"]


_OPTION_SYNONYMS = {
    "--port": "--http :PORT",
    "--host": "--http HOST:PORT",
    "--bind": "--http HOST:PORT",
    "--transport": "--http HOST:PORT, or nothing for stdio",
    "--token": "--keys FILE",
    **dict.fromkeys(("--reload", "--watch"), "tooltrue dev FILE"),
}
"""Options of other programs → those of this one."""


@click.command(
    "serve",
    cls=TargetVerb,
    synonyms=_OPTION_SYNONYMS,
    example="tooltrue serve notes.py --http :8000",
    short_help="Serve tools over stdio or HTTP.",
)
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--config", metavar="FILE", help="The operator's rules and settings, such as tooltrue.toml.")
@click.option("--http", metavar="HOST:PORT", help="Serve Streamable HTTP there instead of stdio; ':8000' is loopback.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="HTTP: processes.")
@click.option(
    "--allow-host", "hosts", multiple=True, metavar="NAME", help="HTTP: a further host name to accept. Repeatable."
)
@click.option("--sse", is_flag=True, help="HTTP: serve the deprecated HTTP+SSE transport too, at /sse.")
@click.option("--no-confirm", is_flag=True, help="Run destructive tools without a question, for hosts that ask.")
@callers.options
@click.option(
    "--state",
    metavar="URL",
    envvar="TOOLTRUE_STATE",
    help="HTTP: the store of shared state, redis://… for several machines. Default: a private SQLite file.",
)
@click.option(
    "--sealing-key-file",
    metavar="FILE",
    help="HTTP: the keys that seal state held by clients; several machines need the same.",
)
@click.option("--connections", type=click.IntRange(min=1), help="HTTP: open connections per worker. Default: 2000.")
@click.option(
    "--connections-per-address", type=click.IntRange(min=1), help="HTTP: open connections per address. Default: half."
)
@click.option("--metrics", is_flag=True, help="HTTP: serve Prometheus metrics at /metrics.")
@click.option("--drain", type=click.FloatRange(0, 3600), default=0.0, help="HTTP: seconds between SIGTERM and the end.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="json: a line per operation.")
def command(
    targets: tuple[str, ...],
    family: FamilyOptions,
    config: str | None,
    http: str | None,
    workers: int,
    hosts: tuple[str, ...],
    sse: bool,
    no_confirm: bool,
    state: str | None,
    sealing_key_file: str | None,
    connections: int | None,
    connections_per_address: int | None,
    metrics: bool,
    drain: float,
    log_format: str,
    **who: Any,
) -> None:
    """Serve TARGET: toolbox names (files, command), or FILE.py, FILE.py:NAME or package.module:NAME.

    The words after -- are options of FILE.py itself.
    """
    who_may = callers.callers_of(who)
    withheld = [*who_may.files, *([sealing_key_file] if sealing_key_file else []), *files_of(state or "")]
    spec = Spec.of(",".join(targets), family, config, confirm=not no_confirm, withheld=withheld)
    if http is not None:
        from tooltrue.cli.logs import begin  # noqa: PLC0415 - each command loads what it needs
        from tooltrue.cli.serve_http import serve_http  # noqa: PLC0415 - each command loads what it needs
        from tooltrue.server.http_serving import HttpSettings  # noqa: PLC0415 - each command loads what it needs

        settings = HttpSettings(
            http,
            who_may,
            workers,
            hosts,
            state,
            sealing_key_file,
            sse=sse,
            metrics=metrics,
            drain=drain,
            connections=connections,
            connections_per_address=connections_per_address,
            begin_log=partial(begin, log_format),
        )
        serve_http(spec, settings, log_format)
    elif (
        workers > 1
        or any((hosts, state, sealing_key_file, who_may.table))
        or any((sse, metrics, drain, connections, connections_per_address))
    ):
        raise ConfigurationError.of(OPTIONS_REQUIRE_HTTP)
    else:
        if log_format != "text":
            from tooltrue.cli.logs import begin  # noqa: PLC0415 - each command loads what it needs

            begin(log_format)
        with own_output():  # output while the file is loaded is not a message
            server = load_server(spec)
        note_gaps(server, spec.target)
        if is_somebody_here():
            tell(
                sentence(HINT_STDIO_SERVER_WAITING, current_language(), {"server": server.name, "target": spec.target}),
                err=True,
            )
        server.run()
