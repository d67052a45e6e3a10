"""``tooltrue serve --http``: serves the target of the command line over HTTP."""

from __future__ import annotations

import logging
from collections.abc import Callable

from tooltrue.app import Server
from tooltrue.cli import logs
from tooltrue.cli.author_notes import note_gaps
from tooltrue.cli.printing import tell
from tooltrue.policy.layers.observe import OPERATIONS
from tooltrue.server.http_serving import HttpSettings
from tooltrue.server.http_serving import serve_http as serve

__all__ = ["serve_http"]

_log = logging.getLogger(OPERATIONS)


def serve_http(load: Callable[[], Server], settings: HttpSettings, target: str, log_format: str) -> None:
    """Serve what ``load`` makes in each process, until SIGINT or SIGTERM. ``ConfigurationError`` or ``StateError`` are
    raised before the server listens."""
    logs.begin(log_format)

    def announce(server: Server, message: str) -> None:
        note_gaps(server, target)
        tell(message, err=True) if log_format == "text" else _log.info(message)

    serve(load, settings, target, announce)
