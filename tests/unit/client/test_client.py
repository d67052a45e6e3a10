"""A client against any server: lists, results, timeouts and messages from the server."""

from __future__ import annotations

import asyncio
import base64
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from support.clock import skip
from support.wire.scripted import Scripted, StillLoop
from tooltrue import Client, Context, Form, Server, ToolError
from tooltrue.client.answers import Elicitation
from tooltrue.client.client import Result
from tooltrue.errors import InvalidParams, RequestTimeout, TransportError
from tooltrue.protocol import versions
from tooltrue.protocol.types import UNSET, TextContent
from tooltrue.testing.state import LIMIT


def run(server: Scripted, test: Callable[[Client], Coroutine[Any, Any, Any]], **settings: Any) -> Any:
    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Client(server, **settings) as client:
            return await test(client)

    return asyncio.run(main())


def tools(*names: Any) -> list[Any]:
    return [{"name": name, "inputSchema": {"type": "object"}} for name in names]


# -- lists -------------------------------------------------------------------------------------------------------------


@pytest.mark.twin("A28")
def test_every_page_is_read():
    pages = {None: ("a", "1"), "1": ("b", "2"), "2": ("c", None)}

    def page(params: Any) -> Any:
        name, following = pages[params.get("cursor")]
        return {"tools": tools(name)} | ({"nextCursor": following} if following else {})

    listed = run(Scripted(**{"tools/list": page}), lambda client: client.list_tools())
    assert [tool.name for tool in listed] == ["a", "b", "c"]


@pytest.mark.attack("A28")
@pytest.mark.parametrize("cursor", ["again", "", " ", "null"])
def test_pages_that_never_end_are_given_up(cursor: str):
    server = Scripted(**{"tools/list": lambda params: {"tools": [], "nextCursor": cursor}})
    with pytest.raises(TransportError, match=f"nextCursor '{cursor}' comes again"):
        run(server, lambda client: client.list_tools())


# The cursor that a server gives after page ``n``, and whether the page has an item.
ENDLESS: dict[str, Callable[[int], Any]] = {
    "two in turn": lambda n: "ab"[n % 2],
    "three in turn": lambda n: "abc"[n % 3],
    "a circle after a way": lambda n: str(min(n, 5 + n % 4)),
    "there and back": lambda n: str(min(n, 20 - n)),
    "case": lambda n: "aA"[n % 2],
    "blanks": lambda n: " " * (n % 4),
    "with a NUL": lambda n: "\0" * (n % 2),
    "letters of others": lambda n: "аa"[n % 2],
    "the beginning": lambda n: "0" if n % 3 else "",
    "a long one": lambda n: "x" * 100_000,
    "upwards": str,
    "downwards": lambda n: str(-n),
    "by chance": lambda n: hex(n * 2_654_435_761 % 2**32),
    "longer and longer": lambda n: "x" * n,
    "in base64": lambda n: base64.b64encode(str(n).encode()).decode(),
    "as JSON": lambda n: f'{{"page": {n}}}',
    "many bytes": lambda n: f"{n}" + "x" * 1_000_000,
}
NO_CURSOR: list[Any] = [0, 1, -1, 1.5, True, False, [], ["a"], {}, {"cursor": "a"}]
LISTS: dict[str, tuple[str, str]] = {
    "tools/list": ("tools", "list_tools"),
    "prompts/list": ("prompts", "list_prompts"),
    "resources/list": ("resources", "list_resources"),
    "resources/templates/list": ("resourceTemplates", "list_templates"),
}


@pytest.mark.attack("A28")
@pytest.mark.parametrize("how", ENDLESS)
def test_a28_pagination_ends_for_any_sequence_of_cursors(how: str):
    """Each list in turn, so that each of them meets some."""
    method, (member, read) = list(LISTS.items())[list(ENDLESS).index(how) % len(LISTS)]
    asked: list[Any] = []

    def page(params: Any) -> Any:
        asked.append(params.get("cursor"))
        return {member: [], "nextCursor": ENDLESS[how](len(asked))}

    with pytest.raises(TransportError) as caught:
        run(Scripted(**{method: page}), lambda client: getattr(client, read)())
    assert caught.value.code == "TT5009"
    assert len(asked) <= 1_000


@pytest.mark.attack("A28")
@pytest.mark.parametrize("cursor", NO_CURSOR)
@pytest.mark.parametrize("method", LISTS)
def test_a28_a_cursor_that_is_none_is_asked_for_nothing(method: str, cursor: Any):
    member, read = LISTS[method]
    asked: list[Any] = []

    def page(params: Any) -> Any:
        asked.append(params)
        return {member: [], "nextCursor": cursor}

    with pytest.raises(TransportError, match="nextCursor is not a string"):
        run(Scripted(**{method: page}), lambda client: getattr(client, read)())
    assert len(asked) == 1


@pytest.mark.attack("A29")
def test_pages_that_grow_beyond_all_bounds_are_given_up():
    asked: list[str] = []

    def page(params: Any) -> Any:
        asked.append(str(len(asked)))
        return {"tools": [{**tools("a")[0], "description": "x" * 4_000_000}], "nextCursor": asked[-1]}

    with pytest.raises(TransportError, match="more than 16777216 bytes"):
        run(Scripted(**{"tools/list": page}), lambda client: client.list_tools())
    assert len(asked) == 5


def test_a_tool_that_is_not_valid_costs_itself_and_not_the_rest():
    listed = [*tools("a"), {"name": 7}, None, {"name": "x", "inputSchema": []}, *tools("b")]
    got = run(Scripted(**{"tools/list": {"tools": listed}}), lambda client: client.list_tools())
    assert [tool.name for tool in got] == ["a", "b"]


@pytest.mark.parametrize("result", [{}, {"tools": None}, {"tools": {}}, [], "x"])
def test_a_list_that_is_none_is_an_error_of_the_server(result: Any):
    with pytest.raises(TransportError) as caught:
        run(Scripted(**{"tools/list": result}), lambda client: client.list_tools())
    assert caught.value.code == "TT5009"


# -- calls -------------------------------------------------------------------------------------------------------------


def answered(result: Any) -> Result:
    return run(Scripted(**{"tools/call": result}), lambda client: client.call_tool("t"))


def test_arguments_come_as_a_mapping_as_keywords_or_both():
    server = Scripted(**{"tools/call": lambda params: {"content": [], "structuredContent": params["arguments"]}})
    assert run(server, lambda client: client.call_tool("t", {"a": 1, "timeout": 2}, b=3)).value == {
        "a": 1,
        "timeout": 2,
        "b": 3,
    }


def test_a_value_is_the_structured_one_or_else_the_text():
    text = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert answered({"content": text}).value == "a\nb"
    assert answered({"content": text, "structuredContent": None}).value is None
    assert answered({"content": text}).structured is UNSET
    assert answered({"content": text}).content == (TextContent(text="a"), TextContent(text="b"))


def test_a_failure_is_a_result_whose_value_raises():
    result = answered({"content": [{"type": "text", "text": "Too large."}], "isError": True})
    assert result.is_error
    with pytest.raises(ToolError, match=r"Too large\."):
        _ = result.value


@pytest.mark.parametrize("flag", [None, 0, "true", 1])
def test_only_true_is_an_error(flag: Any):
    assert not answered({"content": [], "isError": flag}).is_error


@pytest.mark.parametrize("content", [None, "x", [{"type": "text"}], [{"type": "hologram"}], [7]])
def test_content_that_is_none_is_an_error_of_the_server(content: Any):
    with pytest.raises(TransportError) as caught:
        answered({"content": content})
    assert caught.value.code == "TT5009"


def test_an_error_of_the_protocol_is_raised():
    with pytest.raises(InvalidParams):
        answered(-32602)


def asked(person_seconds: float, server_seconds: float) -> str:
    """The outcome of a call with a timeout of 10 s at a session-based server that asks a person and then runs on."""
    loop = StillLoop()

    async def person(question: Elicitation) -> bool:
        loop.now += person_seconds
        for _ in range(10):
            await asyncio.sleep(0)  # lets an expired timeout fire
        return True

    server = Server("asks")

    @server.tool(seconds=1_000.0)
    async def think(context: Context) -> str:
        """Ask, and take a while."""
        context.ask(Form("Sure?"))
        loop.now += server_seconds
        for _ in range(10):
            await asyncio.sleep(0)
        return "thought"

    async def main() -> str:
        async with Client(server, elicit=person, timeout=10.0, revision="2025-11-25") as client:
            return (await client.call_tool("think")).text

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        return runner.run(main())


def test_the_time_in_which_a_person_answers_a_legacy_server_is_not_the_servers():
    assert asked(600.0, 9.0) == "thought"
    with pytest.raises(RequestTimeout):
        asked(600.0, 11.0)


@pytest.mark.requirement("CANC-12", "CANC-13", "LIFE-19")
def test_silence_ends_with_a_cancellation():
    server = Scripted(**{"tools/call": lambda params: None})
    with pytest.raises(RequestTimeout):
        run(server, lambda client: client.call_tool("t", timeout=0.01))
    asked, cancelled = server.heard[-2:]
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == asked["id"]


@pytest.mark.requirement("CANC-11", "CANC-12", "LIFE-19")
@pytest.mark.parametrize("method", ["tools/list", "tools/call", "server/discover"])
def test_no_request_waits_for_ever(method: str):
    async def test(client: Client) -> None:
        await client.list_tools()
        await client.call_tool("t")
        await client.ping()

    server = Scripted(**{"tools/list": {"tools": tools("t")}, "tools/call": {"content": []}})
    with pytest.raises(RequestTimeout):
        run(server, lambda client: silenced(client, server, method, test), timeout=10.0)
    asked, cancelled = server.heard[-2:]
    assert asked["method"] == method
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == asked["id"]


async def silenced(client: Client, server: Scripted, method: str, test: Callable[[Client], Any]) -> None:
    """Run ``test`` against a server that has fallen silent on ``method``. Once asked, eleven seconds pass at once."""

    def says_nothing(params: Any) -> None:
        asyncio.get_running_loop().call_soon(skip, 11.0)

    server.answers[method] = says_nothing
    await test(client)


@pytest.mark.requirement("PROG-06")
def test_progress_reaches_the_call_that_asked_and_no_other():
    server = Scripted()

    def call(params: Any) -> Any:
        token = params["_meta"]["progressToken"]
        for said in (token, str(token), token + 1, None, [token]):
            server.say({"method": "notifications/progress", "params": {"progressToken": said, "progress": 1}})
        return {"content": []}

    server.answers["tools/call"] = call
    seen: list[Any] = []
    run(server, lambda client: client.call_tool("t", progress=lambda *said: seen.append(said)))
    assert seen == [(1, None, None)]


def test_b34_true_is_not_the_token_1():
    server = Scripted()

    def call(params: Any) -> Any:
        assert params["_meta"]["progressToken"] == 1
        server.say({"method": "notifications/progress", "params": {"progressToken": True, "progress": 1}})
        return {"content": []}

    server.answers["tools/call"] = call
    seen: list[Any] = []
    run(server, lambda client: client.call_tool("t", progress=lambda *said: seen.append(said)))
    assert seen == []


# -- messages that the server initiates --------------------------------------------------------------------------------


def test_a_change_is_told():
    async def test(client: Client) -> None:
        server.say({"method": "notifications/tools/list_changed"})
        await changed.wait()

    server, changed = Scripted(), asyncio.Event()
    run(server, test, on_tools_changed=changed.set)


INITIALIZED = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


async def asked_by_the_server(client: Client, server: Scripted) -> dict[str, Any]:
    server.say({"id": "s1", "method": "ping"})
    server.say({"id": "s2", "method": "sampling/createMessage"})
    await client.ping()
    return {message["id"]: message for message in server.heard if "method" not in message}


def test_a_ping_of_a_legacy_server_is_answered_and_any_other_request_refused():
    server = Scripted(**{"server/discover": -32601, "initialize": INITIALIZED, "ping": {}})
    answers = run(server, lambda client: asked_by_the_server(client, server))
    assert answers["s1"]["result"] == {}
    assert answers["s2"]["error"]["code"] == -32601


def test_a_question_that_a_legacy_server_takes_back_is_not_put_any_longer_and_not_answered():
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def elicit(question: Elicitation) -> bool:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        return True

    async def test(client: Client) -> None:
        params = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}}
        call = asyncio.ensure_future(client.call_tool("t"))
        await server.until(lambda message: message.get("method") == "tools/call")
        server.say({"id": "q", "method": "elicitation/create", "params": params})
        await asked.wait()
        server.say({"method": "notifications/cancelled", "params": {"requestId": [1]}})
        server.say({"method": "notifications/cancelled", "params": {"requestId": "other"}})
        await client.ping()
        assert not withdrawn.is_set()
        server.say({"method": "notifications/cancelled", "params": {"requestId": "q"}})
        await withdrawn.wait()
        await client.ping()
        assert not any(message.get("id") == "q" for message in server.heard)
        call.cancel()

    silent = {"tools/call": None}
    server = Scripted(**{"server/discover": -32601, "initialize": INITIALIZED, "ping": {}}, **silent)
    run(server, test, elicit=elicit)


def test_a_modern_server_may_ask_nothing_and_is_not_answered():
    server = Scripted()
    assert run(server, lambda client: asked_by_the_server(client, server)) == {}


@pytest.mark.parametrize("value", [math.nan, [None, math.inf], {"a": ({"b": -math.inf},)}])
def test_a_number_that_json_does_not_have_is_not_sent(value: Any):
    async def test(client: Client) -> None:
        with pytest.raises(ValueError, match="NaN"):
            await client.call_tool("t", a=value)

    run(Scripted(), test)


def test_a_null_is_sent_as_it_is():
    async def test(client: Client) -> None:
        await client.call_tool("t", {"a": None, "b": ["null", 1.5]}, c=None)

    server = Scripted(**{"tools/call": {"content": []}})
    run(server, test)
    assert server.heard[-1]["params"]["arguments"] == {"a": None, "b": ["null", 1.5], "c": None}


@pytest.mark.parametrize("message", [{"id": 99, "result": {}}, {"result": 1}, {"method": "x/y"}, {"id": None}, {}])
def test_an_unsolicited_message_of_a_server_does_not_end_the_connection(message: Any):
    async def test(client: Client) -> None:
        server.say(message)
        await client.ping()

    server = Scripted()
    run(server, test)


# -- opening and closing -----------------------------------------------------------------------------------------------


def test_no_method_works_outside_of_the_connection():
    client = Client(Scripted())
    for act in (lambda: client.list_tools(), lambda: client.call_tool("t"), lambda: client.ping()):
        with pytest.raises(TransportError):
            asyncio.run(act())
    with pytest.raises(TransportError):
        _ = client.facts


def test_facts_are_the_statements_of_the_server():
    async def test(client: Client) -> Any:
        return client.facts

    facts = run(Scripted(), test)
    assert (facts.revision, facts.supported, dict(facts.capabilities)) == (versions.LATEST, versions.ALL, {"tools": {}})


class _SlowToClose:
    """A server whose end takes its time."""

    def __init__(self) -> None:
        self.closing, self.may_close, self.is_closed = asyncio.Event(), asyncio.Event(), False

    def connect(self, write: Any) -> _SlowToClose:
        self.inner = Server("slow", audit=False).connect(write)
        return self

    def feed(self, frame: bytes) -> None:
        self.inner.feed(frame)

    async def close(self) -> None:
        self.closing.set()
        await self.may_close.wait()
        await self.inner.close()
        self.is_closed = True


def test_a_close_that_is_cancelled_still_closes_the_connection():
    async def main() -> bool:
        server = _SlowToClose()
        client = Client(server)
        await client.__aenter__()
        closing = asyncio.ensure_future(client.close())
        await server.closing.wait()
        closing.cancel()
        await asyncio.sleep(0)
        server.may_close.set()
        await asyncio.wait((closing,))
        return server.is_closed

    assert asyncio.run(main())
