"""``toolwright serve``: any server of ours over stdio, or over HTTP with any number of workers."""

from __future__ import annotations

import click

from toolwright.cli.targets import Spec, load_server
from toolwright.errors import ConfigurationError
from toolwright.loading import load

__all__ = ["command"]


@click.command("serve", short_help="Serve tools over stdio or HTTP.")
@click.argument("target")
@click.option("--root", "roots", multiple=True, metavar="DIR", help="files: a folder to be used. Repeatable.")
@click.option("--http", metavar="HOST:PORT", help="Serve Streamable HTTP there instead of stdio; ':8000' is loopback.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="HTTP: processes.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="HTTP: a further Host name to answer to.")
@click.option("--sse", is_flag=True, help="HTTP: serve the deprecated HTTP+SSE transport too, at /sse.")
@click.option("--no-confirm", is_flag=True, help="Ask nobody before a destructive tool: where the host asks.")
@click.option("--state", metavar="URL", help="HTTP: where workers share state. Default: a private SQLite file.")
def command(
    target: str,
    roots: tuple[str, ...],
    http: str | None,
    workers: int,
    hosts: tuple[str, ...],
    sse: bool,
    no_confirm: bool,
    state: str | None,
) -> None:
    """Serve TARGET: a toolbox name (files), FILE.py, FILE.py:NAME or package.module:NAME."""
    spec = Spec(target, roots, not no_confirm)
    if http is not None:
        load("cli.serve_http:serve_http")(spec, http, workers, hosts, state, sse=sse)
    elif workers > 1 or hosts or state or sse:
        raise ConfigurationError.of("TW4004")
    else:
        load_server(spec).run()
