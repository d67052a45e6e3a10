"""What a server serves, and the facts that both doors share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolwright.errors import InvalidParams, UnsupportedVersion
from toolwright.jsonrpc.messages import Id, Json, encode
from toolwright.jsonrpc.peer import Exchange
from toolwright.protocol import versions
from toolwright.protocol.modern import LOG_LEVELS
from toolwright.protocol.types import Implementation, Value
from toolwright.server.sealing import BadSeal, Sealer
from toolwright.server.subscriptions import Hub
from toolwright.state.facts import Facts
from toolwright.tools.toolset import Principal, Provider, Tool

__all__ = ["SILENT", "Page", "RequestChannel", "Served", "page_of", "unsupported"]


@dataclass(frozen=True)
class Served:
    """A guarded provider and what is said about it. ``offers`` names the capabilities that are advertised."""

    info: Implementation
    provider: Provider
    sealer: Sealer
    facts: Facts
    instructions: str | None = None
    offers: frozenset[str] = frozenset({"tools"})
    page_size: int = 1000
    list_ttl_ms: int = 60_000
    session_seconds: float = 86_400.0
    language: str = "en"
    hub: Hub = field(default_factory=Hub)

    def capabilities(self) -> dict[str, Json]:
        """What is advertised is served, and nothing else is (server/discover: capabilities are truthful)."""
        said: dict[str, Json] = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
        return {name: settings for name, settings in said.items() if name in self.offers}


class Page(Value, frozen=True):
    """Part of a list: ``next_cursor`` is ``None`` on the last page."""

    tools: tuple[Tool, ...]
    next_cursor: str | None


_CURSOR_SECONDS = 3600.0


def page_of(served: Served, tools: tuple[Tool, ...], cursor: str | None, principal: Principal) -> Page:
    """The page after ``cursor``: a sealed last name, so that changes between two pages skip and repeat nothing."""
    bound_to = ("tools/list", principal.id)
    start = 0
    if cursor is not None:
        try:
            last = served.sealer.open("cursor", bound_to, cursor).decode()
        except BadSeal:
            raise InvalidParams.of("TW1015") from None
        start = next((index for index, tool in enumerate(tools) if tool.name > last), len(tools))
    page = tools if start == 0 and len(tools) <= served.page_size else tools[start : start + served.page_size]
    if start + len(page) >= len(tools):
        return Page(page, None)
    return Page(page, served.sealer.seal("cursor", bound_to, page[-1].name.encode(), _CURSOR_SECONDS))


def unsupported(version: str) -> UnsupportedVersion:
    """-32022 with what is supported and what was requested (basic/versioning)."""
    error = UnsupportedVersion.of("TW1014", requested=version[:40], supported=", ".join(versions.ALL))
    error.data = {"supported": list(versions.ALL), "requested": version}
    return error


class _Silent:
    """The channel of a request that asked for neither progress nor logs."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...


SILENT = _Silent()


class RequestChannel:
    """Progress and logs of one request, in the words that both eras share. Takes calls from any thread.

    Progress must increase (basic/patterns/progress); what does not is dropped, and so is all that comes after the
    answer.
    """

    def __init__(
        self,
        exchange: Exchange,
        token: Id | None,
        level: str | None,
        *,
        with_message: bool = True,
        detach: Callable[[], None] | None = None,
    ) -> None:
        self._exchange = exchange
        self._detach = detach
        self._token = token
        self._level = level
        self._with_message = with_message
        self._last = float("-inf")
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._open = True

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        if self._token is None or not progress > self._last or progress == float("inf"):
            return
        self._last = progress
        said: dict[str, Json] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            said["total"] = total
        if message is not None and self._with_message:
            said["message"] = message
        self._send("notifications/progress", said)

    def log(self, level: str, data: Any, logger: str | None) -> None:
        if self._level is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(self._level):
            return
        said: dict[str, Json] = {"level": level, "data": data}
        if logger is not None:
            said["logger"] = logger
        self._send("notifications/message", said)

    def detach(self) -> None:
        if self._detach is None:
            return
        if threading.get_ident() == self._thread:
            self._let_go()
        else:
            self._loop.call_soon_threadsafe(self._let_go)

    def _let_go(self) -> None:
        if self._open and self._detach is not None:
            self._detach()

    def _send(self, method: str, params: Mapping[str, Json]) -> None:
        encode(params)  # what JSON cannot hold is the tool's mistake, and is raised there
        if threading.get_ident() == self._thread:
            self._notify(method, params)
        else:
            self._loop.call_soon_threadsafe(self._notify, method, params)

    def _notify(self, method: str, params: Mapping[str, Json]) -> None:
        if self._open:
            self._exchange.notify(method, params)

    def close(self) -> None:
        self._open = False
