"""The settings of a mounted server, which would not hold in the server that it is mounted in.

The settings of a tool travel with the tool: its effect, limits, scopes, rate and confirmation. Those of the whole
server do not, since the pipeline is that of the outer server.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from tooltrue.errors import DefinitionError
from tooltrue.policy.guard import Guard
from tooltrue.policy.wording import MOUNT_IGNORES_SETTINGS, MOUNT_LOSES_SETTINGS
from tooltrue.protocol.types import Value
from tooltrue.wording import coded_sentence

__all__ = ["ServerSettings", "check_mounted", "log_ignored"]

_log = logging.getLogger("tooltrue")


class ServerSettings(Value, frozen=True):
    """The settings of a server that its pipeline and its endpoint enforce. ``has_file``: an operator's file holds for
    it. ``middleware`` are the names of its ASGI middleware, ``has_routes``: it serves HTTP routes.
    """

    name: str
    guard: Guard
    authenticate: Any
    has_file: bool
    middleware: tuple[str, ...] = ()
    has_routes: bool = False


def check_mounted(outer: ServerSettings, mounted: ServerSettings) -> None:
    """Raise ``DefinitionError`` if mounting would lose a protection of the mounted server."""
    if lost := list(_lost(outer, mounted)):
        raise DefinitionError.of(MOUNT_LOSES_SETTINGS, child=mounted.name, parent=outer.name, settings=", ".join(lost))


def log_ignored(outer: ServerSettings, mounted: ServerSettings) -> None:
    """Log the limits and routes of the mounted server that do not hold."""
    routes = ["routes"] if mounted.has_routes else []
    if ignored := [*(name for name in _LIMITS if _differs(outer, mounted, name)), *routes]:
        facts = {"child": mounted.name, "parent": outer.name, "settings": ", ".join(ignored)}
        _log.warning("%s", coded_sentence(MOUNT_IGNORES_SETTINGS, "en", facts))


_PROTECTIONS = ("rules", "decide", "layers")
_LIMITS = ("limits", "rate", "concurrency", "abuse")
_BY_AUTHOR = "Server("
"""The beginning of the source of a setting that the author has written."""


def _differs(outer: ServerSettings, mounted: ServerSettings, name: str) -> bool:
    """Whether the mounted server has this setting of its own, and the outer one has another."""
    if not mounted.guard.origins.get(name, "").startswith(_BY_AUTHOR):
        return False
    return getattr(mounted.guard, name) != getattr(outer.guard, name)


def _lost(outer: ServerSettings, mounted: ServerSettings) -> Iterator[str]:
    yield from (name for name in _PROTECTIONS if _differs(outer, mounted, name))
    if _differs(outer, mounted, "confirm") and mounted.guard.confirm.effects - outer.guard.confirm.effects:
        yield "confirm"
    for name in ("secrets", "personal"):
        if _differs(outer, mounted, name) and getattr(mounted.guard, name) == "mask":
            yield name
    if mounted.authenticate is not None and mounted.authenticate is not outer.authenticate:
        yield "authenticate"
    if not set(mounted.middleware).issubset(outer.middleware):
        yield "middleware"
    if mounted.has_file:
        yield "the operator's file"
