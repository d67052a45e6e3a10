"""The provider that a server serves, and the helpers that both handlers share."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tooltrue.errors import InvalidParams, TooltrueError, UnsupportedVersion
from tooltrue.jsonrpc.messages import Id, Json, encode
from tooltrue.jsonrpc.peer import NotificationChannel
from tooltrue.protocol import versions
from tooltrue.protocol.modern import LOG_LEVELS, CompleteParams, PromptRef
from tooltrue.protocol.types import Implementation, Value, field
from tooltrue.protocol.uris import MAX_URI, is_uri
from tooltrue.server.sealed_tokens import BadSeal, Sealer
from tooltrue.server.subscriptions import Hub
from tooltrue.server.wording import (
    LOG_MESSAGES_DROPPED,
    PROTOCOL_VERSION_NOT_SUPPORTED,
    REQUEST_URI_INVALID,
    STALE_CURSOR,
)
from tooltrue.state.facts import Facts
from tooltrue.tools.null import SILENT
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import CompletionGet, Principal, RequestContext

if TYPE_CHECKING:  # few servers run tasks
    from tooltrue.tasks.service import TaskService

__all__ = [
    "LISTINGS",
    "LOG_RATE",
    "PROGRESS_RATE",
    "SILENT",
    "ListPage",
    "Listing",
    "RequestChannel",
    "ServedProvider",
    "check_uri",
    "completion_get",
    "log_cancellation",
    "one_line",
    "page_of",
    "unsupported",
]

_log = logging.getLogger("tooltrue")


class ServedProvider(Value, frozen=True):
    """A guarded provider and the settings to serve it. ``read_ttl_ms`` is 0 by default: a resource may change at any
    time, so clients do not cache it.

    ``question_seconds``: the time a person has for an answer. ``tasks`` runs the calls that become tasks.
    """

    info: Implementation
    provider: Provider
    sealer: Sealer
    facts: Facts
    instructions: Callable[[], str | None] = lambda: None
    page_size: int = 1000
    list_ttl_ms: int = 60_000
    read_ttl_ms: int = 0
    session_seconds: float = 86_400.0
    question_seconds: float = 900.0
    language: str = "en"
    hub: Hub = field(default_factory=Hub)
    tasks: TaskService | None = None

    @property
    def runs_tasks(self) -> bool:
        return self.tasks is not None and self.tasks.engine is not None

    def offers(self) -> frozenset[str]:
        """The capabilities that are advertised, by name. A provider may offer tasks of other servers, which have only
        the extension."""
        offers = self.provider.offers() | _ALWAYS
        return offers | {"tasks"} if self.runs_tasks else offers

    def capabilities(self) -> dict[str, Json]:
        """Exactly the capabilities that are served (server/discover: capabilities are truthful)."""
        offers = self.offers()
        return {name: settings for name, settings in _CAPABILITIES.items() if name in offers}


_ALWAYS = frozenset({"tools", "logging"})  # any tool may log
_CAPABILITIES: Mapping[str, Json] = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}


class Listing(Value, frozen=True):
    """A list method: ``items`` asks a provider, ``wire_form`` gives the wire form of an item, ``key`` gives its sort
    and page key.
    """

    method: str
    member: str
    items: Callable[[Provider, RequestContext], Awaitable[tuple[Any, ...]]]
    key: Callable[[Any], str]
    wire_form: Callable[[Any], object] = lambda item: item


LISTINGS = (
    Listing(
        "tools/list",
        "tools",
        lambda provider, context: provider.list_tools(context),
        lambda tool: tool.name,
        lambda tool: tool.definition,
    ),
    Listing(
        "resources/list",
        "resources",
        lambda provider, context: provider.list_resources(context),
        lambda resource: resource.uri,
    ),
    Listing(
        "resources/templates/list",
        "resourceTemplates",
        lambda provider, context: provider.list_templates(context),
        lambda template: template.uriTemplate,
    ),
    Listing(
        "prompts/list",
        "prompts",
        lambda provider, context: provider.list_prompts(context),
        lambda prompt: prompt.name,
    ),
)


T = TypeVar("T")


class ListPage(Value, Generic[T], frozen=True):
    """Part of a list: ``next_cursor`` is ``None`` on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None


_CURSOR_SECONDS = 3600.0


def page_of(
    served: ServedProvider, listing: Listing, items: tuple[T, ...], cursor: str | None, principal: Principal
) -> ListPage[T]:
    """Return the page after ``cursor``, a sealed last key: changes between two pages neither skip nor repeat an
    item.
    """
    bound_to = (listing.method, principal.id)
    start = 0
    if cursor is not None:
        try:
            last = served.sealer.open("cursor", bound_to, cursor).decode()
        except BadSeal:
            raise InvalidParams.of(STALE_CURSOR) from None
        start = next((index for index, item in enumerate(items) if listing.key(item) > last), len(items))
    page = items if start == 0 and len(items) <= served.page_size else items[start : start + served.page_size]
    if start + len(page) >= len(items):
        return ListPage(page, None)
    return ListPage(page, served.sealer.seal("cursor", bound_to, listing.key(page[-1]).encode(), _CURSOR_SECONDS))


def check_uri(uri: str) -> None:
    """Raise ``InvalidParams`` unless ``uri`` is an absolute URI (server/resources: servers validate URIs)."""
    if not is_uri(uri):
        raise InvalidParams.of(REQUEST_URI_INVALID, limit=MAX_URI)


def completion_get(params: CompleteParams, context: RequestContext) -> CompletionGet:
    """Turn the params of ``completion/complete`` into a request to a provider."""
    ref, argument = params.ref, params.argument
    of, name = ("prompt", ref.name) if isinstance(ref, PromptRef) else ("template", ref.uri)
    return CompletionGet(of, name, argument.name, argument.value, params.context.arguments, context)


def one_line(text: str) -> str:
    """Sanitize a client's text for a model or a log: at most 200 characters, only printable ones."""
    return "".join(sign if sign.isprintable() else " " for sign in text[:200]).rstrip(". ")


def log_cancellation(params: Mapping[str, Json]) -> None:
    """Log a client's reason for a cancellation, for readers of the log; giving it is optional
    (basic/patterns/cancellation).
    """
    id, reason = params.get("requestId"), params.get("reason")
    text = one_line(reason) if isinstance(reason, str) else ""
    _log.debug("request %r was cancelled: %s", one_line(str(id)), text or "no reason given")


def unsupported(version: str) -> UnsupportedVersion:
    """Return error -32022 with the supported versions and the requested one (basic/versioning)."""
    error = UnsupportedVersion.of(
        PROTOCOL_VERSION_NOT_SUPPORTED, requested=version[:40], supported=", ".join(versions.ALL)
    )
    error.data = {"supported": list(versions.ALL), "requested": version}
    return error


PROGRESS_RATE = 20
LOG_RATE = 100


class _NotificationRate:
    """Counts the messages within a second that begins with the first of them."""

    __slots__ = ("_began", "_count")

    def __init__(self) -> None:
        self._began = float("-inf")
        self._count = 0

    def takes(self, now: float, most: int) -> bool:
        """Whether one more message may be sent. A refused one is not counted."""
        if now - self._began >= 1.0:
            self._began, self._count = now, 0
        if self._count >= most:
            return False
        self._count += 1
        return True

    def remaining(self, now: float) -> float:
        """The remaining seconds of the current second."""
        return max(0.0, self._began + 1.0 - now)


class RequestChannel:
    """Progress and logs of one request, stateless or session-based. Accepts calls from any thread.

    Progress must increase (basic/patterns/progress); progress that does not is dropped, and so is everything after the
    answer. Of progress beyond ``PROGRESS_RATE`` a second, a completing one is sent at once, otherwise the newest one
    when the second is over; of log messages beyond ``LOG_RATE`` a second, only a note that some are left out.
    """

    _progressed: _NotificationRate | None = None  # made when needed: most requests send no progress or logs
    _logged: _NotificationRate | None = None
    _newest: dict[str, Json] | None = None
    _later: asyncio.TimerHandle | None = None

    def __init__(
        self,
        exchange: NotificationChannel,
        token: Id | None,
        level: str | None,
        *,
        with_message: bool = True,
        detach: Callable[[], None] | None = None,
        language: str = "en",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._exchange = exchange
        self._detach = detach
        self._token = token
        self._level = level
        self._with_message = with_message
        self._language = language
        self._clock = clock
        self._last = float("-inf")
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._open = True

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        if self._token is None or not progress > self._last or progress == float("inf"):
            return
        self._last = progress
        self._progressed = self._progressed or _NotificationRate()
        is_complete = total is not None and progress >= total
        params: dict[str, Json] = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and self._with_message:
            params["message"] = message
        if self._progressed.takes(self._clock(), PROGRESS_RATE + is_complete):
            self._newest = None
            self._send("notifications/progress", params)
            return
        encode(params)  # a value that JSON cannot hold is the tool's mistake, and is raised there
        is_first, self._newest = self._newest is None, params
        if is_first:
            self._loop.call_soon_threadsafe(self._postpone)

    def _postpone(self) -> None:
        """Schedule the newest delayed progress for the end of the second, if the call still runs then."""
        if self._open and self._progressed is not None:
            self._later = self._loop.call_later(self._progressed.remaining(self._clock()), self._catch_up)

    def _catch_up(self) -> None:
        params = self._newest
        if params is None or self._progressed is None:
            return
        if not self._progressed.takes(self._clock(), PROGRESS_RATE):
            self._postpone()
            return
        self._newest = None
        self._notify("notifications/progress", params)

    def log(self, level: str, data: Any, logger: str | None) -> None:
        if self._level is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(self._level):
            return
        self._logged = self._logged or _NotificationRate()
        if not self._logged.takes(self._clock(), LOG_RATE):
            if not self._logged.takes(self._clock(), LOG_RATE + 1):
                return
            data, logger = TooltrueError.of(LOG_MESSAGES_DROPPED, limit=LOG_RATE).say(self._language), "tooltrue"
        params: dict[str, Json] = {"level": level, "data": data}
        if logger is not None:
            params["logger"] = logger
        self._send("notifications/message", params)

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
        encode(params)  # a value that JSON cannot hold is the tool's mistake, and is raised there
        if threading.get_ident() == self._thread:
            self._notify(method, params)
        else:
            self._loop.call_soon_threadsafe(self._notify, method, params)

    def _notify(self, method: str, params: Mapping[str, Json]) -> None:
        if self._open:
            self._exchange.notify(method, params)

    def close(self) -> None:
        self._open = False
        if self._later is not None:
            self._later.cancel()
