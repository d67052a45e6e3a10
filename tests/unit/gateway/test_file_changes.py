"""The files of a gateway change while it serves: it exchanges the servers that have changed, and no others."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import TypedDict

from tooltrue import Client, ConfigurationError, Context, Form, Server
from tooltrue.cli.gateway_verb import GatewaySpec
from tooltrue.client.answers import Elicitation, Reply
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.gateway.gateway_files import GatewayFiles
from tooltrue.host.host import Host
from tooltrue.host.launches import Launches
from tooltrue.host.servers import Patience
from tooltrue.policy.config import OperatorConfig, read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.protocol.types import replaced
from tooltrue.testing.state import LIMIT

T = TypeVar("T")


class Table(TypedDict):
    people: int


class Upstream:
    """A server in memory, which counts its sessions, and whose slow call ends when it is told to."""

    def __init__(self, name: str, *tools: str, revision: str = "2025-11-25") -> None:
        self.name = name
        self.revision = revision
        self.begun = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.opened = self.closed = 0
        self.has_ended = asyncio.Event()
        self.server = server = Server(name, confirm=Confirm.never(), audit=False)
        for tool in tools:
            server.tool(lambda: f"{name} of {self.name}", name=tool, effect="read")

        @server.tool(effect="read")
        async def slow() -> str:
            """Wait."""
            self.begun.set()
            await self.goes_on.wait()
            return f"slow of {name}"

        @server.tool(effect="read")
        def book(context: Context) -> str:
            """Book a table."""
            answer = context.ask(Form("How many?", Table))
            return f"{name}: {answer.value}"

    def connect(self, write: Callable[[bytes], None]) -> Any:
        self.opened += 1
        session = self.server.connect(write)
        close = session.close

        async def close_and_count() -> None:
            await close()
            self.closed += 1
            self.has_ended.set()

        session.close = close_and_count
        return session

    def entry(self, label: str, **more: Any) -> ServerConfig:
        return ServerConfig(label, label, target=self, revision=self.revision, hints=True, **more)


def config(*entries: ServerConfig) -> HostConfig:
    return HostConfig("", Path(), entries)


def gateway(*entries: ServerConfig, operator: str = "", **more: Any) -> Gateway:
    read = read_operator_config("tooltrue.toml", operator) if operator else None
    return Gateway(config(*entries), operator=read, confirm=Confirm.never(), audit=False, **more)


@asynccontextmanager
async def served(made: Server, **more: Any) -> AsyncGenerator[tuple[Client, asyncio.Queue[str]]]:
    """A client, and the changes of lists that it is told of."""
    changes: asyncio.Queue[str] = asyncio.Queue()
    told = {
        f"on_{kind}_changed": lambda kind=kind: changes.put_nowait(kind) for kind in ("tools", "resources", "prompts")
    }
    async with asyncio.timeout(LIMIT), Client(made, **told, **more) as client:
        yield client, changes


async def names(client: Client) -> list[str]:
    return [tool.name for tool in await client.list_tools() if not tool.name.endswith(("slow", "book"))]


def test_servers_are_added_and_taken_away_while_another_goes_on() -> None:
    async def run() -> None:
        first, second, third = Upstream("one", "a"), Upstream("two", "b"), Upstream("three", "c")
        one = first.entry("one")
        made = gateway(one, second.entry("two"))
        async with served(made) as (client, changes):
            assert await names(client) == ["one_a", "two_b"]
            await made.use(config(one, third.entry("three")), None)
            assert await changes.get() == "tools"
            assert await names(client) == ["one_a", "three_c"]
            assert (await client.call_tool("three_c")).text == "three of three"
            await second.has_ended.wait()
            assert [status.name for status in made.host.servers] == ["one", "three"]
            assert [status.starts for status in made.host.servers] == [1, 1]
            assert first.closed == 0
            await made.use(config(one, third.entry("three")), None)  # the same again
            assert changes.empty()

    asyncio.run(run())


def test_a_call_at_a_server_that_is_exchanged_comes_to_its_end() -> None:
    async def run() -> None:
        old, new = Upstream("old", "a"), Upstream("new", "a", "b")
        made = gateway(old.entry("up"))
        async with served(made) as (client, changes):
            slow = asyncio.create_task(client.call_tool("up_slow"))
            await old.begun.wait()
            await made.use(config(new.entry("up")), None)
            assert await changes.get() == "tools"
            assert (await client.call_tool("up_b")).text == "new of new"
            assert not old.has_ended.is_set()
            old.goes_on.set()
            assert (await slow).text == "slow of old"
            await old.has_ended.wait()

    asyncio.run(run())


def test_a_call_that_does_not_end_is_given_up_with_its_server() -> None:
    async def run() -> None:
        old, new = Upstream("old", "a"), Upstream("new", "a")
        made = gateway(old.entry("up"), host_settings={"patience": Patience(drain=0.05)})
        async with served(made) as (client, _):
            slow = asyncio.create_task(client.call_tool("up_slow"))
            await old.begun.wait()
            await made.use(config(new.entry("up")), None)
            result = await slow
            assert result.is_error
            assert "up" in result.text
            assert (await client.call_tool("up_a")).text == "new of new"

    asyncio.run(run())


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_a_question_is_answered_although_its_server_is_exchanged_meanwhile(revision: str) -> None:
    async def run() -> str:
        old, new = Upstream("old"), Upstream("new")
        made = gateway(old.entry("up"))

        async def elicit(question: Elicitation) -> Reply:
            await made.use(config(new.entry("up")), None)
            return {"people": 3}

        async with served(made, elicit=elicit, revision=revision) as (client, _):
            return (await client.call_tool("up_book")).text

    assert asyncio.run(run()) == "old: {'people': 3}"


def test_the_end_of_the_gateway_ends_the_servers_that_wait_for_their_calls_too() -> None:
    async def run() -> None:
        old, new = Upstream("old"), Upstream("new")
        made = gateway(old.entry("up"))
        async with served(made) as (client, _):
            slow = asyncio.create_task(client.call_tool("up_slow"))
            await old.begun.wait()
            await made.use(config(new.entry("up")), None)
            slow.cancel()
        assert (old.closed, new.closed) == (old.opened, new.opened)

    asyncio.run(run())


VIEW = '[views.docs]\nservers = ["wiki*"]\ntools = ["*_a"]\n'


def test_a_view_has_the_servers_that_its_patterns_name() -> None:
    async def run() -> None:
        wiki, other = Upstream("one", "a", "b"), Upstream("two", "a")
        made = gateway(wiki.entry("wiki"), operator=VIEW)
        async with served(made.view("docs")) as (client, changes):
            assert await names(client) == ["wiki_a"]
            after = config(wiki.entry("wiki"), other.entry("wiki2"), other.entry("code"))
            await made.use(after, read_operator_config("tooltrue.toml", VIEW))
            assert await changes.get() == "tools"
            assert await names(client) == ["wiki2_a", "wiki_a"]

    asyncio.run(run())


# --- mistakes ---------------------------------------------------------------------------------------------------------


def test_files_that_a_start_would_refuse_change_nothing() -> None:
    async def run() -> None:
        one, other = Upstream("one", "a"), Upstream("two", "a")
        made = gateway(one.entry("wiki"), operator=VIEW)
        async with asyncio.timeout(LIMIT), Client(made.view("docs")) as client:
            view_of_none = read_operator_config("tooltrue.toml", VIEW)
            with pytest.raises(ConfigurationError, match="the view docs has the server"):
                await made.use(config(other.entry("code")), view_of_none)
            settings_of_none = read_operator_config("tooltrue.toml", VIEW + "[servers.code]\nshared = true\n")
            with pytest.raises(ConfigurationError, match="no server code"):
                await made.use(config(one.entry("wiki")), settings_of_none)
            renamed = other.entry("wiki", rename={"a": "x", "slow": "x"})
            with pytest.raises(ConfigurationError):
                await made.use(config(renamed), view_of_none)
            assert await names(client) == ["wiki_a"]
            assert (one.opened, other.opened) == (1, 0)

    asyncio.run(run())


class Steps:
    """The sleeps of a gateway between two looks at its files, each of which the test ends."""

    def __init__(self) -> None:
        self._permits = asyncio.Semaphore(0)
        self._asleep = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        self._asleep.release()
        await self._permits.acquire()

    async def look(self, times: int = 2) -> None:
        """Have it look at its files: twice, so that it takes a change."""
        for _ in range(times):
            await self._asleep.acquire()
            self._permits.release()
        await self._asleep.acquire()  # the last look is over
        self._asleep.release()


async def follower(
    files: GatewayFiles, use: Callable[[HostConfig, OperatorConfig | None], Awaitable[None]], steps: Steps
) -> asyncio.Task[None]:
    task = asyncio.create_task(files.follow(use, sleep=steps.sleep))
    await steps.look(1)
    return task


def write(file: Path, servers: Mapping[str, Any]) -> None:
    file.write_text(json.dumps({"mcpServers": servers}), "utf-8")


def test_a_file_with_a_mistake_is_said_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        file, operator = tmp_path / "servers.json", tmp_path / "tooltrue.toml"
        write(file, {"one": {"url": "http://127.0.0.1:9/mcp"}})
        operator.write_text("")
        files = pickle.loads(pickle.dumps(GatewayFiles(str(file), str(operator))))
        lists: list[list[str]] = []

        async def use(servers: HostConfig, read: OperatorConfig | None) -> None:
            assert read is not None
            lists.append([one.label for one in servers.servers])

        steps = Steps()
        task = await follower(files, use, steps)
        file.write_text('{"mcpServers": {"one": {"url": "http://127.0.0.1:9/mcp"}, "one": {}}}')
        with caplog.at_level(logging.WARNING, "tooltrue"):
            await steps.look()
        assert (lists, files.is_refused) == ([], True)
        assert "TT4830" in caplog.text
        assert f"{file}:1" in caplog.text
        write(file, {"one": {"url": "http://127.0.0.1:9/mcp"}, "two": {"url": "http://127.0.0.1:9/mcp"}})
        await steps.look()
        assert (lists, files.is_refused) == ([["one", "two"]], False)
        operator.write_text("[limits]\nseconds = 0\n")
        await steps.look()
        assert (len(lists), files.is_refused) == (1, True)
        task.cancel()

    asyncio.run(run())


def test_a_worker_that_begins_while_the_rules_have_a_mistake_has_the_last_good_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file, operator = tmp_path / "servers.json", tmp_path / "tooltrue.toml"
    write(file, {"one": {"url": "http://127.0.0.1:9/mcp"}})
    operator.write_text("")
    files = GatewayFiles(str(file), str(operator))
    spec = GatewaySpec(str(file), str(operator), confirm=False, is_for_one=False, own_files=files)
    spec.load()
    write(file, {"one": {"url": "http://127.0.0.1:9/mcp"}, "two": {"url": "http://127.0.0.1:9/mcp"}})
    for _ in range(2):
        files.renew(spec.gateway)
    operator.write_text('[[rules]]\nview = "absent"\nthen = "allow"\n')
    for _ in range(2):
        files.renew(spec.gateway)
    worker = pickle.loads(pickle.dumps(spec))
    with caplog.at_level(logging.WARNING, "tooltrue"):
        made = worker.load()
    assert [one.label for one in made.host.config.servers] == ["one", "two"]
    assert worker.own_files.is_refused
    assert f"{operator}:2" in caplog.text
    with pytest.raises(ConfigurationError, match="absent"):  # the first start has nothing to fall back on
        replaced(spec, own_files=None).load()


def test_a_file_that_is_gone_for_a_moment_is_no_empty_one(tmp_path: Path) -> None:
    async def run() -> None:
        file = tmp_path / "servers.json"
        write(file, {"one": {"url": "http://127.0.0.1:9/mcp"}})
        files, steps, used = GatewayFiles(str(file)), Steps(), list[int]()

        async def use(servers: HostConfig, read: OperatorConfig | None) -> None:
            used.append(len(servers.servers))

        task = await follower(files, use, steps)
        file.unlink()
        await steps.look()
        assert (used, files.is_refused) == ([], True)
        write(file, {})
        await steps.look()
        assert (used, files.is_refused) == ([0], False)
        task.cancel()

    asyncio.run(run())


def test_other_tables_of_the_operators_file_wait_for_the_next_start(caplog: pytest.LogCaptureFixture) -> None:
    async def run() -> None:
        one = Upstream("one", "a")
        made = gateway(one.entry("up"), operator="[limits]\nseconds = 5\n")
        changed = read_operator_config("tooltrue.toml", "[limits]\nseconds = 6\n[servers.up]\nprefix = false\n")
        async with served(made) as (client, _):
            with caplog.at_level(logging.WARNING, "tooltrue"):
                await made.use(config(one.entry("up")), changed)
            assert await names(client) == ["a"]
            assert made.settings.limits.seconds == 5
            assert "tooltrue.toml has changed in limits" in caplog.text

    asyncio.run(run())


PROGRAM = """
from tooltrue import Server

server = Server("program")

@server.tool(effect="read")
def ready() -> str:
    return "ready"

server.run()
"""


@pytest.mark.process
def test_a_server_starts_once_a_person_has_approved_its_command(tmp_path: Path) -> None:
    async def run() -> None:
        (tmp_path / "program.py").write_text(PROGRAM)
        file, launches = tmp_path / "servers.json", Launches(tmp_path / "state")
        write(file, {"up": {"command": sys.executable, "args": [str(tmp_path / "program.py")]}})
        files, steps = GatewayFiles(str(file), None, [launches.file]), Steps()
        read, operator = files.read()
        made = Gateway(read, operator=operator, audit=False, host_settings={"launches": launches, "pins": False})
        async with served(made) as (client, changes):
            assert await client.list_tools() == []
            task = await follower(files, made.use, steps)

            async def agreed(one: Any) -> bool:
                return True

            async with Host(read, launches=launches, approve_launch=agreed, audit=False, pins=False):
                pass
            await steps.look()
            assert await changes.get() == "tools"
            assert await names(client) == ["up_ready"]
            task.cancel()

    asyncio.run(run())


# --- a property -------------------------------------------------------------------------------------------------------

LISTS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "a-b"]), st.tuples(st.integers(0, 2), st.booleans()), max_size=4
)


@settings(max_examples=30, deadline=None)
@given(st.lists(LISTS, min_size=2, max_size=4))
def test_after_all_changes_the_catalogue_is_that_of_a_new_gateway(
    lists: list[dict[str, tuple[int, bool]]],
) -> None:
    async def catalogue(made: Gateway) -> list[tuple[str, str, str, bool]]:
        return [(row.alias, row.server, row.name, row.is_available) for row in made.host.rows]

    async def run() -> None:
        upstreams = [Upstream(str(number), *(f"t{one}" for one in range(number + 1))) for number in range(3)]

        def config_of(these: Mapping[str, tuple[int, bool]]) -> HostConfig:
            return config(
                *(upstreams[number].entry(label, prefix=has_prefix) for label, (number, has_prefix) in these.items())
            )

        changed, new = Gateway(config_of(lists[0]), audit=False), Gateway(config_of(lists[-1]), audit=False)
        async with asyncio.timeout(LIMIT), Client(changed), Client(new):
            for these in lists[1:]:
                await changed.use(config_of(these), None)
            assert await catalogue(changed) == await catalogue(new)

    asyncio.run(run())
