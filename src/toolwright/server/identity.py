"""Who calls. stdio and memory: ``local``. HTTP: what authentication says, or ``local:http`` on a loopback bind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from toolwright.tools.toolset import LOCAL, Principal
from toolwright.transport.carrier import Carrier

__all__ = ["LOCAL_HTTP", "Authenticate", "identify"]

LOCAL_HTTP = Principal("local:http")

Authenticate: TypeAlias = Callable[[Carrier], Principal | None]
"""The principal of an HTTP request, or ``None``: 401. Headers are in ``carrier.headers``."""


def identify(carrier: Carrier, authenticate: Authenticate | None) -> Principal | None:
    """The principal of a message, or ``None`` when it has to authenticate first.

    Without ``authenticate`` a server only listens on loopback (it refuses to start otherwise), so whoever reaches it
    over HTTP is on this machine.
    """
    if carrier.kind != "http":
        return LOCAL
    return LOCAL_HTTP if authenticate is None else authenticate(carrier)
