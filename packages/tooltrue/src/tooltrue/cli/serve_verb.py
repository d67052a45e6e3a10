"""``tooltrue serve``: a tooltrue server over stdio, or over HTTP with any number of workers."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from tooltrue.cli import http_options
from tooltrue.cli.author_notes import note_gaps
from tooltrue.cli.families import FamilyOptions, TargetVerb
from tooltrue.cli.language import current_language
from tooltrue.cli.printing import is_somebody_here, own_output, tell
from tooltrue.cli.targets import Spec, files_of, load_server
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
@http_options.options
def command(targets: tuple[str, ...], family: FamilyOptions, config: str | None, **options: Any) -> None:
    """Serve TARGET: toolbox names (files, command), or FILE.py, FILE.py:NAME or package.module:NAME.

    The words after -- are options of FILE.py itself.
    """
    withheld = [*http_options.files_of_options(options), *files_of(options["state"] or "")]
    spec = Spec.of(",".join(targets), family, config, confirm=not options["no_confirm"], withheld=withheld)
    settings, log_format = http_options.http_settings(options), options["log_format"]
    if settings is not None:
        from tooltrue.cli.serve_http import serve_http  # noqa: PLC0415 - each command loads what it needs

        serve_http(partial(load_server, spec), settings, spec.target, log_format)
        return
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
