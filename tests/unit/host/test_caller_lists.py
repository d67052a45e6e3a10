"""Lists of callers: read when they are stale, bounded in number and time, and of one reader alone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

import pytest

from support.clock import skip
from support.hosting import Published, tool
from tooltrue import Client
from tooltrue.errors import ConnectionLost, ToolError, UnknownTool
from tooltrue.host import caller_lists
from tooltrue.host.catalogue import Catalogue, CataloguePart
from tooltrue.host.inspection import PublishedDefinitions, published
from tooltrue.host.remote import Remote
from tooltrue.host.upstream_calls import DirectCalls, ListsOfCallers, ListsRefused
from tooltrue.jsonrpc.wording import CONNECTION_CLOSED
from tooltrue.protocol.types import InputRequiredResult
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import EVERYONE, Principal, ProviderChange, RequestContext

REFUSED = "TT9365"


class Dated(Published):
    """A server whose lists are private, and fresh for ``ttl`` seconds."""

    def __init__(self, *tools: Any, ttl: float = 60.0) -> None:
        super().__init__(*tools)
        self.ttl = ttl

    def _result(self, method: str, params: dict[str, Any]) -> Any:
        result = super()._result(method, params)
        hints = {"ttlMs": int(self.ttl * 1000), "cacheScope": "private"}
        return {**result, **hints} if method.endswith("/list") else result


class Readers:
    """The lists of callers that have a server each, over a new connection for each time."""

    idle_seconds = 600.0
    connects = False

    def __init__(self, **servers: Published) -> None:
        self.servers = servers
        self.refused: set[str] = set()
        self.lost: set[str] = set()
        self.hold: asyncio.Event | None = None

    def reader(self, context: RequestContext) -> Hashable:
        return context.principal.id

    async def published(self, context: RequestContext, before: PublishedDefinitions) -> PublishedDefinitions:
        caller = context.principal.id
        if self.hold is not None:
            await self.hold.wait()
        if caller in self.refused:
            raise ListsRefused(ToolError.of(REFUSED, server="a", problem="no"))
        if caller in self.lost:
            raise ConnectionLost.of(CONNECTION_CLOSED)
        async with Client(self.servers[caller]) as client:
            return await published("a", client, before, refresh=True)

    async def connect(self, context: RequestContext) -> InputRequiredResult | None:
        return None

    def reads(self, caller: str) -> int:
        return self.servers[caller].heard.count("tools/list")


class Calls(DirectCalls):
    def __init__(self, lists: ListsOfCallers) -> None:
        self.lists = lists


def context_of(caller: str) -> RequestContext:
    return RequestContext(Principal(caller), SILENT)


def reading(readers: Readers, test: Callable[[Catalogue], Awaitable[Any]]) -> Any:
    """The result of ``test`` for a catalogue over one server with these readers."""

    async def run() -> Any:
        remote = Remote("a", calls=Calls(readers))
        try:
            return await test(Catalogue([CataloguePart(remote, "a")]))
        finally:
            await remote.close()

    return asyncio.run(run())


async def names(catalogue: Catalogue, caller: str) -> list[str]:
    return [one.name for one in await catalogue.list_tools(context_of(caller))]


def test_a_list_is_read_again_when_its_time_is_over_and_not_before() -> None:
    readers = Readers(ada=Dated(tool("x"), ttl=60))

    async def test(catalogue: Catalogue) -> list[Any]:
        seen: list[Any] = [await names(catalogue, "ada")]
        readers.servers["ada"].tools = [tool("y")]
        for seconds in (59, 2):
            skip(seconds)
            seen.append(await names(catalogue, "ada"))
        return seen

    assert reading(readers, test) == [["a_x"], ["a_x"], ["a_y"]]


def test_a_list_without_a_time_is_read_at_most_every_five_seconds() -> None:
    readers = Readers(ada=Dated(tool("x"), ttl=0))

    async def test(catalogue: Catalogue) -> list[int]:
        counts: list[int] = []
        for seconds in (0, 4, 2, 0):
            skip(seconds)
            await names(catalogue, "ada")
            counts.append(readers.reads("ada"))
        return counts

    assert reading(readers, test) == [1, 1, 2, 2]


def test_a_change_that_the_server_announces_to_a_caller_is_read_before_the_time_of_the_list_is_over() -> None:
    readers = Readers(ada=Dated(tool("x")), bob=Dated(tool("x")))

    async def run() -> list[Any]:
        remote = Remote("a", calls=Calls(readers))
        catalogue = Catalogue([CataloguePart(remote, "a")])
        changes: list[ProviderChange] = []
        catalogue.watch(changes.append)
        seen: list[Any] = [await names(catalogue, caller) for caller in ("ada", "bob")]
        for name in ("y", "z"):  # the second one waits
            for server in readers.servers.values():
                server.tools = [tool(name)]
            assert remote.lists_changed("ada")
            seen += [await names(catalogue, caller) for caller in ("ada", "bob")]
        skip(6)
        await asyncio.sleep(0)
        seen.append(await names(catalogue, "ada"))
        assert {change.caller for change in changes} == {"ada"}
        await remote.close()
        return seen

    assert asyncio.run(run()) == [["a_x"], ["a_x"], ["a_y"], ["a_x"], ["a_y"], ["a_x"], ["a_z"]]


def test_a_change_is_that_of_all_where_callers_have_no_lists_of_their_own() -> None:
    assert not Remote("a").lists_changed("ada")


def test_a_name_that_is_missing_is_looked_up_in_the_newest_list() -> None:
    readers = Readers(ada=Dated(tool("x")))

    async def test(catalogue: Catalogue) -> Any:
        await names(catalogue, "ada")
        readers.servers["ada"].tools = [tool("x"), tool("y")]
        skip(6)
        found = await catalogue.find_tool("a_y", context_of("ada"))
        for _ in range(3):  # a caller that guesses names does not have the server asked each time
            with pytest.raises(UnknownTool):
                await catalogue.find_tool("a_z", context_of("ada"))
        return [found.name, readers.reads("ada")]

    assert reading(readers, test) == ["a_y", 2]


def test_a_call_that_is_known_reads_no_list() -> None:
    readers = Readers(ada=Dated(tool("x"), ttl=0))

    async def test(catalogue: Catalogue) -> int:
        await names(catalogue, "ada")
        skip(100)
        assert catalogue.known_tool("a_x", context_of("ada")) is not None
        await catalogue.find_tool("a_x", context_of("ada"))
        return readers.reads("ada")

    assert reading(readers, test) == 1


def test_a_reader_that_is_idle_is_forgotten_and_so_is_the_oldest_of_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(caller_lists, "_MOST_READERS", 2)
    callers = ("ada", "bob", "eve")
    readers = Readers(**{caller: Dated(tool(caller), ttl=86_400) for caller in callers})

    async def test(catalogue: Catalogue) -> list[Any]:
        for caller in (*callers, "eve", "ada"):  # ada is the oldest of three
            await names(catalogue, caller)
        counts = [readers.reads(caller) for caller in callers]
        skip(601)
        known = [catalogue.known_tool(f"a_{caller}", context_of(caller)) for caller in callers]
        return [counts, known]

    assert reading(readers, test) == [[2, 1, 1], [None, None, None]]


def test_a_server_that_is_away_leaves_a_caller_its_list_and_one_that_refuses_it_does_not() -> None:
    readers = Readers(ada=Dated(tool("x"), ttl=0), bob=Dated(tool("y"), ttl=0))

    async def test(catalogue: Catalogue) -> list[Any]:
        for caller in ("ada", "bob"):
            await names(catalogue, caller)
        readers.lost, readers.refused = {"ada"}, {"bob"}
        skip(6)
        seen = [await names(catalogue, caller) for caller in ("ada", "bob")]
        with pytest.raises(ToolError) as refused:
            await catalogue.find_tool("a_y", context_of("bob"))
        return [*seen, refused.value.code]

    assert reading(readers, test) == [["a_x"], [], REFUSED]


def test_a_server_that_hangs_is_waited_for_ten_seconds_and_its_list_is_announced_to_its_caller() -> None:
    readers = Readers(ada=Dated(tool("x")))
    readers.hold = asyncio.Event()
    changes: list[ProviderChange] = []

    async def test(catalogue: Catalogue) -> list[Any]:
        assert readers.hold is not None
        announced = asyncio.Event()
        catalogue.watch(changes.append)
        catalogue.watch(lambda change: announced.set())
        listing = asyncio.ensure_future(names(catalogue, "ada"))
        await asyncio.sleep(0)
        skip(11)
        seen = [await listing]
        readers.hold.set()
        await announced.wait()
        return [*seen, await names(catalogue, "ada")]

    assert reading(readers, test) == [[], ["a_x"]]
    assert {(change.kind, change.caller) for change in changes} == {("tools", "ada")}


def test_callers_with_equal_lists_share_what_is_made_of_them() -> None:
    readers = Readers(ada=Dated(tool("x")), bob=Dated(tool("x")), eve=Dated(tool("x", "Another.")))

    async def test(catalogue: Catalogue) -> list[bool]:
        ada, bob, eve = [await catalogue.list_tools(context_of(caller)) for caller in ("ada", "bob", "eve")]
        assert [ada[0].definition.description, eve[0].definition.description] == ["Does it.", "Another."]
        return [ada is bob, ada is eve, ada is await catalogue.list_tools(context_of("ada"))]

    assert reading(readers, test) == [True, False, True]


def test_what_rules_are_checked_against_is_of_no_caller() -> None:
    readers = Readers(ada=Dated(tool("x")))

    async def test(catalogue: Catalogue) -> list[Any]:
        await names(catalogue, "ada")
        return [*await catalogue.list_tools(RequestContext(EVERYONE, SILENT)), *catalogue.rows]

    assert reading(readers, test) == []
