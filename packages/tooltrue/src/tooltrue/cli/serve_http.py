"""``tooltrue serve --http``: serves the target of the command line over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from tooltrue.app import Server
from tooltrue.cli import logs
from tooltrue.cli.author_notes import note_gaps
from tooltrue.cli.plugins import CONSOLES, load_plugin, not_installed
from tooltrue.cli.printing import tell
from tooltrue.policy.layers.observe import OPERATIONS
from tooltrue.server.http_serving import HttpSettings
from tooltrue.server.http_serving import serve_http as serve
from tooltrue.transport.http_runner import Address, parse_address

__all__ = ["ConsoleBeside", "serve_http"]

_log = logging.getLogger(OPERATIONS)


class ConsoleBeside(Protocol):
    """The console of another distribution, for a server over HTTP."""

    def mount(self, server: Server, *, is_loopback: bool) -> None:
        """Add the console to a server, in the process that serves it."""
        ...

    def announce(self, server: Server, url: str, *, is_loopback: bool) -> None:
        """Tell the person at the terminal how to open it, once. ``ConfigurationError`` if no person could sign in."""
        ...


def serve_http(load: Callable[[], Server], settings: HttpSettings, target: str, log_format: str) -> None:
    """Serve what ``load`` makes in each process, until SIGINT or SIGTERM. ``ConfigurationError`` or ``StateError`` are
    raised before the server listens."""
    logs.begin(log_format)
    consoles = [_console()] if settings.console else []
    if consoles:
        load = partial(_with_console, load, parse_address(settings.address).is_loopback)

    def announce(server: Server, message: str, address: Address) -> None:
        note_gaps(server, target)
        tell(message, err=True) if log_format == "text" else _log.info(message)
        _announce(consoles, server, address)

    serve(load, settings, target, announce)


def _announce(consoles: Sequence[ConsoleBeside], server: Server, address: Address) -> None:
    for console in consoles:
        console.announce(server, f"http://{address.netloc}", is_loopback=address.is_loopback)


def _console() -> ConsoleBeside:
    if (error := not_installed(CONSOLES, "console")) is not None:
        raise error
    console: ConsoleBeside = load_plugin(CONSOLES, "console")
    return console


def _with_console(load: Callable[[], Server], is_loopback: bool) -> Server:
    """Make the server with the console beside it, in this process or in a worker."""
    server = load()
    _console().mount(server, is_loopback=is_loopback)
    return server
