"""An ASGI application whose requests are recorded."""

from __future__ import annotations

from typing import Any

__all__ = ["RecordedApp"]


class RecordedApp:
    """``sent`` are the headers and bodies that an application gets."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.serving = app.serving
        self.sent: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def recorded() -> Any:
            message = await receive()
            self.sent.append(str(message.get("body", b"")))
            return message

        self.sent.append(str(scope["headers"]))
        await self._app(scope, recorded, send)
