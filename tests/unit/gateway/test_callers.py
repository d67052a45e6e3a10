"""Each caller of a gateway has connections of its own: no session, question or log message of one reaches another."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, TypeAlias

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from support.gateway_callers import Caller
from tooltrue import Client, QuestionLimits
from tooltrue.client.answers import Elicitation, Reply
from tooltrue.client.config import ServerConfig
from tooltrue.client.notifications import LogMessage
from tooltrue.client.question_limits import QuestionGate
from tooltrue.client.relayed import InputRequested, RelayedRequest
from tooltrue.errors import InvalidParams
from tooltrue.gateway import relay
from tooltrue.gateway.callers import CallerConnection, CallerConnections
from tooltrue.gateway.gateway import Gateway
from tooltrue.gateway.operations import CallerOperation, RelayAnswers
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.testing.state import LIMIT
from tooltrue.tools.vocabulary import Principal, RequestContext

NAMES = ("ada", "bob")


class Session:
    """One session of a server of 2025-11-25 that remembers, in this session, what it has been told."""

    def __init__(self, write: Callable[[bytes], None], server: SessionServer) -> None:
        self._write = write
        self._server = server
        self._told: list[str] = []
        self._asked: dict[str, Any] = {}
        self.followed: set[str] = set()
        self.closed = asyncio.Event()

    def feed(self, frame: bytes) -> None:
        message = json.loads(frame)
        if "method" not in message:
            self._answer(self._asked.pop(message["id"]), json.dumps(message.get("result", "refused")))
        elif "id" in message:
            self._handle(message["id"], message["method"], message["params"])

    def _handle(self, id: Any, method: str, params: Any) -> None:
        match method:
            case "initialize":
                info = {"name": "memory", "version": "1"}
                members = {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES}
                self._send({"id": id, "result": {**members, "serverInfo": info}})
            case "tools/list":
                self._send({"id": id, "result": {"tools": self._server.tools}})
            case "resources/list":
                self._send({"id": id, "result": {"resources": [{"uri": "memory://all", "name": "all"}]}})
            case "resources/templates/list":
                self._send(
                    {"id": id, "result": {"resourceTemplates": [{"uriTemplate": "memory://n/{n}", "name": "n"}]}}
                )
            case "resources/subscribe" | "resources/unsubscribe":
                (self.followed.add if method == "resources/subscribe" else self.followed.remove)(params["uri"])
                self._send({"id": id, "result": {}})
            case "tools/call":
                self._call(id, params["name"], params["arguments"].get("text", ""))
            case _:
                self._send({"id": id, "result": {}})

    def _call(self, id: Any, name: str, text: str) -> None:
        self._told.append(text)
        if name == "log":
            self._send({"method": "notifications/message", "params": {"level": "info", "data": text}})
        if name == "ask":
            question = f"q{id}"
            self._asked[question] = id
            schema = {"type": "object", "properties": {"answer": {"type": "string"}}}
            params = {"mode": "form", "message": text, "requestedSchema": schema}
            self._send({"id": question, "method": "elicitation/create", "params": params})
            return
        self._answer(id, ",".join(self._told))

    def _answer(self, id: Any, text: str) -> None:
        self._send({"id": id, "result": {"content": [{"type": "text", "text": text}]}})

    def update(self) -> None:
        """Say that the resource has changed in this session."""
        self._send({"method": "notifications/resources/updated", "params": {"uri": "memory://all"}})

    def announce_tools(self) -> None:
        """Say that the tools have changed in this session."""
        self._send({"method": "notifications/tools/list_changed"})

    def _send(self, message: dict[str, Any]) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def close(self) -> None:
        self.closed.set()


def _tool(name: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": f"Does {name}.", "inputSchema": schema}


CAPABILITIES = {"tools": {"listChanged": True}, "logging": {}, "resources": {"subscribe": True}}
TOOLS = [_tool("ask"), _tool("log"), _tool("tell")]


class SessionServer:
    def __init__(self) -> None:
        self.sessions: list[Session] = []
        self.tools = TOOLS

    def connect(self, write: Callable[[bytes], None]) -> Session:
        self.sessions.append(Session(write, self))
        return self.sessions[-1]

    @property
    def open(self) -> int:
        return sum(not session.closed.is_set() for session in self.sessions)


def gateway_to(server: SessionServer, bounds: str = "", **more: Any) -> Gateway:
    one = ServerConfig("up", "up", target=server, revision="2025-11-25", **more)
    operator = read_operator_config("tooltrue.toml", f"[gateway]\n{bounds}")
    return Gateway({"up": one}, operator=operator, confirm=Confirm.never())


def test_each_caller_has_a_session_of_its_own_for_as_long_as_the_gateway_lives() -> None:
    server = SessionServer()

    async def run() -> list[str]:
        gateway = gateway_to(server)
        async with Client(Caller(gateway, "ada")) as ada, Client(Caller(gateway, "bob")) as bob:
            texts = [(await client.call_tool("up_tell", text=name)).text for client, name in ((ada, "a"), (bob, "b"))]
            texts.append((await ada.call_tool("up_tell", text="again")).text)
            assert server.open == 3  # that of the definitions, and two of callers
            return texts

    assert asyncio.run(run()) == ["a", "b", "a,again"]
    assert server.open == 0


@pytest.mark.attack("B32")
def test_b32_a_held_call_is_that_of_its_caller_alone() -> None:
    async def run() -> str:
        gateway = gateway_to(SessionServer())
        capabilities = RelayedRequest({"elicitation": {"form": {}}})
        async with Client(Caller(gateway, "ada")) as ada, Client(Caller(gateway, "bob")) as bob:
            with pytest.raises(InputRequested) as asked:
                await ada.relaying(capabilities).call_tool("up_ask", text="a")
            (key,) = asked.value.requests or {}
            answer = {key: {"action": "accept", "content": {"answer": "yes"}}}
            relayed = RelayedRequest(capabilities.capabilities, answer, asked.value.state)
            with pytest.raises(InvalidParams):
                await bob.relaying(relayed).call_tool("up_ask", text="a")
            return (await ada.relaying(relayed).call_tool("up_ask", text="a")).text

    assert "yes" in asyncio.run(run())


def test_a_connection_that_is_not_used_ends() -> None:
    server = SessionServer()

    async def run() -> str:
        gateway = gateway_to(server, "idle_seconds = 0.001")
        async with Client(Caller(gateway, "ada")) as ada:
            await ada.call_tool("up_tell", text="a")
            async with asyncio.timeout(LIMIT):
                await server.sessions[1].closed.wait()
            return (await ada.call_tool("up_tell", text="again")).text

    assert asyncio.run(run()) == "again"


def test_a_connection_over_which_a_caller_follows_a_resource_stays() -> None:
    server = SessionServer()

    async def run() -> None:
        gateway = gateway_to(server, "idle_seconds = 0.001")
        async with Client(Caller(gateway, "ada")) as ada, Client(Caller(gateway, "bob")) as bob:
            await ada.subscribe("memory://all", lambda uri: None)
            await bob.call_tool("up_tell", text="b")
            async with asyncio.timeout(LIMIT):
                await server.sessions[2].closed.wait()
            assert not server.sessions[1].closed.is_set()

    asyncio.run(run())


async def followed(client: Client) -> asyncio.Queue[str]:
    """The changes of the resource, from now on."""
    changes: asyncio.Queue[str] = asyncio.Queue()
    await client.subscribe("memory://all", changes.put_nowait)
    return changes


def test_a_change_in_the_session_of_one_caller_is_told_to_no_other() -> None:
    server = SessionServer()

    async def run() -> tuple[int, int]:
        gateway = gateway_to(server)
        async with Client(Caller(gateway, "ada")) as ada, Client(Caller(gateway, "bob")) as bob:
            of_ada, of_bob = await followed(ada), await followed(bob)
            for session, changes in zip(server.sessions[1:], (of_ada, of_bob), strict=True):
                session.update()
                await asyncio.wait_for(changes.get(), LIMIT)
            for _ in range(100):
                await asyncio.sleep(0)
            return of_ada.qsize(), of_bob.qsize()

    assert asyncio.run(run()) == (0, 0)


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_tools_that_change_in_the_session_of_one_caller_are_read_again_for_all(revision: str) -> None:
    server = SessionServer()

    async def run() -> None:
        gateway = gateway_to(server)
        changed = {name: asyncio.Event() for name in NAMES}
        async with AsyncExitStack() as stack:
            ada, bob = [
                await stack.enter_async_context(
                    Client(Caller(gateway, name), revision=revision, on_tools_changed=changed[name].set)
                )
                for name in NAMES
            ]
            await ada.call_tool("up_tell", text="begin")
            server.tools = [_tool("undo")]
            server.sessions[1].announce_tools()
            async with asyncio.timeout(LIMIT):
                for event in changed.values():
                    await event.wait()
            for client in (ada, bob):
                assert [tool.name for tool in await client.list_tools(refresh=True)] == ["up_undo"]
            assert (await ada.call_tool("up_undo", text="it")).text == "begin,it"

    asyncio.run(run())


def test_all_callers_of_one_session_are_told_of_a_change_in_it() -> None:
    server = SessionServer()

    async def run() -> None:
        gateway = gateway_to(server, shared=True)
        async with Client(Caller(gateway, "ada")) as ada, Client(Caller(gateway, "bob")) as bob:
            queues = await followed(ada), await followed(bob)
            server.sessions[0].update()
            for changes in queues:
                await asyncio.wait_for(changes.get(), LIMIT)

    asyncio.run(run())


def test_a_caller_that_follows_many_resources_of_a_session_of_all_leaves_room_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(relay, "_MOST_FOLLOWED_TOGETHER", 2)
    server = SessionServer()

    async def run() -> set[str]:
        gateway = gateway_to(server, shared=True)
        async with Client(Caller(gateway, "ada")) as ada, Client(Caller(gateway, "bob")) as bob:
            await bob.subscribe("memory://n/1", lambda uri: None)
            for number in range(5):
                await ada.subscribe(f"memory://n/{number}", lambda uri: None)
                await ada.unsubscribe(f"memory://n/{number}")
            return server.sessions[0].followed

    assert asyncio.run(run()) == {"memory://n/1", "memory://n/3", "memory://n/4"}


def test_a_change_of_a_resource_costs_no_new_table_of_all_tools() -> None:
    server = SessionServer()

    async def run() -> bool:
        gateway = gateway_to(server)
        context = RequestContext(Principal("ada"), CallerLog())
        async with Client(Caller(gateway, "ada")) as ada:
            changes, before = await followed(ada), await gateway.host.catalogue.list_tools(context)
            server.sessions[1].update()
            await asyncio.wait_for(changes.get(), LIMIT)
            return await gateway.host.catalogue.list_tools(context) is before

    assert asyncio.run(run())


def test_callers_have_so_many_connections_at_once_and_no_more() -> None:
    """An unused one makes room; where all are in use, the caller learns it."""
    server = SessionServer()
    asking = RelayedRequest({"elicitation": {"form": {}}})

    async def run() -> Any:
        gateway = gateway_to(server, "in_all = 2")
        async with AsyncExitStack() as stack:
            names = ("ada", "bob", "eve")
            ada, bob, eve = [await stack.enter_async_context(Client(Caller(gateway, name))) for name in names]
            for client in (ada, bob, eve):
                await client.call_tool("up_tell", text="x")
            assert server.open == 3
            for client in (bob, eve):  # held: their connections are in use
                with pytest.raises(InputRequested):
                    await client.relaying(asking).call_tool("up_ask", text="y")
            return await ada.call_tool("up_tell", text="z")

    result = asyncio.run(run())
    assert result.is_error
    assert "All 2 connections" in result.text


class CallerLog:
    """The way back to one caller, which notes the log messages."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None:
        self.heard.append(data)

    def detach(self) -> None: ...


def test_a_late_message_on_the_stream_of_one_caller_does_not_reach_another() -> None:
    answers = RelayAnswers(QuestionGate(QuestionLimits(), "up"))
    logs = {name: CallerLog() for name in NAMES}

    def operation(name: str) -> CallerOperation:
        return CallerOperation(RequestContext(Principal(name), logs[name]))

    ended = operation("ada")
    with answers.running(ended):
        stream = contextvars.copy_context()
    with answers.running(operation("bob")):
        stream.run(answers.on_log, LogMessage("info", "of ada"))
    assert (logs["ada"].heard, logs["bob"].heard) == ([], [])
    with answers.running(operation("ada")):
        stream.run(answers.on_log, LogMessage("info", "of ada"))
    assert logs["ada"].heard == ["of ada"]


# --- a property ------------------------------------------------------------------------------------------------------


async def pass_turns(turns: int) -> None:
    for _ in range(turns):
        await asyncio.sleep(0)


class HoldingServer(SessionServer):
    """A server whose sessions hold what they say about calls, until it is delivered."""

    def __init__(self) -> None:
        super().__init__()
        self._held: list[Callable[[], None]] = []
        self._has_some = asyncio.Event()

    def connect(self, write: Callable[[bytes], None]) -> Session:
        def hold(frame: bytes) -> None:
            message = json.loads(frame)
            if "method" in message or "content" in message["result"]:
                self._held.append(partial(write, frame))
                self._has_some.set()
            else:
                write(frame)

        return super().connect(hold)

    async def deliver(self, order: Sequence[tuple[int, int]]) -> None:
        """Deliver the messages without end, each after some turns of the loop: one of those that there are then."""
        for turns, place in itertools.cycle(order):
            await self._has_some.wait()
            await pass_turns(turns)
            self._held.pop(place % len(self._held))()
            if not self._held:
                self._has_some.clear()


waits = st.integers(0, 60)
calls = st.tuples(st.sampled_from(NAMES), st.sampled_from(("ask", "log", "tell")), waits)
plans = st.lists(calls, min_size=2, max_size=6)
orders = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), min_size=1, max_size=8)
Plan: TypeAlias = Sequence[tuple[str, str, int]]
"""Calls: the caller, the tool, and the turns of the loop after which it begins."""
Order: TypeAlias = Sequence[tuple[int, int]]


async def heard_by_each(plan: Plan, order: Order, **more: Any) -> dict[str, list[str]]:
    """All text that reached each caller, while the calls of ``plan`` ran side by side, and the messages of the server
    arrived in ``order``."""
    heard: dict[str, list[str]] = {name: [] for name in NAMES}
    server = HoldingServer()
    gateway = gateway_to(server, **more)

    async def use(name: str) -> None:
        def elicit(question: Elicitation) -> Reply:
            heard[name].append(question.message)
            return {"answer": name}

        def on_log(message: LogMessage) -> None:
            heard[name].append(str(message.data))

        limits = QuestionLimits(per_minute=1_000, waiting=100)
        async with Client(Caller(gateway, name), elicit=elicit, on_log=on_log, questions=limits) as client:

            async def call(tool: str, turns: int) -> None:
                await pass_turns(turns)
                heard[name].append((await client.call_tool(f"up_{tool}", text=f"of {name}")).text)

            await asyncio.gather(*(call(tool, turns) for owner, tool, turns in plan if owner == name))

    async with asyncio.timeout(LIMIT), gateway.in_lifespan():
        delivering = asyncio.create_task(server.deliver(order))
        await asyncio.gather(*map(use, NAMES))
        delivering.cancel()
    return heard


def leaks(heard: dict[str, list[str]]) -> bool:
    ada, bob = heard["ada"], heard["bob"]
    return any("bob" in text for text in ada) or any("ada" in text for text in bob)


@given(plan=plans, order=orders)
@settings(max_examples=60, deadline=None)
def test_no_text_of_one_caller_reaches_the_other(plan: Plan, order: Order) -> None:
    heard = asyncio.run(heard_by_each(plan, order))
    assert not leaks(heard)
    for name in NAMES:
        assert sum(name in text for text in heard[name]) >= sum(caller == name for caller, *_ in plan)


def one_key_for_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CallerConnections, "_key", lambda self, context: ("", "", b""))


def takes_any_open_connection(patch: pytest.MonkeyPatch) -> None:
    own = CallerConnections.of

    @asynccontextmanager
    async def of(self: Any, context: RequestContext) -> AsyncGenerator[CallerConnection]:
        key = next((key for key, one in self._connections.items() if one.client is not None), None)
        with pytest.MonkeyPatch.context() as now:
            if key is not None:
                now.setattr(self, "_key", lambda context: key)
            taken = own(self, context)
            connection = await taken.__aenter__()
        try:
            yield connection
        finally:
            await taken.__aexit__(None, None, None)

    patch.setattr(CallerConnections, "of", of)


def answers_where_the_last_caller_asked(patch: pytest.MonkeyPatch) -> None:
    """The connections of all callers have the same operations."""
    together: list[Any] = []
    begin = RelayAnswers.__init__

    def sharing(self: Any, *words: Any) -> None:
        begin(self, *words)
        self._operations = together

    patch.setattr(RelayAnswers, "__init__", sharing)
    patch.setattr(RelayAnswers, "_operation", lambda answers: together[-1] if together else None)


LEAKS = (one_key_for_all, takes_any_open_connection, answers_where_the_last_caller_asked)


@pytest.mark.parametrize("leak", LEAKS, ids=lambda leak: leak.__name__)
def test_the_property_finds_a_leak(leak: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch) -> None:
    leak(monkeypatch)

    @settings(max_examples=100, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(plan=plans, order=orders)
    def searching(plan: Plan, order: Order) -> None:
        assert not leaks(asyncio.run(heard_by_each(plan, order)))

    with pytest.raises(AssertionError):
        searching()


def test_the_property_finds_a_session_that_callers_share() -> None:
    everything = [(name, tool, 0) for name in NAMES for tool in ("tell", "ask", "log")]
    assert leaks(asyncio.run(heard_by_each(everything, [(0, 0)], shared=True)))


@given(order=orders)
@settings(max_examples=20, deadline=None)
def test_a_question_in_a_session_of_all_reaches_no_other_caller(order: Order) -> None:
    assert not leaks(asyncio.run(heard_by_each([(name, "ask", 0) for name in NAMES], order, shared=True)))


def test_the_property_finds_questions_that_go_to_the_newest_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    def newest(answers: Any) -> CallerOperation | None:
        return answers._operations[-1] if answers._operations else None

    monkeypatch.setattr(RelayAnswers, "_operation", newest)
    assert leaks(asyncio.run(heard_by_each([(name, "ask", 0) for name in NAMES], [(40, 0)], shared=True)))
