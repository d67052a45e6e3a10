"""Serving over HTTP: the listening address, the state shared by workers, and the settings of each worker."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import os
import secrets
import tempfile
from collections.abc import Generator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tooltrue.cli import logs
from tooltrue.cli.printing import tell
from tooltrue.cli.sealing_keys import read_keys
from tooltrue.cli.targets import Spec, load_server
from tooltrue.cli.wording import SEALING_KEY_REQUIRED, SHARED_STATE_FOLDER_MISSING, SSE_REQUIRES_SINGLE_WORKER
from tooltrue.cli.worker import WorkerSettings, begin
from tooltrue.errors import ConfigurationError
from tooltrue.policy.layers.observe import OPERATIONS
from tooltrue.server.auth_settings import AuthSettings
from tooltrue.server.sealed_tokens import new_key
from tooltrue.state.places import without_password
from tooltrue.state.urls import is_across_machines, open_facts
from tooltrue.transport import http_runner
from tooltrue.transport.connection_limit import ConnectionLimit

__all__ = ["serve_http"]

_log = logging.getLogger(OPERATIONS)


def serve_http(
    spec: Spec,
    callers: AuthSettings,
    http: str,
    workers: int,
    hosts: Sequence[str],
    state: str | None,
    sealing_key_file: str | None,
    *,
    sse: bool = False,
    metrics: bool = False,
    drain: float = 0.0,
    log_format: str = "text",
    connections: int | None = None,
    connections_per_address: int | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM. ``ConfigurationError`` or ``StateError`` are raised before the server listens."""
    if sse and workers > 1:
        raise ConfigurationError.of(SSE_REQUIRES_SINGLE_WORKER)
    logs.begin(log_format)
    address = http_runner.parse_address(http)
    server = load_server(spec)  # wrong targets and rules fail here, before there are workers
    asyncio.run(server.check_rules())
    callers = callers.or_else(server.auth_settings).with_secrets()
    server.use_auth(callers)
    http_runner.check_bind(address, authenticates=server.authenticator() is not None)
    keys = read_keys(sealing_key_file)
    if state is not None:
        os.environ.pop("TOOLTRUE_STATE", None)  # it may hold a password
        asyncio.run(_check_state(state, has_keys=bool(keys) or server.has_keys))
    listener = http_runner.bind(address)
    address = replace(address, port=listener.getsockname()[1])
    with _shared_state(state, workers) as url:
        hosts = (*http_runner.hosts_of(address), *callers.hosts, *hosts)
        sealing = tuple(base64.b64encode(key).decode() for key in keys or (new_key(),))
        crew = (secrets.token_hex(8), workers)
        job = WorkerSettings(spec, callers, hosts, url, sealing, sse, crew, metrics, drain, log_format)
        count = "1 worker" if workers == 1 else f"{workers} workers"
        message = f"tooltrue serves {spec.target} at http://{address.netloc}/mcp ({count})"
        tell(message, err=True) if log_format == "text" else _log.info(message)
        places = ConnectionLimit(connections, connections_per_address, callers.proxies)
        http_runner.run(partial(begin, job), listener, workers=workers, connections=places)


async def _check_state(url: str, *, has_keys: bool) -> None:
    """Check that the store answers, and that all machines that share it have the sealing keys."""
    async with open_facts(url) as facts:
        await facts.get("")
    if is_across_machines(url) and not has_keys:
        raise ConfigurationError.of(SEALING_KEY_REQUIRED, url=without_password(url))


@contextlib.contextmanager
def _shared_state(url: str | None, workers: int) -> Generator[str]:
    """One worker needs no shared state; several share a temporary file."""
    if url is not None or workers == 1:
        yield url or "memory:"
        return
    with _folder() as folder:
        yield f"sqlite://{Path(folder) / 'state.db'}"


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="tooltrue-")
    except OSError as error:
        problem = f"{(error.strerror or str(error)).rstrip('.')}."
        raise ConfigurationError.of(SHARED_STATE_FOLDER_MISSING, problem=problem) from None
