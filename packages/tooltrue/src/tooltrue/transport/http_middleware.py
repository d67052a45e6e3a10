"""The HTTP application with the author's ASGI middleware around it.

The checks of Host and Origin, and the limits of a body, stand outside of the middleware; paths, authentication and the
endpoint stand inside, and read the request as the middleware hands it on. Lifespan events pass through it.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any, TypeAlias, cast

from tooltrue.errors import ConfigurationError
from tooltrue.jsonrpc.peer import internal_error
from tooltrue.transport.http_server import Answerer, HttpApp, Receive, Scope, Send, send_reply
from tooltrue.transport.lifespans import AsgiApplication, lifespan_of
from tooltrue.transport.wording import MIDDLEWARE_INVALID, MIDDLEWARE_WITHOUT_LIFESPAN

__all__ = ["AsgiMiddleware", "HttpAppWithMiddleware", "factories"]

AsgiMiddleware: TypeAlias = Callable[[AsgiApplication], AsgiApplication]


def factories(middleware: Sequence[object]) -> Sequence[tuple[str, AsgiMiddleware]]:
    """Each middleware with its name; ``Middleware`` objects of Starlette are read too. Raises ``ConfigurationError``
    for any other object.
    """
    return [_factory(one) for one in middleware]


def _factory(middleware: Any) -> tuple[str, AsgiMiddleware]:
    cls: Any = getattr(middleware, "cls", None)
    if callable(cls) and hasattr(middleware, "args") and hasattr(middleware, "kwargs"):
        return _name(cls), lambda app: cast(AsgiApplication, cls(app, *middleware.args, **middleware.kwargs))
    if not callable(middleware):
        raise ConfigurationError.of(MIDDLEWARE_INVALID, kind=type(middleware).__name__)
    return _name(middleware), cast(AsgiMiddleware, middleware)


def _name(factory: Any) -> str:
    inner = getattr(factory, "func", factory)  # a partial function has none of its own
    return getattr(inner, "__name__", type(inner).__name__)


class HttpAppWithMiddleware(HttpApp):
    """Like :class:`HttpApp`, with ``middleware`` around it, the first one outermost."""

    def __init__(self, *settings: Any, middleware: Sequence[AsgiMiddleware], **more: Any) -> None:
        super().__init__(*settings, **more)
        self._stack: AsgiApplication = self._inner
        for wrap in reversed(middleware):
            self._stack = wrap(self._stack)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator[None]:
        async with lifespan_of(self._stack, required=ConfigurationError.of(MIDDLEWARE_WITHOUT_LIFESPAN)):
            yield

    async def _inner(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The application without middleware."""
        if scope["type"] != "lifespan":
            await super().__call__(scope, receive, send)
            return
        await receive()
        async with super().serving():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        if (refusal := self.refusal(scope)) is not None:
            await send_reply(send, refusal)
            return
        exchange = self.limited(receive, send)
        try:
            await self._stack(scope, exchange.receive, exchange.send)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the last boundary
            if exchange.is_refused or exchange.has_left:
                return
            reply = self.failure(internal_error(error))
            if not exchange.has_begun:
                await send_reply(send, reply)

    def answerer(self, scope: Scope) -> Answerer | None:
        """``None``: the middleware sees every request."""
        return None
