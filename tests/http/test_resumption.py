"""Streams of legacy sessions that outlive their connection (2025-11-25, basic/transports)."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from support.wire.mounting import Mounts
from support.wire.raw_http import JSON, Answer, Endpoint, Headers, Stream, in_session
from tooltrue import Context, Form, Server
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.vocabulary import Principal
from tooltrue.transport.carrier import Carrier

KEY = b"0123456789abcdef"


def by_name(carrier: Carrier) -> Principal | None:
    """Accept the authorization header as the principal's id, without a check."""
    return Principal((carrier.headers or {}).get("authorization", "nobody"))


class Kitchen:
    """Tools that tell how far they are, and go on when they are told to."""

    def __init__(self, facts: MemoryFacts | None = None, **settings: Any) -> None:
        self.server = Server("kitchen", version="1", keys=[KEY], facts=facts, **settings)
        for tool in (self.cook, self.say, self.slip_away, self.serve, self.add, self.fail, self.quick, self.order):
            self.server.add_tool(tool)
        self._words: asyncio.Queue[str] = asyncio.Queue()

    async def cook(self, context: Context) -> str:
        """Repeat as progress what is said, until that is 'done'."""
        context.progress(1)
        number = 1
        while (word := await self._words.get()) != "done":
            number += 1
            context.detach() if word == "leave" else context.progress(number, message=word)
        return "cooked"

    async def say(self, word: str) -> None:
        """Say a word to the cook."""
        self._words.put_nowait(word)

    async def slip_away(self, context: Context) -> str:
        """Let go of the connection, and wait for 'done'."""
        context.detach()
        while await self._words.get() != "done":
            pass
        return "back"

    async def serve(self, dishes: int, context: Context) -> int:
        """Tell of many dishes at once."""
        for number in range(1, dishes + 1):
            context.progress(number)
        return dishes

    async def fail(self, context: Context) -> str:
        """Fail once it has said something."""
        context.progress(1)
        raise ValueError("burnt")

    async def quick(self, context: Context) -> str:
        """Let go, with nothing to wait for."""
        context.detach()
        return "quick"

    async def order(self, context: Context) -> str:
        """Tell that it begins, and ask."""
        context.progress(1)
        return "served" if context.ask(Form("Soup?"), key="soup") else "hungry"

    async def add(self, name: str) -> None:
        """Add a tool."""
        self.server.add_tool(self.say, name=name)


def call(name: str, id: int = 7, **arguments: Any) -> bytes:
    params = {"name": name, "arguments": arguments, "_meta": {"progressToken": "p"}}
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).encode()


def cooking(endpoint: Endpoint, headers: Headers, body: bytes | None = None) -> Any:
    return endpoint.open("POST", body or call("cook"), (*JSON, *headers))


def resumed(endpoint: Endpoint, headers: Headers, id: str) -> Any:
    return endpoint.open("GET", headers=(("Accept", "text/event-stream"), *headers, ("Last-Event-ID", id)))


async def refused(endpoint: Endpoint, headers: Headers, id: str) -> Answer:
    async with resumed(endpoint, headers, id) as stream:
        return Answer(stream.status, stream.headers, await stream.body())


async def say(endpoint: Endpoint, session: str, *words: str) -> None:
    for word in words:
        await endpoint.legacy(session, "tools/call", {"name": "say", "arguments": {"word": word}})


async def rest(stream: Stream) -> list[str]:
    """The contents of all events until the stream ends: progress numbers and messages, and the text of the answer."""
    said: list[str] = []
    while event := await stream.event():
        said.append(told(event))
    return said


def told(event: dict[str, str]) -> str:
    if not event.get("data"):
        return "primed" if "id" in event else f"retry {event['retry']}"
    message = json.loads(event["data"])
    if "params" in message:
        return message["params"].get("message") or message["method"].rpartition("/")[2]
    return message["result"]["content"][0]["text"]


@pytest.mark.requirement("LHTTP-04", "LHTTP-20")
def test_a_stream_of_a_session_begins_with_an_id_and_every_event_has_one(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[dict[str, str]]:
        session = await endpoint.initialize()
        async with cooking(endpoint, in_session(session)) as stream:
            events = [await stream.event(), await stream.event()]
            await say(endpoint, session, "done")
            return [*events, await stream.event(), await stream.event()]

    with mounts.mounted(Kitchen().server.http_app()) as path:
        first, second, answer, end = asyncio.run(scenario(Endpoint(mounts.port, path)))
    name = first["id"].removesuffix(".0")
    assert first == {"id": f"{name}.0", "data": ""}
    assert len(name) == 22
    assert (second["id"], answer["id"], end) == (f"{name}.1", f"{name}.2", {})
    assert json.loads(answer["data"])["id"] == 7


@pytest.mark.requirement("LHTTP-09")
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-03-26", "2024-11-05"])
def test_older_revisions_get_ids_but_no_event_without_data_and_are_never_left(mounts: Mounts, revision: str) -> None:
    async def scenario(endpoint: Endpoint) -> list[str]:
        session = await endpoint.initialize(revision)
        headers = [("Mcp-Session-Id", session)]
        async with cooking(endpoint, headers) as stream:
            first = await stream.event()
            await say(endpoint, session, "leave", "stir")
            second = await stream.event()
        await say(endpoint, session, "done")
        async with resumed(endpoint, headers, second["id"]) as stream:
            return [told(first), told(second), *await rest(stream)]

    with mounts.mounted(Kitchen().server.http_app()) as path:
        first, second, answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    # 2024-11-05 has no words for progress
    assert (first, second, answer) == ("progress", "progress" if revision == "2024-11-05" else "stir", "cooked")


@pytest.mark.parametrize("headers", [(), [("MCP-Protocol-Version", "2025-11-25")]])
def test_without_a_session_there_is_nothing_to_resume(mounts: Mounts, headers: Headers) -> None:
    async def scenario(endpoint: Endpoint) -> list[set[str]]:
        async with cooking(endpoint, headers, call("serve", dishes=1)) as stream:
            return [set(await stream.event()), set(await stream.event()), set(await stream.event())]

    with mounts.mounted(Kitchen().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [{"event", "data"}, {"event", "data"}, set()]


def test_an_answer_that_needs_no_stream_has_none_in_a_session_either(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        return await endpoint.legacy(
            await endpoint.initialize(), "tools/call", {"name": "say", "arguments": {"word": ""}}
        )

    with mounts.mounted(Kitchen().server.http_app()) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


def test_a_batch_is_answered_as_one_and_has_nothing_to_resume(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[set[str]]:
        session = await endpoint.initialize("2025-03-26")
        batch = b"[%b,%b]" % (call("serve", 1, dishes=1), call("serve", 2, dishes=1))
        async with cooking(endpoint, [("Mcp-Session-Id", session)], batch) as stream:
            events = [await stream.event() for _ in range(3)]
        assert {answer["id"] for answer in json.loads(events[2]["data"])} == {1, 2}
        return [set(event) for event in events]

    with mounts.mounted(Kitchen().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [{"event", "data"}] * 3


@contextlib.contextmanager
def two_workers(mounts: Mounts, **settings: Any) -> Iterator[tuple[Endpoint, Endpoint]]:
    """Two servers that share keys and facts; a call runs at the first."""
    facts = MemoryFacts()
    one, other = (Kitchen(facts, **settings).server.http_app() for _ in range(2))
    with mounts.mounted(one) as first, mounts.mounted(other) as second:
        yield Endpoint(mounts.port, first), Endpoint(mounts.port, second)


@pytest.mark.parametrize("at", ["the same worker", "another"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_reconnected_client_gets_the_events_after_its_last_event_id_and_later_ones(
    mounts: Mounts, at: str, when: str
) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        session = await one.initialize()
        headers = in_session(session)
        async with cooking(one, headers) as stream:
            await stream.event()
            last = (await stream.event())["id"]
        await say(one, session, "stir", "taste", *(["done"] if when == "before" else []))
        async with resumed(one if at == "the same worker" else other, headers, last) as stream:
            said = [told(await stream.event()), told(await stream.event())]
            await say(one, session, *(["salt", "done"] if when == "after" else []))
            return said + await rest(stream)

    with two_workers(mounts) as endpoints:
        got = asyncio.run(scenario(*endpoints))
    assert got == ["stir", "taste", *(["salt"] if when == "after" else []), "cooked"]


def test_a_stream_can_be_read_again_from_any_of_its_events_until_it_is_too_old(mounts: Mounts) -> None:
    now = 0.0

    async def scenario(endpoint: Endpoint) -> list[Any]:
        nonlocal now
        session = await endpoint.initialize()
        headers = in_session(session)
        await say(endpoint, session, "stir", "done")
        async with cooking(endpoint, headers) as stream:
            ids = [(await stream.event())["id"] for _ in range(4)]
        said: list[Any] = []
        for id in ids:
            async with resumed(endpoint, headers, id) as stream:
                said.append((await rest(stream), stream.headers["content-type"]))
        now = 301.0
        answer = await refused(endpoint, headers, ids[0])
        return [*said, (answer.status, answer.json["error"]["message"][-8:])]

    with mounts.mounted(Kitchen(MemoryFacts(lambda: now)).server.http_app()) as path:
        got = asyncio.run(scenario(Endpoint(mounts.port, path)))
    rests = [["progress", "stir", "cooked"], ["stir", "cooked"], ["cooked"], []]
    assert got == [*((said, "text/event-stream") for said in rests), (400, "[TT1050]")]


@pytest.mark.parametrize("id", ["", "x", "{}", "{}.", "{}.99", "{}.-1", "{}.1.1", "x{}.1", "{}.٣", "é", "{}.0 {}.1"])
def test_an_event_that_never_was_is_400(mounts: Mounts, id: str) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        session = await endpoint.initialize()
        async with cooking(endpoint, in_session(session), call("serve", dishes=2)) as stream:
            name = (await stream.event())["id"].removesuffix(".0")
        said = id.replace("{}", name).encode().decode("latin-1")
        return await refused(endpoint, in_session(session), said)

    with mounts.mounted(Kitchen().server.http_app()) as path:
        answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (answer.status, answer.code, "id" in answer.json) == (400, -32600, False)
    assert "[TT1050]" in answer.json["error"]["message"]


@pytest.mark.requirement("LHTTP-22")
def test_a_stream_of_another_session_or_another_caller_cannot_be_resumed(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[int]:
        ada, eve = ("Authorization", "ada"), ("Authorization", "eve")
        mine = (*in_session(await one.initialize(headers=[ada])), ada)
        second = (*in_session(await one.initialize(headers=[ada])), ada)
        hers = (*in_session(await one.initialize(headers=[eve])), eve)
        async with cooking(one, mine, call("serve", dishes=2)) as stream:
            id = (await stream.event())["id"]
        stolen = (*mine[:-1], eve)
        statuses = [
            (await refused(worker, headers, id)).status for worker in (one, other) for headers in (second, hers, stolen)
        ]
        async with resumed(other, mine, id) as stream:
            assert await rest(stream) == ["progress", "progress", "2"]
        return statuses

    with two_workers(mounts, authenticate=by_name) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == [400, 400, 404] * 2


def test_an_event_without_its_session_is_400(mounts: Mounts) -> None:
    with mounts.mounted(Kitchen().server.http_app()) as path:
        answer = asyncio.run(refused(Endpoint(mounts.port, path), (), "x.1"))
    assert (answer.status, "TT1016" in answer.json["error"]["message"]) == (400, True)


def test_a_stream_of_a_session_that_was_ended_is_404(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> int:
        headers = in_session(await endpoint.initialize())
        async with cooking(endpoint, headers, call("serve", dishes=2)) as stream:
            id = (await stream.event())["id"]
        await endpoint.ask("DELETE", headers=headers)
        return (await refused(endpoint, headers, id)).status

    with mounts.mounted(Kitchen().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == 404


@pytest.mark.requirement("LHTTP-05")
def test_a_tool_that_releases_its_connection_reaches_the_reconnected_client(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[list[str]]:
        session = await one.initialize()
        headers = in_session(session)
        async with cooking(one, headers, call("slip_away")) as stream:
            first = await stream.event()
            said = [[told(first), *await rest(stream)]]
        async with resumed(other, headers, first["id"]) as stream:
            await say(one, session, "done")
            return [*said, await rest(stream)]

    with two_workers(mounts) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == [["primed", "retry 1000"], ["back"]]


def test_a_question_reaches_a_reconnected_client_and_is_answered_at_another_worker(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        session = await one.initialize(capabilities={"elicitation": {}})
        headers = in_session(session)
        async with cooking(one, headers, call("order")) as stream:
            last = (await stream.event())["id"]
        async with resumed(one, headers, last) as stream:
            said = [told(await stream.event())]
            question = await stream.message()
            answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {}}}
            said.append(f"{question['method']} {(await other.post(answer, headers)).status}")
            return said + await rest(stream)

    with two_workers(mounts) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == ["progress", "elicitation/create 202", "served"]


@pytest.mark.parametrize(("version", "status"), [("2025-11-25", 404), ("2026-07-28", 202)])
def test_b30_a_caller_cannot_answer_a_question_to_the_session_of_another(
    mounts: Mounts, version: str, status: int
) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        ada, eve = ("Authorization", "ada"), ("Authorization", "eve")
        session = await one.initialize(capabilities={"elicitation": {}}, headers=[ada])
        stolen = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", version), eve]
        async with cooking(one, (*in_session(session), ada), call("order")) as stream:
            question = {"method": ""}
            while question["method"] != "elicitation/create":
                question = await stream.message()
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
            for worker in (one, other):
                assert (await worker.post(answer, stolen)).status == status
            answer["result"] = {"action": "accept", "content": {}}
            await other.post(answer, (*in_session(session), ada))
            return await rest(stream)

    with two_workers(mounts, authenticate=by_name) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == ["served"]


def test_a_tool_may_release_the_connection_of_a_reconnected_client_again(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[list[str]]:
        session = await one.initialize()
        headers = in_session(session)
        async with cooking(one, headers) as stream:
            last = [await stream.event(), await stream.event()][-1]["id"]
            await say(one, session, "leave")
            said = [await rest(stream)]
        async with resumed(other, headers, last) as stream:
            await say(one, session, "stir")
            last = (await stream.event())["id"]
            await say(one, session, "leave")
            said.append(await rest(stream))
        async with resumed(other, headers, last) as stream:
            await say(one, session, "done")
            return [*said, await rest(stream)]

    with two_workers(mounts) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == [["retry 1000"], ["retry 1000"], ["cooked"]]


def test_releasing_a_connection_has_no_effect_where_the_client_could_not_reconnect(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Answer]:
        session = await endpoint.initialize("2025-06-18")
        message = json.loads(call("quick"))
        return [
            await endpoint.modern("tools/call", {"name": "quick"}),
            await endpoint.post(message, [("MCP-Protocol-Version", "2025-11-25")]),
            await endpoint.post(message, [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-06-18")]),
        ]

    with mounts.mounted(Kitchen().server.http_app()) as path:
        answers = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert [answer.json["result"]["content"][0]["text"] for answer in answers] == ["quick"] * 3


@pytest.mark.requirement("LHTTP-17", "LHTTP-18")
def test_the_newest_connection_has_the_stream(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[list[str]]:
        session = await one.initialize()
        headers = in_session(session)
        async with cooking(one, headers) as first:
            last = [await first.event(), await first.event()][-1]["id"]
            async with resumed(other, headers, last) as second:
                ends = [await rest(first)]
                async with resumed(one, headers, last) as third:
                    ends.append(await rest(second))
                    await say(one, session, "stir", "done")
                    return [*ends, await rest(third)]

    with two_workers(mounts) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == [[], [], ["stir", "cooked"]]


def test_a_failure_can_be_come_back_to_like_an_answer(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[str]:
        headers = in_session(await endpoint.initialize())
        async with cooking(endpoint, headers, call("fail")) as stream:
            await stream.event()
            last = (await stream.event())["id"]
        async with resumed(endpoint, headers, last) as stream:
            return await rest(stream)

    with mounts.mounted(Kitchen().server.http_app()) as path:
        (said,) = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert "[TT2004]" in said


def test_a_call_that_was_cancelled_has_no_answer_to_come_back_to(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[str]:
        session = await endpoint.initialize()
        async with cooking(endpoint, in_session(session)) as stream:
            last = [await stream.event(), await stream.event()][-1]["id"]
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
        async with resumed(endpoint, in_session(session), last) as stream:
            await endpoint.post(cancelled, in_session(session))
            return await rest(stream)

    with mounts.mounted(Kitchen().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == []


def test_a_tool_that_says_too_much_at_once_loses_the_oldest_and_keeps_its_answer(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        headers = in_session(await endpoint.initialize())
        async with cooking(endpoint, headers, call("serve", dishes=3_000)) as stream:
            events = [await stream.event()]
            while event := await stream.event():
                events.append(event)
        async with resumed(endpoint, headers, events[0]["id"]) as stream:
            assert await rest(stream) == [told(event) for event in events[1:]]
        return events

    with mounts.mounted(Kitchen().server.http_app()) as path:
        events = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert [event["id"].rpartition(".")[2] for event in events] == [str(number) for number in range(len(events))]
    assert told(events[-1]) == "3000"


# --- streams that belong to no request -------------------------------------------------------------------------------


def listening(endpoint: Endpoint, headers: Headers) -> Any:
    return endpoint.open("GET", headers=(("Accept", "text/event-stream"), *headers))


async def add(endpoint: Endpoint, name: str) -> None:
    await endpoint.modern("tools/call", {"name": "add", "arguments": {"name": name}})


async def told_of_changes(endpoint: Endpoint, stream: Stream) -> str:
    """The first notification on a stream. Changes repeat until then: the server may still use a closed stream."""
    event = asyncio.ensure_future(stream.event())
    number = 0
    while not event.done():
        number += 1
        await add(endpoint, f"{id(stream)}-{number}")
    return told(await event)


@pytest.mark.requirement("LHTTP-17", "LHTTP-18")
def test_the_newest_stream_of_a_session_speaks_and_an_older_one_goes_on_after_it(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        headers = in_session(await one.initialize())
        async with listening(one, headers) as old:
            await old.event()
            async with listening(one, headers) as new:
                await new.event()
                said = [await told_of_changes(one, new)]
            said.append(await told_of_changes(one, old))
            async with listening(other, headers) as new:
                await new.event()
                await add(one, "unheard")
                said.append(await told_of_changes(other, new))
            said.append(await told_of_changes(one, old))
            await one.ask("DELETE", headers=headers)
            return said + await rest(old)

    with two_workers(mounts) as endpoints:
        said = asyncio.run(scenario(*endpoints))
    assert set(said) == {"list_changed"}


@pytest.mark.parametrize("at", ["one", "other"])
def test_the_streams_of_a_session_end_with_it_at_every_worker(mounts: Mounts, at: str) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[list[str]]:
        session, kept = in_session(await one.initialize()), in_session(await one.initialize())
        async with (
            listening(one, session) as first,
            listening(other, session) as second,
            listening(one, kept) as third,
        ):
            for stream in (first, second, third):
                await stream.event()
            status = (await (one if at == "one" else other).ask("DELETE", headers=session)).status
            assert status == 204
            ended = [await rest(first), await rest(second)]
            return [*ended, [await told_of_changes(one, third)]]

    with two_workers(mounts) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == [[], [], ["list_changed"]]


@pytest.mark.requirement("LHTTP-19")
@pytest.mark.parametrize("at", ["the same worker", "another"])
def test_a_client_that_resumes_a_stream_of_changes_has_missed_no_change(mounts: Mounts, at: str) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        headers = in_session(await one.initialize())
        async with listening(one, headers) as stream:
            last = (await stream.event())["id"]
        await add(one, "missed")
        back = one if at == "the same worker" else other
        async with resumed(back, headers, last) as stream:
            missed = await stream.event()
            await add(one, "here")
            await add(other, "there")
            events = [missed, await stream.event()]
        async with resumed(back, headers, events[-1]["id"]) as stream:
            await told_of_changes(one, stream)
        name = last.removesuffix(".0")
        assert [event["id"] for event in events] == [f"{name}.1", f"{name}.2"]
        return [told(event) for event in events]

    with two_workers(mounts) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == ["list_changed", "list_changed"]


@pytest.mark.parametrize("at", ["the same worker", "another"])
def test_a_client_that_resumes_before_the_old_connection_breaks_misses_no_event(mounts: Mounts, at: str) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        headers = in_session(await one.initialize())
        async with listening(one, headers) as old:
            last = (await old.event())["id"]
            numbers: list[str] = []
            for number in range(10):
                await add(one, f"added-{number}")
                async with resumed(one if at == "the same worker" else other, headers, last) as stream:
                    last = (await stream.event())["id"]
                    numbers.append(last.rpartition(".")[2])
            await rest(old)
            return numbers

    with two_workers(mounts) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == [str(number) for number in range(1, 11)]


def test_a_stream_that_was_come_back_to_speaks_and_an_older_one_goes_on_after_it(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        headers = in_session(await one.initialize())
        async with listening(one, headers) as old:
            await old.event()
            async with listening(one, headers) as new:
                last = (await new.event())["id"]
                async with resumed(other, headers, last) as back:
                    said = [*await rest(new), await told_of_changes(one, back)]
            return [*said, await told_of_changes(one, old)]

    with two_workers(mounts) as endpoints:
        assert asyncio.run(scenario(*endpoints)) == ["list_changed", "list_changed"]


def test_a_stream_that_was_come_back_to_ends_with_its_session(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        headers = in_session(await one.initialize())
        async with listening(one, headers) as stream:
            last = (await stream.event())["id"]
        async with resumed(other, headers, last) as stream:
            said = [await told_of_changes(one, stream)]
            await other.ask("DELETE", headers=headers)
            return said + await rest(stream)

    with two_workers(mounts) as endpoints:
        assert set(asyncio.run(scenario(*endpoints))) == {"list_changed"}


def test_a_resumed_stream_is_replaced_by_another_when_the_worker_that_writes_it_ends(mounts: Mounts) -> None:
    async def scenario(one: Endpoint, other: Endpoint) -> list[str]:
        headers = in_session(await one.initialize())
        async with listening(one, headers) as stream:
            last = (await stream.event())["id"]
        async with resumed(other, headers, last) as stream:
            said = [await told_of_changes(one, stream)]
            await one.modern("tools/call", {"name": "end"})
            while said[-1] != "primed":
                said.append(told(await stream.event()))
            return [*said, await told_of_changes(other, stream)]

    facts = MemoryFacts()
    ending, staying = Kitchen(facts), Kitchen(facts)
    app = ending.server.http_app()

    async def end() -> None:
        app.closing()

    ending.server.add_tool(end)
    with mounts.mounted(app) as first, mounts.mounted(staying.server.http_app()) as second:
        said = asyncio.run(scenario(Endpoint(mounts.port, first), Endpoint(mounts.port, second)))
    assert set(said) == {"list_changed", "primed"}


@pytest.mark.requirement("LHTTP-16")
def test_an_answer_never_comes_by_a_stream_that_belongs_to_no_request(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[str]:
        session = await endpoint.initialize()
        async with listening(endpoint, in_session(session)) as stream:
            said = [told(await stream.event())]
            async with cooking(endpoint, in_session(session)) as call:
                await call.event()
            await say(endpoint, session, "done")
            said.append(await told_of_changes(endpoint, stream))
            await endpoint.ask("DELETE", headers=in_session(session))
            return said + await rest(stream)

    with mounts.mounted(Kitchen().server.http_app()) as path:
        said = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert set(said) == {"primed", "list_changed"}


@pytest.mark.requirement("LHTTP-34")
@pytest.mark.parametrize("method", ["GET", "DELETE"])
@pytest.mark.parametrize(("version", "status"), [("2099-01-01", 400), ("x", 400), ("2026-07-28", 405)])
def test_the_version_of_a_get_or_delete_is_looked_at(mounts: Mounts, method: str, version: str, status: int) -> None:
    async def scenario(endpoint: Endpoint) -> int:
        session = await endpoint.initialize()
        headers = [("Accept", "text/event-stream"), ("Mcp-Session-Id", session), ("MCP-Protocol-Version", version)]
        return (await endpoint.ask(method, headers=headers)).status

    with mounts.mounted(Kitchen().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == status
