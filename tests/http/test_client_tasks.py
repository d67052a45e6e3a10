"""A client that follows a task over HTTP: the headers of its requests, and servers that are away for a while."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.clock import skip
from support.wire.foreign import Answering, Foreign, Heard, Reply, foreign
from tooltrue import Client
from tooltrue.client import tasks
from tooltrue.errors import AuthorizationFailed, ConnectionLost, TransportError
from tooltrue.protocol import versions
from tooltrue.testing.state import LIMIT

EXTENSION = {"io.modelcontextprotocol/tasks": {}}
DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": [versions.LATEST],
    "capabilities": {"tools": {}, "extensions": EXTENSION},
    "ttlMs": 0,
    "cacheScope": "private",
}
ID = "tâsk 1"
MEMBERS = {
    "taskId": ID,
    "createdAt": "2026-07-28T10:00:00Z",
    "lastUpdatedAt": "2026-07-28T10:00:00Z",
    "ttlMs": None,
    "pollIntervalMs": 0,
}
WORKING = {"resultType": "complete", "status": "working", **MEMBERS}
QUESTION = {
    "method": "elicitation/create",
    "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}},
}
ASKING = {**WORKING, "status": "input_required", "inputRequests": {"a": QUESTION}}
COMPLETED = {**WORKING, "status": "completed", "result": {"content": [{"type": "text", "text": "done"}]}}


def served(polled: Answering) -> Answering:
    """A server that runs each call as a task; ``polled`` answers the requests about it."""

    async def answer(request: Heard, reply: Reply) -> None:
        match request.method:
            case "server/discover":
                await reply.result(DISCOVERED)
            case "tools/call":
                await reply.result({**WORKING, "resultType": "task"})
            case _:
                await polled(request, reply)

    return answer


def run(polled: Answering, **settings: Any) -> tuple[str, Foreign]:
    async def main() -> tuple[str, Foreign]:
        async with asyncio.timeout(LIMIT), foreign(served(polled)) as server, Client(server.url, **settings) as client:
            return (await client.call_tool("t")).text, server

    return asyncio.run(main())


@pytest.mark.requirement("XTASK-35")
def test_requests_about_a_task_name_it_in_a_header():
    states = iter([WORKING, ASKING, COMPLETED])

    async def polled(request: Heard, reply: Reply) -> None:
        match request.method:
            case "tasks/get":
                await reply.result(next(states))
            case "tasks/update":
                updated.set()
                await reply.result({"resultType": "complete"})
            case _:
                await reply.error(-32601)

    updated = asyncio.Event()
    text, server = run(polled, elicit=lambda question: True)
    assert text == "done"
    named = {request.method: request.headers["mcp-name"] for request in server.heard if "mcp-name" in request.headers}
    encoded = "=?base64?dMOic2sgMQ==?="
    assert named == {"tools/call": "t", "tasks/get": encoded, "tasks/update": encoded}
    assert updated.is_set()


@pytest.mark.parametrize("way", ["closed", "503", "429", "500 and an error"])
def test_a_task_outlives_a_server_that_is_away_for_a_while(way: str, monkeypatch: pytest.MonkeyPatch):
    async def polled(request: Heard, reply: Reply) -> None:
        if request.method != "tasks/get":
            await reply.error(-32601)
            return
        polls.append(request)
        if len(polls) > 4:
            await reply.result(COMPLETED)
        elif way == "closed":
            reply.writer.transport.abort()
            raise ConnectionError
        elif way == "500 and an error":
            await reply.error(-32603, 500)
        else:
            await reply.body(int(way))

    polls = list[Heard]()
    monkeypatch.setattr(tasks, "_FIRST_RETRY_SECONDS", 0.001)
    text, server = run(polled)
    assert text == "done"
    assert server.methods().count("tools/call") == 1


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_a_request_about_a_task_whose_answer_got_lost_is_sent_again(method: str):
    async def main() -> list[str]:
        async with asyncio.timeout(LIMIT), foreign(served(polled)) as server, Client(server.url) as client:
            task = client.task(ID)
            acts = {"tasks/get": task.status(), "tasks/update": task.answer({"a": {}}), "tasks/cancel": task.cancel()}
            act = acts.pop(method)
            for other in acts.values():
                other.close()
            await act
            return server.methods()

    async def polled(request: Heard, reply: Reply) -> None:
        polls.append(request)
        if len(polls) == 1:
            raise ConnectionError
        await reply.result(WORKING)

    polls = list[Heard]()
    assert asyncio.run(main()) == ["server/discover", method, method]


def test_a_server_that_stays_away_is_given_up_and_the_error_names_the_task(monkeypatch: pytest.MonkeyPatch):
    async def polled(request: Heard, reply: Reply) -> None:
        polls.append(request)
        asyncio.get_running_loop().call_soon(skip, 1.5)
        await reply.body(503)

    polls = list[Heard]()
    monkeypatch.setattr(tasks, "_FIRST_RETRY_SECONDS", 0.001)
    monkeypatch.setattr(tasks, "_RETRY_SECONDS", 4.0)
    with pytest.raises(ConnectionLost) as caught:
        run(polled)
    assert (caught.value.code, caught.value.facts["id"]) == ("TT5313", ID)
    assert len(polls) == 3
    assert {poll.method for poll in polls} == {"tasks/get"}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_not_repeated(status: int):
    async def polled(request: Heard, reply: Reply) -> None:
        polls.append(request.method)
        await reply.body(status)

    polls = list[str]()
    with pytest.raises(TransportError) as caught:
        run(polled)
    assert not isinstance(caught.value, ConnectionLost | AuthorizationFailed)
    assert polls == ["tasks/get", "tasks/cancel"]


def test_a_client_that_is_closed_follows_no_task():
    async def main() -> None:
        async with asyncio.timeout(LIMIT), foreign(served(polled)) as server:
            async with Client(server.url) as client:
                following = asyncio.ensure_future(client.call_tool("t"))
                await asked.wait()
            with pytest.raises(ConnectionLost):
                await following

    async def polled(request: Heard, reply: Reply) -> None:
        asked.set()
        await asyncio.Event().wait()

    asked = asyncio.Event()
    asyncio.run(main())


def test_a_call_that_is_cancelled_while_it_polls_cancels_its_task():
    async def main() -> list[str]:
        async with asyncio.timeout(LIMIT), foreign(served(polled)) as server, Client(server.url) as client:
            following = asyncio.ensure_future(client.call_tool("t"))
            await asked.wait()
            following.cancel()
            await asyncio.wait((following,))
            assert following.cancelled()
            return server.methods()

    async def polled(request: Heard, reply: Reply) -> None:
        if request.method == "tasks/cancel":
            await reply.result({"resultType": "complete"})
            return
        asked.set()
        await asyncio.Event().wait()

    asked = asyncio.Event()
    assert asyncio.run(main()) == ["server/discover", "tools/call", "tasks/get", "tasks/cancel"]


def test_a_notification_on_a_stream_brings_the_end_of_a_task():
    async def polled(request: Heard, reply: Reply) -> None:
        if request.method == "tasks/get":
            await reply.result({**WORKING, "pollIntervalMs": 60_000})
            return
        stamp = {"io.modelcontextprotocol/subscriptionId": request.said["id"]}
        honoured = {"notifications": {"taskIds": [ID]}, "_meta": stamp}
        await reply.stream()
        await reply.event({"method": "notifications/subscriptions/acknowledged", "params": honoured})
        await reply.event({"method": "notifications/tasks", "params": {**COMPLETED, "_meta": stamp}})
        await asyncio.Event().wait()

    text, server = run(polled)
    assert text == "done"
    assert server.methods() == ["server/discover", "tools/call", "tasks/get", "subscriptions/listen"]
    assert all(
        request.said["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] == {"extensions": EXTENSION}
        for request in server.heard
    )
