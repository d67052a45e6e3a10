"""Two gateways that share a Redis, a PostgreSQL and a key, as on two machines: callers may switch between them."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.postgres import database
from support.redis_server import redis_url
from support.serving import Process, command, environment, free_port, http, started, started_by, wait_for_port
from support.wire.raw_http import ENVELOPE, JSON, Answer, Endpoint, Stream, in_session, modern
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.server.keys import new_key
from tooltrue.state.urls import open_facts
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

UPSTREAM = Path(__file__).with_name("asking_server.py")
KEYS = {name: new_key(name) for name in ("ada", "eve")}
CAN_BE_ASKED = {**ENVELOPE, "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
ADA = {"action": "accept", "content": {"name": "Ada"}}
CONFIG = """
[audit]
to = "{log}"
[confirm]
store = "{store}"
[effects]
read = ["*_greet", "*_hang", "*_rare"]
[rate]
tool = {{ per_second = 0.0001, burst = 10 }}
"""


class Machines:
    """The files that are the same on every machine: the servers, a program and a URL, and the operator's file."""

    def __init__(self, folder: Path, store: str, log: str, url: str) -> None:
        self.folder, self.store, self.log = folder, store, log
        program = {"command": sys.executable, "args": [str(UPSTREAM)], "revision": "2025-11-25"}
        servers = {
            "program": program,
            "remote": {"url": url, "revision": "2025-11-25"},
            "stateless": {"url": url, "revision": "2026-07-28"},
        }
        (folder / "servers.json").write_text(json.dumps({"mcpServers": servers}), "utf-8")
        (folder / "tooltrue.toml").write_text(CONFIG.format(log=log, store=store), "utf-8")
        (folder / "seal").write_text("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n", "utf-8")
        digests = "".join(f'[{name}]\nsha256 = "{digest}"\n' for name, (_, digest) in KEYS.items())
        (folder / "keys.toml").write_text(digests, "utf-8")

    def run(self, *words: str, **more: str) -> str:
        """The output of a command of the operator."""
        done = subprocess.run(
            command(*words), env=environment(**more), cwd=self.folder, capture_output=True, text=True, timeout=LIMIT
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def allow(self, ticket: str) -> None:
        """Allow the call of a ticket, as a person does."""
        async with open_facts(self.store) as facts:
            approvals = Approvals(facts)
            await approvals.allow(await approvals.find(ticket), "once")

    @contextmanager
    def machine(self, name: str) -> Iterator[Gateway]:
        """A machine with a state folder of its own, where the command of the program has been approved."""
        state = {"XDG_STATE_HOME": str(self.folder / name)}
        self.run("trust", "servers.json", "--yes", **state)
        files = ("--config", "tooltrue.toml", "--keys", "keys.toml", "--sealing-key-file", "seal")
        options = (*files, "--state", self.store)
        with http(*options, target="servers.json", verb="gateway", env=environment(**state), cwd=self.folder) as (
            url,
            process,
        ):
            yield Gateway(url, process)


class Gateway:
    """The gateway of one machine: its endpoint and its process."""

    def __init__(self, url: str, process: Process) -> None:
        self.endpoint = Endpoint(urlsplit(url).port or 0, "/mcp")
        self.process = process

    async def call(self, tool: str, who: str = "ada", /, **params: Any) -> Answer:
        message, headers = modern("tools/call", {"name": tool, "_meta": CAN_BE_ASKED, **params})
        return await self.endpoint.post(message, (*headers, *signed(who)))

    def reporting(self, tool: str, params: dict[str, Any]) -> AbstractAsyncContextManager[Stream]:
        """A call that wants reports of its progress."""
        meta = {**CAN_BE_ASKED, "progressToken": "p"}
        message, headers = modern("tools/call", {"name": tool, **params, "_meta": meta})
        return self.endpoint.open("POST", json.dumps(message).encode(), (*JSON, *headers, *signed("ada")))

    async def reported(self, tool: str, params: dict[str, Any]) -> list[Any]:
        """The messages of a call that reports its progress."""
        async with self.reporting(tool, params) as answer:
            if answer.headers["content-type"] == "application/json":
                return [json.loads(await answer.body())]
            messages = [await answer.message()]
            while "id" not in messages[-1]:
                messages.append(await answer.message())
            return messages

    async def asked(self, tool: str) -> dict[str, Any]:
        """The params of the next round of a call that asks for a name."""
        result = (await self.reported(tool, {}))[-1]["result"]
        (key,) = result["inputRequests"]
        return {"requestState": result["requestState"], "inputResponses": {key: ADA}}


def signed(who: str) -> tuple[tuple[str, str], ...]:
    return (("Authorization", f"Bearer {KEYS[who][0]}"),)


def text(answer: Answer) -> str:
    assert answer.status == 200, answer
    return answer.json["result"]["content"][0]["text"]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    port = free_port()
    upstream = started([sys.executable, str(UPSTREAM)], env=environment(PORT=str(port)), stderr=subprocess.DEVNULL)
    with redis_url() as store, database() as log, upstream as process:
        wait_for_port(port, process)
        yield Machines(tmp_path_factory.mktemp("machines"), store, log, f"http://127.0.0.1:{port}/mcp")


@pytest.fixture(scope="module")
def gateways(machines: Machines) -> Iterator[tuple[Gateway, Gateway]]:
    with machines.machine("here") as here, machines.machine("there") as there:
        yield here, there


@pytest.mark.parametrize("server", ["program", "remote", "stateless"])
def test_a_question_at_one_is_answered_through_the_other(gateways: tuple[Gateway, Gateway], server: str) -> None:
    async def scenario(here: Gateway, there: Gateway) -> list[Any]:
        return await there.reported(f"{server}_greet", await here.asked(f"{server}_greet"))

    here, there = gateways
    *progress, answer = asyncio.run(scenario(here, there))
    numbers = [one["params"]["progress"] for one in progress]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] == 50
    greeting, process = answer["result"]["content"][0]["text"].split(", says ")
    assert greeting == "Hello Ada"
    if server == "program":
        assert int(process) in started_by(here.process.pid)


def test_a_question_is_answered_once_and_by_its_own_caller(gateways: tuple[Gateway, Gateway]) -> None:
    async def scenario(here: Gateway, there: Gateway) -> str:
        params = await here.asked("program_greet")
        refused = [await gateway.call("program_greet", "eve", **params) for gateway in (here, there)]
        assert [answer.code for answer in refused] == [-32602, -32602]
        assert text(await there.call("program_greet", **params)).startswith("Hello Ada")
        return text(await here.call("program_greet", **params))

    assert "TT9300" in asyncio.run(scenario(*gateways))


def test_a_session_at_one_answers_its_question_at_the_other(gateways: tuple[Gateway, Gateway]) -> None:
    async def scenario(here: Endpoint, there: Endpoint) -> str:
        session = (*in_session(await here.initialize("2025-11-25", signed("ada"), {"elicitation": {}})), *signed("ada"))
        call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "program_greet"}}
        async with here.open("POST", json.dumps(call).encode(), (*JSON, *session)) as stream:
            asked = await stream.message()
            answer = await there.post({"jsonrpc": "2.0", "id": asked["id"], "result": ADA}, session)
            assert answer.status == 202
            return (await stream.message())["result"]["content"][0]["text"]

    here, there = gateways
    assert asyncio.run(scenario(here.endpoint, there.endpoint)).startswith("Hello Ada")


def test_a_limit_counts_over_both(gateways: tuple[Gateway, Gateway]) -> None:
    async def scenario(*gateways: Gateway) -> list[str]:
        answers = await asyncio.gather(*(gateway.call("stateless_rare") for gateway in gateways * 15))
        return [text(answer) for answer in answers]

    assert asyncio.run(scenario(*gateways)).count("granted") == 10


def test_an_approval_of_a_call_at_one_lets_it_run_once_at_the_other(
    machines: Machines, gateways: tuple[Gateway, Gateway]
) -> None:
    def call(gateway: Gateway) -> str:
        params = {"arguments": {"path": "/tmp/a"}, "_meta": ENVELOPE}
        return text(asyncio.run(gateway.call("remote_wipe", **params)))

    here, there = gateways
    (ticket,) = set(re.findall(r"t-[0-9a-f]{8}", call(here)))
    asyncio.run(machines.allow(ticket))
    assert call(there) == "wiped /tmp/a"
    assert "TT2404" in call(here)


def test_both_write_one_log(machines: Machines, gateways: tuple[Gateway, Gateway]) -> None:
    async def scenario(*gateways: Gateway) -> None:
        for gateway in gateways:
            text(await gateway.call("stateless_rare", "eve"))

    asyncio.run(scenario(*gateways))
    lines = machines.run("audit", "search", "--log", machines.log, "--who", "*eve", "--json").splitlines()
    records = [json.loads(line) for line in lines]
    assert [one["subject"] for one in records if one["outcome"] == "ok"] == ["stateless_rare"] * 2
    assert len({one["instance"] for one in records}) == 1
    machines.run("audit", "verify", "--log", machines.log, "--unsealed")


def test_calls_of_a_killed_gateway_end_with_a_clear_error_at_the_other(
    machines: Machines, gateways: tuple[Gateway, Gateway]
) -> None:
    async def scenario(doomed: Gateway, there: Gateway) -> list[str]:
        held, kept = await doomed.asked("program_greet"), await doomed.asked("stateless_greet")
        hanging = there.reporting("program_hang", await doomed.asked("program_hang"))
        async with hanging as stream:
            assert (await stream.message())["method"] == "notifications/progress"  # it runs
            doomed.process.popen.kill()
            others = [there.call("program_greet", **held), there.call("stateless_greet", **kept)]
            message, *answers = await asyncio.gather(stream.message(), *others)
        return [message["result"]["content"][0]["text"], *map(text, answers)]

    with machines.machine("doomed") as doomed:
        lost, gone, greeted = asyncio.run(scenario(doomed, gateways[1]))
    assert "TT4820" in lost
    assert "may have taken effect" in lost
    assert "TT9300" in gone
    assert greeted.startswith("Hello Ada")
