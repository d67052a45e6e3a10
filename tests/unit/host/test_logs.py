"""Log messages of servers reach the user of the host: labelled, sanitized, truncated, and rate-limited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tooltrue import Context, Server
from tooltrue.client.notifications import LogMessage
from tooltrue.host.host import Host
from tooltrue.host.logs import LogForwarder, ServerLog
from tooltrue.testing.state import LIMIT

SECRET = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def chatty(name: str) -> Server:
    server = Server(name, audit=False)

    @server.tool(effect="read")
    async def talk(context: Context) -> str:
        """Talk."""
        context.log("warning", f"{name} is talking", logger="mouth")
        return "done"

    return server


def test_log_messages_of_servers_arrive_during_a_call_with_the_server_names() -> None:
    heard: list[ServerLog] = []

    async def main() -> None:
        servers: Any = {"one": chatty("a"), "two": chatty("b")}
        queue: asyncio.Queue[ServerLog] = asyncio.Queue()
        async with asyncio.timeout(LIMIT), Host(servers, heard=queue.put_nowait, audit=False) as host:
            for name in ("one_talk", "two_talk"):
                await host.call_tool(name)
                heard.append(await queue.get())

    with pytest.warns(DeprecationWarning, match="Context.log"):
        asyncio.run(main())
    assert heard == [
        ServerLog("one", "warning", "a is talking", "mouth"),
        ServerLog("two", "warning", "b is talking", "mouth"),
    ]


class Ear:
    def __init__(self) -> None:
        self.now = 0.0
        self.heard: list[ServerLog] = []
        self.hear = LogForwarder("evil", self.heard.append, lambda: self.now)


def test_a_flood_is_counted_and_the_rest_is_told_later() -> None:
    ear = Ear()
    for number in range(1_000):
        ear.hear(LogMessage("info", f"line {number}"))
    assert [log.text for log in ear.heard] == [f"line {number}" for number in range(30)]
    ear.now = 1.0
    ear.hear(LogMessage("info", "again"))
    ear.hear(LogMessage("info", "and again"))
    assert (ear.heard[-1].text, ear.heard[-1].left_out, len(ear.heard)) == ("again", 970, 31)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("a\x1b[2Jb\u202ec", "abc"),
        ({"a": [1, "\u200b"]}, '{"a":[1,""]}'),
        ("x" * 3_000, "x" * 2_000 + " […]"),
        (None, "null"),
    ],
)
def test_a_log_message_of_a_server_is_sanitized_and_truncated(data: Any, text: str) -> None:
    ear = Ear()
    ear.hear(LogMessage("loud", data, "\x1b[1mroot" + "x" * 200))
    (log,) = ear.heard
    assert (log.text, log.level) == (text, "info")
    assert log.logger.startswith("root")
    assert len(log.logger) < 110


def test_a_secret_in_a_log_is_masked() -> None:
    ear = Ear()
    ear.hear(LogMessage("info", f"token {SECRET}"))
    assert SECRET not in ear.heard[0].text
    assert "masked" in ear.heard[0].text
