"""Routes of Starlette beside the endpoint. Owns starlette; it is loaded for an object of Starlette, so it is there."""

from __future__ import annotations

import re

from starlette.applications import Starlette
from starlette.routing import Match, Mount
from starlette.routing import Route as PlainRoute

from tooltrue.errors import ConfigurationError
from tooltrue.server.routes import Route, check_path
from tooltrue.server.wording import ROUTE_COVERS_RESERVED_PATH, ROUTE_KIND_UNKNOWN
from tooltrue.transport.http_server import RESERVED

__all__ = ["StarletteRoute"]

_PARAMETER = re.compile(r"\{[^{}/]*\}")


class StarletteRoute(Route):
    """A ``Route`` or ``Mount`` of Starlette, in an application of its own, which makes responses of its exceptions. Its
    callers are authenticated. Its path may have parameters behind the first segment. Raises ``ConfigurationError``.
    """

    def __init__(self, route: object) -> None:
        if not isinstance(route, PlainRoute | Mount):
            raise ConfigurationError.of(ROUTE_KIND_UNKNOWN, kind=type(route).__name__)
        covers = isinstance(route, Mount)
        path = route.path or "/"
        if _PARAMETER.search(path.split("/")[1]):
            raise ConfigurationError.of(ROUTE_COVERS_RESERVED_PATH, path=path, reserved=f"/{RESERVED[0]}")
        check_path(_PARAMETER.sub("x", path), covers=covers)
        super().__init__("/starlette", Starlette(routes=[route]))
        self.path = path
        self.root = ""
        self.methods = sorted((route.methods if isinstance(route, PlainRoute) else None) or ())
        self._route = route

    def matches(self, path: str) -> bool:
        scope = {"type": "http", "path": path, "root_path": "", "method": "GET"}
        return self._route.matches(scope)[0] is not Match.NONE

    @property
    def rank(self) -> int:
        return 2 * len(_PARAMETER.split(self.path)[0])
