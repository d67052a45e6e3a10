"""Tests that call the application directly: request bodies that arrive slowly, or never."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from tooltrue import Server
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.pipeline import standard
from tooltrue.protocol.types import Implementation
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.local import LocalToolset
from tooltrue.transport.carrier import Carrier
from tooltrue.transport.http_server import AllowedHosts, HttpApp, Reply, Stream

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/mcp",
    "headers": [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"10")],
    "client": ("127.0.0.1", 1),
}


PROVIDER = standard(LocalToolset())
SERVED = ServedProvider(Implementation(name="t", version="1"), PROVIDER, Sealer([new_key()]), MemoryFacts())
ENDPOINT = ProtocolServer(SERVED).http()


async def answers(
    events: list[Mapping[str, Any]], *, endpoint: Any = ENDPOINT, limits: Mapping[str, Any] = {}, **scope: Any
) -> list[Mapping[str, Any]]:
    """The messages that the application sends for ``events``, with no event after them."""
    return await answers_to(in_turn(events), endpoint=endpoint, limits=limits, **scope)


async def answers_to(
    receive: Callable[[], Awaitable[Any]], *, endpoint: Any = ENDPOINT, limits: Mapping[str, Any] = {}, **scope: Any
) -> list[Mapping[str, Any]]:
    sent: list[Mapping[str, Any]] = []

    async def send(event: Any) -> None:
        sent.append(event)

    app = HttpApp(endpoint, AllowedHosts(), **limits)
    async with app.serving():
        await app({**SCOPE, **scope}, receive, send)
    return sent


def in_turn(events: list[Mapping[str, Any]]) -> Callable[[], Awaitable[Any]]:
    """An ASGI ``receive`` that returns these events, and then suspends for ever."""
    more = iter(events)

    async def receive() -> Any:
        for event in more:
            return event
        return await asyncio.Event().wait()

    return receive


class Asked:
    """An ASGI ``receive`` that never suspends: ``each`` is its answer every time. ``count`` says how often it was
    asked; after ``often`` times, ``enough`` is set."""

    def __init__(self, each: Mapping[str, Any], often: int) -> None:
        self._each, self._often = each, often
        self.count = 0
        self.enough = asyncio.Event()

    async def __call__(self) -> Mapping[str, Any]:
        self.count += 1
        assert self.count < 1_000_000, "the event loop never gets a turn"
        if self.count >= self._often:
            self.enough.set()
        return self._each


class Slow:
    """An endpoint that answers once ``until`` is set."""

    def __init__(self, until: asyncio.Event) -> None:
        self._until = until

    async def open(self) -> None: ...

    async def admit(self, carrier: Carrier) -> str:
        return "anyone"

    async def post(self, body: bytes, caller: str, stream: Stream) -> Reply:
        return await self.listen(caller, stream)

    async def listen(self, caller: str, stream: Stream) -> Reply:
        await self._until.wait()
        for _ in range(10):  # turns of the loop, in which one that is asked without end would be asked again
            await asyncio.sleep(0)
        return Reply(200, b"{}")

    async def delete(self, caller: str) -> Reply:
        return Reply(200)

    def closing(self) -> None: ...


def part(data: bytes, more: bool = True) -> Mapping[str, Any]:
    return {"type": "http.request", "body": data, "more_body": more}


def test_b54_a_body_that_never_comes_is_given_up():
    sent = asyncio.run(answers([], limits={"body_seconds": 0.01}))
    assert sent[0]["status"] == 408


def test_b54_a_body_that_stops_in_the_middle_is_given_up():
    sent = asyncio.run(answers([part(b"{")], limits={"body_seconds": 0.01}))
    assert sent[0]["status"] == 408


@pytest.mark.parametrize("data", [b"", b"x"])
def test_b54_a_body_of_endless_parts_that_are_all_there_is_given_up(data: bytes):
    """An application server may have each part ready: ``receive`` never suspends."""

    async def main() -> list[Mapping[str, Any]]:
        return await answers_to(Asked(part(data), 1), limits={"body_seconds": 0.01})

    assert asyncio.run(main())[0]["status"] == 408


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_server_that_answers_at_once_without_a_disconnect_is_not_asked_for_ever(method: str):
    """One message that ends the body, again and again: two are heard beyond the body, and no more."""

    async def main() -> tuple[int, int]:
        received = Asked(part(b"{}", more=False), 3 if method == "POST" else 2)
        headers = [*SCOPE["headers"], (b"accept", b"text/event-stream")]
        sent = await answers_to(received, endpoint=Slow(received.enough), method=method, headers=headers)
        return sent[0]["status"], received.count

    assert asyncio.run(main()) == (200, 3 if method == "POST" else 2)


def test_a_listener_whose_body_never_ends_leaves_the_loop_its_turns():
    async def main() -> tuple[int, int]:
        received = Asked(part(b"x"), 10)
        headers = [*SCOPE["headers"], (b"accept", b"text/event-stream")]
        sent = await answers_to(received, endpoint=Slow(received.enough), method="GET", headers=headers)
        return sent[0]["status"], received.count

    status, count = asyncio.run(main())
    assert status == 200
    assert count < 100


@pytest.mark.parametrize("before", [[], [{"type": "http.request"}], [{"type": "http.request", "more_body": True}] * 9])
def test_a_client_disconnect_ends_its_request_after_any_earlier_events(before: list[Mapping[str, Any]]):
    async def main() -> list[Mapping[str, Any]]:
        events = [part(b"{}", more=False), *before, {"type": "http.disconnect"}]
        return await answers(events, endpoint=Slow(asyncio.Event()))

    assert asyncio.run(main()) == []


def test_b54_twin_a_body_in_many_parts_is_read():
    sent = asyncio.run(answers([part(b"{"), part(b"}", more=False)], limits={"body_seconds": 10}))
    assert sent[0]["status"] == 400
    assert b"TT1002" in sent[1]["body"]


def test_a_body_that_grows_beyond_the_limit_is_refused_as_it_comes():
    sent = asyncio.run(answers([part(b"x" * 8), part(b"x" * 8)], limits={"max_body": 10}))
    assert sent[0]["status"] == 413


@pytest.mark.parametrize(
    ("length", "status"),
    [
        *((b"9" * 5_000, 413), (b"11", 413), (b"99999999999999999999999", 413)),
        *((text, 400) for text in (b"", b"\xb2", b"+5", b"-1", b"5.0", b"5, 5", b"0x5", b"1_0", b"5 5", b"a" * 5_000)),
        *((text.encode(), 400) for text in ("٥", "１")),
    ],
)
def test_a_length_that_is_too_large_or_no_length_is_refused_unread(length: bytes, status: int):
    """No event ever comes. Not every server before this application has looked at the header."""
    headers = [*SCOPE["headers"][:2], (b"content-length", length)]
    sent = asyncio.run(answers([], limits={"max_body": 10}, headers=headers))
    assert (sent[0]["status"], b"TT1028" in sent[1]["body"]) == (status, True)


@pytest.mark.parametrize("length", [b"10", b"2", b"0000000000000000000000000000002"])
def test_a_body_of_a_length_that_is_allowed_is_read(length: bytes):
    headers = [*SCOPE["headers"][:2], (b"content-length", length)]
    sent = asyncio.run(answers([part(b"{}", more=False)], limits={"max_body": 10}, headers=headers))
    assert b"TT1002" in sent[1]["body"]


def test_two_lengths_are_refused():
    sent = asyncio.run(answers([], headers=[*SCOPE["headers"], (b"content-length", b"11")]))
    assert (sent[0]["status"], b"TT1027" in sent[1]["body"]) == (400, True)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_an_unauthenticated_request_is_refused_before_its_body_is_read(method: str):
    """No event ever comes: an application that waited for one would not answer."""
    closed = ProtocolServer(SERVED).http(lambda carrier: None)
    sent = asyncio.run(answers([], endpoint=closed, method=method))
    assert (sent[0]["status"], b"TT1101" in sent[1]["body"]) == (401, True)


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        (b"application/json", 400),
        (b"Application/JSON ; Charset=UTF-8", 400),
        (b'application/json; charset="utf-8"; x=y', 400),
        (b"application/json;", 400),
        (b"application/json; charset=latin-1", 415),
        (b"application/json; charset=utf-16", 415),
        (b"application/jsonp", 415),
        (b"text/plain; application/json", 415),
        (b"", 415),
    ],
)
def test_a_body_is_json_in_utf_8(content_type: bytes, status: int):
    headers = [(b"host", b"localhost"), (b"content-type", content_type)]
    sent = asyncio.run(answers([part(b"junk", more=False)], headers=headers))
    assert sent[0]["status"] == status


@pytest.mark.parametrize(("path", "root"), [("/mcp", ""), ("/mcp/", ""), ("/under/mcp", "/under")])
def test_the_endpoint_is_found_where_it_is_mounted(path: str, root: str):
    sent = asyncio.run(answers([part(b"junk", more=False)], path=path, root_path=root))
    assert sent[0]["status"] == 400


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "get"])
def test_other_methods_are_405_and_those_that_are_there_are_named(method: str):
    sent = asyncio.run(answers([], method=method))
    headers = dict(sent[0]["headers"])
    assert (sent[0]["status"], headers[b"allow"], headers[b"cache-control"]) == (405, b"POST, GET, DELETE", b"no-store")


def test_a_client_that_goes_away_in_the_middle_of_its_body_gets_no_answer():
    assert asyncio.run(answers([part(b"{"), {"type": "http.disconnect"}])) == []


@pytest.mark.parametrize(("status", "events"), [(200, 2), (400, 2), (503, 1)])
def test_an_answer_with_another_status_goes_by_a_stream_that_has_begun(status: int, events: int):
    async def main() -> bytes:
        sent: list[Any] = []

        async def send(event: Any) -> None:
            sent.append(event)

        stream = Stream(send)
        stream.notify("notifications/progress", {})
        await stream.finish(Reply(status, b"{}"))
        return b"".join(event.get("body", b"") for event in sent)

    assert asyncio.run(main()).count(b"event: message") == events


@pytest.mark.requirement("HTTP-22")
def test_a_stream_that_was_abandoned_never_begins():
    async def main() -> list[Any]:
        sent: list[Any] = []

        async def send(event: Any) -> None:
            sent.append(event)

        stream = Stream(send)
        stream.abandon()
        stream.notify("notifications/progress", {})
        stream.open()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return sent

    assert asyncio.run(main()) == []


def test_a_request_outside_of_the_lifespan_runs_no_tool_and_gets_an_instruction():
    server, wiped = Server("t", confirm=Confirm.never()), list[int]()
    server.add_tool(lambda: wiped.append(1), name="wipe", description="Destroy.", effect="destructive")
    app = server.http_app()
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wipe"}}'
    headers = [*SCOPE["headers"][:2], (b"content-length", b"%d" % len(body)), (b"mcp-protocol-version", b"2025-06-18")]

    async def asked() -> tuple[int, bytes]:
        sent: list[Any] = []

        async def send(event: Any) -> None:
            sent.append(event)

        receive = in_turn([part(body, more=False)])
        await app({**SCOPE, "headers": headers}, receive, send)
        return sent[0]["status"], sent[1]["body"]

    async def scenario() -> list[tuple[int, bytes]]:
        answers = [await asked()]
        async with app.serving():
            answers.append(await asked())
        return [*answers, await asked()]

    before, within, after = asyncio.run(scenario())
    assert (before[0], within[0], after[0]) == (503, 200, 503)
    assert b"lifespan" in before[1]
    assert wiped == [1]
