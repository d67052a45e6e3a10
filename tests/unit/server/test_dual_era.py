"""Which era a message belongs to, and a conversation of both eras on one channel."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tooltrue import Server
from tooltrue.protocol import modern, versions
from tooltrue.server.dual_era import Opening, era_of
from tooltrue.testing.state import LIMIT

META = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {}}


def opening(method: str = "tools/list", *, meta: bool = False, opened: bool = False, **more: Any) -> Opening:
    return Opening(method, meta, opened, **more)


@pytest.mark.requirement("VER-13")
@pytest.mark.parametrize(
    ("facts", "era"),
    [
        (opening(meta=True), "modern"),
        (opening(meta=True, opened=True), "modern"),
        (opening("initialize", meta=True), "modern"),
        (opening("initialize"), "handshake"),
        (opening("initialize", opened=True), "handshake"),
        (opening("ping"), "legacy"),
        (opening("ping", meta=True), "modern"),
        (opening(opened=True), "legacy"),
        (opening(), "modern"),
        (opening("server/discover"), "modern"),
        (opening(on_http=True), "legacy"),
        (opening(on_http=True, header=versions.LATEST), "modern"),
        (opening("initialize", on_http=True, header=versions.LATEST), "modern"),
        (opening(on_http=True, header=versions.NEWEST_LEGACY), "legacy"),
        (opening(on_http=True, header="nonsense"), "legacy"),
        (opening("initialize", on_http=True), "handshake"),
    ],
)
def test_the_first_fact_that_decides_decides(facts: Opening, era: str):
    assert era_of(facts) == era


class Channel:
    """A server's channel, spoken raw."""

    def __init__(self, server: Server) -> None:
        self._answers: asyncio.Queue[Any] = asyncio.Queue()
        self._session = server.connect(lambda frame: self._answers.put_nowait(json.loads(frame)))
        self.close, self.hold = self._session.close, self._session.hold

    def say(self, method: str, params: Any = None, id: Any = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}} | ({} if id is None else {"id": id})
        self.raw(message)

    def raw(self, message: Any) -> None:
        self._session.feed(json.dumps(message).encode())

    async def hear(self) -> Any:
        async with asyncio.timeout(LIMIT):
            return await self._answers.get()

    async def ask(self, method: str, params: Any = None, id: Any = 1) -> Any:
        self.say(method, params, id)
        answer = await self.hear()
        assert answer.get("id") == id
        return answer.get("result", answer.get("error"))

    async def handshake(self, revision: str = versions.NEWEST_LEGACY) -> Any:
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        answer = await self.ask("initialize", params, "handshake")
        self.say("notifications/initialized")
        return answer

    @property
    def silent(self) -> bool:
        return self._answers.empty()


def made() -> tuple[Server, list[str]]:
    server, cancelled = Server("t"), []

    @server.tool
    async def forever() -> str:
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append("forever")
            raise
        return ""

    @server.tool(blocking=False, title="Add")
    def add(a: int, b: int) -> int:
        return a + b

    return server, cancelled


def talk(test: Any) -> None:
    async def main() -> None:
        server, cancelled = made()
        channel = Channel(server)
        await test(channel, server, cancelled)
        await channel.close()
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


ADD = {"name": "add", "arguments": {"a": 1, "b": 2}}


@pytest.mark.requirement("STATE-01", "VER-13")
def test_both_eras_are_served_on_one_channel_in_turns():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        first = await channel.ask("tools/call", {**ADD, "_meta": META})
        await channel.handshake()
        legacy = await channel.ask("tools/call", ADD)
        second = await channel.ask("tools/call", {**ADD, "_meta": META})
        assert first == second
        assert first["resultType"] == "complete"
        assert legacy == {
            "content": [{"type": "text", "text": "3"}],
            "structuredContent": {"result": 3},
            "isError": False,
        }

    talk(test)


def test_a_request_without_facts_and_without_handshake_is_told_both_ways():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        error = await channel.ask("tools/list")
        assert error["code"] == -32602
        assert error["data"] == {"supported": list(versions.ALL)}
        assert "initialize" in error["message"]

    talk(test)


def test_an_unknown_protocol_version_is_unsupported():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        for version in ("9999-01-01", versions.NEWEST_LEGACY):
            error = await channel.ask("tools/list", {"_meta": {**META, modern.VERSION: version}})
            assert error["code"] == -32022
            assert error["data"] == {"supported": list(versions.ALL), "requested": version}

    talk(test)


def test_a_ping_is_answered_before_the_handshake():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        assert await channel.ask("ping") == {}

    talk(test)


def test_a_second_handshake_is_refused_and_the_session_stays():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        assert (await channel.handshake("2025-06-18"))["protocolVersion"] == "2025-06-18"
        assert (await channel.handshake("2024-11-05"))["code"] == -32600
        assert (await channel.ask("tools/list"))["tools"][0]["title"] == "Add"

    talk(test)


@pytest.mark.requirement("CALL-12", "ERR-08")
@pytest.mark.parametrize("method", ["no/such", "prompts/list", "tools/call/", "", "subscriptions/listen"])
def test_a_method_that_is_not_offered_is_not_found(method: str):
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        await channel.handshake()
        assert (await channel.ask(method))["code"] == -32601
        if method != "subscriptions/listen":
            assert (await channel.ask(method, {"_meta": META}))["code"] == -32601

    talk(test)


@pytest.mark.parametrize("meta", [{}, {"_meta": META}])
def test_b35_a_cancelled_call_ends_and_is_not_answered(meta: Any):
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        await channel.handshake()
        channel.say("tools/call", {"name": "forever", **meta}, 7)
        await asyncio.sleep(0)
        channel.say("notifications/cancelled", {"requestId": 7, **meta})
        assert await channel.ask("ping", id=8) == {}
        await asyncio.sleep(0)  # a task that runs hears of its cancellation in the next turn of the loop
        assert cancelled == ["forever"]
        assert channel.silent

    talk(test)


@pytest.mark.requirement("CANC-10")
@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ({"reason": "enough"}, "enough"),
        ({"reason": "a\nb\x1b[31m"}, "a b [31m"),
        ({"reason": "x" * 1_000_000}, "x" * 200),
        ({}, "no reason given"),
        ({"reason": ["x"]}, "no reason given"),
    ],
)
def test_the_reason_of_a_cancellation_is_in_the_log_short_and_on_one_line(
    reason: dict[str, Any], said: str, caplog: pytest.LogCaptureFixture
):
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        await channel.handshake()
        channel.say("tools/call", {"name": "forever"}, "a\nb")
        await asyncio.sleep(0)
        channel.say("notifications/cancelled", {"requestId": "a\nb", **reason})

    with caplog.at_level("DEBUG", "tooltrue"):
        talk(test)
    assert [record.getMessage() for record in caplog.records] == [f"request 'a b' was cancelled: {said}"]


@pytest.mark.requirement("CANC-09")
@pytest.mark.parametrize("id", ["1", True, 1.0, None, [1], {"a": 1}, 2])
def test_b34_a_cancellation_of_another_id_cancels_nothing(id: Any):
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        await channel.handshake()
        channel.say("tools/call", {"name": "forever"}, 1)
        await asyncio.sleep(0)
        channel.say("notifications/cancelled", {"requestId": id})
        assert await channel.ask("ping", id=8) == {}
        assert cancelled == []

    talk(test)


def test_b32_two_channels_with_the_same_ids_do_not_mix():
    async def main() -> None:
        server, cancelled = made()
        one, two = Channel(server), Channel(server)
        one.say("tools/call", {"name": "forever", "_meta": META}, 1)
        two.say("tools/call", {**ADD, "_meta": META}, 1)
        assert (await two.hear())["result"]["structuredContent"] == 3
        two.say("notifications/cancelled", {"requestId": 1})
        await asyncio.sleep(0)
        assert one.silent
        assert cancelled == []
        await one.close()
        await two.close()

    asyncio.run(main())


def test_a_batch_is_taken_where_its_revision_has_them():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        channel.raw([ping])
        assert (await channel.hear())["error"]["code"] == -32600
        await channel.handshake("2025-03-26")
        channel.raw([ping, {**ping, "id": 2}])
        assert {answer["id"] for answer in await channel.hear()} == {1, 2}

    talk(test)


@pytest.mark.requirement("META-18", "SUB-02")
def test_a_subscription_tells_of_changes_under_its_id_until_it_is_cancelled():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        channel.say("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": META}, "s")
        acknowledged = await channel.hear()
        assert acknowledged["method"] == "notifications/subscriptions/acknowledged"
        assert acknowledged["params"]["notifications"] == {"toolsListChanged": True}
        server.remove_tool("add")
        changed = await channel.hear()
        assert changed["method"] == "notifications/tools/list_changed"
        assert changed["params"]["_meta"] == acknowledged["params"]["_meta"] == {modern.SUBSCRIPTION_ID: "s"}
        channel.say("notifications/cancelled", {"requestId": "s"})
        await asyncio.sleep(0)
        server.remove_tool("forever")
        assert await channel.ask("ping") == {}
        assert channel.silent

    talk(test)


@pytest.mark.requirement("SUB-01")
def test_a_subscription_to_nothing_is_told_nothing():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        channel.say("subscriptions/listen", {"notifications": {}, "_meta": META}, "s")
        assert (await channel.hear())["params"]["notifications"] == {}
        server.remove_tool("add")
        assert await channel.ask("ping") == {}
        assert channel.silent

    talk(test)


def test_a_legacy_session_hears_of_changes_once_it_has_said_that_it_is_ready():
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        server.remove_tool("forever")
        await channel.handshake()
        server.remove_tool("add")
        assert await channel.hear() == {"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": {}}

    talk(test)


@pytest.mark.parametrize("held", [False, True], ids=["at once", "held"])
@pytest.mark.parametrize("revision", versions.LEGACY)
def test_a_client_that_does_not_wait_for_its_handshake_hears_of_changes_too(revision: str, held: bool):
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        channel.hold(held)
        params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}
        channel.say("initialize", params, 1)
        channel.say("notifications/initialized")
        channel.say("ping", None, 2)
        channel.hold(False)
        assert [(await channel.hear())["id"], (await channel.hear())["id"]] == [1, 2]
        server.remove_tool("add")
        assert (await channel.hear())["method"] == "notifications/tools/list_changed"

    talk(test)


@pytest.mark.parametrize("first", ["notifications/initialized", "ping"])
def test_messages_before_the_handshake_do_not_make_a_session_ready(first: str):
    async def test(channel: Channel, server: Server, cancelled: list[str]) -> None:
        channel.say(first, None, None if first.startswith("notifications") else 0)
        channel.say("notifications/initialized")
        client = {"name": "t", "version": "0"}
        params = {"protocolVersion": versions.NEWEST_LEGACY, "capabilities": {}, "clientInfo": client}
        channel.say("initialize", params, 1)
        while (await channel.hear())["id"] != 1:
            pass
        server.remove_tool("add")
        assert await channel.ask("ping", None, 2) == {}
        assert channel.silent

    talk(test)


def test_a_closed_channel_leaves_no_listeners_after_repeated_initialized_notifications():
    async def main() -> None:
        server, _ = made()
        channel = Channel(server)
        await channel.handshake("2025-03-26")
        channel.raw([{"jsonrpc": "2.0", "method": "notifications/initialized"}] * 50)
        await channel.ask("ping")
        await channel.close()
        assert server._assembly.served.hub.listening == 0  # pyright: ignore[reportPrivateUsage]

    asyncio.run(main())
