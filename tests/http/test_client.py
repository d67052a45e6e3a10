"""A client and faults of an HTTP server: streams that break off, sessions that end, and protocol revisions."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urljoin

import pytest

from support.wire.foreign import Answering, Foreign, Heard, Reply, foreign
from tooltrue import Client
from tooltrue.client import connection as conversation
from tooltrue.client.answers import Elicitation
from tooltrue.errors import ConnectionLost, InvalidAnswer, RpcError, SessionLost, StateError, TransportError
from tooltrue.protocol import versions
from tooltrue.testing.state import LIMIT
from tooltrue.transport import http_client
from tooltrue.transport.carrier import Refusal

CAPABILITIES = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
INITIALIZED = {
    "protocolVersion": "2025-11-25",
    "capabilities": CAPABILITIES,
    "serverInfo": {"name": "old", "version": "1"},
}
DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": [versions.LATEST],
    "capabilities": CAPABILITIES,
    "ttlMs": 0,
    "cacheScope": "private",
}
DONE = {"content": [{"type": "text", "text": "done"}], "isError": False}

Act = Callable[[Client], Awaitable[Any]]


def run(answer: Answering, act: Act, **settings: Any) -> tuple[Any, Foreign]:
    async def main() -> tuple[Any, Foreign]:
        async with asyncio.timeout(LIMIT), foreign(answer) as server, Client(server.url, **settings) as client:
            return await act(client), server

    return asyncio.run(main())


def legacy(calls: Answering, sessions: str = "abcdefgh") -> Answering:
    """A server with sessions; ``calls`` answers all but the handshake."""
    ids = iter(sessions)

    async def answer(request: Heard, reply: Reply) -> None:
        match request.method:
            case "server/discover":
                await reply.body(400)
            case "initialize":
                await reply.result(INITIALIZED, mcp_session_id=next(ids))
            case "notifications/initialized" | "notifications/cancelled":
                await reply.body(202)
            case _ if request.verb == "DELETE":
                await reply.body(200)
            case _:
                await calls(request, reply)

    return answer


def modern(calls: Answering) -> Answering:
    async def answer(request: Heard, reply: Reply) -> None:
        if request.method == "server/discover":
            await reply.result(DISCOVERED)
        else:
            await calls(request, reply)

    return answer


async def call(client: Client) -> str:
    return (await client.call_tool("t")).text


# -- invalid answers ---------------------------------------------------------------------------------------------------

ODD = {
    "an error that is null": ({"error": None}, "TT5009"),
    "a version that is old": ({"jsonrpc": "1.0"}, "TT5009"),
    "an id that is text": ({"id": "ID"}, "TT5009"),
    "an id of another request": ({"id": 77}, "TT5030"),
    "no id": ({"id": None}, "TT5030"),
}


@pytest.mark.parametrize("is_stream", [False, True], ids=["json", "stream"])
@pytest.mark.parametrize("method", ["tools/call", "initialize"])
@pytest.mark.parametrize("case", ODD)
def test_an_answer_that_is_not_valid_is_named_at_once(case: str, method: str, is_stream: bool):
    changed, code = ODD[case]

    async def odd(request: Heard, reply: Reply) -> None:
        id = request.said["id"]
        result = INITIALIZED if request.method == "initialize" else DONE
        message = {"jsonrpc": "2.0", "id": id, "result": result, **changed}
        if message["id"] == "ID":
            message["id"] = str(id)
        if is_stream:
            await reply.stream()
            await reply.event(message)
        else:
            await reply.body(200, json.dumps(message).encode(), content_type="application/json")

    async def answer(request: Heard, reply: Reply) -> None:
        await (odd if request.method == method else legacy(odd))(request, reply)

    with pytest.raises(InvalidAnswer) as caught:
        run(answer, call)
    assert caught.value.code == code


@pytest.mark.parametrize("text", [b"Ready.", b'{"jsonrpc": "2.0"', b"[]", b'{"hello": 1}', b"\xff\xfe"])
def test_a_message_of_a_proxy_in_place_of_an_answer_is_reported(text: bytes):
    async def answer(request: Heard, reply: Reply) -> None:
        await reply.body(200, text, content_type="application/json")

    with pytest.raises(InvalidAnswer, match=r"a message that does not answer the request: \w") as caught:
        run(legacy(answer), call)
    assert caught.value.code == "TT5030"


@pytest.mark.parametrize(
    ("status", "kind", "said"),
    [
        (200, "text/html; charset=utf-8", "text/html"),
        (202, "", "nothing"),
        (204, "", "nothing"),
    ],
)
def test_an_answer_in_another_type_names_it(status: int, kind: str, said: str):
    async def answer(request: Heard, reply: Reply) -> None:
        body = b"<html>Sign in</html>" if kind else b""
        await reply.body(status, body, **({"content_type": kind} if kind else {}))

    with pytest.raises(TransportError) as caught:
        run(legacy(answer), call)
    assert f"HTTP status {status}: {said}" in str(caught.value)


# -- redirects ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("location", ["/mcp/", "mcp/", "http://elsewhere.test/mcp", "//elsewhere.test/mcp?a=b", "#x"])
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_names_its_target(status: int, location: str):
    heard: list[str] = []

    async def answer(request: Heard, reply: Reply) -> None:
        heard.append(request.verb)
        await reply.body(status, b"Moved.", location=location, content_type="text/plain")

    async def main() -> tuple[str, str]:
        async with asyncio.timeout(LIMIT), foreign(answer) as server:
            with pytest.raises(TransportError) as caught:
                async with Client(server.url):
                    pytest.fail("there is no server")
            assert caught.value.code == "TT5031"
            return server.url, str(caught.value)

    url, said = asyncio.run(main())
    assert urljoin(url, location).partition("#")[0] in said
    assert set(heard) == {"POST"}


@pytest.mark.parametrize("headers", [{}, {"location": ""}, {"location": "http://[::1"}, {"location": "http://a b/"}])
def test_a_redirect_that_leads_nowhere_is_a_status(headers: dict[str, str]):
    async def answer(request: Heard, reply: Reply) -> None:
        await reply.body(307, b"", **headers)

    with pytest.raises(TransportError) as caught:
        run(answer, call)
    assert caught.value.code == "TT5007"


# -- streams that break off --------------------------------------------------------------------------------------------


@pytest.mark.requirement("LHTTP-02", "LHTTP-06", "LHTTP-07", "LHTTP-13", "LHTTP-21", "LHTTP-26", "LHTTP-31", "LHTTP-32")
def test_an_answer_stream_that_breaks_off_is_taken_up_where_it_stopped_and_no_sooner_than_the_server_wants():
    async def answer(request: Heard, reply: Reply) -> None:
        await reply.stream()
        if request.verb == "POST":
            asked.append(request.said["id"])
            await reply.event(id="1", retry=60)
            await reply.event({"method": "notifications/message", "params": {}}, id="2")
            ended.append(asyncio.get_running_loop().time())
        else:
            await reply.event({"id": asked[0], "result": DONE}, id="3")

    asked: list[Any] = []
    ended: list[float] = []
    text, server = run(legacy(answer), call)
    resumed = server.heard[-2]
    assert text == "done"
    assert server.methods()[-3:] == ["tools/call", "GET", "DELETE"]
    assert all(isinstance(request.said, dict) for request in server.heard)
    assert {name: resumed.headers.get(name) for name in ("last-event-id", "accept", "mcp-session-id")} == {
        "last-event-id": "2",
        "accept": "text/event-stream",
        "mcp-session-id": "a",
    }
    assert resumed.headers["mcp-protocol-version"] == "2025-11-25"
    assert resumed.at - ended[0] >= 0.06


@pytest.mark.requirement("LHTTP-21")
def test_a_stream_that_brings_nothing_new_time_after_time_is_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_client, "_SHORTEST_PAUSE_SECONDS", 0.001)

    async def answer(request: Heard, reply: Reply) -> None:
        await reply.stream()
        await reply.event(id="same", retry=0)

    with pytest.raises(ConnectionLost) as caught:
        run(legacy(answer), call)
    assert caught.value.code == "TT5021"


def test_a_stream_without_a_place_to_go_on_from_is_lost_and_the_call_not_sent_again():
    async def answer(request: Heard, reply: Reply) -> None:
        calls.append(request.method)
        await reply.stream()

    calls: list[str] = []
    with pytest.raises(ConnectionLost):
        run(legacy(answer), call)
    assert calls == ["tools/call"]


@pytest.mark.requirement("HTTP-23")
def test_a_modern_stream_that_breaks_off_is_no_place_to_go_on_from():
    async def answer(request: Heard, reply: Reply) -> None:
        calls.append(request)
        await reply.stream()
        await reply.event(id="1", retry=0)
        if len(calls) > 1:
            await reply.event({"id": request.said["id"], "result": {"tools": [], "resultType": "complete"}})

    calls: list[Heard] = []
    with pytest.raises(ConnectionLost):
        run(modern(answer), call)
    assert [request.method for request in calls] == ["tools/call"]
    calls.clear()
    run(modern(answer), lambda client: client.list_tools())
    assert [request.method for request in calls] == ["tools/list", "tools/list"]
    assert len({request.said["id"] for request in calls}) == 2


@pytest.mark.requirement("HTTP-14", "HTTP-19")
def test_comments_and_invalid_messages_in_a_stream_are_skipped():
    async def answer(request: Heard, reply: Reply) -> None:
        await reply.stream()
        reply.writer.write(b": keep-alive\n\nevent: other\ndata: {}\n\ndata: nonsense\n\n")
        await reply.event({"id": request.said["id"], "result": DONE | {"resultType": "complete"}})

    assert run(modern(answer), call)[0] == "done"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "gzip, gzip"])
def test_a_compressed_stream_is_refused_and_not_unpacked(encoding: str):
    async def answer(request: Heard, reply: Reply) -> None:
        reply.is_stream = True
        said = json.dumps({"jsonrpc": "2.0", "id": request.said["id"], "result": DONE | {"resultType": "complete"}})
        body = f"data: {said}\n\n".encode()
        packed = zlib.compress(body) if encoding == "deflate" else gzip.compress(body)
        head = f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: {encoding}\r\n\r\n"
        reply.writer.write(head.encode() + (gzip.compress(packed) if "," in encoding else packed))
        await reply.writer.drain()

    with pytest.raises(TransportError, match="compressed"):
        run(modern(answer), call)


@pytest.mark.parametrize("charset", ["zlib", "hex", "idna", "utf-16", "no-such"])
def test_a_stream_is_utf_8_whatever_charset_the_server_names(charset: str):
    async def answer(request: Heard, reply: Reply) -> None:
        reply.is_stream = True
        reply.writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset={charset}\r\n\r\n".encode())
        await reply.event({"id": request.said["id"], "result": DONE | {"resultType": "complete"}})

    assert run(modern(answer), call)[0] == "done"


@pytest.mark.parametrize("is_calling", [True, False], ids=["within a call", "without a call"])
def test_a_standing_stream_that_breaks_off_is_taken_up_again_and_questions_on_it_are_answered(is_calling: bool):
    called, answered = asyncio.Event(), asyncio.Event()
    form = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}

    async def answer(request: Heard, reply: Reply) -> None:
        if request.verb == "GET":
            await reply.stream()
            if request.headers.get("last-event-id") == "7":
                await called.wait()
                await reply.event({"id": "q", "method": "elicitation/create", "params": form})
                await asyncio.Event().wait()
            await reply.event(id="7", retry=1)
        elif request.method == "tools/call":
            called.set()
            await answered.wait()
            await reply.result(DONE)
        elif request.said.get("id") == "q":
            answered.set()
            await reply.body(202)

    async def act(client: Client) -> None:
        if is_calling:
            assert await call(client) == "done"
        called.set()
        await answered.wait()

    asked: list[Elicitation] = []

    def elicit(question: Elicitation) -> bool:
        asked.append(question)
        return True

    _, server = run(legacy(answer), act, elicit=elicit)
    said = next(request.said for request in server.heard if request.said.get("id") == "q")
    if is_calling:
        assert said["result"] == {"action": "accept", "content": {}}
        assert [question.message for question in asked] == ["Sure?"]
    else:
        assert "TT5040" in said["error"]["message"]
        assert asked == []


def reset(reply: Reply) -> None:
    """End the connection as a server does that has crashed, or a proxy that has had enough of it."""
    connection = reply.writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    reply.writer.transport.abort()


def test_a_standing_stream_without_event_ids_reopens_after_any_failure(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(http_client, "_SHORTEST_PAUSE_SECONDS", 0.001)
    credentials = Failing()

    async def answer(request: Heard, reply: Reply) -> None:
        if request.verb != "GET":
            await reply.result(DONE)
            return
        opened.append(request)
        await reply.stream()
        await reply.event({"method": "notifications/tools/list_changed"}, retry=1)
        await told.get()
        if len(opened) == 1:
            reset(reply)
        elif len(opened) == 2:
            credentials.fails_next = True
        else:
            enough.set()
            await asyncio.Event().wait()

    async def act(client: Client) -> None:
        await enough.wait()

    opened, told, enough = list[Heard](), asyncio.Queue[None](), asyncio.Event()
    run(legacy(answer), act, auth=credentials, on_tools_changed=lambda: told.put_nowait(None))
    assert len(opened) == 3
    assert not credentials.fails_next
    assert "it is locked" in caplog.text


# -- sessions that end -------------------------------------------------------------------------------------------------


def forgetful(lost: set[str]) -> Answering:
    async def answer(request: Heard, reply: Reply) -> None:
        if request.headers.get("mcp-session-id") in lost:
            await reply.body(404)
        elif request.verb == "GET":
            await reply.stream()
            await asyncio.Event().wait()
        else:
            await reply.result(DONE if request.method == "tools/call" else {"tools": []})

    return answer


@pytest.mark.requirement("LHTTP-29", "LHTTP-30")
def test_concurrent_calls_open_one_new_session_after_the_server_ended_the_old_one():
    async def act(client: Client) -> Any:
        return await asyncio.gather(call(client), call(client), client.list_tools())

    said, server = run(legacy(forgetful({"a"})), act)
    assert said == ["done", "done", []]
    assert server.methods().count("initialize") == 2
    begun = [request for request in server.heard if request.method == "initialize"]
    assert "mcp-session-id" not in begun[1].headers
    assert server.heard[-1].verb == "DELETE"
    assert server.heard[-1].headers["mcp-session-id"] == "b"


def test_a_call_that_comes_while_a_session_is_begun_anew_waits_for_it():
    begins, may_begin = asyncio.Event(), asyncio.Event()
    lost, seen = set[str](), list[str | None]()

    async def calls(request: Heard, reply: Reply) -> None:
        session = request.headers.get("mcp-session-id")
        if request.verb == "GET":
            await reply.body(405)
            return
        seen.append(session)
        if session in lost:
            await reply.body(404)
        elif session is None:
            await reply.body(400)
        else:
            await reply.result(DONE)

    old = legacy(calls)

    async def answer(request: Heard, reply: Reply) -> None:
        if request.method == "initialize" and lost:
            begins.set()
            await may_begin.wait()
        await old(request, reply)

    async def act(client: Client) -> list[str]:
        await call(client)
        lost.add("a")
        first = asyncio.create_task(call(client))
        await begins.wait()
        second = asyncio.create_task(call(client))
        await asyncio.sleep(0)
        may_begin.set()
        return [await first, await second]

    assert run(answer, act)[0] == ["done", "done"]
    assert [session for session in seen if session != "a"] == ["b", "b"]


def test_a_call_after_a_failed_session_start_opens_a_session():
    lost, refuses = set[str](), True

    async def answer(request: Heard, reply: Reply) -> None:
        if request.method == "initialize" and lost and refuses:
            await reply.body(503)
        elif request.verb == "POST" and request.headers.get("mcp-session-id") in lost:
            await reply.body(404)
        else:
            await old(request, reply)

    async def calls(request: Heard, reply: Reply) -> None:
        await (reply.body(400) if "mcp-session-id" not in request.headers else reply.result(DONE))

    old = legacy(calls)

    async def act(client: Client) -> str:
        nonlocal refuses
        lost.add("a")
        with pytest.raises(TransportError):
            await call(client)
        refuses = False
        return await call(client)

    assert run(answer, act)[0] == "done"


def named_by(*, discover: tuple[int, bytes], initialize: str | None = "good") -> Answering:
    """A server that sends a session id with every answer, most of them wrong, and that accepts only the good one.

    ``initialize`` is the session id in the answer to the handshake, or ``None`` for no id.
    """

    async def answer(request: Heard, reply: Reply) -> None:
        wrong: dict[str, Any] = {"mcp_session_id": f"from-{request.method or request.verb}".replace("/", "-")}
        if request.headers.get("mcp-session-id") not in (None, initialize):
            await reply.body(404)
        elif request.method == "server/discover":
            status, body = discover
            await reply.body(status, body.replace(b"ID", str(request.said["id"]).encode()), **JSON, **wrong)
        elif request.method == "initialize":
            await reply.result(INITIALIZED, **({} if initialize is None else {"mcp_session_id": initialize}))
        elif request.method == "tools/call":
            await reply.result(DONE, **wrong)
        else:
            await reply.body(200 if request.verb == "DELETE" else 202 if request.verb == "POST" else 405, **wrong)

    return answer


JSON = {"content_type": "application/json"}
ERROR = b'{"jsonrpc": "2.0", "id": ID, "error": {"code": -32600, "message": "no"}}'
ERROR_OF_NONE = b'{"jsonrpc": "2.0", "id": "server-error", "error": {"code": -32600, "message": "no"}}'


@pytest.mark.parametrize("initialize", ["good", None], ids=["a session", "no session"])
@pytest.mark.parametrize("body", [b"", b"no", ERROR, ERROR_OF_NONE, b"{}"], ids=["empty", "text", "error", "odd", "{}"])
@pytest.mark.parametrize("status", [200, 400, 404, 405, 406, 415, 422, 500])
def test_a_session_is_named_by_the_answer_to_a_handshake_and_by_no_other(
    status: int, body: bytes, initialize: str | None
):
    async def act(client: Client) -> list[str]:
        return [await call(client), await call(client)]

    said, server = run(named_by(discover=(status, body), initialize=initialize), act)
    assert said == ["done", "done"]
    sent = {request.method or request.verb: request.headers.get("mcp-session-id") for request in server.heard}
    assert sent.pop("initialize") is None
    assert sent.pop("server/discover", None) is None  # remembered where another server has had the same port
    assert set(sent.values()) == {initialize}
    assert ("DELETE" in sent) == (initialize is not None)


def test_a_handshake_that_is_refused_names_no_session_that_would_have_to_be_ended():
    async def answer(request: Heard, reply: Reply) -> None:
        said = {"jsonrpc": "2.0", "id": request.said["id"], "error": {"code": -32600, "message": "no"}}
        await reply.body(200, json.dumps(said).encode(), mcp_session_id="wrong", **JSON)

    async def main() -> list[str]:
        async with asyncio.timeout(LIMIT), foreign(answer) as server:
            with pytest.raises(RpcError):
                async with Client(server.url):
                    pytest.fail("a handshake that is refused opens nothing")
            return server.methods()

    assert asyncio.run(main()) == ["server/discover", "initialize"]


def test_the_place_in_a_stream_of_a_session_that_has_ended_is_not_told_to_the_next_one():
    """One call waits for its broken stream to be taken up again, another one finds that the session has ended."""
    broken = asyncio.Event()

    async def calls(request: Heard, reply: Reply) -> None:
        if request.verb == "GET":
            await reply.body(404 if request.headers.get("mcp-session-id") == "a" else 405)
        elif request.headers.get("mcp-session-id") == "b":
            await reply.result(DONE)
        elif request.said["params"]["name"] == "slow":
            await reply.stream()
            await reply.event(id="1", retry=300)
            broken.set()
        else:
            await reply.body(404)

    async def act(client: Client) -> Any:
        slow = asyncio.create_task(client.call_tool("slow"))
        await broken.wait()
        assert await call(client) == "done"
        with pytest.raises(SessionLost):
            await slow

    _, server = run(legacy(calls), act)
    resumed = [request.headers.get("mcp-session-id") for request in server.heard if "last-event-id" in request.headers]
    assert "b" not in resumed


def test_a_standing_stream_reopens_only_after_the_shortest_pause_even_with_a_shorter_retry():
    times = list[float]()
    enough = asyncio.Event()

    async def calls(request: Heard, reply: Reply) -> None:
        if request.verb != "GET":
            await reply.result(DONE)
            return
        times.append(asyncio.get_running_loop().time())
        if len(times) > 2:
            enough.set()
        await reply.stream()
        await reply.event(id=str(len(times)), retry=0)

    async def act(client: Client) -> None:
        await enough.wait()

    run(legacy(calls), act, on_tools_changed=lambda: None)
    assert min(after - before for before, after in itertools.pairwise(times)) >= 0.19


def test_a_session_that_is_lost_again_and_again_is_given_up():
    with pytest.raises(SessionLost) as caught:
        run(legacy(forgetful(set("abcdefgh"))), call)
    assert caught.value.code == "TT5020"


class Locked:
    """Credentials that cannot be had when the session ends, as where there is no room for them."""

    def for_server(self, url: str) -> Locked:
        return self

    async def headers(self, method: str) -> dict[str, str]:
        if method == "DELETE":
            raise StateError.of("TT5110", place="/here", problem="No space left on device")
        return {}

    def ready(self) -> None:
        return None

    async def challenged(self, refusal: Refusal) -> bool:
        return False


def test_a_client_whose_credentials_cannot_be_had_is_closed_with_its_connections():
    async def calls(request: Heard, reply: Reply) -> None:
        await reply.result(DONE) if request.verb == "POST" else await reply.body(405)

    async def main() -> None:
        async with asyncio.timeout(LIMIT), foreign(legacy(calls)) as server:
            async with Client(server.url, auth=Locked()) as client:
                assert await call(client) == "done"
                open_now = [*server.serving]
                assert open_now
            await asyncio.gather(*open_now)

    asyncio.run(main())


def test_a_call_whose_session_ended_under_it_is_not_made_twice():
    async def answer(request: Heard, reply: Reply) -> None:
        if request.verb == "GET":
            await reply.body(404)
            return
        await reply.stream()
        await reply.event(id="1", retry=0)

    with pytest.raises(SessionLost):
        run(legacy(answer), call)


@pytest.mark.requirement("LHTTP-29")
def test_a_new_session_restores_the_subscriptions_of_the_lost_session():
    async def answer(request: Heard, reply: Reply) -> None:
        if request.method == "resources/subscribe":
            await reply.result({})
        else:
            await forgetful({"a"})(request, reply)

    async def act(client: Client) -> list[str]:
        await client.subscribe("test://r", changed.append)
        await call(client)
        return changed

    changed: list[str] = []
    said, server = run(legacy(answer), act)
    assert said == ["test://r"]  # it may have changed in between
    subscribed = [request for request in server.heard if request.method == "resources/subscribe"]
    assert [request.headers["mcp-session-id"] for request in subscribed] == ["a", "b"]


def test_a_subscription_the_new_session_cannot_restore_blocks_no_call_and_no_notification(
    caplog: pytest.LogCaptureFixture,
):
    async def answer(request: Heard, reply: Reply) -> None:
        if request.method != "resources/subscribe":
            await forgetful({"a"})(request, reply)
        elif request.headers["mcp-session-id"] == "b" and request.said["params"]["uri"] == "test://gone":
            await reply.error(-32002)
        else:
            await reply.result({})

    async def act(client: Client) -> str:
        await client.subscribe("test://gone", changed.append)
        await client.subscribe("test://there", changed.append)
        return await call(client)

    changed: list[str] = []
    text, server = run(legacy(answer), act, on_tools_changed=lambda: changed.append("tools"))
    assert text == "done"
    assert changed == ["tools", "test://gone", "test://there"]
    assert "test://gone" in caplog.text
    assert "test://there" not in caplog.text
    begun = [request for request in server.heard if request.headers.get("mcp-session-id") == "b"]
    wanted = [request.said["params"]["uri"] for request in begun if request.method == "resources/subscribe"]
    assert sorted(wanted) == ["test://gone", "test://there"]
    assert [request.verb for request in begun].count("GET") == 1


def test_an_ear_that_fails_as_a_session_begins_anew_is_logged_and_the_call_goes_on(caplog: pytest.LogCaptureFixture):
    def fails() -> None:
        raise ValueError("deaf")

    assert run(legacy(forgetful({"a"})), call, on_tools_changed=fails)[0] == "done"
    assert "deaf" in caplog.text


def test_cancelling_a_call_while_a_session_opens_keeps_the_subscriptions_of_the_client():
    async def answer(request: Heard, reply: Reply) -> None:
        if request.method != "resources/subscribe":
            await forgetful({"a"})(request, reply)
            return
        if request.headers["mcp-session-id"] == "b":
            begins.set()
            await may_begin.wait()
        await reply.result({})

    async def act(client: Client) -> None:
        await client.subscribe("test://r", lambda uri: changed.set())
        given_up = asyncio.create_task(call(client))
        await begins.wait()
        given_up.cancel()
        await asyncio.wait((given_up,))
        may_begin.set()
        await changed.wait()

    begins, may_begin, changed = asyncio.Event(), asyncio.Event(), asyncio.Event()
    _, server = run(legacy(answer), act)
    assert [request.headers["mcp-session-id"] for request in server.heard if request.verb == "GET"] == ["a", "b"]


# -- eras --------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("VER-04", "VER-11")
def test_the_revision_of_a_server_is_remembered_and_negotiated_again_once_it_is_outdated():
    eras = {"now": legacy(forgetful(set()), "abcdefghij")}

    async def answer(request: Heard, reply: Reply) -> None:
        await eras["now"](request, reply)

    async def modern_only(request: Heard, reply: Reply) -> None:
        if request.method == "initialize":
            await reply.error(-32601, 404)
        else:
            await reply.result(DISCOVERED)

    async def main() -> list[list[str]]:
        said: list[list[str]] = []
        async with asyncio.timeout(LIMIT), foreign(answer) as server:
            for era in (eras["now"], eras["now"], modern_only, modern_only):
                eras["now"] = era
                server.heard.clear()
                async with Client(server.url) as client:
                    said.append([*server.methods(), client.facts.revision])
        return said

    handshake = ["initialize", "notifications/initialized", "2025-11-25"]
    first, second, third, fourth = asyncio.run(main())
    assert first == ["server/discover", *handshake]
    assert second == handshake
    assert third == ["initialize", "server/discover", versions.LATEST]
    assert fourth == ["server/discover", versions.LATEST]


@pytest.mark.requirement("VER-03", "VER-10")
def test_a_modern_error_in_a_400_is_read_and_never_taken_for_a_legacy_server():
    async def answer(request: Heard, reply: Reply) -> None:
        data = {"supported": [versions.LATEST], "requested": versions.LATEST}
        if len(heard) == 0:
            heard.append(request)
            await reply.error(-32022, 400, data)
        else:
            await reply.result(DISCOVERED)

    async def act(client: Client) -> str:
        return client.facts.revision

    heard: list[Heard] = []
    revision, server = run(answer, act)
    assert (revision, server.methods()) == (versions.LATEST, ["server/discover"] * 2)


# -- changes -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SUB-09")
def test_a_broken_subscription_reopens_and_reports_possibly_missed_changes(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(conversation, "_RECONNECT_SECONDS", 0.001)

    async def answer(request: Heard, reply: Reply) -> None:
        await reply.stream()
        listens.append(request)
        meta = {"io.modelcontextprotocol/subscriptionId": request.said["id"]}
        await reply.event({"method": "notifications/subscriptions/acknowledged", "params": {"_meta": meta}})
        if len(listens) > 1:
            await asyncio.Event().wait()

    async def act(client: Client) -> None:
        await changed.wait()

    listens: list[Heard] = []
    changed = asyncio.Event()
    run(modern(answer), act, on_tools_changed=changed.set)
    assert [request.said["params"]["notifications"] for request in listens] == [{"toolsListChanged": True}] * 2


class Failing(Locked):
    """Credentials that cannot be had once, as where their store is locked for a moment."""

    def __init__(self) -> None:
        self.fails_next = False

    async def headers(self, method: str) -> dict[str, str]:
        fails, self.fails_next = self.fails_next, False
        if fails:
            raise StateError.of("TT5110", place="/here", problem="it is locked")
        return {}


async def acknowledge(request: Heard, reply: Reply) -> None:
    await reply.stream()
    meta = {"io.modelcontextprotocol/subscriptionId": request.said["id"]}
    params = {"_meta": meta, "notifications": request.said["params"]["notifications"]}
    await reply.event({"method": "notifications/subscriptions/acknowledged", "params": params})


def test_a_subscription_that_cannot_be_opened_again_at_once_is_tried_until_it_can(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(conversation, "_RECONNECT_SECONDS", 0.001)

    async def answer(request: Heard, reply: Reply) -> None:
        listens.append(request)
        if len(listens) == 2:
            await reply.error(-32603, 500)
            return
        await acknowledge(request, reply)
        if len(listens) == 1:
            credentials.fails_next = True
        else:
            await asyncio.Event().wait()

    async def act(client: Client) -> None:
        await changed.wait()

    listens: list[Heard] = []
    changed, credentials = asyncio.Event(), Failing()
    # The revision is given: a machine that stalls for as long as a probe lasts would have it asked for another.
    run(modern(answer), act, auth=credentials, on_tools_changed=changed.set, revision="2026-07-28")
    assert not credentials.fails_next
    assert len(listens) == 3
    assert "it is locked" in caplog.text


def test_opening_a_client_does_not_wait_for_a_failing_subscription_and_retries_it_later(
    monkeypatch: pytest.MonkeyPatch,
):
    async def answer(request: Heard, reply: Reply) -> None:
        if not opened.is_set():
            await reply.error(-32603, 500)
            return
        await acknowledge(request, reply)
        await asyncio.Event().wait()

    async def act(client: Client) -> None:
        opened.set()
        await changed.wait()

    monkeypatch.setattr(conversation, "_RECONNECT_SECONDS", 0.001)
    opened, changed = asyncio.Event(), asyncio.Event()
    run(modern(answer), act, on_tools_changed=changed.set)


@pytest.mark.parametrize("number", [-32601, -32602])
def test_a_subscription_that_a_server_refuses_is_not_asked_for_again(number: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(conversation, "_RECONNECT_SECONDS", 0.001)

    async def answer(request: Heard, reply: Reply) -> None:
        if request.method == "subscriptions/listen":
            await reply.error(number)
        else:
            await reply.result(DONE | {"resultType": "complete"})

    async def act(client: Client) -> None:
        for _ in range(10):
            await call(client)

    _, server = run(modern(answer), act, on_tools_changed=lambda: None)
    assert server.methods().count("subscriptions/listen") == 1


# -- headers of each request -------------------------------------------------------------------------------------------

ANNOTATED = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
        "plain": {"type": "string"},
    },
}
BAD = {"type": "object", "properties": {"a": {"type": "object", "x-mcp-header": "A"}}}


def listing(*tools: tuple[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", "tools": [{"name": name, "inputSchema": schema} for name, schema in tools]}


def annotated(*schemas: Any) -> Answering:
    """A modern server whose tool has first one schema and then another."""
    left = list(schemas)

    async def answer(request: Heard, reply: Reply) -> None:
        if request.method == "tools/list":
            await reply.result(listing(("t", left.pop(0)), ("bad", BAD)))
        elif request.method == "tools/call" and left and "mcp-param-region" not in request.headers:
            await reply.error(-32020, 400)
        else:
            await reply.result(DONE | {"resultType": "complete", "contents": [], "messages": [], "tools": []})

    return modern(answer)


@pytest.mark.requirement("HTTP-06", "HTTP-07", "HTTP-08", "HTTP-09", "HDR-01", "HDR-02", "HDR-05", "HDR-06", "HDR-07")
def test_every_message_is_a_separate_post_with_its_method_and_target_in_the_headers():
    async def act(client: Client) -> None:
        await client.call_tool("t")
        await client.call_tool("größe")
        await client.read_resource("test://r")
        await client.get_prompt("p")

    _, server = run(annotated(), act)
    names = [None, "t", "=?base64?Z3LDtsOfZQ==?=", "test://r", "p"]
    assert [request.headers.get("mcp-name") for request in server.heard] == names
    for request in server.heard:
        assert request.verb == "POST"
        assert request.headers["accept"] == "application/json, text/event-stream"
        assert request.headers["content-type"] == "application/json"
        assert request.headers["mcp-method"] == request.said["method"]
        version = request.said["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
        assert request.headers["mcp-protocol-version"] == version == versions.LATEST


@pytest.mark.requirement("XHDR-11", "XHDR-12", "XHDR-13", "XHDR-14", "XHDR-15", "XHDR-16", "XHDR-17", "XHDR-18")
@pytest.mark.requirement("XHDR-19", "XHDR-20")
def test_arguments_that_are_marked_so_are_repeated_in_headers_and_tools_that_cannot_be_are_left_out(
    caplog: pytest.LogCaptureFixture,
):
    async def act(client: Client) -> list[str]:
        tools = [tool.name for tool in await client.list_tools()]
        for region in ("eu", "größe", " eu", "=?base64?eA==?=", None):
            await client.call_tool("t", region=region, count=7, deep={"on": True}, plain="x")
        await client.call_tool("t", plain="x", on=True)
        return tools

    tools, server = run(annotated(ANNOTATED), act)
    assert tools == ["t"]
    assert "'bad'" in caplog.text
    sent = [
        {name[10:]: value for name, value in request.headers.items() if name.startswith("mcp-param-")}
        for request in server.heard
        if request.method == "tools/call"
    ]
    regions = ["eu", "=?base64?Z3LDtsOfZQ==?=", "=?base64?IGV1?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="]
    assert sent == [
        *({"region": region, "count": "7", "on": "true"} for region in regions),
        {"count": "7", "on": "true"},
        {},
    ]


@pytest.mark.requirement("XHDR-22", "XHDR-23", "XHDR-24")
def test_a_call_without_the_headers_that_a_tool_wants_by_now_is_made_again_with_its_newest_schema():
    async def act(client: Client) -> str:
        return (await client.call_tool("t", region="eu")).text

    text, server = run(annotated(ANNOTATED, {"type": "object"}), act)
    assert text == "done"
    assert server.methods() == ["server/discover", "tools/call", "tools/list", "tools/call"]
    assert [request.headers.get("mcp-param-region") for request in server.heard] == [None, None, None, "eu"]


@pytest.mark.requirement("XHDR-25")
@pytest.mark.parametrize("status", [413, 431, 503])
def test_a_refusal_that_is_a_status_alone_says_which(status: int):
    async def answer(request: Heard, reply: Reply) -> None:
        await reply.body(status)

    with pytest.raises(TransportError) as caught:
        run(modern(answer), call)
    assert (caught.value.code, caught.value.facts["status"]) == ("TT5007", status)


@pytest.mark.requirement("HTTP-10", "STDIO-05")
def test_a_modern_server_that_asks_gets_no_answer():
    async def answer(request: Heard, reply: Reply) -> None:
        await reply.stream()
        await reply.event({"id": "q", "method": "ping"})
        await reply.event({"id": request.said["id"], "result": DONE | {"resultType": "complete"}})

    _, server = run(modern(answer), call)
    assert all("method" in request.said for request in server.heard)


@pytest.mark.requirement("ELIC-33")
def test_a_page_that_a_server_wants_visited_is_not_looked_at():
    async def answer(request: Heard, reply: Reply) -> None:
        if "inputResponses" in request.said["params"]:
            await reply.result(DONE | {"resultType": "complete"})
            return
        url = f"http://{request.headers['host']}/page"
        visit = {"method": "elicitation/create", "params": {"message": "?", "mode": "url", "url": url}}
        await reply.result({"resultType": "input_required", "inputRequests": {"v": visit}})

    text, server = run(modern(answer), call, elicit=lambda question: True)
    assert text == "done"
    assert {request.verb for request in server.heard} == {"POST"}


class Users:
    """Somebody else asks after each refusal."""

    def __init__(self) -> None:
        self.user = "a"

    def for_server(self, url: str) -> Users:
        return self

    async def headers(self, method: str) -> dict[str, str]:
        return self.ready()

    def ready(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.user}"}

    async def challenged(self, refusal: Any) -> bool:
        self.user = "b"
        return refusal.attempt == 0


@pytest.mark.requirement("CACHE-11")
def test_a_private_list_is_not_kept_for_somebody_else():
    async def answer(request: Heard, reply: Reply) -> None:
        user = request.headers["authorization"].removeprefix("Bearer ")
        if request.method == "tools/list":
            await reply.result(listing((f"of-{user}", {})) | {"ttlMs": 60_000, "cacheScope": "private"})
        elif request.method == "prompts/list":
            prompts = [{"name": f"of-{user}"}]
            public = {"ttlMs": 60_000, "cacheScope": "public", "resultType": "complete"}
            await reply.result({"prompts": prompts, **public})
        elif user == "a":
            await reply.body(401)
        else:
            await reply.result(DONE | {"resultType": "complete"})

    async def act(client: Client) -> list[str]:
        await client.list_tools()
        await client.list_prompts()
        await call(client)
        return [entry.name for entry in (*await client.list_tools(), *await client.list_prompts())]

    assert run(modern(answer), act, auth=Users())[0] == ["of-b", "of-a"]
