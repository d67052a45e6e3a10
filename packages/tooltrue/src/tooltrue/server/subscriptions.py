"""Subscribers to changes, and the decision whether a change concerns them.

Changes within one turn of the loop are delivered together. They may come from any thread, and from other workers.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import secrets
import threading
from collections.abc import Awaitable, Callable, Collection, Iterable
from typing import Protocol, TypeAlias

from tooltrue.errors import InvalidParams, RpcError, StateError, ToolError
from tooltrue.jsonrpc.messages import Json, decode, encode
from tooltrue.server.wording import TOO_MANY_SUBSCRIPTIONS
from tooltrue.state.facts import Facts
from tooltrue.tools.toolset import Provider
from tooltrue.tools.vocabulary import Kind, ProviderChange, RequestContext, ResourceRead

__all__ = ["KINDS", "ChangeSubscription", "Followed", "Follows", "Hub", "Relay", "SharedFollowed"]

_log = logging.getLogger("tooltrue")

OnChanges: TypeAlias = Callable[[frozenset[ProviderChange]], None]
Notify: TypeAlias = Callable[[str, Json], None]
NotificationOfTask: TypeAlias = Callable[[str], Awaitable[tuple[str, Json] | None]]
"""Returns the method and the parameters for a task, or ``None`` if it is not followed."""

KINDS: tuple[Kind, ...] = ("tools", "prompts", "resources")
"""The kinds of lists; resources and templates are one kind."""

MAX_FOLLOWED = 1_000


class Hub:
    """Listeners, for as long as it is not ``closed``. ``changed`` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[object, tuple[asyncio.AbstractEventLoop, OnChanges]] = {}
        self._undelivered: dict[object, set[ProviderChange]] = {}
        self.closed = False

    def listen(self, callback: OnChanges) -> Callable[[], None]:
        """Call ``callback`` on this loop after changes. Returns a function that ends it."""
        key = object()
        self._listeners[key] = (asyncio.get_running_loop(), callback)

        def end() -> None:
            self._listeners.pop(key, None)
            self._undelivered.pop(key, None)

        return end

    @property
    def listening(self) -> int:
        """The number of listeners."""
        return len(self._listeners)

    def changed(self, change: ProviderChange) -> None:
        for key, (loop, _) in tuple(self._listeners.items()):
            if loop.is_closed():
                continue
            with self._lock:
                is_first = key not in self._undelivered
                self._undelivered.setdefault(key, set()).add(change)
            if is_first:
                loop.call_soon_threadsafe(self._deliver, key)

    def _deliver(self, key: object) -> None:
        with self._lock:
            changes = self._undelivered.pop(key, None)
        if changes and key in self._listeners:
            self._listeners[key][1](frozenset(changes))

    def close(self) -> None:
        """End listeners that last as long as the server: each is called a last time, with an empty set."""
        self.closed = True
        for loop, callback in tuple(self._listeners.values()):
            if not loop.is_closed():
                loop.call_soon_threadsafe(callback, frozenset[ProviderChange]())


# --- followed resources ----------------------------------------------------------------------------------------------


class Follows(Protocol):
    """The resources that a subscriber follows, by URI. ``add`` raises ``InvalidParams`` for too many."""

    async def add(self, uri: str) -> None: ...

    async def remove(self, uri: str) -> None: ...

    async def holds(self, uri: str) -> bool: ...


class Followed:
    """Stored in this process: those of a subscription, or of a session on a channel."""

    def __init__(self, uris: Iterable[str] = ()) -> None:
        self._uris = set(uris)

    async def add(self, uri: str) -> None:
        if len(self._uris) >= MAX_FOLLOWED and uri not in self._uris:
            raise InvalidParams.of(TOO_MANY_SUBSCRIPTIONS, limit=MAX_FOLLOWED)
        self._uris.add(uri)

    async def remove(self, uri: str) -> None:
        self._uris.discard(uri)

    async def holds(self, uri: str) -> bool:
        return uri in self._uris


class SharedFollowed:
    """Stored in the facts, one row per resource: those of a session whose requests reach any worker.

    ``session`` is its name; the rows expire after ``seconds``.
    """

    def __init__(self, facts: Facts, session: str, seconds: float) -> None:
        self._facts = facts
        self._session = session
        self._seconds = seconds

    async def add(self, uri: str) -> None:
        # Rows cannot be counted, so the rate of new ones is limited.
        if await self._facts.take(self._key(""), per_second=1.0, burst=MAX_FOLLOWED):
            raise InvalidParams.of(TOO_MANY_SUBSCRIPTIONS, limit=MAX_FOLLOWED)
        await self._facts.put(self._key(uri), b"1", self._seconds)

    async def remove(self, uri: str) -> None:
        await self._facts.remove(self._key(uri))

    async def holds(self, uri: str) -> bool:
        return await self._facts.get(self._key(uri)) is not None

    def _key(self, uri: str) -> str:
        return "followed:" + hashlib.sha256(encode([self._session, uri])).hexdigest()


# --- one subscriber --------------------------------------------------------------------------------------------------


class ChangeSubscription:
    """Notifications for one subscriber: a list that has changed for it, a resource that it follows and may read.

    ``kinds`` are the lists that it follows, and ``notification_of_task`` makes the notification of a change of a task
    that it follows. A caller of ``listen`` must call ``deliver`` or ``end``.
    """

    def __init__(
        self,
        hub: Hub,
        provider: Provider,
        context: RequestContext,
        kinds: Collection[Kind],
        follows: Follows,
        notification_of_task: NotificationOfTask | None = None,
    ) -> None:
        self._hub = hub
        self._provider = provider
        self._context = context
        self._kinds = kinds
        self._follows = follows
        self._notification_of_task = notification_of_task
        self._changes: set[ProviderChange] = set()
        self._something = asyncio.Event()
        self._lists: dict[Kind, object] = {}
        self.end: Callable[[], None] = lambda: None

    def listen(self) -> None:
        """Start to collect changes: from now on none is missed."""
        self.end = self._hub.listen(self._add_changes)

    def _add_changes(self, changes: frozenset[ProviderChange]) -> None:
        self._changes |= changes
        self._something.set()

    def announce(self, change: ProviderChange) -> None:
        """Deliver a change that concerns this subscriber alone."""
        self._add_changes(frozenset({change}))

    async def deliver(self, notify: Notify) -> None:
        """Send a notification for each change, until the server ends."""
        try:
            await self._remember_lists()
            while not self._hub.closed:
                await self._something.wait()
                self._something.clear()
                changes, self._changes = self._changes, set()
                for change in sorted(changes, key=lambda change: (change.kind, change.uri, change.caller)):
                    if change.kind == "task":
                        await self._notify_of_task(change.uri, notify)
                    elif await self._is_new(change):
                        notify(*_notification_of(change))
        finally:
            self.end()

    async def _remember_lists(self) -> None:
        """Remember the current lists, except those that change meanwhile: these count as changed."""
        lists: dict[Kind, object] = {kind: await self._list(kind) for kind in self._kinds}
        await asyncio.sleep(0)  # earlier changes have been delivered by now
        meanwhile = {change.kind for change in self._changes}
        self._lists = {kind: items for kind, items in lists.items() if kind not in meanwhile}

    async def _is_new(self, change: ProviderChange) -> bool:
        if change.caller not in ("", self._context.principal.id):
            return False
        if change.kind == "resource":
            return await self._follows.holds(change.uri) and await self._may_read(change.uri)
        if change.kind not in self._kinds:
            return False
        items = await self._list(change.kind)
        is_new = change.kind not in self._lists or items != self._lists[change.kind]
        self._lists[change.kind] = items
        return is_new

    async def _notify_of_task(self, task: str, notify: Notify) -> None:
        if self._notification_of_task is None:
            return
        with contextlib.suppress(RpcError, ToolError):  # expired, or forbidden by now
            if (notification := await self._notification_of_task(task)) is not None:
                notify(*notification)

    async def _may_read(self, uri: str) -> bool:
        try:
            await self._provider.find_entries(ResourceRead(uri, self._context))
        except RpcError:
            return False
        return True

    async def _list(self, kind: Kind) -> object:
        provider, context = self._provider, self._context
        try:
            match kind:
                case "tools":
                    return await provider.list_tools(context)
                case "prompts":
                    return await provider.list_prompts(context)
                case _:
                    return await provider.list_resources(context), await provider.list_templates(context)
        except Exception as error:  # noqa: BLE001 - a client that lists gets the error; here it counts as another list
            _log.warning("the list of %s cannot be made: %s", kind, type(error).__name__)
            return error


def _notification_of(change: ProviderChange) -> tuple[str, dict[str, Json]]:
    if change.kind == "resource":
        return "notifications/resources/updated", {"uri": change.uri}
    return f"notifications/{change.kind}/list_changed", {}


# --- other workers ---------------------------------------------------------------------------------------------------

_CHANNEL = "changed"
_MOST_UNSENT = 1_000


class Relay:
    """Publishes changes of this worker to the others, and delivers theirs to the listeners here.

    Lists are compared by the listeners, so a change elsewhere is reported only where it is visible.
    """

    def __init__(self, facts: Facts, provider: Provider, hub: Hub) -> None:
        self._facts = facts
        self._provider = provider
        self._hub = hub
        self._me = secrets.token_hex(8)
        self._unsent: dict[ProviderChange, None] = {}
        self._sender: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Subscribe. Call on the event loop that serves."""
        loop = asyncio.get_running_loop()

        def changed(change: ProviderChange) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._start, change)

        await self._facts.subscribe(_CHANNEL, self._add_changes)
        self._provider.watch(changed)

    def _start(self, change: ProviderChange) -> None:
        """Publish a change after those that wait already; one that waits itself is published once, and one too many is
        lost, as events may be."""
        if len(self._unsent) < _MOST_UNSENT:
            self._unsent[change] = None
        if self._sender is None or self._sender.done():
            self._sender = asyncio.get_running_loop().create_task(self._publish_all())

    async def _publish_all(self) -> None:
        while self._unsent:
            change = next(iter(self._unsent))
            del self._unsent[change]
            try:
                await self._facts.publish(_CHANNEL, encode([self._me, change.kind, change.uri, change.caller]))
            except StateError as error:
                _log.warning("other workers could not be told of a change: %s", error)

    def _add_changes(self, payload: bytes) -> None:
        sender, kind, uri, caller = decode(payload)
        if sender != self._me:  # our own changes have been delivered already
            self._hub.changed(ProviderChange(kind, uri, caller))
