"""A gateway between clients and servers of every revision: it passes on what each of them says to the other."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typing_extensions import TypedDict

from tooltrue import Client, Context, Form, QuestionLimits, Server, ToolSearch
from tooltrue.client.answers import Elicitation, Reply
from tooltrue.client.config import ServerConfig
from tooltrue.client.notifications import LogMessage
from tooltrue.errors import ConfigurationError, InvalidParams
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.rules.globs import globs
from tooltrue.policy.tasks.declared_effects import declare_effects
from tooltrue.state.places import sqlite_url
from tooltrue.testing.state import LIMIT
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall

T = TypeVar("T")

REVISIONS = ("2026-07-28", "2025-11-25", "2024-11-05")
QUESTIONS = ("2026-07-28", "2025-11-25")
"""The revisions that have questions to a person."""


class Table(TypedDict):
    people: int


class Place(TypedDict):
    where: str


def upstream() -> Server:
    server = Server("upstream", instructions="Add numbers.", confirm=Confirm.never())

    @server.tool(effect="read")
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(effect="read")
    def book(context: Context) -> str:
        """Book a table."""
        people = context.ask(Form("How many?", Table))
        where = context.ask(Form("Where?", Place))
        if people.value is None or where.value is None:
            return f"{people.action}, {where.action}"
        return f"{people.value['people']} at {where.value['where']}"

    @server.tool(effect="read")
    def count(context: Context) -> str:
        """Count, and report it."""
        for number in range(1, 4):
            context.progress(number, 3, f"step {number}")
            context.log("info", {"at": number})
        return "counted"

    @server.resource("notes://{name}")
    def note(name: str) -> str | None:
        return f"the note {name}" if name == "a" else None

    @server.prompt
    def greet(name: str) -> str:
        return f"Greet {name}."

    return server


class ServerWithoutSubscriptions:
    """A server of 2025-11-25 with one resource, whose changes it does not report."""

    def connect(self, write: Callable[[bytes], None]) -> ServerWithoutSubscriptions:
        self._write = write
        return self

    def feed(self, frame: bytes) -> None:
        message = json.loads(frame)
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": self._results.get(message["method"], {})}
            self._write(json.dumps(answer).encode())

    _results: Mapping[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"resources": {}},
            "serverInfo": {"name": "silent", "version": "1"},
        },
        "resources/list": {"resources": [{"uri": "silent://note", "name": "note"}]},
        "resources/templates/list": {"resourceTemplates": []},
    }

    async def close(self) -> None: ...


def through(
    use: Callable[[Client], Awaitable[T]],
    *,
    revision: str = REVISIONS[0],
    of_server: str = REVISIONS[0],
    **settings: Any,
) -> T:
    """Return the result of ``use`` with a client of ``revision``, through a gateway to a server of ``of_server``."""
    one = ServerConfig("up", "up", target=upstream(), revision=of_server, hints=True)

    async def run() -> T:
        gateway = Gateway({"up": one}, confirm=Confirm.never())
        limits = QuestionLimits(per_minute=100)
        async with Client(gateway, revision=revision, questions=limits, **settings) as client:
            return await use(client)

    return asyncio.run(run())


every_pair = pytest.mark.parametrize(
    ("revision", "of_server"), [(client, server) for client in REVISIONS for server in REVISIONS]
)
asking_pairs = pytest.mark.parametrize(
    ("revision", "of_server"), [(client, server) for client in QUESTIONS for server in QUESTIONS]
)


@every_pair
def test_tools_resources_and_prompts_pass(revision: str, of_server: str) -> None:
    async def use(client: Client) -> list[Any]:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool("up_add", a=1, b=2)
        (part,) = await client.read_resource("notes://a")
        prompt = await client.get_prompt("up_greet", name="Ada")
        return [tools, result.text, part, prompt.messages[0].content, client.facts.instructions]

    tools, text, part, greeting, instructions = through(use, revision=revision, of_server=of_server)
    assert tools == ["up_add", "up_book", "up_count"]
    assert "3" in text
    assert part.text == "the note a"
    assert greeting.text == "Greet Ada."
    assert instructions == "Add numbers."


@asking_pairs
def test_a_question_of_the_server_is_answered_by_the_caller(revision: str, of_server: str) -> None:
    asked: list[str] = []

    def elicit(question: Elicitation) -> Reply:
        asked.append(question.message)
        return {"people": 4} if question.message == "How many?" else {"where": "the window"}

    async def use(client: Client) -> str:
        return (await client.call_tool("up_book")).text

    assert through(use, revision=revision, of_server=of_server, elicit=elicit) == "4 at the window"
    assert asked == ["How many?", "Where?"]


@asking_pairs
def test_a_caller_may_decline(revision: str, of_server: str) -> None:
    async def use(client: Client) -> str:
        return (await client.call_tool("up_book")).text

    assert through(use, revision=revision, of_server=of_server, elicit=lambda question: False) == "decline, decline"


@every_pair
def test_progress_and_log_messages_reach_the_caller(revision: str, of_server: str) -> None:
    seen: list[Any] = []
    logged: list[LogMessage] = []

    async def use(client: Client) -> str:
        progress = lambda done, total, message: seen.append((done, total))  # noqa: E731
        return (await client.call_tool("up_count", progress=progress)).text

    assert through(use, revision=revision, of_server=of_server, on_log=logged.append) == "counted"
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert [message.data for message in logged] == [{"at": 1}, {"at": 2}, {"at": 3}]


@pytest.mark.parametrize("revision", QUESTIONS)
@pytest.mark.parametrize("of_server", QUESTIONS)
def test_a_change_of_a_followed_resource_reaches_the_caller(revision: str, of_server: str) -> None:
    """Also beside a server that reports no changes, and is not disturbed by the wish."""
    server = upstream()
    servers = {
        "up": ServerConfig("up", "up", target=server, revision=of_server),
        "silent": ServerConfig("silent", "silent", target=ServerWithoutSubscriptions(), revision="2025-11-25"),
    }

    async def run() -> list[str]:
        changed: asyncio.Queue[str] = asyncio.Queue()
        async with Client(Gateway(servers), revision=revision) as client:
            if revision == "2026-07-28":
                await client.subscribe("silent://note", changed.put_nowait)
            else:
                with pytest.raises(InvalidParams, match="cannot be followed"):
                    await client.subscribe("silent://note", changed.put_nowait)
            await client.subscribe("notes://a", changed.put_nowait)
            server.resource_updated("notes://a")
            async with asyncio.timeout(LIMIT):
                return [await changed.get()]

    assert asyncio.run(run()) == ["notes://a"]


@every_pair
def test_a_result_names_no_server_but_the_gateway(revision: str, of_server: str) -> None:
    async def use(client: Client) -> object:
        return (await client.call_tool("up_add", a=1, b=2)).raw.get("_meta", {})

    assert "upstream" not in json.dumps(through(use, revision=revision, of_server=of_server))


def test_a_caller_with_too_many_tools_searches_for_them() -> None:
    async def run() -> tuple[list[str], str]:
        one = ServerConfig("up", "up", target=upstream(), hints=True)
        search = ToolSearch(always=True, shown=[])
        gateway = Gateway({"up": one}, confirm=Confirm.never(), search=search)
        async with Client(gateway) as client:
            names = [tool.name for tool in await client.list_tools()]
            result = await client.call_tool("call_tool", {"name": "up_add", "arguments": {"a": 1, "b": 2}})
            return names, result.text

    assert asyncio.run(run()) == (["call_tool", "describe_tools", "search_tools"], "3")


def test_a_tool_with_a_declared_effect_is_known_without_waiting() -> None:
    server = upstream()
    declared = declare_effects({"open-world": globs(["add"])})(server.tools)
    context = RequestContext(LOCAL, SILENT)

    async def found() -> Any:
        return await declared.find_tool("add", context)

    tool = declared.known_tool("add", context)
    assert tool is not None
    assert tool.effect == "open-world"
    assert tool is asyncio.run(found())


@pytest.mark.parametrize(
    ("make", "code", "setting"),
    [
        (lambda **settings: Gateway({}, **settings), "TT9356", "[audit]"),
        (lambda **settings: Server("notes", **settings), "TT7010", "Server("),
    ],
    ids=["gateway", "server"],
)
def test_a_log_that_cannot_be_written_names_the_setting_of_the_person_who_runs_it(
    make: Callable[..., Server], code: str, setting: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    audit = Audit(to=sqlite_url(tmp_path / "file" / "audit.db"), is_default=True)

    async def run() -> ConfigurationError:
        with pytest.raises(ConfigurationError) as refused:
            async with make(audit=audit).serving():
                raise AssertionError("it must not start")
        return refused.value

    error = asyncio.run(run())
    assert (error.code, setting in error.say("en"), setting in error.say("zh")) == (code, True, True)


@pytest.mark.parametrize("arguments", [{"a": 3, "b": 4}, {"a": 3}])
@pytest.mark.parametrize("revision", REVISIONS)
def test_an_answered_call_leaves_no_cycles_of_objects(revision: str, arguments: dict[str, int]) -> None:
    """The gateway seldom looks for garbage, so that the objects of a call must be freed without that."""

    async def call(client: Client) -> list[object]:
        await client.call_tool("up_add", {"a": 1, "b": 2})  # with the first one, plans are made
        gc.collect()
        await client.call_tool("up_add", arguments)
        await asyncio.sleep(0)  # the tasks of the call end
        return found_by_collection()

    assert not [one for one in through(call, revision=revision) if isinstance(one, ToolCall | RequestContext)]


def found_by_collection() -> list[object]:
    """The objects that only a garbage collection frees."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        gc.collect()
        return list(gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
