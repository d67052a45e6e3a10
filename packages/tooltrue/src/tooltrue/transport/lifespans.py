"""The lifespan protocol of ASGI from the side of a server: starts and ends an application that is mounted in ours."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from tooltrue.transport.http_server import Event, Receive, Scope, Send

__all__ = ["AsgiApplication", "lifespan_of"]

AsgiApplication: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


@contextlib.asynccontextmanager
async def lifespan_of(
    app: AsgiApplication, state: MutableMapping[str, Any] | None = None, *, required: Exception | None = None
) -> AsyncGenerator[None]:
    """Context in which the lifespan of ``app`` is open; ``state`` is for its startup to fill, and for its requests.

    An error of the startup is raised here. An application that has no lifespan ends, or raises, before it has
    answered: that is no error, unless the lifespan is ``required``; then it is this one.
    """
    conversation = _LifespanMessages()
    shared: MutableMapping[str, Any] = {} if state is None else state
    scope: Scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": shared}
    task = asyncio.get_running_loop().create_task(conversation.run(app, scope))
    try:
        await conversation.started.wait()
        if conversation.error is not None and (required is not None or conversation.has_failed):
            raise conversation.error
        if required is not None and not conversation.has_started:
            raise required
        yield
        conversation.ending.set()
        await asyncio.wait([task])
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    if conversation.has_started and conversation.error is not None:
        raise conversation.error


class _LifespanMessages:
    """The messages of one lifespan, from startup to shutdown."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ending = asyncio.Event()
        self.has_started = False
        self.has_failed = False
        self.error: BaseException | None = None
        self._has_asked = False

    async def run(self, app: AsgiApplication, scope: Scope) -> None:
        try:
            await app(scope, self._receive, self._send)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - raised again where the lifespan was entered
            self.error = error
        finally:
            self.started.set()

    async def _receive(self) -> Event:
        if not self._has_asked:
            self._has_asked = True
            return {"type": "lifespan.startup"}
        await self.ending.wait()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: Event) -> None:
        if message["type"] == "lifespan.startup.complete":
            self.has_started = True
            self.started.set()
        elif message["type"] in ("lifespan.startup.failed", "lifespan.shutdown.failed"):
            self.has_failed = True
            self.error = RuntimeError(str(message.get("message", ""))[:2_000] or message["type"])
            self.started.set()
