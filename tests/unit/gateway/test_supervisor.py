"""The supervisor holds programs for several workers: here supervisor and workers share an event loop."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from support.gateway_callers import Caller
from tooltrue import Client, QuestionLimits
from tooltrue._internal.platform.private_sockets import bind_private, connect_private, private_address
from tooltrue.client.config import HostConfig, ServerConfig, resolved
from tooltrue.client.relayed import InputRequested, RelayedRequest
from tooltrue.errors import InvalidParams, RpcError
from tooltrue.gateway.callers import ConnectionBounds
from tooltrue.gateway.gateway import Gateway
from tooltrue.gateway.supervisor import ProgramSupervisor
from tooltrue.host.launches import Launches
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.state.facts import Facts, MemoryFacts
from tooltrue.state.places import sqlite_url
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

T = TypeVar("T")

KEY = b"k" * 32
CAPABILITIES = {"elicitation": {"form": {}}}
ADA = {"action": "accept", "content": {"name": "Ada"}}

PROGRAM = '''
import asyncio
import os
from typing_extensions import TypedDict
from tooltrue import Context, Form, Server, ToolError
from tooltrue.policy.layers.confirm import Confirm

server = Server("counting", instructions="Count.", confirm=Confirm.never())
calls = 0

class Name(TypedDict):
    name: str

@server.tool(effect="read")
def count(context: Context) -> str:
    """Count the calls."""
    global calls
    calls += 1
    context.progress(calls, None, "counted")
    return f"{os.getpid()} {calls}"

@server.tool(effect="read")
def greet(context: Context) -> str:
    """Greet somebody."""
    name = context.ask(Form("Your name?", Name))
    return "-" if name.value is None else f"{os.getpid()} {name.value['name']}"

@server.tool(effect="read")
async def wait(context: Context) -> str:
    """Wait for ever."""
    context.progress(1, None, "waits")
    await asyncio.Event().wait()
    return ""

@server.tool(effect="read")
def die() -> str:
    """End the process."""
    os._exit(1)

@server.resource("notes://a")
def note() -> str:
    return "the note"

@server.resource("notes://b")
def lost_note() -> str:
    raise ToolError("the note is lost")

server.run()
'''


WITH_TASKS = """
import os
from tooltrue import Server, Tasks
from tooltrue.policy.layers.confirm import Confirm

server = Server("tasks", confirm=Confirm.never(), tasks=Tasks(store=os.environ["STORE"], poll_seconds=0.05))

@server.tool(effect="read", task=True)
async def count() -> str:
    return "counted"

server.run()
"""


@dataclass
class Crew:
    """A supervisor, and workers that use it."""

    supervisor: ProgramSupervisor
    config: HostConfig
    address: str
    facts: Facts

    def worker(self, operator: str = "", **settings: Any) -> Gateway:
        return Gateway(
            self.config,
            operator=read_operator_config("tooltrue.toml", operator),
            supervisor=self.address,
            confirm=Confirm.never(),
            facts=self.facts,
            keys=[KEY],
            **settings,
        )


def the_program(folder: Path, text: str = PROGRAM, **more: Any) -> ServerConfig:
    (folder / "counting.py").write_text(text, "utf-8")
    env = {"PYTHONPATH": os.pathsep.join(sys.path), "STORE": sqlite_url(folder / "tasks.db")}
    return ServerConfig("up", "up", sys.executable, (str(folder / "counting.py"),), env, hints=True, **more)


@asynccontextmanager
async def crew(folder: Path, *servers: ServerConfig, per_caller: int = 4) -> AsyncGenerator[Crew]:
    config = HostConfig("", folder, servers)
    bounds = ConnectionBounds(per_caller=per_caller)
    supervisor = ProgramSupervisor(
        config, bounds, QuestionLimits(per_minute=100), KEY, approve_launch=lambda launch: True
    )
    with private_address() as address, bind_private(address) as listener:
        async with supervisor.serving(listener):
            yield Crew(supervisor, config, address, MemoryFacts())


def at_two(folder: Path, use: Callable[[Gateway, Gateway], Awaitable[T]], **more: Any) -> T:
    """Return the result of ``use`` with two workers."""

    async def run() -> T:
        async with crew(folder, the_program(folder, **more)) as those:
            first, second = those.worker(), those.worker()
            async with first.in_lifespan(), second.in_lifespan():
                return await use(first, second)

    return asyncio.run(run())


async def counted(worker: Gateway, caller: str) -> list[str]:
    async with Client(Caller(worker, caller)) as client:
        return (await client.call_tool("up_count")).text.split()


def test_a_program_is_one_process_for_each_caller_and_not_for_each_worker(tmp_path: Path) -> None:
    async def use(first: Gateway, second: Gateway) -> Any:
        return [await counted(worker, name) for worker in (first, second) for name in ("ada", "bob")]

    (ada, one), (bob, two), *later = at_two(tmp_path, use)
    assert (one, two) == ("1", "1")
    assert ada != bob
    assert later == [[ada, "2"], [bob, "2"]]


def test_a_shared_program_is_one_process(tmp_path: Path) -> None:
    async def use(first: Gateway, second: Gateway) -> Any:
        return [await counted(worker, name) for worker in (first, second) for name in ("ada", "bob")]

    counts = at_two(tmp_path, use, shared=True)
    assert len({process for process, _ in counts}) == 1
    assert [count for _, count in counts] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
def test_a_question_is_answered_at_the_other_worker(tmp_path: Path, revision: str) -> None:
    async def use(first: Gateway, second: Gateway) -> Any:
        capabilities = RelayedRequest(CAPABILITIES)
        async with Client(Caller(first, "ada")) as at_first, Client(Caller(second, "ada")) as at_second:
            with pytest.raises(InputRequested) as asked:
                await at_first.relaying(capabilities).call_tool("up_greet")
            (key,) = asked.value.requests or {}
            answer = RelayedRequest(CAPABILITIES, {key: ADA}, asked.value.state)
            async with Client(Caller(second, "bob")) as bob:
                with pytest.raises(InvalidParams):
                    await bob.relaying(answer).call_tool("up_greet")
            return (await at_second.relaying(answer).call_tool("up_greet")).text

    assert at_two(tmp_path, use, revision=revision).endswith(" Ada")


def test_a_task_of_a_program_is_followed_at_the_other_worker(tmp_path: Path) -> None:
    async def use(first: Gateway, second: Gateway) -> Any:
        async with Client(Caller(first, "ada")) as at_first, Client(Caller(second, "ada")) as at_second:
            task = await at_first.start_task("up_count")
            id = str(task.id)
            async with Client(Caller(second, "bob")) as bob:
                with pytest.raises(InvalidParams, match="no task of this id"):
                    await bob.task(id).status()
            return task.id is not None, (await at_second.task(id).result()).text

    assert at_two(tmp_path, use, text=WITH_TASKS) == (True, "counted")


def test_definitions_progress_and_resources_pass(tmp_path: Path) -> None:
    async def use(first: Gateway, second: Gateway) -> Any:
        seen: list[Any] = []
        async with Client(first) as client:
            tools = [tool.name for tool in await client.list_tools()]
            await client.call_tool("up_count", progress=lambda *report: seen.append(report))
            (part,) = await client.read_resource("notes://a")
            return tools, seen, getattr(part, "text", None), client.facts.instructions

    tools, seen, text, instructions = at_two(tmp_path, use)
    assert tools == ["up_count", "up_die", "up_greet", "up_wait"]
    assert seen == [(1, None, "counted")]
    assert (text, instructions) == ("the note", "Count.")


def test_the_processes_of_a_caller_are_limited_for_all_workers_together(tmp_path: Path) -> None:
    async def run() -> Any:
        async with crew(tmp_path, the_program(tmp_path, revision="2025-11-25"), per_caller=1) as those:
            first, second = those.worker(), those.worker()
            async with first.in_lifespan(), second.in_lifespan(), Client(Caller(first, "ada")) as busy:
                with pytest.raises(InputRequested):  # so its process is in use
                    await busy.relaying(RelayedRequest(CAPABILITIES)).call_tool("up_greet")
                async with Client(Caller(second, "ada")) as other:  # its client can do less, so it needs a process
                    return await other.call_tool("up_count")

    result = asyncio.run(run())
    assert result.is_error
    assert "TT9302" in result.text


def test_calls_fail_at_once_where_the_supervisor_ends(tmp_path: Path) -> None:
    async def run() -> Any:
        async with crew(tmp_path, the_program(tmp_path)) as those:
            worker = those.worker()
            context = worker.in_lifespan()
            await context.__aenter__()
            client = Client(Caller(worker, "ada"))
            await client.__aenter__()
            runs = asyncio.Event()
            waiting = asyncio.create_task(client.call_tool("up_wait", progress=lambda *report: runs.set()))
            await asyncio.wait_for(runs.wait(), LIMIT)
        result = await asyncio.wait_for(waiting, LIMIT)
        later = await client.call_tool("up_count")
        await client.close()
        await context.__aexit__(None, None, None)
        return result, later

    for result in asyncio.run(run()):
        assert result.is_error
        assert "the process that holds the server up has ended" in result.text


def outcomes(worker: Gateway) -> dict[str, float]:
    samples = worker._guard.meter.figures()["tooltrue_upstream_operations_total"]  # pyright: ignore[reportPrivateUsage]
    return {one.labels["outcome"]: one.value for one in samples}


def test_an_error_by_which_a_program_answers_is_counted_as_one(tmp_path: Path) -> None:
    async def use(first: Gateway, second: Gateway) -> dict[str, float]:
        async with Client(first) as client:
            with pytest.raises(RpcError, match="the note is lost"):
                await client.read_resource("notes://b")
        return outcomes(first)

    assert at_two(tmp_path, use) == {"error": 1}


def test_a_worker_counts_the_programs_that_die_and_leaves_them_alone_after_some(tmp_path: Path) -> None:
    settings = "[servers.up]\nfailures = 2\npause_seconds = 60\n"

    async def run() -> Any:
        async with crew(tmp_path, the_program(tmp_path)) as those:
            worker = those.worker(settings)
            async with Client(worker) as client:
                texts = [(await client.call_tool("up_die")).text for _ in range(3)]
            return texts, outcomes(worker)

    (first, second, third), counts = asyncio.run(run())
    assert "TT9251" in first
    assert "TT9251" in second
    assert "TT9320" in third
    assert counts == {"lost": 2, "refused": 1}


def test_the_supervisor_has_no_limits_of_its_own_on_the_calls_of_all_workers(tmp_path: Path) -> None:
    async def use(first: Gateway, second: Gateway) -> Any:
        for worker in (first, second):
            async with Client(Caller(worker, "ada")) as client:
                for _ in range(3):
                    await client.call_tool("up_die")
        return await counted(first, "ada")

    _, count = at_two(tmp_path, use)
    assert count == "1"


def test_the_worker_says_the_errors_of_the_supervisor_in_its_own_language(tmp_path: Path) -> None:
    async def run() -> str:
        async with (
            crew(tmp_path, the_program(tmp_path)) as those,
            Client(those.worker(language="zh")) as client,
        ):
            return (await client.call_tool("up_die")).text

    assert "的连接中断" in asyncio.run(run())


@pytest.mark.parametrize("sees_it_first", ["worker", "supervisor"])
def test_a_changed_entry_is_the_same_for_workers_and_supervisor_in_the_end(tmp_path: Path, sees_it_first: str) -> None:
    """A worker with the old entry goes on with the old program until it has read the new one."""
    old = the_program(tmp_path)
    new = replace(old, env={**old.env, "ANOTHER": "1"})
    after = HostConfig("", tmp_path, (new,))

    async def run() -> None:
        async with crew(tmp_path, old) as those:
            first, second = those.worker(), those.worker()
            async with first.in_lifespan(), second.in_lifespan():
                before = (await counted(first, "ada"))[0]
                if sees_it_first == "worker":
                    changes = asyncio.create_task(first.use(after, None))
                    assert (await counted(second, "ada"))[0] == before
                    await those.supervisor.use(after, None)
                    await changes
                else:
                    await those.supervisor.use(after, None)
                    assert (await counted(second, "ada"))[0] == before
                    await first.use(after, None)
                changed = (await counted(first, "ada"))[0]
                assert changed != before
                assert (await counted(second, "ada"))[0] == before
                await second.use(after, None)
                assert (await counted(second, "ada"))[0] == changed

    asyncio.run(run())


def test_a_program_without_approval_is_refused_at_the_workers_too(tmp_path: Path) -> None:
    async def run() -> Any:
        config = HostConfig(str(tmp_path / "servers.json"), tmp_path, (the_program(tmp_path),))
        with private_address() as address, bind_private(address) as listener:
            async with ProgramSupervisor(config, ConnectionBounds(), QuestionLimits(), KEY).serving(listener):
                gateway = Gateway(config, supervisor=address, facts=MemoryFacts(), keys=[KEY])
                async with Client(gateway) as client:
                    (status,) = gateway.host.servers
                    return status.state, await client.list_tools(), client.facts.instructions

    state, tools, instructions = asyncio.run(run())
    assert (state, tools) == ("refused", [])
    assert "tooltrue trust" in instructions


def test_a_worker_that_sees_an_approval_before_the_supervisor_does_gets_the_program(tmp_path: Path) -> None:
    one, launches = the_program(tmp_path), Launches(tmp_path / "state")
    config = HostConfig(str(tmp_path / "servers.json"), tmp_path, (one,))

    async def run() -> list[str]:
        with private_address() as address, bind_private(address) as listener:
            supervisor = ProgramSupervisor(config, ConnectionBounds(), QuestionLimits(), KEY, launches=launches)
            async with supervisor.serving(listener):
                gateway = Gateway(config, supervisor=address, facts=MemoryFacts(), keys=[KEY], confirm=Confirm.never())
                async with gateway.in_lifespan():
                    assert [status.state for status in gateway.host.servers] == ["refused"]
                    target = await resolved(one, config)
                    launches.approve(launches.request(one.label, config.name, target))
                    await gateway.use(config, None)
                    return await counted(gateway, "ada")

    assert asyncio.run(run())[1] == "1"


@pytest.mark.needs("local sockets")
def test_a_connection_of_another_user_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        async with crew(tmp_path) as those:
            own = await asyncio.open_unix_connection(those.address)
            own[1].write(b'{"server": "none", "entry": "", "caller": null}\n')
            assert b"TT4797" in await own[0].readline()
            own[1].close()
            user = os.geteuid()
            monkeypatch.setattr(os, "geteuid", lambda: user + 1)
            with pytest.raises(PermissionError):
                await connect_private(those.address)
            reader, writer = await asyncio.open_unix_connection(those.address)
            assert await reader.read() == b""
            writer.close()

    asyncio.run(run())


@pytest.mark.needs("local sockets")
def test_the_address_is_that_of_this_user_alone(tmp_path: Path) -> None:
    with bind_private(str(tmp_path / "s")):
        assert (tmp_path / "s").stat().st_mode & 0o777 == 0o600
