"""``toolwright serve``: any server of ours over stdio, or over HTTP with any number of workers."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from toolwright.cli import worker
from toolwright.cli.targets import Spec, load_server
from toolwright.errors import ConfigurationError
from toolwright.server.sealing import new_key
from toolwright.transport import http_runner

__all__ = ["command"]


@click.command("serve", short_help="Serve tools over stdio or HTTP.")
@click.argument("target")
@click.option(
    "--root", "roots", multiple=True, metavar="DIR", help="files: a folder that the tools may use. Repeatable."
)
@click.option("--http", metavar="HOST:PORT", help="Serve Streamable HTTP there instead of stdio; ':8000' is loopback.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="HTTP: processes.")
@click.option("--allow-host", "hosts", multiple=True, metavar="NAME", help="HTTP: a further Host name to answer to.")
@click.option("--state", metavar="URL", help="HTTP: where workers share state. Default: a private SQLite file.")
@click.pass_obj
def command(
    language: str,
    target: str,
    roots: tuple[str, ...],
    http: str | None,
    workers: int,
    hosts: tuple[str, ...],
    state: str | None,
) -> None:
    """Serve TARGET: a toolbox name (files), FILE.py, FILE.py:NAME or package.module:NAME."""
    spec = Spec(target, roots)
    if http is None:
        if workers > 1 or hosts or state:
            raise ConfigurationError.of("TW4004")
        load_server(spec).run()
        return
    address = http_runner.parse_address(http)
    authenticates = load_server(spec).authenticate is not None  # wrong targets fail here, before there are workers
    http_runner.check_bind(address, authenticates=authenticates)
    with _shared_state(state, workers) as url:
        _hand_over(worker.Job(spec, (*http_runner.hosts_of(address), *hosts), url, _new_key()))
        click.echo(
            f"toolwright serves {target} at http://{address.shown}/mcp ({workers} worker{'s' * (workers > 1)})",
            err=True,
        )
        http_runner.run("toolwright.cli.worker:app", address, workers=workers)


def _new_key() -> str:
    return base64.b64encode(new_key()).decode()


@contextlib.contextmanager
def _shared_state(url: str | None, workers: int) -> Iterator[str]:
    """One worker needs nothing; several share a file that goes when they go."""
    if url is not None or workers == 1:
        yield url or "memory:"
        return
    with tempfile.TemporaryDirectory(prefix="toolwright-") as folder:
        yield f"sqlite://{Path(folder) / 'state.db'}"


def _hand_over(job: worker.Job) -> None:
    """What each worker needs to know, the key among it. A worker takes it out of its environment at once."""
    os.environ[worker.VARIABLE] = json.dumps(job.as_dict())
