"""Requests other than calls: lists, subscriptions, and multi-round requests."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from support.wire.mounting import Mounts
from support.wire.raw_http import Endpoint, in_session
from tooltrue import Abuse, Context, Form, Principal, Rate, Server
from tooltrue.state.log import MemoryLog
from tooltrue.transport.carrier import Carrier

ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
}


def by_name(carrier: Carrier) -> Principal | None:
    name = (carrier.headers or {}).get("authorization")
    return None if name is None else Principal(name)


def by(name: str) -> list[tuple[str, str]]:
    return [("Authorization", name)]


def asked(mounts: Mounts, server: Server, scenario: Callable[[Endpoint], Awaitable[Any]]) -> Any:
    async def main(path: str) -> Any:
        return await scenario(Endpoint(mounts.port, path))

    mounted: AbstractContextManager[str] = mounts.mounted(server.http_app())
    with mounted as path:
        return asyncio.run(main(path))


# -- following resources ---------------------------------------------------------------------------------------------


def library(tmp_path: Path, **settings: Any) -> Server:
    file = tmp_path / "rules.toml"
    file.write_text('[[rules]]\nresources = "docs:open"\nthen = "allow"\n[[rules]]\nresources = "*"\nthen = "deny"\n')
    server = Server("library", rules=file, **settings)
    for name in ("open", "closed"):
        server.add_resource(f"docs:{name}", lambda: "text", name=name, blocking=False)
    return server


PROBING = Abuse(refusals=Rate(0.001, 5), unknown=Rate(0.001, 5), pause=60, longest=60)


def test_a_caller_that_subscribes_to_hidden_resources_is_recorded_and_paused(mounts: Mounts, tmp_path: Path) -> None:
    server = library(tmp_path, abuse=PROBING)

    async def scenario(endpoint: Endpoint) -> list[str]:
        session = await endpoint.initialize()
        answers = [
            (await endpoint.legacy(session, "resources/subscribe", {"uri": f"docs:{name}"})).json
            for name in ("open", *["closed", "none"] * 4)
        ]
        listens = await endpoint.modern(
            "subscriptions/listen", {"_meta": ENVELOPE, "notifications": {"resourceSubscriptions": ["docs:open"]}}
        )
        return [json.dumps(answer.get("error", {}).get("message", "")) for answer in (*answers, listens.json)]

    told = asked(mounts, server, scenario)
    assert told[0] == '""'
    assert all("TT1025" in message for message in told[1:4])
    assert all("TT2103" in message for message in told[-2:])


def test_a_subscription_is_recorded_and_does_not_read_the_resource(mounts: Mounts, tmp_path: Path) -> None:
    read: list[int] = []
    server = library(tmp_path, audit=MemoryLog())
    server.remove_resource("docs:open")
    server.add_resource("docs:open", lambda: str(read.append(1)), name="open", blocking=False)

    async def scenario(endpoint: Endpoint) -> list[Any]:
        session = await endpoint.initialize()
        for name in ("open", "closed"):
            await endpoint.legacy(session, "resources/subscribe", {"uri": f"docs:{name}"})
        return [
            tuple(entry.record[name] for name in ("kind", "subject", "outcome"))
            for entry in await server.audit_log.read()
        ]

    assert asked(mounts, server, scenario) == [("follow", "docs:open", "ok"), ("follow", "docs:closed", "refused")]
    assert read == []


# -- B31: a private list from a shared cache -------------------------------------------------------------------------


def private() -> Server:
    server = Server("private", authenticate=by_name)

    @server.tool(visible=lambda principal: principal.id == "ann")
    async def hers() -> str:
        """Ann's alone."""
        return "hers"

    @server.tool
    async def common() -> str:
        """Everybody's."""
        return "common"

    return server


async def lists(endpoint: Endpoint, *names: str) -> list[tuple[str, list[str], str]]:
    """The tools listed for each caller, by the stateless and then by the session-based handler, and the cache scope."""
    listed: list[tuple[str, list[str], str]] = []
    for name in names:
        result = (await endpoint.modern("tools/list", authorization=name)).json["result"]
        listed.append((name, [tool["name"] for tool in result["tools"]], result["cacheScope"]))
    for name in names:
        session = await endpoint.initialize(headers=by(name))
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        result = (await endpoint.post(message, (*in_session(session), *by(name)))).json["result"]
        listed.append((name, [tool["name"] for tool in result["tools"]], "private"))
    return listed


def test_b31_a_list_that_was_made_for_one_caller_is_never_told_to_another(mounts: Mounts) -> None:
    for name, tools, scope in asked(mounts, private(), lambda endpoint: lists(endpoint, "ann", "bob", "ann", "bob")):
        assert (tools, scope) == (["common", "hers"] if name == "ann" else ["common"], "private")


def test_b31_twin_a_caller_that_lists_again_gets_the_same_list(mounts: Mounts) -> None:
    told = asked(mounts, private(), lambda endpoint: lists(endpoint, "ann", "ann"))
    assert told == [("ann", ["common", "hers"], "private")] * 4


# -- B58: a retry with other arguments -------------------------------------------------------------------------------


def sending() -> Server:
    server = Server("bank")

    @server.tool
    async def send(context: Context, amount: int, to: str) -> str:
        """Send money."""
        context.ask(Form("Sure?"), key="sure")
        return f"{amount} to {to}"

    return server


async def retried(endpoint: Endpoint, arguments: dict[str, Any]) -> Any:
    """The answer to a second round that has the state of a question about sending 5 to Ann, but these arguments."""
    call = {"name": "send", "_meta": ENVELOPE, "arguments": {"amount": 5, "to": "ann"}}
    result = (await endpoint.modern("tools/call", call)).json["result"]
    answers = {key: {"action": "accept", "content": {}} for key in result["inputRequests"]}
    more = {"requestState": result["requestState"], "inputResponses": answers, "arguments": arguments}
    return (await endpoint.modern("tools/call", {**call, **more})).json


@pytest.mark.parametrize(
    "arguments",
    [
        {"amount": amount, "to": "ann"}
        for amount in (5_000, 50, 6, 4, 0, -5, 10**30, 5.5, "5", "five", True, None, [5], {})
    ]
    + [
        {"amount": 5, "to": to}
        for to in (
            "eve",
            "Ann",
            "ANN",
            "ann ",
            " ann",
            "ann\u200b",
            "\u0430nn",
            "\uff41nn",
            "ann,eve",
            "",
            None,
            ["ann"],
        )
    ]
    + [{"amount": 5}, {"to": "ann"}, {}, {"amount": 5, "to": "ann", "cc": "eve"}, {"amount": 5, "To": "ann"}],
)
def test_b58_an_answer_is_no_answer_for_other_arguments(mounts: Mounts, arguments: dict[str, Any]) -> None:
    answer = asked(mounts, sending(), lambda endpoint: retried(endpoint, arguments))
    assert answer["error"]["code"] == -32602


def test_b58_twin_the_same_arguments_in_another_order_go_on(mounts: Mounts) -> None:
    answer = asked(mounts, sending(), lambda endpoint: retried(endpoint, {"to": "ann", "amount": 5}))
    assert answer["result"]["content"][0]["text"] == "5 to ann"
