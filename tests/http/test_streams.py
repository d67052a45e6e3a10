"""Streamed responses, and the effect of a client that disconnects."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from support.wire import servers
from support.wire.mounting import Mounts
from support.wire.raw_http import ENVELOPE, JSON, Answer, Endpoint, Headers, in_session, modern
from tooltrue import Context, Server

WITH_PROGRESS = {"_meta": {**ENVELOPE, "progressToken": "p"}}


def body(message: Any) -> bytes:
    return json.dumps(message).encode()


def call(name: str, id: int = 1, **meta: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "_meta": meta}}


def progress(number: float, **more: Any) -> dict[str, Any]:
    params = {"progressToken": "p", "progress": number, **more}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}


@pytest.mark.requirement("HTTP-13", "HTTP-17", "HTTP-18")
def test_a_call_that_tells_of_progress_is_answered_by_a_stream(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, dict[str, str], bytes]:
        message, headers = modern("tools/call", {"name": "count_in_a_thread", **WITH_PROGRESS})
        async with endpoint.open("POST", body(message), (*JSON, *headers)) as stream:
            return stream.status, stream.headers, await stream.body()

    with mounts.mounted(servers.make("slow").http_app()) as path:
        status, headers, sent = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert status == 200
    assert headers["content-type"] == "text/event-stream"
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    events = sent.decode().split("\n\n")
    assert events.pop() == ""
    lines = [event.split("\n") for event in events if not event.startswith(":")]
    assert [line[0] for line in lines] == ["event: message"] * 3  # and no id: no resumption
    assert [len(line) for line in lines] == [2, 2, 2]
    messages = [json.loads(line[1].removeprefix("data: ")) for line in lines]
    assert messages[:2] == [progress(1), progress(2)]
    assert messages[2]["result"]["content"] == [{"type": "text", "text": "counted"}]


@pytest.mark.parametrize("params", [{"name": "count"}, {"name": "cancelled_yet", **WITH_PROGRESS}])
def test_a_call_that_tells_nothing_is_answered_in_json(mounts: Mounts, params: dict[str, Any]) -> None:
    server = Server("quick")
    server.add_tool(servers.add, name="cancelled_yet")
    server.add_tool(servers.add, name="count")
    with mounts.mounted(server.http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).modern("tools/call", params))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")


def test_a_fault_before_anything_was_told_still_has_its_status(mounts: Mounts) -> None:
    with mounts.mounted(servers.make("slow").http_app()) as path:
        answer = asyncio.run(Endpoint(mounts.port, path).modern("nix", WITH_PROGRESS))
    assert (answer.status, answer.headers["content-type"]) == (404, "application/json")


def test_progress_comes_while_the_call_runs(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[Any, Answer]:
        message, headers = modern("tools/call", {"name": "wait", **WITH_PROGRESS})
        async with endpoint.open("POST", body(message), (*JSON, *headers)) as stream:
            first = await stream.message()
        return first, await endpoint.modern("tools/call", {"name": "cancelled_yet"})

    with mounts.mounted(servers.make("slow").http_app()) as path:
        first, answer = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert first == progress(1)
    # And once the client has closed the stream the handler is cancelled, which the second call waited for.
    assert answer.json["result"]["content"] == [{"type": "text", "text": "cancelled"}]


class Bell:
    """A tool that waits to be rung, one that rings, and one that tells how it ended."""

    def __init__(self) -> None:
        self.server = Server("bell", version="1")
        self.server.add_tool(self.wait)
        self.server.add_tool(self.ring)
        self.server.add_tool(self.ended)
        self._rung, self._over = asyncio.Event(), asyncio.Event()
        self._end = "nobody waited"

    async def wait(self, context: Context) -> str:
        """Wait for the bell."""
        context.progress(1)
        try:
            await self._rung.wait()
            self._end = "heard the bell"
        except asyncio.CancelledError:
            self._end = "was cancelled"
            raise
        finally:
            self._over.set()
        return self._end

    async def ring(self) -> None:
        """Ring the bell."""
        self._rung.set()

    async def ended(self) -> str:
        """How the wait ended."""
        await self._over.wait()
        return self._end


def text(answer: Answer) -> str:
    return answer.json["result"]["content"][0]["text"]


@pytest.mark.requirement("CANC-02", "HTTP-20", "HTTP-21")
def test_a_modern_client_that_goes_away_has_cancelled(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> str:
        message, headers = modern("tools/call", {"name": "wait", **WITH_PROGRESS})
        async with endpoint.open("POST", body(message), (*JSON, *headers)) as stream:
            await stream.message()
        return text(await endpoint.modern("tools/call", {"name": "ended"}))

    with mounts.mounted(Bell().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == "was cancelled"


def test_a_modern_client_that_posts_a_cancellation_has_not_cancelled(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, Any]:
        message, headers = modern("tools/call", {"name": "wait", **WITH_PROGRESS})
        async with endpoint.open("POST", body(message), (*JSON, *headers)) as stream:
            await stream.message()
            cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
            status = (await endpoint.post(cancelled, [("MCP-Protocol-Version", "2026-07-28")])).status
            await endpoint.modern("tools/call", {"name": "ring"})
            return status, (await stream.message())["result"]["content"][0]["text"]

    with mounts.mounted(Bell().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == (202, "heard the bell")


def test_a_legacy_client_that_goes_away_has_not_cancelled(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> str:
        session = await endpoint.initialize()
        async with endpoint.open(
            "POST", body(call("wait", id=2, progressToken="p")), (*JSON, *in_session(session))
        ) as stream:
            await stream.message()
        await endpoint.legacy(session, "tools/call", {"name": "ring"})
        return text(await endpoint.legacy(session, "tools/call", {"name": "ended"}))

    with mounts.mounted(Bell().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == "heard the bell"


def cancellation(id: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "enough"}}


@pytest.mark.requirement("CANC-05", "CANC-10")
def test_a_legacy_client_cancels_by_a_notification_in_its_session(
    mounts: Mounts, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, bytes, str]:
        session = await endpoint.initialize()
        message = call("wait", id=7, progressToken="p")
        async with endpoint.open("POST", body(message), (*JSON, *in_session(session))) as stream:
            await stream.message()
            status = (await endpoint.post(cancellation(7), in_session(session))).status
            rest = await stream.body()
        return status, rest, text(await endpoint.legacy(session, "tools/call", {"name": "ended"}))

    with mounts.mounted(Bell().server.http_app()) as path, caplog.at_level("DEBUG", "tooltrue"):
        status, rest, ended = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (status, ended) == (202, "was cancelled")
    assert b"data:" not in rest  # no answer
    assert "request '7' was cancelled: enough" in caplog.messages


@pytest.mark.parametrize("own", [False, True])
def test_a_cancellation_of_another_session_or_of_none_stops_nothing(mounts: Mounts, own: bool) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, str]:
        session = await endpoint.initialize()
        headers: Headers = in_session(await endpoint.initialize()) if own else ()
        async with endpoint.open(
            "POST", body(call("wait", id=7, progressToken="p")), (*JSON, *in_session(session))
        ) as stream:
            await stream.message()
            status = (await endpoint.post(cancellation(7), headers)).status
            await endpoint.legacy(session, "tools/call", {"name": "ring"})
            return status, (await stream.message())["result"]["content"][0]["text"]

    with mounts.mounted(Bell().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == (202, "heard the bell")


def test_two_sessions_may_use_the_same_id_at_once(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        one, other = await endpoint.initialize(), await endpoint.initialize()
        message = body(call("wait", id=2, progressToken="p"))
        async with (
            endpoint.open("POST", message, (*JSON, *in_session(one))) as first,
            endpoint.open("POST", message, (*JSON, *in_session(other))) as second,
        ):
            got = [await first.message(), await second.message()]
            await endpoint.legacy(one, "tools/call", {"name": "ring"})
            return [*got, (await first.message())["id"], (await second.message())["id"]]

    with mounts.mounted(Bell().server.http_app()) as path:
        assert asyncio.run(scenario(Endpoint(mounts.port, path))) == [progress(1), progress(1), 2, 2]


CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}


@pytest.mark.requirement("LHTTP-01", "LHTTP-14", "TOOL-05")
def test_a_legacy_session_is_told_of_changes_on_its_get_stream(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> tuple[int, dict[str, str], list[Any]]:
        session = await endpoint.initialize()
        headers = [("Accept", "text/event-stream"), *in_session(session)]
        async with endpoint.open("GET", headers=headers) as stream:
            assert set(await stream.event()) == {"id", "data"}  # it is open
            await endpoint.legacy(session, "tools/call", {"name": "grow", "arguments": {"name": "new"}})
            told = [await stream.message()]
            await endpoint.modern("tools/call", {"name": "shrink", "arguments": {"name": "new"}})
            return stream.status, stream.headers, [*told, await stream.message()]

    with mounts.mounted(servers.make("changing").http_app()) as path:
        status, headers, told = asyncio.run(scenario(Endpoint(mounts.port, path)))
    assert (status, headers["content-type"], headers["x-accel-buffering"]) == (200, "text/event-stream", "no")
    assert told == [CHANGED, CHANGED]


@pytest.mark.requirement("SUB-02", "SUB-03")
def test_a_subscription_is_a_stream_that_says_so_at_once(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Any]:
        message, headers = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        async with endpoint.open("POST", body(message), (*JSON, *headers)) as stream:
            acknowledged = await stream.message()
            await endpoint.modern("tools/call", {"name": "grow", "arguments": {"name": "new"}})
            return [stream.status, stream.headers["content-type"], acknowledged, await stream.message()]

    with mounts.mounted(servers.make("changing").http_app()) as path:
        got = asyncio.run(scenario(Endpoint(mounts.port, path)))
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}
    acknowledged = {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"notifications": {"toolsListChanged": True}, **meta},
    }
    assert got == [200, "text/event-stream", acknowledged, {**CHANGED, "params": meta}]


@pytest.mark.requirement("BASE-09", "SUB-06", "SUB-07")
def test_streams_end_when_the_server_does(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint, close: Any) -> tuple[Any, bytes, bytes]:
        message, headers = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        session = await endpoint.initialize()
        get = [("Accept", "text/event-stream"), *in_session(session)]
        async with (
            endpoint.open("POST", body(message), (*JSON, *headers)) as subscription,
            endpoint.open("GET", headers=get) as listening,
        ):
            await subscription.message()
            assert set(await listening.event()) == {"id", "data"}
            # As the runner does when a signal comes: on the server's own loop, by way of a tool.
            await endpoint.modern("tools/call", {"name": "close"})
            return await subscription.message(), await subscription.body(), await listening.body()

    server = Server("ending", version="1")
    app = server.http_app()

    async def close() -> None:
        app.closing()

    server.add_tool(close)
    with mounts.mounted(app) as path:
        last, *rest = asyncio.run(scenario(Endpoint(mounts.port, path), close))
    info = {"name": "ending", "version": "1"}
    meta = {"io.modelcontextprotocol/serverInfo": info, "io.modelcontextprotocol/subscriptionId": 1}
    assert last == {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "_meta": meta}}
    assert rest == [b"", b""]


def old(mounts: Mounts, path: str) -> Endpoint:
    """An HTTP/1.0 client at an HTTP server that would send it chunks (RFC 9112, section 6.1)."""
    return Endpoint(mounts.port, path, "1.0")


def messages_of(answer: Answer) -> list[Any]:
    events = [event for event in answer.body.decode().split("\n\n") if "data: {" in event]
    return [json.loads(event.partition("data: ")[2]) for event in events]


def test_an_http_1_0_client_gets_the_events_of_a_modern_call_as_one_answer_with_its_length(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        message, headers = modern("tools/call", {"name": "count_in_a_thread", **WITH_PROGRESS})
        return await endpoint.post(message, headers)

    with mounts.mounted(servers.make("slow").http_app()) as path:
        answer = asyncio.run(scenario(old(mounts, path)))
    assert "transfer-encoding" not in answer.headers
    assert (answer.headers["content-type"], answer.headers["connection"]) == ("text/event-stream", "close")
    said = messages_of(answer)
    assert said[:2] == [progress(1), progress(2)]
    assert said[2]["result"]["content"] == [{"type": "text", "text": "counted"}]


def test_an_http_1_0_client_gets_the_events_of_a_legacy_call_as_one_answer_with_its_length(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> Answer:
        session = await endpoint.initialize()
        return await endpoint.post(call("count_in_a_thread", progressToken="p"), in_session(session))

    with mounts.mounted(servers.make("slow").http_app()) as path:
        answer = asyncio.run(scenario(old(mounts, path)))
    assert "transfer-encoding" not in answer.headers
    assert messages_of(answer)[-1]["result"]["content"] == [{"type": "text", "text": "counted"}]


def test_a_stream_without_an_end_is_refused_to_an_http_1_0_client(mounts: Mounts) -> None:
    async def scenario(endpoint: Endpoint) -> list[Answer]:
        message, headers = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        session = in_session(await endpoint.initialize())
        return [
            await endpoint.post(message, headers),
            await endpoint.ask("GET", headers=(*session, ("Accept", "text/event-stream"))),
        ]

    with mounts.mounted(servers.make("slow").http_app()) as path:
        answers = asyncio.run(scenario(old(mounts, path)))
    assert [(answer.status, answer.headers["upgrade"]) for answer in answers] == [(426, "HTTP/1.1")] * 2


def test_an_http_1_0_client_that_gets_more_than_is_held_for_it_gets_the_newest(mounts: Mounts) -> None:
    server = Server("talkative")

    @server.tool
    async def talk(context: Context) -> str:
        """Tell much."""
        for number in range(12):
            context.progress(number, 12, "x" * 900_000)
            await asyncio.sleep(0)
        return "told"

    async def scenario(endpoint: Endpoint) -> Answer:
        message, headers = modern("tools/call", {"name": "talk", **WITH_PROGRESS})
        return await endpoint.post(message, headers)

    with mounts.mounted(server.http_app()) as path:
        answer = asyncio.run(scenario(old(mounts, path)))
    assert len(answer.body) <= 9_000_000
    said = messages_of(answer)
    assert said[-2]["params"]["progress"] == 11
    assert said[-1]["result"]["content"] == [{"type": "text", "text": "told"}]
