"""Calls of slow servers that a gateway runs as tasks: ``tasks`` in ``[servers.NAME]``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest
from typing_extensions import TypedDict

from tooltrue import Client, Context, Form, Server, Tasks
from tooltrue.client.config import ServerConfig
from tooltrue.errors import ConfigurationError
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.servers import Patience
from tooltrue.policy.config import read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.state.places import sqlite_url
from tooltrue.testing.state import LIMIT

T = TypeVar("T")

LEGACY, STATELESS = "2025-11-25", "2026-07-28"
on_both = pytest.mark.parametrize("revision", [LEGACY, STATELESS])


class Table(TypedDict):
    people: int


class Slow:
    """A server whose tool ``wait`` runs until it is released. ``calls`` counts its runs. It starts while
    ``may_start`` is set."""

    def __init__(self) -> None:
        self.server = Server("slow", confirm=Confirm.never(), lifespan=self.starting)
        self.release = asyncio.Event()
        self.may_start = asyncio.Event()
        self.may_start.set()
        self.is_broken = False
        self.calls = 0

        @self.server.tool(effect="read")
        async def wait(label: str) -> str:
            """Wait for the release."""
            self.calls += 1
            await self.release.wait()
            return f"done: {label}"

        @self.server.tool(effect="read")
        def book(context: Context) -> str:
            """Book a table."""
            people = context.ask(Form("How many?", Table))
            return people.action if people.value is None else f"a table for {people.value['people']}"

        @self.server.tool(effect="read")
        def broken() -> str:
            """Fail."""
            raise RuntimeError("secret of the author")

    async def starting(self, server: Server) -> AsyncGenerator[None]:
        await self.may_start.wait()
        if self.is_broken:
            raise RuntimeError("out of order")
        yield


def gateway_to(
    slow: Slow, folder: Path, mode: str = "always", revision: str = LEGACY, more: str = "", **settings: Any
) -> Gateway:
    file = folder / "tooltrue.toml"
    file.write_text(f'[servers.up]\ntasks = "{mode}"\n{more}')
    one = ServerConfig("up", "up", target=slow.server, revision=revision, hints=True)
    return Gateway(
        {"up": one},
        operator=read_operator_config(str(file)),
        confirm=Confirm.never(),
        tasks=Tasks(store=sqlite_url(folder / "tasks.db"), poll_seconds=0.05),
        audit="memory:",
        **settings,
    )


def through(
    folder: Path,
    use: Callable[[Client, Slow], Awaitable[T]],
    *,
    mode: str = "always",
    revision: str = LEGACY,
    **settings: Any,
) -> T:
    """Return the result of ``use`` with a client of a gateway that serves."""

    async def run() -> T:
        slow = Slow()
        gateway = gateway_to(slow, folder, mode, revision)
        async with gateway.serving(), Client(gateway, **settings) as client, asyncio.timeout(LIMIT):
            return await use(client, slow)

    return asyncio.run(run())


@on_both
def test_a_call_becomes_a_task_of_the_gateway(tmp_path: Path, revision: str) -> None:
    async def use(client: Client, slow: Slow) -> Any:
        task = await client.start_task("up_wait", label="a")
        first = await task.status()
        slow.release.set()
        return task.id, first.state, (await task.result()).text, slow.calls

    id, state, text, calls = through(tmp_path, use, revision=revision)
    assert id is not None
    assert (state, text, calls) == ("working", "done: a", 1)


@on_both
def test_a_caller_without_the_extension_waits_for_the_answer(tmp_path: Path, revision: str) -> None:
    async def use(client: Client, slow: Slow) -> Any:
        slow.release.set()
        return (await client.call_tool("up_wait", label="a")).text

    assert through(tmp_path, use, revision=revision, tasks=False) == "done: a"


@on_both
def test_a_quick_call_needs_no_task(tmp_path: Path, revision: str) -> None:
    async def use(client: Client, slow: Slow) -> Any:
        slow.release.set()
        quick = await client.start_task("up_wait", label="a")
        slow.release.clear()
        late = await client.start_task("up_wait", label="b")
        slow.release.set()
        return quick.id, (await quick.result()).text, late.id is not None, (await late.result()).text

    assert through(tmp_path, use, mode="when-slow", revision=revision) == (None, "done: a", True, "done: b")


@on_both
def test_a_question_of_the_server_is_asked_by_the_task(tmp_path: Path, revision: str) -> None:
    async def use(client: Client, slow: Slow) -> Any:
        task = await client.start_task("up_book")
        return task.id is not None, (await task.result()).text

    async def four(question: Any) -> Any:
        return {"people": 4}

    assert through(tmp_path, use, revision=revision, elicit=four) == (True, "a table for 4")


def test_a_cancelled_task_ends_the_call_of_the_server(tmp_path: Path) -> None:
    async def use(client: Client, slow: Slow) -> Any:
        task = await client.start_task("up_wait", label="a")
        while not slow.calls:
            await task.status()
        await task.cancel()
        return [status.state async for status in task.updates()][-1]

    assert through(tmp_path, use) == "cancelled"


@on_both
def test_a_call_that_ran_when_the_gateway_ended_is_not_sent_again(tmp_path: Path, revision: str) -> None:
    async def run() -> Any:
        slow = Slow()
        gateway = gateway_to(slow, tmp_path, revision=revision)
        async with gateway.serving(), Client(gateway) as client:
            task = await client.start_task("up_wait", label="a")
            while not slow.calls:
                await task.status()
        gateway = gateway_to(slow, tmp_path, revision=revision)
        slow.release.set()
        async with gateway.serving(), Client(gateway) as client, asyncio.timeout(LIMIT):
            statuses = [status async for status in client.task(str(task.id)).updates()]
        return slow.calls, statuses[-1]

    calls, last = asyncio.run(run())
    assert calls == 1
    assert last.state == "failed"
    assert "may have taken effect" in last.raw["error"]["message"]


@on_both
def test_a_call_that_ran_is_not_sent_again_where_its_server_is_not_connected(tmp_path: Path, revision: str) -> None:
    async def run() -> Any:
        slow = Slow()
        gateway = gateway_to(slow, tmp_path, revision=revision)
        async with gateway.serving(), Client(gateway) as client:
            task = await client.start_task("up_wait", label="a")
            while not slow.calls:
                await task.status()
        slow.may_start.clear()
        async with without_its_server(slow, tmp_path, revision) as client:
            last = [status async for status in client.task(str(task.id)).updates()][-1]
            slow.may_start.set()
        return slow.calls, last

    calls, last = asyncio.run(run())
    assert calls == 1
    assert last.state == "failed"
    assert "TT9385" in str(last.raw["error"])


@pytest.mark.parametrize("is_broken", [False, True])
def test_a_round_waits_for_its_server_that_starts(tmp_path: Path, is_broken: bool) -> None:
    async def run() -> Any:
        slow = Slow()
        gateway = gateway_to(slow, tmp_path, revision=STATELESS)
        async with gateway.serving(), Client(gateway, elicit=lambda question: None) as client:
            task = await client.start_task("up_book")
            while (status := await task.status()).state == "working":
                pass
            [key] = status.raw["inputRequests"]
        slow.may_start.clear()
        slow.is_broken = is_broken
        async with without_its_server(slow, tmp_path, STATELESS) as client:
            task = client.task(str(task.id))
            await task.answer({key: {"action": "accept", "content": {"people": 4}}})
            first = await task.status()
            slow.may_start.set()
            return first.state, [status async for status in task.updates()][-1]

    first, last = asyncio.run(run())
    assert first == "working"
    if is_broken:
        assert last.state == "failed"
        assert "TT5691" in str(last.raw["error"])
    else:
        assert last.raw["result"]["content"][0]["text"] == "a table for 4"


def test_a_task_that_has_ended_is_not_said_to_have_failed_while_its_server_is_not_connected(tmp_path: Path) -> None:
    async def run() -> Any:
        slow = Slow()
        gateway = gateway_to(slow, tmp_path)
        slow.release.set()
        async with gateway.serving(), Client(gateway) as client:
            task = await client.start_task("up_wait", label="a")
            await task.result()
        slow.may_start.clear()
        async with without_its_server(slow, tmp_path, LEGACY) as client:
            task = client.task(str(task.id))
            first = await task.status()
            slow.may_start.set()
            return first.state, first.raw.get("result"), (await task.result()).text

    assert asyncio.run(run()) == ("working", None, "done: a")


@asynccontextmanager
async def without_its_server(slow: Slow, folder: Path, revision: str) -> AsyncGenerator[Client]:
    """A client of a gateway whose server has not started yet."""
    hosting = {"patience": Patience(ready=0.05, again=LIMIT)}
    gateway = gateway_to(slow, folder, revision=revision, host_settings=hosting)
    async with gateway.serving(), Client(gateway, elicit=lambda question: None) as client, asyncio.timeout(LIMIT):
        yield client


def test_each_view_has_its_own_tasks(tmp_path: Path) -> None:
    views = '\n[views.one]\nservers = "up"\n\n[views.two]\nservers = "up"\n'

    async def run() -> Any:
        slow = Slow()
        gateway = gateway_to(slow, tmp_path, more=views)
        async with gateway.serving(), Client(gateway.view("one")) as one, Client(gateway.view("two")) as two:
            task = await one.start_task("up_wait", label="a")
            with pytest.raises(Exception, match="no task of this id"):
                await two.task(str(task.id)).status()
            slow.release.set()
            return (await task.result()).text, slow.calls

    assert asyncio.run(run()) == ("done: a", 1)


def test_an_unknown_mode_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"tooltrue\.toml:2"):
        gateway_to(Slow(), tmp_path, mode="sometimes")


def test_without_the_extra_the_start_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dbos", None)
    with pytest.raises(ConfigurationError, match=r"tooltrue\.toml:2.*'tasks'"):
        gateway_to(Slow(), tmp_path)


def test_a_server_with_tokens_of_its_callers_has_no_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "of the gateway")
    file = tmp_path / "tooltrue.toml"
    file.write_text("""[servers.up]
tasks = "always"

[servers.up.auth.exchange]
client_id = "gateway"
secret_env = "SECRET"
token_endpoint = "https://issuer.example/token"
audience = "https://up.example/mcp"
""")
    servers = {"up": ServerConfig("up", "up", url="https://up.example/mcp")}
    with pytest.raises(ConfigurationError, match=r"tooltrue\.toml:2.*token of its caller"):
        Gateway(servers, operator=read_operator_config(str(file)))


def test_a_changed_file_cannot_begin_to_run_tasks(tmp_path: Path) -> None:
    async def run() -> None:
        slow = Slow()
        one = ServerConfig("up", "up", target=slow.server, revision=LEGACY, hints=True)
        gateway = Gateway({"up": one}, audit="memory:")
        operator = read_operator_config("tooltrue.toml", '[servers.up]\ntasks = "always"\n')
        async with Client(gateway):
            with pytest.raises(ConfigurationError, match="Restart it"):
                await gateway.use(gateway.host.config, operator)

    asyncio.run(run())
