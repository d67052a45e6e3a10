"""Two servers that share only a Redis and a key, as on two machines: a client may switch between them."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.redis_server import own_redis, redis_url
from support.serving import Process, command, environment, http, started
from support.wire.raw_http import ENVELOPE, JSON, Answer, Endpoint, in_session, modern
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = Path(__file__).with_name("shared_server.py")
CAN_BE_ASKED = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}


class Machine:
    """One server: its endpoint and its process."""

    def __init__(self, url: str, process: Process) -> None:
        self.endpoint = Endpoint(urlsplit(url).port or 0, "/mcp")
        self.process = process

    async def call(self, tool: str, /, **arguments: Any) -> Any:
        answer = await self.endpoint.modern("tools/call", {"name": tool, "arguments": arguments})
        return said(answer)


def said(answer: Answer) -> Any:
    assert answer.status == 200, answer
    return answer.json["result"]["content"][0]["text"]


def key_file(folder: Path) -> Path:
    path = folder / "keys"
    path.write_text("# one key for all\nAAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n")
    return path


def shared(folder: Path) -> dict[str, str]:
    return environment(SHARED_FOLDER=str(folder))


@pytest.fixture
def store() -> Iterator[str]:
    with redis_url() as url:
        yield url


@pytest.fixture
def machines(tmp_path: Path, store: str) -> Iterator[tuple[Machine, Machine]]:
    options = ("--state", store, "--sealing-key-file", str(key_file(tmp_path)))
    with ExitStack() as stack:
        here, there = (stack.enter_context(http(*options, target=str(SERVER), env=shared(tmp_path))) for _ in range(2))
        yield Machine(*here), Machine(*there)


def test_a_session_is_served_by_either_and_ended_for_both(machines: tuple[Machine, Machine]) -> None:
    async def scenario(here: Endpoint, there: Endpoint) -> tuple[int, int, list[int]]:
        session, other = await here.initialize(), await there.initialize()
        processes = {
            said(await endpoint.legacy(id, "tools/call", {"name": "process", "arguments": {}}))
            for id in (session, other)
            for endpoint in (here, there)
        }
        ended = await there.ask("DELETE", headers=in_session(session))
        statuses = [(await endpoint.legacy(session, "ping")).status for endpoint in (here, there)]
        assert (await here.legacy(other, "ping")).status == 200
        return len(processes), ended.status, statuses

    here, there = machines
    assert asyncio.run(scenario(here.endpoint, there.endpoint)) == (2, 204, [404, 404])


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_change_of_tools_reaches_every_listener(machines: tuple[Machine, Machine], era: str) -> None:
    async def scenario(here: Machine, there: Machine) -> list[str]:
        async with AsyncExitStack() as stack:
            streams = [await listening(stack, machine.endpoint, era) for machine in (here, there, there)]
            assert await here.call("switch", on=True) == "true"
            told = [(await stream.message())["method"] for stream in streams]
        assert await there.call("lamp") == "lit"
        return told

    assert asyncio.run(scenario(*machines)) == ["notifications/tools/list_changed"] * 3


async def listening(stack: Any, endpoint: Endpoint, era: str) -> Any:
    """A stream that tells of changes, once it does."""
    if era == "legacy":
        headers = (*in_session(await endpoint.initialize()), ("Accept", "text/event-stream"))
        stream = await stack.enter_async_context(endpoint.open("GET", headers=headers))
        assert "id" in await stream.event()
        return stream
    message, headers = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    body = json.dumps(message).encode()
    stream = await stack.enter_async_context(endpoint.open("POST", body, (*JSON, *headers)))
    assert (await stream.message())["method"] == "notifications/subscriptions/acknowledged"
    return stream


def test_a_question_asked_by_one_is_answered_through_the_other_and_once(machines: tuple[Machine, Machine]) -> None:
    async def scenario(here: Machine, there: Machine) -> tuple[str, list[int]]:
        asked = (await here.endpoint.modern("tools/call", {"name": "sure", "_meta": CAN_BE_ASKED})).json["result"]
        (key,) = asked["inputRequests"]
        answers = {key: {"action": "accept", "content": {}}}
        again = {"name": "sure", "requestState": asked["requestState"], "inputResponses": answers}
        again["_meta"] = CAN_BE_ASKED
        answer = said(await there.endpoint.modern("tools/call", again))
        repeated = [await machine.endpoint.modern("tools/call", again) for machine in (here, there)]
        return answer.split()[1], [repeat.code for repeat in repeated]

    here, there = machines
    assert asyncio.run(scenario(here, there)) == (str(there.process.pid), [-32602, -32602])


def test_a_question_pushed_by_one_is_answered_at_the_other(machines: tuple[Machine, Machine]) -> None:
    async def scenario(here: Machine, there: Machine) -> str:
        session = await here.endpoint.initialize(capabilities={"elicitation": {}})
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "sure"}}
        body = json.dumps(call).encode()
        async with here.endpoint.open("POST", body, (*JSON, *in_session(session))) as stream:
            asked = await stream.message()
            result = {"action": "accept", "content": {}}
            answer = await there.endpoint.post(
                {"jsonrpc": "2.0", "id": asked["id"], "result": result}, in_session(session)
            )
            assert answer.status == 202
            return (await stream.message())["result"]["content"][0]["text"].split()[1]

    here, there = machines
    assert asyncio.run(scenario(here, there)) == str(here.process.pid)


def test_a_stream_is_read_again_at_the_other(machines: tuple[Machine, Machine]) -> None:
    async def scenario(here: Endpoint, there: Endpoint) -> tuple[list[Any], list[Any]]:
        session = await here.initialize()
        call = {"name": "count", "arguments": {"to": 3}, "_meta": {"progressToken": "p"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        async with here.open("POST", json.dumps(message).encode(), (*JSON, *in_session(session))) as stream:
            first = await stream.event()
            told = [await stream.message() for _ in range(4)]
        headers = (*in_session(session), ("Accept", "text/event-stream"), ("Last-Event-Id", first["id"]))
        async with there.open("GET", headers=headers) as stream:
            return told, [await stream.message() for _ in range(4)]

    here, there = machines
    told, again = asyncio.run(scenario(here.endpoint, there.endpoint))
    assert told == again
    assert told[-1]["result"]["content"][0]["text"] == "3 of 3"


def test_killing_one_loses_nothing_but_its_calls_in_flight(machines: tuple[Machine, Machine]) -> None:
    async def scenario(here: Machine, there: Machine) -> None:
        session = await here.endpoint.initialize()
        asked = (await here.endpoint.modern("tools/call", {"name": "sure", "_meta": CAN_BE_ASKED})).json["result"]
        async with AsyncExitStack() as stack:
            stream = await listening(stack, there.endpoint, "modern")
            message, headers = modern("tools/call", {"name": "wait_forever"})
            lost = asyncio.create_task(here.endpoint.post(message, headers))
            await asyncio.to_thread(here.process.wait_for, "waiting")
            await here.call("switch", on=True)
            assert (await stream.message())["method"] == "notifications/tools/list_changed"
            here.process.popen.kill()
            with pytest.raises((OSError, asyncio.IncompleteReadError)):
                await lost
            await there.call("switch", on=False)
            await there.call("switch", on=True)
            assert (await stream.message())["method"] == "notifications/tools/list_changed"
        assert said(await there.endpoint.legacy(session, "tools/call", {"name": "lamp", "arguments": {}})) == "lit"
        (key,) = asked["inputRequests"]
        again: dict[str, Any] = {"name": "sure", "requestState": asked["requestState"], "_meta": CAN_BE_ASKED}
        again["inputResponses"] = {key: {"action": "accept", "content": {}}}
        assert said(await there.endpoint.modern("tools/call", again)).split()[1] == str(there.process.pid)

    asyncio.run(scenario(*machines))


def test_two_workers_share_a_redis_too(tmp_path: Path, store: str) -> None:
    async def scenario(endpoint: Endpoint) -> int:
        session = await endpoint.initialize()
        served = set[str]()
        async with asyncio.timeout(LIMIT):
            while len(served) < 2:
                served.add(said(await endpoint.legacy(session, "tools/call", {"name": "process"})))
        assert (await endpoint.ask("DELETE", headers=in_session(session))).status == 204
        assert {(await endpoint.legacy(session, "ping")).status for _ in range(20)} == {404}
        return len(served)

    options = ("--workers", "2", "--state", store, "--sealing-key-file", str(key_file(tmp_path)))
    with http(*options, target=str(SERVER), env=shared(tmp_path)) as (url, _):
        assert asyncio.run(scenario(Endpoint(urlsplit(url).port or 0, "/mcp"))) == 2


# -- limits ------------------------------------------------------------------------------------------------------------

TAKER = """
import asyncio, sys
from tooltrue.state.redis import RedisFacts

async def main():
    async with RedisFacts(sys.argv[1]) as facts:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        waits = await asyncio.gather(*(facts.take("shared", per_second=0.0001, burst=50) for _ in range(40)))
        print(waits.count(0.0), flush=True)

asyncio.run(main())
"""


def test_a_limit_of_calls_holds_exactly_over_machines(machines: tuple[Machine, Machine]) -> None:
    async def scenario(*machines: Machine) -> list[str]:
        return await asyncio.gather(*(machine.call("rare") for machine in machines * 15))

    said = asyncio.run(scenario(*machines))
    assert said.count("granted") == 10
    assert all("rare" in refusal or refusal == "granted" for refusal in said)


def test_a_limit_holds_exactly_over_processes(store: str) -> None:
    with ExitStack() as stack:
        takers = [stack.enter_context(started([*command()[:1], "-c", TAKER, store])) for _ in range(3)]
        for taker in takers:
            assert taker.popen.stdout is not None
            assert taker.popen.stdout.readline() == b"ready\n"
        for taker in takers:
            taker.raw(b"go\n")
        granted = [int(taker.popen.stdout.readline()) for taker in takers if taker.popen.stdout is not None]
    assert sum(granted) == 50


# -- refused options ---------------------------------------------------------------------------------------------------


def refused(*options: str, **more: str) -> str:
    arguments = command("serve", str(SERVER), "--http", "127.0.0.1:0", *options)
    done = subprocess.run(
        arguments, env=environment(SHARED_FOLDER="/", **more), capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_without_a_key_in_common_a_server_does_not_start(store: str) -> None:
    said = refused("--state", store)
    assert "[TT7055]" in said
    assert "--sealing-key-file" in said


@pytest.mark.parametrize("text", ["", "# nothing\n", "short\n", "not base64!\n", "\x00\n", None])
def test_an_invalid_sealing_key_file_is_reported(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "keys"
    if text is not None:
        path.write_text(text)
    assert "[TT7054]" in refused("--sealing-key-file", str(path))


def test_a_store_that_does_not_answer_is_said_before_anything_listens(tmp_path: Path) -> None:
    with own_redis() as server:
        url = server.url.replace("//", "//me:hunter2@")
    said = refused("--state", url, "--sealing-key-file", str(key_file(tmp_path)))
    assert "[TT7050]" in said
    assert "hunter2" not in said


def test_secrets_may_come_by_the_environment_and_do_not_stay_there(tmp_path: Path, store: str) -> None:
    shows = tmp_path / "shows.py"
    shows.write_text(
        "import subprocess\nfrom tooltrue import Server\nserver = Server('shows')\n"
        "@server.tool\ndef env() -> str:\n    return subprocess.run(['env'], capture_output=True, text=True).stdout\n"
    )
    secrets = {"TOOLTRUE_STATE": store, "TOOLTRUE_SEALING_KEY": "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
    with http(target=str(shows), env=environment(**secrets)) as (url, _):
        endpoint = Endpoint(urlsplit(url).port or 0, "/mcp")
        shown = said(asyncio.run(endpoint.modern("tools/call", {"name": "env"})))
    assert "PATH=" in shown
    assert "TOOLTRUE" not in shown
    assert store not in shown
