"""Serving over HTTP, for ``tooltrue serve --http`` and for ``Server.run("http")``: the listening address, the state
shared by workers, and the settings of each worker."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import secrets
import tempfile
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from tooltrue.errors import ConfigurationError
from tooltrue.protocol.types import Value
from tooltrue.server.auth_settings import AuthSettings
from tooltrue.server.http_worker import ServedServer, WorkerSettings, begin, no_log_format
from tooltrue.server.sealed_tokens import new_key
from tooltrue.server.sealing_keys import read_keys
from tooltrue.server.wording import (
    RUN_TRANSPORT_UNKNOWN,
    SEALING_KEY_REQUIRED,
    SHARED_STATE_FOLDER_MISSING,
    SSE_REQUIRES_SINGLE_WORKER,
)
from tooltrue.state.places import sqlite_url, without_password
from tooltrue.state.urls import is_across_machines, open_facts
from tooltrue.transport import http_runner
from tooltrue.transport.connection_limit import ConnectionLimit
from tooltrue.wording import alternatives

__all__ = ["STATE_VARIABLE", "HttpSettings", "serve_http", "settings_of_run"]

STATE_VARIABLE = "TOOLTRUE_STATE"


class HttpSettings(Value, frozen=True):
    """The settings of a server over HTTP. ``address`` is ``HOST:PORT``; ``callers`` override the authentication of the
    operator's file; ``hosts`` are further names for Host and Origin; ``state`` is the URL of the shared store, by
    default a private one; ``console`` asks for the console beside the endpoint; ``begin_log`` is called in each worker,
    and ``companion`` runs beside several. The others are options of ``tooltrue serve``.
    """

    address: str
    callers: AuthSettings = AuthSettings()
    workers: int = 1
    hosts: Sequence[str] = ()
    state: str | None = None
    sealing_key_file: str | None = None
    sse: bool = False
    rest: bool = False
    metrics: bool = False
    console: bool = False
    drain: float = 0.0
    connections: int | None = None
    connections_per_address: int | None = None
    begin_log: Callable[[], None] = no_log_format
    companion: http_runner.Companion | None = None


_TRANSPORTS = ("stdio", "http", "streamable-http", "sse")
_PORT = 8000

ServerT = TypeVar("ServerT", bound=ServedServer)


def settings_of_run(transport: str, host: str | None, port: int | None, hosts: Sequence[str]) -> HttpSettings:
    """The settings of ``Server.run`` for a transport over HTTP. Raises ``ConfigurationError`` for an unknown one."""
    if transport not in _TRANSPORTS[1:]:
        raise ConfigurationError.of(RUN_TRANSPORT_UNKNOWN, transport=transport, known=alternatives(_TRANSPORTS))
    name = host or "127.0.0.1"
    netloc = f"[{name}]" if ":" in name and not name.startswith("[") else name
    address = f"{netloc}:{_PORT if port is None else port}"
    return HttpSettings(
        address, hosts=tuple(hosts), state=os.environ.get(STATE_VARIABLE) or None, sse=transport == "sse"
    )


def serve_http(
    load: Callable[[], ServerT],
    settings: HttpSettings,
    target: str,
    announce: Callable[[ServerT, str, http_runner.Address], None],
) -> None:
    """Serve until SIGINT or SIGTERM. ``load`` makes the server, here and in each worker; ``announce`` gets it and a
    line once the address is bound, and that address. ``ConfigurationError`` or ``StateError`` are raised before the
    server listens.
    """
    workers, state = settings.workers, settings.state
    if settings.sse and workers > 1:
        raise ConfigurationError.of(SSE_REQUIRES_SINGLE_WORKER)
    address = http_runner.parse_address(settings.address)
    server = load()  # wrong targets and rules fail here, before there are workers
    asyncio.run(server.check_rules())
    callers = settings.callers.or_else(server.auth_settings).with_secrets()
    server.use_auth(callers)
    http_runner.check_bind(address, authenticates=server.authenticator() is not None)
    keys = read_keys(settings.sealing_key_file)
    if state is not None:
        os.environ.pop(STATE_VARIABLE, None)  # it may hold a password
        asyncio.run(_check_state(state, has_keys=bool(keys) or server.has_keys))
    listener = http_runner.bind(address)
    address = http_runner.Address(address.host, listener.getsockname()[1])
    with _shared_state(state, workers) as url:
        job = WorkerSettings(
            load,
            callers,
            (*http_runner.hosts_of(address), *callers.hosts, *settings.hosts),
            url,
            tuple(base64.b64encode(key).decode() for key in keys or (new_key(),)),
            settings.sse,
            (secrets.token_hex(8), workers),
            settings.metrics,
            settings.drain,
            not keys,
            settings.begin_log,
            settings.rest,
        )
        count = "1 worker" if workers == 1 else f"{workers} workers"
        places = " and ".join(f"http://{address.netloc}{path}" for path in server.endpoint_paths)
        announce(server, f"tooltrue serves {target} at {places} ({count})", address)
        limit = ConnectionLimit(settings.connections, settings.connections_per_address, callers.proxies)
        http_runner.run(partial(begin, job), listener, workers=workers, connections=limit, companion=settings.companion)


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
        yield sqlite_url(Path(folder) / "state.db")


def _folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="tooltrue-", ignore_cleanup_errors=True)
    except OSError as error:
        problem = f"{(error.strerror or str(error)).rstrip('.')}."
        raise ConfigurationError.of(SHARED_STATE_FOLDER_MISSING, problem=problem) from None
