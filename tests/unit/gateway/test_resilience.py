"""One server of a gateway that hangs, floods, dies, changes its definitions or lies does not slow the others."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import keyring
import pytest

from tooltrue import Client, RpcError, Server
from tooltrue.client.config import HostConfig, ServerConfig
from tooltrue.client.relayed import RelayedRequest
from tooltrue.gateway.gateway import Gateway
from tooltrue.host.pins import Pins
from tooltrue.host.servers import Patience
from tooltrue.observe.meter import Figures
from tooltrue.policy.config import OperatorConfig, read_operator_config
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.state.log import MemoryLog
from tooltrue.testing.hostile import TRICKS, Era, Hostile
from tooltrue.testing.state import LIMIT

T = TypeVar("T")

IN_MEMORY = [trick.name for trick in TRICKS.values() if not trick.needs_process and trick.http is None]
NEVER_OPEN = ("mute", "mute-on-opening", "mute-on-list")
ENOUGH = 0.1
"""Seconds for a start that never succeeds."""


def good() -> Server:
    server = Server("good", audit=False)

    @server.tool(effect="read")
    async def truth() -> str:
        """Tell the truth."""
        return "true"

    return server


def operator(folder: Path, text: str) -> OperatorConfig:
    file = folder / "tooltrue.toml"
    file.write_text(text)
    return read_operator_config(file)


def beside(
    evil: Any,
    use: Callable[[Gateway, Client], Awaitable[T]],
    folder: Path,
    settings: str = "",
    *,
    start_seconds: float = LIMIT,
    revision: str | None = None,
    **more: Any,
) -> T:
    """Return the result of ``use`` for a gateway before ``evil`` and a good server, and a client of it."""
    servers = (
        ServerConfig(
            "evil", "evil", target=evil, revision=revision, start_seconds=start_seconds, effects={"read": ("*",)}
        ),
        ServerConfig("good", "good", target=good(), hints=True),
    )

    async def main() -> T:
        gateway = Gateway(
            HostConfig(str(folder / "servers.json"), folder, servers),
            operator=operator(folder, settings),
            host_settings={"pins": Pins(folder / "pins"), "patience": Patience(ready=LIMIT, again=LIMIT)},
            confirm=Confirm.never(),
            audit=False,
            **more,
        )
        async with asyncio.timeout(LIMIT), Client(gateway) as client:
            return await use(gateway, client)

    return asyncio.run(main())


async def steps(work: Awaitable[Any]) -> int:
    """The turns of the event loop until ``work`` is done."""
    task = asyncio.ensure_future(work)
    count = 0
    while not task.done():
        count += 1
        await asyncio.sleep(0)
    await task
    return count


def outcomes(gateway: Gateway, server: str) -> dict[str, float]:
    """The operations at a server, by outcome."""
    samples = figures(gateway)["tooltrue_upstream_operations_total"]
    return {one.labels["outcome"]: one.value for one in samples if one.labels["server"] == server}


def figures(gateway: Gateway) -> Figures:
    return gateway._guard.meter.figures()  # pyright: ignore[reportPrivateUsage]


# --- beside a hostile server ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["modern", "legacy"])
@pytest.mark.parametrize("name", IN_MEMORY)
def test_the_good_server_answers_in_as_many_steps_as_alone(name: str, era: Era, tmp_path: Path) -> None:
    async def use(gateway: Gateway, client: Client) -> tuple[int, int]:
        async def ask() -> None:
            assert "true" in (await client.call_tool("good_truth")).text

        await ask()
        alone = await steps(ask())
        tools = [tool.name for tool in await client.list_tools() if tool.name.startswith("evil_")]
        calls = [asyncio.ensure_future(client.call_tool(tool)) for tool in tools]
        try:
            await asyncio.sleep(0)
            return alone, max([await steps(ask()) for _ in range(5)])
        finally:
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)

    start_seconds = ENOUGH if name in NEVER_OPEN else LIMIT
    alone, crowded = beside(Hostile(name, era=era), use, tmp_path, start_seconds=start_seconds)
    assert crowded <= 2 * alone + 10


def test_a_server_that_hangs_is_left_alone_after_some_calls(tmp_path: Path) -> None:
    evil = Hostile("mute-on-call", era="modern")
    settings = "[servers.evil]\nseconds = 0.01\nfailures = 2\npause_seconds = 60\n"

    async def use(gateway: Gateway, client: Client) -> list[str]:
        texts = [(await client.call_tool("evil_mute-on-call")).text for _ in range(4)]
        assert evil.methods.count("tools/call") == 2
        assert outcomes(gateway, "evil") == {"timeout": 2, "refused": 2}
        assert "true" in (await client.call_tool("good_truth")).text
        return texts

    texts = beside(evil, use, tmp_path, settings)
    assert all("TT9320" not in text for text in texts[:2])
    assert all("TT9320" in text and "Try again in 60 s" in text for text in texts[2:])


def test_a_server_that_is_slow_has_a_bounded_queue(tmp_path: Path) -> None:
    evil = Hostile("mute-on-call", era="modern")
    settings = "[servers.evil]\nat_once = 2\nwaiting = 1\nwaiting_seconds = 60\n"

    async def use(gateway: Gateway, client: Client) -> str:
        calls = [asyncio.ensure_future(client.call_tool("evil_mute-on-call")) for _ in range(4)]
        done, waiting = await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
        assert (len(done), len(waiting)) == (1, 3)
        assert evil.methods.count("tools/call") == 2
        for call in waiting:
            call.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return done.pop().result().text

    assert "TT9321" in beside(evil, use, tmp_path, settings)


def library_that_hangs() -> Server:
    server = Server("library", audit=False)

    @server.resource("notes://a")
    async def note() -> str:
        await asyncio.Event().wait()
        return ""

    @server.prompt
    async def letter() -> str:
        await asyncio.Event().wait()
        return ""

    return server


@pytest.mark.parametrize("limit", ["[servers.evil]\nseconds = 0.01\n", "[limits]\nseconds = 0.01\n[servers.evil]\n"])
@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
@pytest.mark.parametrize("method", ["resources/read", "prompts/get"])
def test_a_library_that_hangs_is_left_alone_after_some_requests(
    method: str, revision: str, limit: str, tmp_path: Path
) -> None:
    async def use(gateway: Gateway, client: Client) -> list[str]:
        texts: list[str] = []
        for _ in range(3):
            with pytest.raises(RpcError) as failed:
                await (
                    client.read_resource("notes://a")
                    if method == "resources/read"
                    else client.get_prompt("evil_letter")
                )
            texts.append(str(failed.value))
        assert outcomes(gateway, "evil") == {"timeout": 2, "refused": 1}
        return texts

    settings = f"{limit}failures = 2\npause_seconds = 60\n"
    *late, refused = beside(library_that_hangs(), use, tmp_path, settings, revision=revision)
    assert all("did not answer the last calls" not in text for text in late)
    assert "did not answer the last calls" in refused


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_calls_that_their_caller_gives_up_say_nothing_of_a_server(era: Era, tmp_path: Path) -> None:
    evil = Hostile("mute-on-call", era=era)

    async def use(gateway: Gateway, client: Client) -> dict[str, float]:
        for _ in range(3):
            call = asyncio.ensure_future(client.call_tool("evil_mute-on-call"))
            await evil.hears("tools/call")
            call.cancel()
            await evil.hears("notifications/cancelled")
            evil.methods.clear()
            await asyncio.gather(call, return_exceptions=True)
        return outcomes(gateway, "evil")

    assert beside(evil, use, tmp_path, "[servers.evil]\nfailures = 1\n") == {"cancelled": 3}


class LockedKeyring:
    """A keyring whose owner does not answer. It derives from no backend: keyring would find it in every other test."""

    priority = 5.0

    def __init__(self) -> None:
        self.is_answered = threading.Event()

    def get_password(self, service: str, username: str) -> str | None:
        self.is_answered.wait(LIMIT)
        return None


def test_a_server_whose_secret_cannot_be_read_yet_keeps_no_other_from_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    locked = LockedKeyring()
    monkeypatch.setattr(keyring, "get_keyring", lambda: locked)
    servers = {
        "locked": ServerConfig("locked", "locked", sys.executable, env={"TOKEN": "${keyring:token}"}),
        "absent": ServerConfig("absent", "absent", url="http://127.0.0.1:1/mcp", headers={"Authorization": "none"}),
    }

    async def run() -> dict[str, str]:
        gateway = Gateway(servers, host_settings={"patience": Patience(ready=ENOUGH, again=LIMIT)})
        async with gateway.in_lifespan():
            try:
                (absent,) = gateway.host.servers_of("absent")
                await asyncio.wait_for(absent.life.settled.wait(), LIMIT)
                return {status.name: status.state for status in gateway.host.servers}
            finally:
                locked.is_answered.set()

    assert asyncio.run(run()) == {"locked": "starting", "absent": "unavailable"}


# --- metrics, traces, records -----------------------------------------------------------------------------------------


def test_the_metrics_name_each_server_and_its_state(tmp_path: Path) -> None:
    async def use(gateway: Gateway, client: Client) -> Figures:
        await client.call_tool("good_truth")
        return figures(gateway)

    seen = beside(Hostile("mute"), use, tmp_path, start_seconds=ENOUGH)
    states = {one.labels["server"]: one.labels["state"] for one in seen["tooltrue_upstream_state"] if one.value}
    assert states == {"evil": "unavailable", "good": "ready"}
    (calls,) = seen["tooltrue_upstream_operations_total"]
    assert (calls.labels, calls.value) == ({"server": "good", "outcome": "ok"}, 1)
    assert {one.labels["server"]: one.value for one in seen["tooltrue_upstream_starts_total"]} == {"evil": 1, "good": 1}
    assert [one.value for one in seen["tooltrue_held_operations"]] == [0]


class Recorder:
    """A server that keeps the ``_meta`` of each call."""

    def __init__(self, revision: str) -> None:
        self.revision = revision
        self.metas: list[dict[str, Any]] = []

    def connect(self, write: Callable[[bytes], None]) -> Recorded:
        return Recorded(self, Server("recorded").connect(write), write)


class Recorded:
    def __init__(self, recorder: Recorder, inner: Any, write: Callable[[bytes], None]) -> None:
        self._recorder = recorder
        self._inner = inner
        self._write = write

    def feed(self, frame: bytes) -> None:
        message = json.loads(frame)
        match message.get("method"):
            case "tools/list":
                tools = [{"name": "look", "description": "Look.", "inputSchema": {"type": "object"}}]
                self._answer(message, {"tools": tools})
            case "tools/call":
                self._recorder.metas.append(message["params"].get("_meta", {}))
                self._answer(message, {"content": []})
            case _:
                self._inner.feed(frame)

    def _answer(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        common = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        result = {**common, **result} if self._recorder.revision >= "2026" else result
        self._write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    async def close(self) -> None:
        await self._inner.close()


TRACE = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01", "tracestate": "v=1"}


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
@pytest.mark.parametrize(
    ("meta", "passed"),
    [
        (TRACE, TRACE),
        ({**TRACE, "baggage": "user=ada"}, TRACE),
        ({**TRACE, "tracestate": "x" * 600}, {"traceparent": TRACE["traceparent"]}),
        ({"traceparent": "an order", "tracestate": "v=1"}, {}),
    ],
    ids=["as it came", "without baggage", "without a long state", "not malformed"],
)
def test_the_trace_context_of_a_call_reaches_its_server(
    revision: str, meta: dict[str, str], passed: dict[str, str]
) -> None:
    server = Recorder(revision)
    one = ServerConfig("up", "up", target=server, revision=revision)

    async def run() -> None:
        async with Client(Gateway({"up": one}, confirm=Confirm.never(), audit=False)) as client:
            await client.relaying(RelayedRequest(trace=meta)).call_tool("up_look")

    asyncio.run(run())
    (seen,) = server.metas
    assert {name: seen[name] for name in ("traceparent", "tracestate", "baggage") if name in seen} == passed


def test_the_record_of_a_call_names_caller_server_tool_and_rule(tmp_path: Path) -> None:
    rules = '[[rules]]\nname = "truth for all"\nthen = "allow"\ntools = "good_*"\n'
    log = MemoryLog()
    gateway = Gateway(
        {"good": ServerConfig("good", "good", target=good(), hints=True)},
        operator=operator(tmp_path, rules),
        confirm=Confirm.never(),
        audit=log,
    )

    async def run() -> list[dict[str, Any]]:
        async with Client(gateway) as client:
            await client.call_tool("good_truth")
        return [entry.record for entry in await log.read()]

    (record,) = [record for record in asyncio.run(run()) if record.get("subject") == "good_truth"]
    assert (record["who"], record["server"]) == ("local", "good")
    assert "truth for all" in record["rule"]
