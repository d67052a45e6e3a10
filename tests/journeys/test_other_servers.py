"""The application under other people's HTTP servers: each in processes of its own, ended by a signal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.serving import Process, environment, free_port, started, wait_for_port
from support.wire.raw_http import JSON, Endpoint, Stream, in_session, modern
from tooltrue import Client

pytestmark = pytest.mark.process

APP = "journeys.mounted:app"
TESTS = Path(__file__).parents[1]
END_SECONDS = 3.0  # the promised maximum from the signal to the exit

COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "uvicorn": lambda port: ["uvicorn", APP, "--port", port],
    "uvicorn, h11 and asyncio": lambda port: ["uvicorn", APP, "--port", port, "--http", "h11", "--loop", "asyncio"],
    "uvicorn, two workers": lambda port: ["uvicorn", APP, "--port", port, "--workers", "2"],
    "gunicorn with uvicorn": lambda port: [
        "gunicorn",
        APP,
        "-b",
        f"127.0.0.1:{port}",
        "-k",
        "uvicorn_worker.UvicornWorker",
    ],
    "gunicorn": lambda port: ["gunicorn", APP, "-b", f"127.0.0.1:{port}", "-k", "asgi"],
    "granian": lambda port: ["granian", APP, "--interface", "asgi", "--port", port],
    "hypercorn, no workers": lambda port: ["hypercorn", APP, "-b", f"127.0.0.1:{port}", "--workers", "0"],
}


@contextlib.contextmanager
def serving(command: Callable[[str], list[str]]) -> Iterator[tuple[Endpoint, Process]]:
    """One of these servers, once it listens. Its output goes to standard error."""
    port = free_port()
    arguments = [sys.executable, "-m", *command(str(port))]
    settings = {"env": environment(PYTHONPATH=str(TESTS)), "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with started(arguments, **settings, start_new_session=True) as process:
        wait_for_port(port, process)
        yield Endpoint(port, "/mcp"), process


async def listening(stream: Stream) -> None:
    assert (await stream.message())["method"] == "notifications/subscriptions/acknowledged"


async def progressing(stream: Stream) -> None:
    assert (await stream.message())["method"] == "notifications/progress"


async def end_with_open_streams(endpoint: Endpoint, process: Process, number: signal.Signals) -> list[object]:
    """The messages of a subscription, a running call and a session's stream after the signal."""
    listen, named = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
    call, named_too = modern("tools/call", {"name": "tell_and_wait", "arguments": {}})
    call["params"]["_meta"]["progressToken"] = 1
    session = in_session(await endpoint.initialize())
    async with (
        endpoint.open("POST", json.dumps(listen).encode(), (*JSON, *named)) as subscription,
        endpoint.open("POST", json.dumps(call).encode(), (*JSON, *named_too)) as running,
        endpoint.open("GET", b"", (*session, ("Accept", "text/event-stream"))) as standing,
    ):
        await listening(subscription)
        await progressing(running)
        assert standing.status == 200
        process.popen.send_signal(number)
        async with asyncio.timeout(END_SECONDS):
            closed = await subscription.message()
            return [
                closed["result"]["resultType"],
                await subscription.event(),
                await ended(running),
                await ended(standing),
            ]


async def ended(stream: Stream) -> bool:
    """Whether the stream ends as a complete response does, regardless of earlier events."""
    while await stream.event():
        pass
    return True


@pytest.mark.parametrize("name", COMMANDS)
def test_open_streams_end_with_the_closing_result_when_the_server_is_told_to_end(name: str):
    with serving(COMMANDS[name]) as (endpoint, process):
        said = asyncio.run(end_with_open_streams(endpoint, process, signal.SIGTERM))
        assert said == ["complete", {}, True, True]
        process.ended()
        assert process.popen.stderr is not None
        assert b"Traceback" not in process.popen.stderr.read()


def test_open_streams_end_at_an_interrupt_too():
    with serving(COMMANDS["uvicorn"]) as (endpoint, process):
        assert asyncio.run(end_with_open_streams(endpoint, process, signal.SIGINT)) == ["complete", {}, True, True]


def test_workers_of_hypercorn_hear_no_signal_and_its_own_setting_ends_their_streams():
    """As docs/http.md says: streams are cut after ``--graceful-timeout``, without a closing result. From Python 3.12 on
    hypercorn waits for them before that time begins, so that the client has to end them."""

    def command(port: str) -> list[str]:
        return ["hypercorn", APP, "-b", f"127.0.0.1:{port}", "--graceful-timeout", "1"]

    async def cut(endpoint: Endpoint, process: Process) -> None:
        message, named = modern("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        async with endpoint.open("POST", json.dumps(message).encode(), (*JSON, *named)) as subscription:
            await listening(subscription)
            process.popen.send_signal(signal.SIGTERM)
            if sys.version_info < (3, 12):
                assert b"complete" not in await subscription.rest()

    with serving(command) as (endpoint, process):
        asyncio.run(cut(endpoint, process))
        process.ended()


@pytest.mark.parametrize("program", ["uvicorn", "hypercorn"])
def test_an_application_of_fastapi_serves_and_ends_what_is_mounted_in_it(program: str):
    def command(port: str) -> list[str]:
        app = "journeys.mounted_in_fastapi:app"
        return {
            "uvicorn": ["uvicorn", app, "--port", port],
            "hypercorn": ["hypercorn", app, "-b", f"127.0.0.1:{port}", "--workers", "0"],
        }[program]

    async def call(port: int) -> list[object]:
        async with Client(f"http://127.0.0.1:{port}/tools/mcp") as client:
            return [(await client.call_tool("add", a=1)).value, client.facts.name]

    with serving(command) as (endpoint, process):
        assert asyncio.run(call(endpoint.port)) == [3, "author"]
        process.popen.send_signal(signal.SIGTERM)
        process.ended()
        assert process.popen.stderr is not None
        assert b"Traceback" not in process.popen.stderr.read()
