"""A client and a server that runs calls as tasks: over memory, and over HTTP while the server is restarted."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from typing_extensions import TypedDict

from support.serving import ask_to_end, command, environment, free_port, started, wait_for_port
from support.slow_task import SLOW_TASK
from tooltrue import Client, Context, Form, Server, TaskCancelled, Tasks
from tooltrue.errors import InvalidParams, RequestTimeout
from tooltrue.testing.state import LIMIT


class Person(TypedDict):
    name: str


def built(folder: Path) -> Server:
    server = Server("s", tasks=Tasks(store=f"sqlite:///{folder}/tasks.db", poll_seconds=0.02))

    @server.tool(effect="read", task=True)
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(effect="read", task=True)
    async def greet(context: Context) -> str:
        """Greet a person."""
        answer = context.ask(Form("Your name?", Person))
        return f"Hello {answer.value['name']}" if answer.value else "Hello"

    @server.tool(effect="read", task=True)
    async def wait(context: Context) -> str:
        """Wait for ever."""
        context.progress(1, None, "Waiting.")
        await asyncio.Event().wait()
        return "over"

    return server


@contextlib.asynccontextmanager
async def serving(folder: Path) -> AsyncGenerator[Server]:
    async with asyncio.timeout(LIMIT):
        server = built(folder)
        async with server.serving():
            yield server


def test_a_call_follows_its_task_to_the_end(tmp_path: Path):
    async def main() -> None:
        async with serving(tmp_path) as server, Client(server, elicit=lambda question: {"name": "Ada"}) as client:
            await client.list_tools()
            assert (await client.call_tool("add", a=1, b=2, returns=int)).value == 3
            assert (await client.call_tool("greet")).value == "Hello Ada"
            with pytest.raises(RequestTimeout):
                await client.call_tool("wait", total_timeout=0.2)

    asyncio.run(main())


def test_another_client_comes_back_to_a_task(tmp_path: Path):
    async def main() -> None:
        async with serving(tmp_path) as server:
            async with Client(server, elicit=lambda question: True) as client:
                greeting, waiting = await client.start_task("greet"), await client.start_task("wait")
                assert greeting.id is not None
                assert waiting.id is not None
            async with Client(server) as client:
                task = client.task(greeting.id, returns=str)
                async for status in task.updates():
                    named = {"action": "accept", "content": {"name": "Bob"}}
                    if status.questions:
                        await task.answer(dict.fromkeys(status.questions, named))
                assert (await task.result()).value == "Hello Bob"
                other = client.task(waiting.id)
                async for status in other.updates():
                    if status.message == "Waiting.":
                        await other.cancel()
                assert (await other.status()).state == "cancelled"
                with pytest.raises(TaskCancelled):
                    await other.result()
                with pytest.raises(InvalidParams):
                    await client.task("unknown").result()

    asyncio.run(main())


@pytest.mark.process
@pytest.mark.parametrize("keys", [{}, {"TOOLTRUE_SEALING_KEY": "k" * 43 + "="}], ids=["keys of its own", "shared keys"])
@pytest.mark.parametrize("end", [ask_to_end, subprocess.Popen.kill], ids=["asked to end", "killed"])
def test_a_call_survives_the_restart_of_its_server(
    end: Callable[[subprocess.Popen[bytes]], None], keys: dict[str, str], tmp_path: Path
):
    (tmp_path / "slow.py").write_text(SLOW_TASK)
    port = free_port()
    arguments = command("serve", str(tmp_path / "slow.py"), "--http", f"127.0.0.1:{port}")
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    env = environment(**keys)

    async def main() -> str:
        async with asyncio.timeout(LIMIT):
            with started(arguments, env=env, **pipes) as first:
                await asyncio.to_thread(wait_for_port, port, first)
                async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                    following = asyncio.ensure_future(client.call_tool("slow"))
                    await asyncio.to_thread(first.wait_for, "the tool has begun")
                    end(first.popen)
                    await asyncio.to_thread(first.ended)
                    with started(arguments, env=env, **pipes):
                        return (await following).text

    assert asyncio.run(main()) == "done"
    assert len(set((tmp_path / "begun").read_text().splitlines())) == 2
