"""``toolwright serve``: any server of ours over stdio, or over HTTP with any number of workers."""

from __future__ import annotations

import click

from toolwright.cli.callers import Callers
from toolwright.cli.targets import Spec, load_server
from toolwright.errors import ConfigurationError
from toolwright.loading import load

__all__ = ["command"]


@click.command("serve", short_help="Serve tools over stdio or HTTP.")
@click.argument("target")
@click.option("--root", "roots", multiple=True, metavar="DIR", help="files: a folder to be used. Repeatable.")
@click.option("--config", metavar="FILE", help="The operator's rules and settings, such as toolwright.toml.")
@click.option("--http", metavar="HOST:PORT", help="Serve Streamable HTTP there instead of stdio; ':8000' is loopback.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="HTTP: processes.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="HTTP: a further Host name to answer to.")
@click.option("--sse", is_flag=True, help="HTTP: serve the deprecated HTTP+SSE transport too, at /sse.")
@click.option("--no-confirm", is_flag=True, help="Ask nobody before a destructive tool: where the host asks.")
@click.option("--keys", metavar="FILE", help="HTTP: who has a key of this file may call; see 'toolwright keys'.")
@click.option("--oauth", metavar="ISSUER", help="HTTP: who has a token of this authorization server may call.")
@click.option("--resource", metavar="URL", help="OAuth: this server's endpoint, as clients know it.")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="OAuth: what every request needs. Repeatable.")
@click.option("--public", is_flag=True, help="HTTP: whoever comes may call, known by address alone.")
@click.option(
    "--state",
    metavar="URL",
    envvar="TOOLWRIGHT_STATE",
    help="HTTP: where workers share state, redis://… for several machines. Default: a private SQLite file.",
)
@click.option("--key-file", metavar="FILE", help="HTTP: the keys that several machines need to have in common.")
@click.option("--metrics", is_flag=True, help="HTTP: serve figures for Prometheus at /metrics.")
@click.option("--drain", type=click.FloatRange(0, 3600), default=0.0, help="HTTP: seconds between SIGTERM and the end.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="json: a line an operation.")
def command(
    target: str,
    roots: tuple[str, ...],
    config: str | None,
    http: str | None,
    workers: int,
    hosts: tuple[str, ...],
    sse: bool,
    keys: str | None,
    oauth: str | None,
    resource: str | None,
    scopes: tuple[str, ...],
    public: bool,
    no_confirm: bool,
    state: str | None,
    key_file: str | None,
    metrics: bool,
    drain: float,
    log_format: str,
) -> None:
    """Serve TARGET: a toolbox name (files), FILE.py, FILE.py:NAME or package.module:NAME."""
    spec = Spec.of(target, roots, config, confirm=not no_confirm)
    callers = Callers(keys, oauth, resource, scopes, public)
    if http is not None:
        told = {"sse": sse, "metrics": metrics, "drain": drain, "log_format": log_format}
        load("cli.serve_http:serve_http")(spec, callers, http, workers, hosts, state, key_file, **told)
    elif workers > 1 or hosts or state or sse or key_file or metrics or drain or callers.said:
        raise ConfigurationError.of("TW4004")
    else:
        if log_format != "text":
            load("cli.logs:begin")(log_format)
        load_server(spec).run()
