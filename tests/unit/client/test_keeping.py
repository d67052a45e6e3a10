"""A client's cache and its TTL; the client's promises about time, results and resources."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from support.wire.scripted import DISCOVERED, Scripted, StillLoop
from tooltrue import Client, ConfigurationError
from tooltrue.client.notifications import LogMessage
from tooltrue.errors import InvalidParams, InvalidResult, RequestTimeout, TransportError

LEGACY = {
    "server/discover": -32601,
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"resources": {"subscribe": True}, "logging": {}},
        "serverInfo": {"name": "old", "version": "1"},
    },
    "resources/subscribe": {},
    "resources/unsubscribe": {},
    "logging/setLevel": {},
    "ping": {},
}


def run(server: Scripted, test: Callable[[Client, StillLoop], Coroutine[Any, Any, Any]], **settings: Any) -> Any:
    loop = StillLoop()

    async def main() -> Any:
        async with Client(server, **settings) as client:
            return await test(client, loop)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main())


def asked(server: Scripted, method: str) -> list[Any]:
    return [message["params"] for message in server.heard if message.get("method") == method]


def page(*names: str, **members: Any) -> dict[str, Any]:
    return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names], **members}


# -- lists -------------------------------------------------------------------------------------------------------------


def times_read(seconds: float, **members: Any) -> int:
    """How often a list is asked for that is read twice, so many seconds apart."""

    async def test(client: Client, loop: StillLoop) -> None:
        await client.list_tools()
        loop.now += seconds
        assert [tool.name for tool in await client.list_tools()] == ["a"]

    server = Scripted(**{"tools/list": page("a", **members)})
    run(server, test)
    return len(asked(server, "tools/list"))


@pytest.mark.requirement("CACHE-05", "CACHE-06", "CACHE-07", "CACHE-08")
def test_a_list_is_good_for_as_long_as_the_server_says_and_no_longer():
    assert times_read(9.9, ttlMs=10_000) == 1
    assert times_read(10.1, ttlMs=10_000) == 2
    for nothing in ({}, {"ttlMs": 0}, {"ttlMs": -5}, {"ttlMs": "10000"}, {"ttlMs": True}):
        assert times_read(0.0, **nothing) == 2


@pytest.mark.requirement("CACHE-09")
def test_a_list_is_read_when_somebody_wants_it_and_at_no_other_time():
    async def test(client: Client, loop: StillLoop) -> None:
        await client.list_tools()
        loop.now += 1_000.0
        await client.ping()

    server = Scripted(**{"tools/list": page("a", ttlMs=1_000)})
    run(server, test)
    assert len(asked(server, "tools/list")) == 1


@pytest.mark.requirement("CACHE-12")
def test_a_list_changed_notification_invalidates_a_cached_list_before_its_ttl_ends():
    async def test(client: Client, loop: StillLoop) -> list[str]:
        await client.list_tools()
        server.answers["tools/list"] = page("b", ttlMs=60_000)
        server.say({"method": "notifications/tools/list_changed"})
        await client.ping()
        return [tool.name for tool in await client.list_tools()]

    server = Scripted(**{"tools/list": page("a", ttlMs=60_000)})
    assert run(server, test) == ["b"]


def test_a_list_that_changes_while_it_is_read_is_not_kept():
    def changing(params: Any) -> Any:
        server.say({"method": "notifications/tools/list_changed"})
        return page("a", ttlMs=60_000)

    async def test(client: Client, loop: StillLoop) -> None:
        await client.list_tools()
        await client.list_tools()

    server = Scripted(**{"tools/list": changing})
    run(server, test)
    assert len(asked(server, "tools/list")) == 2


def test_a_cached_list_is_reread_on_refresh_and_callers_cannot_change_the_cache():
    async def test(client: Client, loop: StillLoop) -> list[str]:
        (await client.list_tools()).clear()
        server.answers["tools/list"] = page("b", ttlMs=60_000)
        assert [tool.name for tool in await client.list_tools()] == ["a"]
        return [tool.name for tool in await client.list_tools(refresh=True)]

    server = Scripted(**{"tools/list": page("a", ttlMs=60_000)})
    assert run(server, test) == ["b"]


@pytest.mark.requirement("CACHE-14", "CACHE-15", "PAGE-03")
def test_a_cursor_that_is_not_good_any_more_begins_the_list_again_once():
    def expiring(params: Any) -> Any:
        if "cursor" not in params:
            return page("a", nextCursor="1")
        return -32602 if len(asked(server, "tools/list")) <= expired else page("b")

    async def test(client: Client, loop: StillLoop) -> list[str]:
        return [tool.name for tool in await client.list_tools()]

    server, expired = Scripted(**{"tools/list": expiring}), 2
    assert run(server, test) == ["a", "b"]
    server, expired = Scripted(**{"tools/list": expiring}), 1_000
    with pytest.raises(InvalidParams):
        run(server, test)
    assert len(asked(server, "tools/list")) == 4


# -- time --------------------------------------------------------------------------------------------------------------


def worked(seconds: float, times: int, **limits: float) -> str:
    """The outcome of a call that reports progress ``times`` times, every ``seconds`` seconds, and then ends."""

    async def test(client: Client, loop: StillLoop) -> str:
        call = asyncio.ensure_future(client.call_tool("t", progress=lambda *said: None, **limits))
        await turns()
        request = server.heard[-1]
        for count in range(times):
            loop.now += seconds
            await turns()
            params = {"progressToken": request["params"]["_meta"]["progressToken"], "progress": count}
            server.say({"method": "notifications/progress", "params": params})
            await turns()
        server.say({"id": request["id"], "result": {"content": [{"type": "text", "text": "done"}]}})
        return (await call).text

    async def turns() -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    server = Scripted(**{"tools/call": None})
    return run(server, test)


@pytest.mark.requirement("CANC-14", "CALL-22")
def test_progress_gives_a_call_more_time_and_never_more_than_it_has_in_all():
    assert worked(9.0, 5, timeout=10.0, total_timeout=100.0) == "done"
    with pytest.raises(RequestTimeout) as caught:
        worked(11.0, 5, timeout=10.0, total_timeout=100.0)
    assert caught.value.code == "TT5002"
    with pytest.raises(RequestTimeout) as caught:
        worked(9.0, 5, timeout=10.0, total_timeout=40.0)
    assert caught.value.code == "TT5022"


def test_the_rounds_of_a_call_have_one_total_and_the_time_of_a_person_is_none_of_it():
    async def person(question: Any) -> bool:
        loops[0].now += 1_000.0
        return True

    def think(params: Any) -> Any:
        loops[0].now += 9.0
        form = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
        asks = {"q": {"method": "elicitation/create", "params": form}}
        return {"resultType": "input_required", "inputRequests": asks, "requestState": "s"}

    async def test(client: Client, loop: StillLoop) -> None:
        loops.append(loop)
        await client.call_tool("t", timeout=10.0, total_timeout=40.0)

    loops: list[StillLoop] = []
    server = Scripted(**{"tools/call": think})
    with pytest.raises(RequestTimeout) as caught:
        run(server, test, elicit=person)
    assert caught.value.code == "TT5022"
    assert len(asked(server, "tools/call")) == 5


# -- results -----------------------------------------------------------------------------------------------------------

OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def called(result: Any, schema: Any = OUTPUT, **settings: Any) -> Any:
    async def test(client: Client, loop: StillLoop) -> Any:
        await client.list_tools()
        return await client.call_tool("t", **settings)

    promise = {} if schema is None else {"outputSchema": schema}
    tool = {"name": "t", "inputSchema": {"type": "object"}, **promise}
    return run(Scripted(**{"tools/list": {"tools": [tool]}, "tools/call": {"content": [], **result}}), test)


@pytest.mark.requirement("CALL-06", "CALL-20")
def test_a_result_that_breaks_the_promise_of_its_tool_is_an_error_that_says_where():
    assert called({"structuredContent": {"n": 1}}).value == {"n": 1}
    for broken in ({"structuredContent": {"n": "secret"}}, {"structuredContent": None}, {}):
        with pytest.raises(InvalidResult) as caught:
            called(broken)
        assert caught.value.code == "TT5023"
        assert "secret" not in str(caught.value)
        assert caught.value.result.raw == {"content": [], **broken}


@pytest.mark.requirement("CALL-21")
def test_a_failure_keeps_no_promise_and_a_schema_that_is_none_is_no_promise():
    assert called({"isError": True}).is_error
    for schema in ({"type": 7}, {"$ref": "https://example.com/x"}, {"pattern": "(a+)+$", "type": "nothing"}):
        assert called({"structuredContent": {"n": 1}}, schema).value == {"n": 1}


@dataclass
class Point:
    n: int


class Row(TypedDict):
    n: int


class Model(BaseModel):
    n: int


@pytest.mark.parametrize(
    ("kind", "expected"), [(Point, Point(1)), (Row, {"n": 1}), (Model, Model(n=1)), (dict[str, int], {"n": 1})]
)
def test_a_value_is_of_the_type_that_was_asked_for(kind: Any, expected: Any):
    assert called({"structuredContent": {"n": 1}}, returns=kind).value == expected
    assert called({"structuredContent": {"result": [{"n": 1}]}}, {}, returns=list[kind]).value == [expected]
    with pytest.raises(InvalidResult) as caught:
        called({"structuredContent": {"n": "x"}}, {}, returns=kind)
    assert caught.value.code == "TT5024"


def test_a_text_is_a_value_where_a_text_was_asked_for():
    text = {"content": [{"type": "text", "text": "a"}]}
    assert called(text | {"structuredContent": "b"}, {}, returns=str).value == "b"
    assert called(text, None, returns=str).value == "a"


# -- resources and messages --------------------------------------------------------------------------------------------


@pytest.mark.requirement("SUB-05", "STDIO-07")
def test_a_modern_client_follows_resources_with_one_subscription_that_lists_the_current_uris():
    def listening(params: Any) -> None:
        stamp = {"io.modelcontextprotocol/subscriptionId": server.heard[-1]["id"]}
        server.say({"method": "notifications/subscriptions/acknowledged", "params": {"_meta": stamp}})
        stamps.append(stamp)

    async def test(client: Client, loop: StillLoop) -> None:
        await client.subscribe("test://a", changed.append)
        await client.subscribe("test://b", changed.append)
        for uri, stamp in (("test://a", stamps[1]), ("test://b/c", stamps[1]), ("test://a", stamps[0])):
            server.say({"method": "notifications/resources/updated", "params": {"uri": uri, "_meta": stamp}})
        await client.ping()
        await client.unsubscribe("test://a")
        await client.unsubscribe("test://b")
        await client.ping()

    stamps: list[Any] = []
    changed: list[str] = []
    capabilities = {"resources": {"subscribe": True}}
    server = Scripted(
        **{"server/discover": {**DISCOVERED, "capabilities": capabilities}, "subscriptions/listen": listening}
    )
    run(server, test)
    wanted = [params["notifications"]["resourceSubscriptions"] for params in asked(server, "subscriptions/listen")]
    assert wanted == [["test://a"], ["test://a", "test://b"], ["test://b"]]
    assert changed == ["test://a", "test://b/c"]
    assert len(asked(server, "notifications/cancelled")) == 3


def test_a_legacy_resource_is_followed_by_a_request_of_its_own():
    async def test(client: Client, loop: StillLoop) -> None:
        await client.subscribe("test://a", changed.append)
        server.say({"method": "notifications/resources/updated", "params": {"uri": "test://a"}})
        await client.ping()
        await client.unsubscribe("test://a")
        server.say({"method": "notifications/resources/updated", "params": {"uri": "test://a"}})
        await client.ping()

    changed: list[str] = []
    server = Scripted(**LEGACY)
    run(server, test)
    assert changed == ["test://a"]
    assert asked(server, "resources/subscribe") == asked(server, "resources/unsubscribe") == [{"uri": "test://a"}]


def test_a_client_cannot_subscribe_to_a_resource_without_the_subscribe_capability():
    async def test(client: Client, loop: StillLoop) -> None:
        await client.subscribe("test://a", lambda uri: None)

    with pytest.raises(TransportError) as caught:
        run(Scripted(), test)
    assert caught.value.code == "TT5026"


@pytest.mark.requirement("LOG-05")
@pytest.mark.parametrize("answers", [LEGACY, {}], ids=["legacy", "modern"])
def test_a_client_requests_its_log_level_and_receives_the_log_messages(answers: Any):
    async def test(client: Client, loop: StillLoop) -> None:
        for params in ({"level": "error", "data": {"a": 1}, "logger": "x"}, {"level": 7, "logger": 7}):
            server.say({"method": "notifications/message", "params": params})
        await client.ping()

    heard: list[LogMessage] = []
    server = Scripted(**answers)
    run(server, test, on_log=heard.append, log_level="warning")
    assert heard == [LogMessage("error", {"a": 1}, "x"), LogMessage("info", None)]
    if answers:
        assert asked(server, "logging/setLevel") == [{"level": "warning"}]
    else:
        levels = [message["params"]["_meta"].get("io.modelcontextprotocol/logLevel") for message in server.heard]
        assert levels == ["warning"] * 2


def test_an_unknown_log_level_is_refused_before_the_client_sends_a_message():
    with pytest.raises(ConfigurationError):
        Client(Scripted(), on_log=lambda message: None, log_level="loud")


@pytest.mark.requirement("LCLI-03")
def test_a_model_that_may_not_be_asked_is_a_refusal_with_its_own_number():
    async def test(client: Client, loop: StillLoop) -> None:
        call = asyncio.ensure_future(client.call_tool("t"))
        await server.until(lambda message: message.get("method") == "tools/call")
        server.say({"id": "s", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
        await server.until(lambda message: message.get("id") == "s")
        call.cancel()

    server = Scripted(**{**LEGACY, "tools/call": None})
    run(server, test, sample=lambda params: None)
    answer = next(message for message in server.heard if message.get("id") == "s")
    assert answer["error"]["code"] == -1
