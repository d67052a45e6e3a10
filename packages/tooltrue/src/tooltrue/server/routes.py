"""The author's HTTP routes beside the endpoint: their paths, their methods, and who may reach them.

A route cannot stand before a path of the server, and its own path has one spelling. Host, Origin, body size and
authentication are checked before a route is served (``transport/http_server.py``).
"""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeAlias

from tooltrue._internal.signatures import signature_of
from tooltrue.errors import ConfigurationError
from tooltrue.server.route_requests import BodyNotJson, RouteRequest, respond
from tooltrue.server.wording import (
    ROUTE_COVERS_RESERVED_PATH,
    ROUTE_DEFINED_TWICE,
    ROUTE_ENDPOINT_INVALID,
    ROUTE_KIND_UNKNOWN,
    ROUTE_METHODS_INVALID,
    ROUTE_PATH_INVALID,
)
from tooltrue.transport.http_server import RESERVED, Scope, Site
from tooltrue.transport.lifespans import AsgiApplication, lifespan_of
from tooltrue.transport.limited_exchange import LimitedExchange

__all__ = ["Route", "RouteHandler", "RouteTable", "check_path"]

RouteHandler: TypeAlias = Callable[[RouteRequest], Awaitable[object]]

_PATH = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+")
_METHOD = re.compile(r"[A-Z][A-Z-]{0,30}")


class Route:
    """An HTTP route beside the endpoint: ``Route("/hooks", handler, methods=["POST"])``.

    ``endpoint`` is an async function of a request, served at exactly this path, or an ASGI application, served there
    and below. ``methods`` are those that reach it; by default GET for a function, all for an application. GET includes
    HEAD. Callers are authenticated as at the endpoint, unless the route is ``public``. Raises ``ConfigurationError``
    for a path that has other spellings, or that belongs to the server.
    """

    def __init__(
        self,
        path: str,
        endpoint: RouteHandler | AsgiApplication,
        *,
        methods: Iterable[str] | None = None,
        public: bool = False,
    ) -> None:
        arity = _arity(endpoint)
        if arity is None:
            raise ConfigurationError.of(ROUTE_ENDPOINT_INVALID, path=path)
        self.is_application = arity == _ASGI
        self.path = check_path(path, covers=self.is_application)
        self.root = self.path if self.is_application else ""
        self.endpoint: Callable[..., Awaitable[Any]] = endpoint
        self.methods = _methods(path, methods if methods is not None or self.is_application else ("GET",))
        self.public = public

    def matches(self, path: str) -> bool:
        """Whether a path below the place where the server is mounted is one of this route."""
        if self.is_application:
            return path == self.path or path.startswith(f"{self.path}/")
        return (path.rstrip("/") or "/") == self.path

    @property
    def rank(self) -> int:
        """The more specific of two routes that match has the higher rank."""
        return 2 * len(self.path) + (not self.is_application)

    @property
    def described(self) -> tuple[str, str, str]:
        """The path, the methods, and the callers that are admitted, for ``tooltrue inspect``."""
        path = f"{self.path}/*" if self.is_application else self.path
        return path, ", ".join(self.methods) or "all methods", "public" if self.public else "authenticated as at /mcp"


_HANDLER, _ASGI = 1, 3


def _arity(endpoint: object) -> int | None:
    """The number of positional arguments that an endpoint takes, if it is that of one of both kinds."""
    if not callable(endpoint):
        return None
    try:
        signature = signature_of(endpoint)
    except (TypeError, ValueError):
        return None
    for number in (_HANDLER, _ASGI):
        with contextlib.suppress(TypeError):
            signature.bind(*range(number))
            is_awaited = inspect.iscoroutinefunction(endpoint) or inspect.iscoroutinefunction(_call_of(endpoint))
            return number if number == _ASGI or is_awaited else None
    return None


def _call_of(endpoint: object) -> object:
    return getattr(endpoint, "func", None) or getattr(endpoint, "__call__", None)  # noqa: B004 - it is looked at only


def check_path(path: str, *, covers: bool) -> str:
    """Return the path without a slash at its end. Raises ``ConfigurationError`` if it has several spellings, or belongs
    to the server; a route that ``covers`` the paths below it may not be at the root.
    """
    plain = path.rstrip("/")
    if path == "/" and not covers:
        return "/"
    if not _PATH.fullmatch(plain) or path.endswith("//") or {".", ".."} & set(plain.split("/")):
        if path == "/":
            raise ConfigurationError.of(ROUTE_COVERS_RESERVED_PATH, path=path, reserved=f"/{RESERVED[0]}")
        raise ConfigurationError.of(ROUTE_PATH_INVALID, path=path)
    first = plain.split("/")[1].casefold()
    if first in RESERVED:
        raise ConfigurationError.of(ROUTE_COVERS_RESERVED_PATH, path=path, reserved=f"/{first}")
    return plain


def _methods(path: str, methods: Iterable[str] | None) -> Sequence[str]:
    """The methods in upper case; none if all are served."""
    if methods is None:
        return ()
    names = [methods] if isinstance(methods, str) else list(methods)
    upper = {name.upper() for name in names}
    if not upper or not all(_METHOD.fullmatch(name) for name in upper):
        raise ConfigurationError.of(ROUTE_METHODS_INVALID, path=path)
    return sorted(upper | ({"HEAD"} if "GET" in upper else set[str]()))


class RouteTable:
    """The routes of one server. Routes may be added while it serves."""

    def __init__(self) -> None:
        self._routes: list[_MountedRoute] = []

    def add(self, routes: Iterable[object]) -> None:
        """Add routes: of this package, or Route and Mount objects of Starlette. Raises ``ConfigurationError``."""
        for route in routes:
            self._add(route if isinstance(route, Route) else _foreign(route))

    def _add(self, route: Route) -> None:
        for other in (mounted.route for mounted in self._routes):
            if other.path == route.path and _overlap(other.methods, route.methods):
                raise ConfigurationError.of(ROUTE_DEFINED_TWICE, path=route.path)
        self._routes.append(_MountedRoute(route))
        self._routes.sort(key=lambda mounted: mounted.route.rank, reverse=True)

    def check_free(self, *paths: str) -> None:
        """Raise ``ConfigurationError`` for a route at one of these paths, or below it."""
        for route in (mounted.route for mounted in self._routes):
            for path in paths:
                if route.path == path or route.path.startswith(f"{path}/") or route.matches(path):
                    raise ConfigurationError.of(ROUTE_COVERS_RESERVED_PATH, path=route.path, reserved=path)

    def __len__(self) -> int:
        return len(self._routes)

    def described(self) -> list[tuple[str, str, str]]:
        """A row for each route, by path: the path, the methods, and the callers that are admitted."""
        return sorted(mounted.route.described for mounted in self._routes)

    def find(self, path: str, method: str) -> Site | Sequence[str] | None:
        """The route of a request; the allowed methods if it has another one; ``None`` for an unknown path."""
        allowed: set[str] = set()
        matched: str | None = None
        for mounted in self._routes:
            if matched is not None and mounted.route.path != matched:
                break  # a less specific path never serves what a more specific one refuses
            if mounted.route.matches(path):
                if not mounted.route.methods or method in mounted.route.methods:
                    return mounted
                matched = mounted.route.path
                allowed.update(mounted.route.methods)
        return sorted(allowed) if matched is not None else None

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        """Context in which the applications among the routes are started; each has its lifespan."""
        async with contextlib.AsyncExitStack() as stack:
            for mounted in self._routes:
                if mounted.route.is_application:
                    await stack.enter_async_context(lifespan_of(mounted.route.endpoint, mounted.state))
            yield


def _overlap(some: Sequence[str], others: Sequence[str]) -> bool:
    return not some or not others or bool(set(some) & set(others))


class _MountedRoute:
    """A route of a server, with the state that the lifespan of its application has made."""

    def __init__(self, route: Route) -> None:
        self.route = route
        self.public = route.public
        self.state: dict[str, Any] = {}

    async def serve(self, caller: Any, scope: Scope, exchange: LimitedExchange) -> None:
        """Serve a request. ``caller`` is its sender, as the endpoint has admitted it; ``None`` at a public route."""
        principal = None if caller is None else caller.principal
        scope = {**scope, "tooltrue.principal": principal}
        if not self.route.is_application:
            request = RouteRequest(scope, exchange.receive, principal)
            try:
                answer = await self.route.endpoint(request)
            except BodyNotJson as error:
                answer = error.response
            return await respond(answer, scope, exchange.receive, exchange.send)
        return await self.route.endpoint(self._scope_below(scope), exchange.receive, exchange.send)

    def _scope_below(self, scope: Scope) -> Scope:
        """The scope as an application sees it that is mounted at this path (ASGI, HTTP connection scope)."""
        root = scope.get("root_path", "")
        path = scope["path"].removeprefix(root)
        state = {**scope.get("state", {}), **self.state}
        return {**scope, "root_path": f"{root}{self.route.root}", "path": f"{root}{path}", "state": state}


def _foreign(route: object) -> Route:
    """The route of ours that serves a route of Starlette."""
    if not (hasattr(route, "matches") and hasattr(route, "handle")):
        raise ConfigurationError.of(ROUTE_KIND_UNKNOWN, kind=type(route).__name__)
    from tooltrue.server.starlette_routes import StarletteRoute  # noqa: PLC0415 - Starlette is there, for its object

    return StarletteRoute(route)
