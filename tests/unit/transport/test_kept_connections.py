"""Connections that are used again: which requests share one, and when it is closed."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import TypeAlias

import pytest

from tooltrue.testing.state import LIMIT
from tooltrue.transport.fetch import Fetcher, NotFetched
from tooltrue.transport.kept_connections import KeptConnections

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


class Place:
    """A server on loopback: its connections, how many of them are open, and the requests of each."""

    def __init__(self, answer: bytes = _ANSWER) -> None:
        self.answer = answer
        self.requests: list[list[bytes]] = []
        self.open = 0
        self.port = 0
        self._writers: list[asyncio.StreamWriter] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests = list[bytes]()
        self.requests.append(requests)
        self._writers.append(writer)
        self.open += 1
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                requests.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(self.answer)
        self.open -= 1
        writer.close()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncGenerator[str]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield f"http://api.example:{self.port}/a"
            await self.hang_up()

    async def hang_up(self) -> None:
        for writer in self._writers:
            writer.close()
        await until(lambda: self.open == 0)

    @property
    def counts(self) -> list[int]:
        """The requests of each connection."""
        return [len(one) for one in self.requests]


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not is_so():  # noqa: ASYNC110 - no event tells of it
            await asyncio.sleep(0.005)


Names: TypeAlias = Callable[[str, int], Awaitable[list[str]]]


async def loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


def fetcher(*urls: str, resolve: Names = loopback, kept: KeptConnections | None = None) -> Fetcher:
    return Fetcher(urls, resolve=resolve, seconds=LIMIT, kept=kept or KeptConnections())


def test_requests_that_read_share_a_connection_and_others_have_one_of_their_own():
    place = Place()

    async def use() -> None:
        async with place.running() as url:
            fetched = fetcher(url)
            for method in ("GET", "GET", "POST", "DELETE", "HEAD", "GET"):
                place.answer = _ANSWER.removesuffix(b"hi") if method == "HEAD" else _ANSWER
                assert (await fetched.request(method, url)).status == 200

    asyncio.run(use())
    assert place.counts == [4, 1, 1]


def test_requests_at_the_same_time_have_connections_of_their_own():
    place = Place()

    async def use() -> None:
        async with place.running() as url:
            fetched = fetcher(url)
            await asyncio.gather(*(fetched.request("GET", url) for _ in range(3)))
            await asyncio.gather(*(fetched.request("GET", url) for _ in range(3)))

    asyncio.run(use())
    assert place.counts == [2, 2, 2]


def test_a_connection_is_that_of_the_address_that_was_checked():
    """The name leads elsewhere from the second request on: the connection to the first address is not used for it."""
    place = Place()
    answers = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.1"]])

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    async def use() -> None:
        async with place.running() as url:
            fetched = fetcher(url, resolve=resolve)
            await fetched.request("GET", url)
            with pytest.raises(NotFetched):  # nothing listens there
                await fetched.request("GET", url)
            await fetched.request("GET", url)

    asyncio.run(use())
    assert place.counts == [2]


def test_an_address_that_is_refused_is_not_reached_by_an_open_connection():
    place = Place()
    answers = iter([["127.0.0.1"], ["169.254.169.254"]])

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    async def use() -> None:
        async with place.running() as url:
            fetched = fetcher(url, resolve=resolve)
            await fetched.request("GET", url)
            with pytest.raises(NotFetched) as caught:
                await fetched.request("GET", url)
            assert caught.value.why == "refused"

    asyncio.run(use())
    assert place.counts == [1]


def test_another_name_of_the_same_address_has_a_connection_of_its_own():
    place = Place()

    async def use() -> None:
        async with place.running() as url:
            other = url.replace("api.example", "other.example")
            fetched = fetcher(url, other)
            for one in (url, other, url, other):
                await fetched.request("GET", one)

    asyncio.run(use())
    assert place.counts == [2, 2]
    assert all(b"host: api.example" in one for one in place.requests[0])


def test_a_connection_that_the_server_has_closed_is_opened_again():
    place = Place()

    async def use() -> None:
        async with place.running() as url:
            fetched = fetcher(url)
            await fetched.request("GET", url)
            await place.hang_up()
            await fetched.request("GET", url)

    asyncio.run(use())
    assert place.counts == [1, 1]


def test_an_idle_connection_is_closed():
    place = Place()

    async def use() -> None:
        async with place.running() as url:
            fetched = fetcher(url, kept=KeptConnections(idle_seconds=0.05))
            await fetched.request("GET", url)
            assert place.open == 1
            await until(lambda: place.open == 0)
            await fetched.request("GET", url)

    asyncio.run(use())
    assert place.counts == [1, 1]


def test_an_answer_that_is_not_read_to_its_end_ends_its_connection():
    place = Place(b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n" + b"x" * 50)

    async def use() -> None:
        async with place.running() as url:
            fetched = Fetcher((url,), resolve=loopback, seconds=LIMIT, max_bytes=10, kept=KeptConnections())
            for _ in range(2):
                with pytest.raises(NotFetched):
                    await fetched.request("GET", url)

    asyncio.run(use())
    assert place.counts == [1, 1]


@contextlib.contextmanager
def in_a_thread(place: Place) -> Iterator[str]:
    """The URL of a server in an event loop of its own."""
    urls, stop = queue.Queue[str](), threading.Event()

    async def serve() -> None:
        async with place.running() as url:
            urls.put(url)
            await asyncio.to_thread(stop.wait)

    thread = threading.Thread(target=asyncio.run, args=[serve()])
    thread.start()
    try:
        yield urls.get(timeout=LIMIT)
    finally:
        stop.set()
        thread.join()


def test_connections_end_with_their_event_loop_and_another_loop_has_its_own():
    place, kept = Place(), KeptConnections()

    async def use(url: str) -> None:
        fetched = fetcher(url, kept=kept)
        await fetched.request("GET", url)
        await fetched.request("GET", url)
        assert place.open == 1

    with in_a_thread(place) as url:
        for _ in range(2):
            asyncio.run(use(url))
            asyncio.run(until(lambda: place.open == 0))
    assert place.counts == [2, 2]


def test_connections_are_kept_for_a_few_places_alone():
    places = [Place() for _ in range(6)]

    async def use() -> None:
        async with contextlib.AsyncExitStack() as stack:
            urls = [await stack.enter_async_context(place.running()) for place in places]
            fetched = fetcher(*urls)
            for url in urls * 2:
                await fetched.request("GET", url)
            await until(lambda: [place.open for place in places] == [1, 1, 1, 1, 0, 0])

    asyncio.run(use())
    assert [place.counts for place in places] == [[2], [2], [2], [2], [1, 1], [1, 1]]
