"""The calls that ``/allow`` of a chat runs without a question, and those that still ask."""

from __future__ import annotations

import asyncio
from typing import Any

from support.guarded_host import Person, Place
from support.hosting import Published
from tooltrue import Server
from tooltrue.cli.chat_tools import ChatPermissions, unless
from tooltrue.contract.digests import pin
from tooltrue.host.host import Host
from tooltrue.protocol.types import replaced
from tooltrue.testing.state import LIMIT

SECRET = "ghp_aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"


def asked(*texts: str, description: str = "Does post.") -> int:
    """The number of questions to a person who has allowed a tool with this description."""
    person, allowed = Person(), ChatPermissions()
    place = Place(unless(allowed, person))
    place.add("post", effect="open-world")

    async def main() -> None:
        tool = await place.provider.find_tool("post", place.context())
        allowed.add(pin(replaced(tool.definition, description=description)), "post")
        for text in texts:
            await place.call("post", x=text)

    asyncio.run(main())
    return len(person.asked)


def test_a_tool_that_was_allowed_does_not_ask():
    assert asked("a", "b") == 0


def test_a_secret_that_would_go_out_is_asked_about_all_the_same():
    assert asked("a", SECRET) == 1


def test_a_tool_that_is_another_since_it_was_allowed_asks():
    assert asked("a", description="Does other things.") == 1


def attic() -> Server:
    server = Server("attic", audit=False)

    @server.tool(effect="read")
    def find() -> str:
        """Find a box."""
        return "under the roof"

    @server.tool(effect="destructive", confirm=False)
    def burn(box: str) -> str:
        """Burn a box."""
        return "ashes"

    return server


class Chat:
    """Calls of one task; ``asked`` are those about which the person was asked."""

    def __init__(self, *calls: str) -> None:
        self.person, self.allowed = Person.willing(), ChatPermissions()
        self.asked: list[int] = []
        asyncio.run(self._call(calls))

    async def _call(self, calls: tuple[str, ...]) -> None:
        servers: Any = {"attic": attic(), "web": Published({"name": "fetch", "inputSchema": {"type": "object"}})}
        front = unless(self.allowed, self.person)
        async with asyncio.timeout(LIMIT), Host(servers, front=front, audit=False) as host:
            self.allowed.task = task = host.task()
            for number, name in enumerate(calls):
                if name.startswith("/allow "):
                    tool = host.catalogue.row(name.removeprefix("/allow ")).tool
                    self.allowed.add(pin(tool.definition), tool.name)
                    continue
                before = len(self.person.asked)
                arguments = {"box": str(number)} if name == "attic_burn" else {}
                await host.call_tool(name, arguments, task=task)
                self.asked += [number] * (len(self.person.asked) - before)


ALLOW = "/allow attic_burn"


def test_a_tool_that_was_allowed_runs_as_often_as_it_is_called():
    assert Chat(ALLOW, "attic_burn", "attic_burn", "attic_find", "attic_burn", "attic_find", "attic_burn").asked == []


def test_a_tool_that_was_allowed_asks_once_something_from_elsewhere_could_flow_out_by_it():
    chat = Chat("/allow web_fetch", ALLOW, "attic_burn", "web_fetch", "attic_burn")
    assert chat.asked == [3, 4]


def test_allowing_a_tool_after_an_untrusted_result_allows_its_calls():
    chat = Chat("/allow web_fetch", "web_fetch", ALLOW, "attic_burn", "attic_burn")
    assert chat.asked == []
