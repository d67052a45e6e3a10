"""Operations of a running server: metrics of all workers, JSON log lines, and an announced shutdown."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.serving import Process, command, environment, http, started
from support.wire.raw_http import Answer, Endpoint, modern
from tooltrue._internal.platform.processes import descendants
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = str(Path(__file__).with_name("server.py"))


def port_of(url: str) -> int:
    return urlsplit(url).port or 0


async def get(url: str, path: str) -> Answer:
    return await Endpoint(port_of(url), path).ask("GET")


async def call(url: str, tool: str, /, **arguments: Any) -> Answer:
    endpoint = Endpoint(port_of(url), "/mcp")
    return await endpoint.modern("tools/call", {"name": tool, "arguments": arguments})


def test_each_worker_tells_the_figures_of_all() -> None:
    async def scenario(url: str) -> tuple[set[str], int, int]:
        processes = set[str]()
        calls = 0
        async with asyncio.timeout(LIMIT):
            while len(processes) < 2:
                processes.add((await call(url, "process")).json["result"]["content"][0]["text"])
                calls += 1
        lines = (await get(url, "/metrics")).body.decode().splitlines()
        told = {line.partition('worker="')[2].partition('"')[0] for line in lines if line.startswith("tooltrue_r")}
        counted = [line for line in lines if line.startswith("tooltrue_operations_total{") and '"process"' in line]
        assert told == processes
        return processes, calls, sum(int(line.rpartition(" ")[2]) for line in counted)

    with http("--workers", "2", "--metrics") as (url, _):
        _, calls, counted = asyncio.run(scenario(url))
    assert calls == counted


def read_until(process: Process, word: str) -> list[dict[str, Any]]:
    """The lines up to one that has the word; all are JSON."""
    lines: list[dict[str, Any]] = []
    while word not in json.dumps(lines[-1:]):
        lines.append(json.loads(process.errors()))
    return lines


@pytest.mark.attack("J01", "J02")
def test_j01_a_log_line_is_one_object_without_payload_for_any_caller_input() -> None:
    async def scenario(url: str) -> None:
        await call(url, "add", a=4711)
        message, headers = modern("tools/call", {"name": 'x\n{"decision":"allow"}', "arguments": {"p": "hunter2"}})
        headers = tuple((name, value) for name, value in headers if name != "mcp-name")
        await Endpoint(port_of(url), "/mcp").post(
            message, (*headers, ("mcp-name", "=?base64?eAp7ImRlY2lzaW9uIjoiYWxsb3cifQ==?="))
        )
        await call(url, "refuse")

    with http("--log-format", "json") as (url, process):
        asyncio.run(scenario(url))
        lines = read_until(process, '"refuse"')
    told = [{name: line.get(name) for name in ("who", "what", "outcome", "code")} for line in lines]
    assert told == [
        {"who": "local:http", "what": "add", "outcome": "ok", "code": None},
        {"who": "local:http", "what": 'x\n{"decision":"allow"}', "outcome": "refused", "code": "TT1010"},
        {"who": "local:http", "what": "refuse", "outcome": "error", "code": None},
    ]
    assert all(line["ms"] >= 0 and line["time"] and line["level"] == "info" for line in lines)
    assert "4711" not in json.dumps(lines)
    assert "hunter2" not in json.dumps(lines)


def test_a_crash_is_one_line_with_its_id_and_where_it_was() -> None:
    with http("--log-format", "json") as (url, process):
        answer = asyncio.run(call(url, "crash"))
        lines = read_until(process, "crashed")
        lines += [] if any("exception" in line for line in lines) else read_until(process, "exception")
    (crash,) = [line for line in lines if "exception" in line]
    assert crash["level"] == "error"
    assert "line" in crash["exception"]
    id = re.search(r"error ([0-9a-f]{8})", crash["message"])
    assert id is not None
    assert id[1] in answer.json["result"]["content"][0]["text"]


def test_a_server_on_stdio_logs_json_too() -> None:
    arguments = command("serve", SERVER, "--log-format", "json")
    with started(arguments) as process:
        assert process.result("add", a=1)["structuredContent"] == 3
        line = json.loads(process.errors())
    assert (line["who"], line["what"], line["outcome"]) == ("local", "add", "ok")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_server_that_is_to_end_says_so_serves_on_and_lets_calls_finish(workers: str) -> None:
    async def scenario(url: str, process: Process) -> tuple[bytes, bytes, str]:
        slow = asyncio.create_task(call(url, "brief", seconds=0.7))
        await asyncio.to_thread(process.wait_for, "waiting")
        before = (await get(url, "/readyz")).body
        process.popen.send_signal(signal.SIGTERM)
        async with asyncio.timeout(LIMIT):
            while (told := await get(url, "/readyz")).status == 200:
                pass
        assert (await call(url, "add", a=1)).json["result"]["structuredContent"] == 3
        return before, told.body, (await slow).json["result"]["content"][0]["text"]

    with http("--drain", "5", "--workers", workers) as (url, process):
        before, told, slow = asyncio.run(scenario(url, process))
        assert (before, slow) == (b'{"ready":true}', "done")
        assert json.loads(told) == {"ready": False, "because": "not serving"}
        process.ended()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_second_signal_ends_it_at_once(workers: str) -> None:
    with http("--drain", "600", "--workers", workers) as (url, process):
        process.popen.send_signal(signal.SIGTERM)

        async def until_told() -> None:
            async with asyncio.timeout(LIMIT):
                while (await get(url, "/readyz")).status == 200:
                    pass

        asyncio.run(until_told())
        process.popen.send_signal(signal.SIGTERM)
        assert process.ended() == 0


@pytest.mark.parametrize("options", [("--metrics",), ("--drain", "1"), ("--sealing-key-file", "x")])
def test_http_options_require_http(options: tuple[str, ...]) -> None:
    done = subprocess.run(command("serve", SERVER, *options), env=environment(), capture_output=True, timeout=LIMIT)
    assert (done.returncode, b"[TT4004]" in done.stderr) == (2, True)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there are no environments to be read")
def test_no_environment_of_a_worker_holds_the_sealing_key() -> None:
    key = base64.b64encode(bytes(range(32))).decode()
    with http("--workers", "2", env=environment(TOOLTRUE_SEALING_KEY=key)) as (_, process):
        workers = [*descendants(process.popen.pid)]
        environments = [Path(f"/proc/{worker}/environ").read_bytes() for worker in workers]
    assert len(workers) >= 2
    assert not [one for one in environments if key.encode() in one]
