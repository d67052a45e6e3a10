"""The lists of one server for the callers of a gateway, where each of them may see others.

They are read when a caller lists, or uses a name that its lists do not have. A caller has the lists of its own
credentials, and no others: where they cannot be read, it has none.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Final

from tooltrue.errors import ConnectionLost, ToolError, TooltrueError, fact_of
from tooltrue.host.definitions import NO_DEFINITIONS, Definitions
from tooltrue.host.inspection import Inspection, PublishedDefinitions
from tooltrue.host.upstream_calls import ListsOfCallers, ListsRefused
from tooltrue.host.wording import CALLER_LISTS_NOT_READ, HOST_SERVER_CRASHED
from tooltrue.protocol.types import replaced
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LIST_KINDS, Kind, RequestContext, Tool

__all__ = ["CallerLists"]

_log = logging.getLogger("tooltrue")

_MOST_READERS: Final = 1_000
_LEAST_SECONDS: Final = 5.0
"""The lists of one reader are not read more often than that, whatever a server or a caller says."""
_WAITING_SECONDS: Final = 10.0
"""How long a caller waits for a list; then it gets that of before, so that one server does not hold up the others."""


@dataclass(eq=False, slots=True)
class _ReaderLists:
    """The lists of one reader. ``again`` is when they may be read again, and ``stale`` when they have to be."""

    caller: str
    used: float
    definitions: Definitions | None = None
    listing: PublishedDefinitions | None = None
    problem: ToolError | None = None
    again: float = float("-inf")
    stale: float = float("-inf")
    reading: asyncio.Task[None] | None = None


class CallerLists:
    """The lists of the server ``server``, by reader: a caller with its credentials, as ``source`` tells them apart.

    ``inspect`` admits what was read; the tools that it is given are used again where they are equal. ``changed`` is
    called when a list has changed that its reader knows, with the id of the caller. ``shared`` returns the definitions
    that the host itself has read. ``own`` is a tool of the gateway that each reader has beside its own. At most 1,000
    readers are remembered, each for ``source.idle_seconds`` after its last use.
    """

    def __init__(
        self,
        server: str,
        source: ListsOfCallers,
        inspect: Callable[[PublishedDefinitions, Mapping[str, Tool]], Awaitable[Inspection]],
        changed: Callable[[Kind, str], None],
        shared: Callable[[], Definitions],
        *,
        own: Tool | None = None,
    ) -> None:
        self._server = server
        self._shared = shared
        self._source = source
        self._inspect = inspect
        self._changed = changed
        self._own: Mapping[str, Tool] = {} if own is None else {own.name: own}
        self._without = NO_DEFINITIONS if own is None else Definitions(self._own, tool_list=(own,))
        self._readers: OrderedDict[Hashable, _ReaderLists] = OrderedDict()
        self._reading: set[asyncio.Task[None]] = set()
        self._resting: dict[str, bool] = {}
        """The callers of which a change was announced a moment ago, and whether there has been another one since."""

    def definitions(self, context: RequestContext) -> Definitions:
        """The definitions that this caller has, as far as they have been read."""
        reader = self._reader(context)
        return self._without if reader is None or reader.definitions is None else reader.definitions

    def problem(self, context: RequestContext) -> ToolError | None:
        """Why this caller has no definitions, if they could not be read."""
        reader = self._reader(context)
        return None if reader is None else reader.problem

    @property
    def every(self) -> tuple[Definitions, ...]:
        """The definitions of all readers, each once."""
        every = (reader.definitions for reader in self._readers.values())
        return tuple(dict.fromkeys(one for one in every if one is not None))

    async def prepare(self, context: RequestContext, *, is_missing: bool = False) -> None:
        """Read the lists of this caller if they are stale, or if a name ``is_missing`` in them. Returns once they are
        read, could not be, or take too long."""
        reader = self._reader(context) or self._new_reader(context)
        now = self._now()
        is_due = is_missing or reader.definitions is None or now >= reader.stale
        if reader.reading is None and is_due and now >= reader.again:
            reader.again = now + _LEAST_SECONDS
            self._begin(reader, context)
        if reader.reading is not None:
            await asyncio.wait((reader.reading,), timeout=_WAITING_SECONDS)
        if reader.definitions is None:
            reader.definitions = self._without

    async def read_again(self, context: RequestContext) -> None:
        """Read the lists of this caller now."""
        reader = self._reader(context) or self._new_reader(context)
        if reader.reading is None:
            self._begin(reader, context)
        await self.prepare(context)

    def announced(self, caller: str) -> None:
        """Have the lists of a caller read again when they are used next, and those who follow them notified: the server
        has announced that they have changed. That counts every five seconds, and in between at their end."""
        if caller in self._resting:
            self._resting[caller] = True
            return
        own = [reader for reader in self._readers.values() if reader.caller == caller]
        # A list that is being read now may be from before the change.
        self._resting[caller] = any(reader.reading is not None for reader in own)
        asyncio.get_running_loop().call_later(_LEAST_SECONDS, self._rested, caller)
        for reader in own:
            reader.stale = reader.again = float("-inf")
        for kind in LIST_KINDS:
            self._changed(kind, caller)

    def _rested(self, caller: str) -> None:
        if self._resting.pop(caller):
            self.announced(caller)

    def expire(self) -> None:
        """Have all lists read again when they are used next: their verdicts may be others by now."""
        for reader in self._readers.values():
            reader.stale = reader.again = float("-inf")

    async def close(self) -> None:
        """End what is being read."""
        for task in self._reading:
            task.cancel()
        await asyncio.gather(*self._reading, return_exceptions=True)

    # --- readers ------------------------------------------------------------------------------------------------------

    def _reader(self, context: RequestContext) -> _ReaderLists | None:
        key, now = self._source.reader(context), self._now()
        while self._readers:
            oldest = next(iter(self._readers))
            if now - self._readers[oldest].used <= self._source.idle_seconds:
                break
            del self._readers[oldest]
        if (reader := self._readers.get(key)) is None:
            return None
        reader.used = now
        self._readers.move_to_end(key)
        return reader

    def _new_reader(self, context: RequestContext) -> _ReaderLists:
        reader = _ReaderLists(context.principal.id, self._now())
        self._readers[self._source.reader(context)] = reader
        while len(self._readers) > _MOST_READERS:
            self._readers.popitem(last=False)
        return reader

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    # --- reading ------------------------------------------------------------------------------------------------------

    def _begin(self, reader: _ReaderLists, context: RequestContext) -> None:
        # Of the request only what its credentials need: it may end before this does.
        alone = RequestContext(context.principal, SILENT, context.capabilities, carried=context.carried)
        task = asyncio.get_running_loop().create_task(self._read(reader, alone), context=contextvars.Context())
        reader.reading = task
        self._reading.add(task)
        task.add_done_callback(self._reading.discard)

    async def _read(self, reader: _ReaderLists, context: RequestContext) -> None:
        now = self._now()
        try:
            listing = await self._source.published(context, reader.listing or PublishedDefinitions())
            inspection = await self._inspect(listing, self._tools_known(reader))
        except ListsRefused as refusal:
            reader.listing, reader.problem = None, refusal.error
            self._put(reader, self._without)
        except TooltrueError as error:
            self._keep(reader, error)
        except Exception as error:  # noqa: BLE001 - the lists of other servers are not concerned
            _log.error("the lists of the server %s: internal error", self._server, exc_info=error)
            self._keep(reader, ConnectionLost.of(HOST_SERVER_CRASHED, server=self._server))
        else:
            reader.listing, reader.problem, reader.stale = listing, None, now + listing.seconds
            inspection = replaced(inspection, tools={**self._own, **inspection.tools})
            self._put(reader, (reader.definitions or NO_DEFINITIONS).inspected(inspection))
        finally:
            reader.reading = None

    def _keep(self, reader: _ReaderLists, error: TooltrueError) -> None:
        """Leave the reader what it has: a server that is away for a while lists the same again afterwards."""
        if reader.listing is None:
            reader.problem = ToolError.of(CALLER_LISTS_NOT_READ, server=self._server, problem=fact_of(error))
            self._put(reader, self._without)

    def _put(self, reader: _ReaderLists, definitions: Definitions) -> None:
        before, reader.definitions = reader.definitions, self._in_common(definitions)
        if before is not None:  # else nobody knows another list
            for kind in definitions.changes_since(before):
                self._changed(kind, reader.caller)

    def _in_common(self, definitions: Definitions) -> Definitions:
        """The equal definitions that another reader has, or these: what is made of them is made once."""
        return next((one for one in (self._shared(), *self.every) if one.is_equal(definitions)), definitions)

    def _tools_known(self, reader: _ReaderLists) -> dict[str, Tool]:
        every = (self._shared(), *self.every, reader.definitions or NO_DEFINITIONS)
        return {name: tool for one in every for name, tool in one.tools.items() if tool is not self._own.get(name)}
