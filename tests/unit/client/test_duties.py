"""The duties of every client under the specification, checked from the server's side."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from support.clock import skip
from support.wire.scripted import DISCOVERED, Scripted, SkippingLoop
from tooltrue import Client
from tooltrue.client import connection as conversation
from tooltrue.client.answers import Elicitation
from tooltrue.errors import ConnectionLost, RequestTimeout, RpcError, TransportError, UnknownEntry
from tooltrue.protocol import versions
from tooltrue.testing.state import LIMIT

INITIALIZED = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
LEGACY = {"server/discover": -32601, "initialize": INITIALIZED, "ping": {}}
META = "io.modelcontextprotocol/"
TEXT = {"content": [{"type": "text", "text": "done"}]}


def run(server: Scripted, test: Callable[[Client], Coroutine[Any, Any, Any]], **settings: Any) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server, **settings) as client:
            return await test(client)

    return asyncio.run(main())


async def everything(client: Client) -> None:
    await client.list_tools()
    await asyncio.gather(*(client.call_tool("t", progress=lambda *said: None) for _ in range(3)))
    await client.ping()


def served(**answers: Any) -> Scripted:
    return Scripted(**{"tools/list": {"tools": []}, "tools/call": TEXT, **answers})


# -- every request -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("META-06", "META-07", "META-08", "ELIC-01", "SAMP-01", "ROOT-01")
def test_every_modern_request_carries_its_facts():
    server = served()
    run(server, everything, elicit=lambda question: True, sample=lambda params: {}, roots=["."])
    for message in server.heard:
        meta = message["params"]["_meta"]
        assert meta[META + "protocolVersion"] == versions.LATEST
        assert meta[META + "clientCapabilities"] == {
            "elicitation": {"form": {}, "url": {}},
            "sampling": {},
            "roots": {},
            "extensions": {META + "tasks": {}},
        }
        assert meta[META + "clientInfo"]["name"] == "tooltrue"


@pytest.mark.requirement("META-07", "ELIC-02")
def test_a_client_does_not_declare_a_capability_without_a_handler():
    server = served()
    run(server, everything, tasks=False)
    assert all(message["params"]["_meta"][META + "clientCapabilities"] == {} for message in server.heard)


@pytest.mark.requirement("BASE-06", "PROG-01", "PROG-02")
def test_ids_and_tokens_are_each_used_once():
    server = served()
    run(server, everything)
    ids = [message["id"] for message in server.heard]
    tokens = [message["params"]["_meta"].get("progressToken") for message in server.heard]
    tokens = [token for token in tokens if token is not None]
    assert len(set(ids)) == len(ids)
    assert len(set(tokens)) == len(tokens) == 3
    assert {type(token) for token in tokens} <= {int, str}


@pytest.mark.requirement("LIFE-02", "LIFE-04", "LIFE-05", "LIFE-07", "LIFE-08", "LIFE-17")
def test_a_legacy_conversation_begins_with_the_newest_handshake_and_nothing_before_its_end():
    server = served(**LEGACY)
    run(server, everything, elicit=lambda question: True)
    assert [message["method"] for message in server.heard[:4]] == [
        "server/discover",
        "initialize",
        "notifications/initialized",
        "tools/list",
    ]
    params = server.heard[1]["params"]
    assert params["protocolVersion"] == versions.NEWEST_LEGACY
    assert params["capabilities"] == {"elicitation": {"form": {}, "url": {}}}
    assert params["clientInfo"]["name"] == "tooltrue"


@pytest.mark.requirement("LIFE-18", "LIFE-11")
def test_a_handshake_is_never_cancelled_and_one_that_leads_nowhere_ends_the_conversation():
    for answer in (None, {**INITIALIZED, "protocolVersion": "1999-01-01"}):
        server = served(**{**LEGACY, "initialize": answer})
        with pytest.raises(TransportError):
            run(server, everything, timeout=0.05)
        assert server.heard[-1]["method"] == "initialize"


@pytest.mark.requirement("CANC-01", "CANC-03", "CANC-04", "STDIO-08", "LHTTP-12")
@pytest.mark.parametrize("answers", [LEGACY, {}], ids=["legacy", "modern"])
def test_cancelling_a_call_notifies_the_server_of_that_call_only(answers: Any):
    async def test(client: Client) -> None:
        call = asyncio.ensure_future(client.call_tool("t"))
        await server.until(lambda message: message["method"] == "tools/call")
        call.cancel()
        await asyncio.wait((call,))
        await client.ping()

    server = served(**{**answers, "tools/call": None})
    run(server, test)
    asked, cancelled = server.heard[-3:-1]
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == asked["id"]
    assert "id" not in cancelled


@pytest.mark.requirement("CANC-07", "ERR-09")
def test_an_answer_that_comes_too_late_is_passed_over_and_lateness_is_no_answer_of_the_server():
    async def test(client: Client) -> None:
        with pytest.raises(RequestTimeout) as caught:
            await client.call_tool("t", timeout=0.01)
        assert not isinstance(caught.value, RpcError)
        late = next(message for message in server.heard if message["method"] == "tools/call")
        server.say({"id": late["id"], "result": TEXT})
        await client.ping()

    server = served(**{"tools/call": None})
    run(server, test)


@pytest.mark.requirement("ERR-07")
def test_a_resource_that_an_older_server_does_not_find_is_not_found():
    with pytest.raises(UnknownEntry):
        run(served(**{"resources/read": -32002}), lambda client: client.read_resource("test://x"))


# -- lists -------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("PAGE-01", "PAGE-04", "PAGE-05", "PAGE-06", "LIFE-22", "CACHE-03")
def test_cursors_are_given_back_as_they_came_the_empty_one_too_and_nothing_is_thought_of_sizes():
    cursors = [None, "", "ey'\u2028\\ü==", "2"]

    def page(params: Any) -> Any:
        number = cursors.index(params.get("cursor"))
        following = {"nextCursor": cursors[number + 1]} if number < 3 else {}
        return {
            "tools": [{"name": f"{number}{i}", "inputSchema": {}} for i in range(number)],
            "ttlMs": 9_000,
        } | following

    async def test(client: Client) -> list[str]:
        assert await client.list_prompts() == []
        return [tool.name for tool in await client.list_tools()]

    server = served(**{"tools/list": page, "prompts/list": {"prompts": [], "ttlMs": 9_000}})
    assert run(server, test) == ["10", "20", "21", "30", "31", "32"]


@pytest.mark.requirement("CACHE-04")
def test_a_client_does_not_cache_resource_contents():
    async def test(client: Client) -> None:
        for _ in range(2):
            await client.read_resource("test://x")

    server = served(**{"resources/read": {"contents": [], "ttlMs": 60_000}})
    run(server, test)
    assert [message["method"] for message in server.heard].count("resources/read") == 2


# -- questions ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("CALL-01", "MRTR-21", "MRTR-22", "MRTR-23", "MRTR-24", "MRTR-25", "MRTR-26")
def test_a_round_is_a_new_request_with_every_answer_and_the_state_as_it_came_or_none():
    form = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
    asks = {key: {"method": "elicitation/create", "params": form} for key in "ab"}
    rounds = [
        {"resultType": "input_required", "inputRequests": asks, "requestState": '{"a": [1,  2]}\u2028=='},
        {"resultType": "input_required", "inputRequests": asks},
        TEXT,
    ]

    def answer(params: Any) -> Any:
        return rounds.pop(0) if params["name"] == "asks" else TEXT

    async def test(client: Client) -> None:
        await asyncio.gather(client.call_tool("asks", x=1), client.call_tool("other"))

    server = served(**{"tools/call": answer})
    run(server, test, elicit=lambda question: True)
    calls = [message for message in server.heard if message.get("method") == "tools/call"]
    mine = [message["params"] for message in calls if message["params"]["name"] == "asks"]
    other = next(message["params"] for message in calls if message["params"]["name"] == "other")
    answers = {key: {"action": "accept", "content": {}} for key in "ab"}
    assert [params.get("requestState") for params in mine] == [None, '{"a": [1,  2]}\u2028==', None]
    assert [params.get("inputResponses") for params in mine] == [None, answers, answers]
    assert all(params["arguments"] == {"x": 1} for params in mine)
    assert {"inputResponses", "requestState"}.isdisjoint(other)
    assert len({message["id"] for message in calls}) == 4


def asked(method: str, params: Any, **answers: Any) -> Any:
    """The answer of a client to a request that a legacy server sends during a call."""

    async def test(client: Client) -> dict[str, Any]:
        call = asyncio.ensure_future(client.call_tool("t"))
        await server.until(lambda message: message.get("method") == "tools/call")
        server.say({"id": "q", "method": method, "params": params})
        answer = await server.until(lambda message: message.get("id") == "q")
        call.cancel()
        return answer

    server = served(**{**LEGACY, "tools/call": None})
    return run(server, test, **answers)


FORM = {"type": "object", "properties": {"n": {"type": "integer", "default": 3}, "s": {"type": "string"}}}


@pytest.mark.requirement("ELIC-05", "ELIC-14", "ELIC-41", "ELIC-27")
def test_a_question_without_a_mode_is_a_form_whose_defaults_are_filled_in_and_whose_answer_fits():
    params = {"message": "?", "requestedSchema": FORM}
    seen: list[Elicitation] = []

    def answer(said: Any) -> Callable[[Elicitation], Any]:
        def elicit(question: Elicitation) -> Any:
            seen.append(question)
            return said

        return elicit

    accepted = asked("elicitation/create", params, elicit=answer({"s": "a"}))["result"]
    assert accepted == {"action": "accept", "content": {"n": 3, "s": "a"}}
    assert (seen[0].message, seen[0].fields, seen[0].url) == ("?", FORM, None)
    assert asked("elicitation/create", params, elicit=answer({"s": 7}))["error"]["code"] == -32602
    assert asked("elicitation/create", params, elicit=answer(False))["result"] == {"action": "decline"}
    assert asked("elicitation/create", params, elicit=answer(None))["result"] == {"action": "cancel"}


@pytest.mark.requirement("LCLI-02", "LCLI-06", "SAMP-04", "LCLI-05")
def test_a_client_refuses_a_request_for_an_undeclared_capability():
    assert asked("roots/list", {})["error"]["code"] == -32601
    odd = {"message": "?", "mode": "hologram", "requestedSchema": FORM}
    assert asked("elicitation/create", odd, elicit=lambda question: True)["error"]["code"] == -32602
    for more in ({"tools": []}, {"toolChoice": {"mode": "auto"}}):
        params = {"messages": [], "maxTokens": 1, **more}
        refused = asked("sampling/createMessage", params, sample=lambda params: pytest.fail("a model was asked"))
        assert refused["error"]["code"] == -32602


@pytest.mark.requirement("ROOT-02")
def test_roots_are_addresses_of_files(tmp_path: Path):
    answer = asked("roots/list", {}, roots=[tmp_path, str(tmp_path / "..")])
    assert answer["result"] == {"roots": [{"uri": tmp_path.as_uri()}, {"uri": tmp_path.parent.as_uri()}]}


@pytest.mark.requirement("LCLI-09")
def test_the_end_of_an_unknown_elicitation_does_not_disturb_the_client():
    async def test(client: Client) -> None:
        server.say({"method": "notifications/elicitation/complete", "params": {"elicitationId": "x"}})
        await client.ping()

    server = served(**LEGACY)
    run(server, test)


# -- server info -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("DISC-04", "META-16")
def test_the_server_info_does_not_change_the_requests_of_a_client():
    heard = []
    for info in ({"name": "tooltrue", "version": "1"}, {"name": "../../etc", "version": ""}, 7, None):
        server = served(**{"server/discover": {**DISCOVERED, "_meta": {META + "serverInfo": info}}})
        run(server, everything)
        heard.append([message["method"] for message in server.heard])
    assert all(methods == heard[0] for methods in heard)


@pytest.mark.requirement("SUB-04")
def test_a_resource_that_the_server_does_not_watch_is_logged(caplog: pytest.LogCaptureFixture):
    def listening(params: Any) -> None:
        stamp = {META + "subscriptionId": server.heard[-1]["id"]}
        honoured = {"toolsListChanged": True, "resourceSubscriptions": []}
        said = {"notifications": honoured, "_meta": stamp}
        server.say({"method": "notifications/subscriptions/acknowledged", "params": said})

    async def test(client: Client) -> None:
        await client.subscribe("test://r", lambda uri: None)
        await client.ping()

    capabilities = {"resources": {"subscribe": True}, "tools": {"listChanged": True}}
    server = served(
        **{"server/discover": {**DISCOVERED, "capabilities": capabilities}, "subscriptions/listen": listening}
    )
    run(server, test, on_tools_changed=lambda: None)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "the server does not watch: resourceSubscriptions"
    ]


@pytest.mark.parametrize(("number", "times"), [(-32603, 2), (-32000, 2), (-32601, 1), (-32602, 1)])
def test_a_subscription_that_fails_is_asked_for_again_on_a_channel_too_unless_it_is_refused(
    number: int, times: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    def listening(params: Any) -> int | None:
        asked.append(params)
        if len(asked) == 1:
            return number
        stamp = {META + "subscriptionId": server.heard[-1]["id"]}
        said = {"notifications": params["notifications"], "_meta": stamp}
        server.say({"method": "notifications/subscriptions/acknowledged", "params": said})
        return None

    async def test(client: Client) -> None:
        if times > 1:
            await changed.wait()
        else:
            await everything(client)

    monkeypatch.setattr(conversation, "_RECONNECT_SECONDS", 0.001)
    asked, changed = list[Any](), asyncio.Event()
    capabilities = {"tools": {"listChanged": True}}
    server = served(
        **{"server/discover": {**DISCOVERED, "capabilities": capabilities}, "subscriptions/listen": listening}
    )
    run(server, test, on_tools_changed=changed.set)
    assert len(asked) == times
    assert "the server does not tell of changes" in caplog.text


def test_a_server_that_acknowledges_no_subscription_is_of_use_without_delay_and_a_late_one_tells_of_changes():
    async def main() -> None:
        loop, changed = asyncio.get_running_loop(), asyncio.Event()
        begun = loop.time()
        async with Client(server, on_tools_changed=changed.set, timeout=600.0) as client:
            assert loop.time() - begun < 10.0
            await client.ping()
            assert not changed.is_set()
            listen = await server.until(lambda message: message.get("method") == "subscriptions/listen")
            stamp = {META + "subscriptionId": listen["id"]}
            said = {"notifications": listen["params"]["notifications"], "_meta": stamp}
            server.say({"method": "notifications/subscriptions/acknowledged", "params": said})
            await changed.wait()

    capabilities = {"tools": {"listChanged": True}}
    server = served(**{"server/discover": {**DISCOVERED, "capabilities": capabilities}, "subscriptions/listen": None})
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(main())


def test_a_cancelled_subscription_leaves_the_earlier_subscriptions_of_a_client_open():
    def listening(params: Any) -> None:
        ids.append(server.heard[-1]["id"])
        if len(ids) != 2:
            told = {"_meta": {META + "subscriptionId": ids[-1]}, "notifications": params["notifications"]}
            server.say({"method": "notifications/subscriptions/acknowledged", "params": told})

    async def main() -> None:
        async with asyncio.timeout(LIMIT):
            async with Client(server, on_tools_changed=changed.set) as client:
                following = asyncio.create_task(client.subscribe("test://given-up", lambda uri: None))
                await server.until(lambda message: len(ids) > 1 and message.get("id") == ids[1])
                following.cancel()
                await asyncio.wait((following,))
                assert cancelled() == ids[1:]
                stamp = {META + "subscriptionId": ids[0]}
                server.say({"method": "notifications/tools/list_changed", "params": {"_meta": stamp}})
                await changed.wait()
                await client.subscribe("test://r", lambda uri: None)
                assert cancelled() == [ids[1], ids[0]]
            assert asyncio.all_tasks() == {asyncio.current_task()}

    def cancelled() -> list[Any]:
        methods = (message for message in server.heard if message.get("method") == "notifications/cancelled")
        return [message["params"]["requestId"] for message in methods]

    ids, changed = list[Any](), asyncio.Event()
    capabilities = {"resources": {"subscribe": True}, "tools": {"listChanged": True}}
    server = served(
        **{"server/discover": {**DISCOVERED, "capabilities": capabilities}, "subscriptions/listen": listening}
    )
    asyncio.run(main())
    wanted = [message["params"]["notifications"] for message in server.heard if message.get("id") in ids]
    assert [names.get("resourceSubscriptions") for names in wanted] == [None, ["test://given-up"], ["test://r"]]


def test_a_client_that_is_closed_as_a_resource_comes_to_be_followed_leaves_nothing_that_listens():
    def listening(params: Any) -> None:
        ids.append(server.heard[-1]["id"])
        if len(ids) == 1:
            told = {"_meta": {META + "subscriptionId": ids[0]}, "notifications": params["notifications"]}
            server.say({"method": "notifications/subscriptions/acknowledged", "params": told})

    async def main(gives_up: bool) -> None:
        async with asyncio.timeout(LIMIT):
            async with Client(server, on_tools_changed=lambda: None) as client:
                following = asyncio.create_task(client.subscribe("test://r", lambda uri: None))
                await server.until(lambda message: len(ids) > 1 and message.get("id") == ids[1])
                if gives_up:
                    following.cancel()
            await asyncio.wait((following,))
            assert asyncio.all_tasks() == {asyncio.current_task()}

    capabilities = {"resources": {"subscribe": True}, "tools": {"listChanged": True}}
    for gives_up in (False, True):
        ids = list[Any]()
        server = served(
            **{"server/discover": {**DISCOVERED, "capabilities": capabilities}, "subscriptions/listen": listening}
        )
        asyncio.run(main(gives_up))


# -- servers that are started ------------------------------------------------------------------------------------------

CHILD = """
import json, os, sys
if "leave" in sys.argv and not os.path.exists(sys.argv[-1]):
    sys.stdin.readline()
    open(sys.argv[-1], "w").close()
    sys.exit("what is this?")
print("I complain, and that is all", file=sys.stderr, flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "silent" in sys.argv:
        with open(sys.argv[-1], "w") as asked:
            asked.write(".")
        continue
    if "id" not in message:
        continue
    method = message["method"]
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        info = {"name": "s", "version": "1"}
        reply["result"] = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
    elif method == "server/discover":
        reply["error"] = {"code": -32601, "message": "no"}
    else:
        reply["result"] = {"content": [{"type": "text", "text": json.dumps(sorted(os.environ))}]}
    print(json.dumps(reply), flush=True)
"""


@pytest.fixture
def child(tmp_path: Path) -> list[str]:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    return [sys.executable, str(script)]


@pytest.mark.process
@pytest.mark.requirement("STDIO-03", "STDIO-04", "STDIO-10", "STDIO-13", "VER-04")
def test_the_stderr_of_a_server_process_is_collected_and_is_not_an_error(
    child: list[str], monkeypatch: pytest.MonkeyPatch
):
    async def main() -> tuple[str, str]:
        async with asyncio.timeout(LIMIT), Client(child, env={"MINE": "1"}) as client:
            return (await client.call_tool("t")).text, client.stderr

    monkeypatch.setenv("SECRET_KEY", "x")
    environment, stderr = asyncio.run(main())
    assert stderr == "I complain, and that is all\n"
    assert "MINE" in environment
    assert "SECRET_KEY" not in environment


@pytest.mark.process
@pytest.mark.requirement("VER-07")
def test_a_server_process_that_exits_at_an_unknown_method_is_restarted_once(child: list[str], tmp_path: Path):
    async def main() -> str:
        command = [*child, "leave", str(tmp_path / "left")]
        async with asyncio.timeout(LIMIT), Client(command) as client:
            return client.facts.revision

    assert asyncio.run(main()) == "2025-11-25"


@pytest.mark.needs("fifos")
@pytest.mark.process
def test_a_child_that_ends_says_why_and_so_does_one_that_never_answers(child: list[str], tmp_path: Path):
    asked = tmp_path / "asked"
    os.mkfifo(asked)

    def pass_the_time(pipe: io.FileIO) -> None:
        pipe.read(1)
        skip(16.0)  # longer than an answer may take

    async def main(command: list[str]) -> None:
        loop = asyncio.get_running_loop()
        with io.FileIO(os.open(asked, os.O_RDWR | os.O_NONBLOCK), "r") as pipe:
            loop.add_reader(pipe, pass_the_time, pipe)
            try:
                async with asyncio.timeout(LIMIT), Client(command, timeout=15.0):
                    raise AssertionError("it has opened")
            finally:
                loop.remove_reader(pipe)

    missing = tmp_path / "nowhere" / "left"
    with pytest.raises(ConnectionLost, match="FileNotFoundError"):
        asyncio.run(main([*child, "leave", str(missing)]))
    with pytest.raises(RequestTimeout, match="I complain"):
        asyncio.run(main([*child, "silent", str(asked)]))
