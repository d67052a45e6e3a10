"""A server with something to lose, spoken to by raw modern requests and by clients; the clock stands still."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from tooltrue.client.answers import Elicit
from tooltrue.client.client import Client, Result
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.pipeline import standard
from tooltrue.protocol import modern, versions
from tooltrue.protocol.types import Implementation
from tooltrue.server.sealed_tokens import Sealer, new_key
from tooltrue.server.server import ProtocolServer, ServerSession
from tooltrue.server.service import ServedProvider
from tooltrue.state.facts import MemoryFacts
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.toolset import Provider
from tooltrue.transport.carrier import Carrier

YES = {"tooltrue:confirm": {"action": "accept", "content": {}}}
ERAS = (versions.LATEST, versions.NEWEST_LEGACY)


class Attic:
    """``burn`` is destructive; ``lost`` lists the burnt boxes."""

    def __init__(
        self, guard: Guard | None = None, around: Callable[[Provider], Provider] = lambda tools: tools
    ) -> None:
        self.now = 1_000_000.0
        self.lost: list[str] = []
        self.facts = MemoryFacts(self.clock)
        self.approvals = Approvals(self.facts, clock=self.clock)
        self.tools = LocalToolset()
        self.tools.add(self.burn, effect="destructive")
        guard = guard or Guard(server="attic")
        self.provider = standard(around(self.tools), guard, self.facts, approvals=self.approvals)
        sealer = Sealer([new_key()], clock=self.clock)
        self.server = ProtocolServer(ServedProvider(Implementation("attic", "1"), self.provider, sealer, self.facts))

    def clock(self) -> float:
        return self.now

    async def burn(self, box: str) -> str:
        """Burn a box."""
        self.lost.append(box)
        return f"{box} is ashes"

    def connect(self, write: Callable[[bytes], None]) -> ServerSession:
        return self.server.connect(write, Carrier("memory"))

    async def call(
        self, box: str, elicit: Elicit | None = None, revision: str = versions.LATEST, tool: str = "burn"
    ) -> Result:
        """One call, by a client whose user is ``elicit``."""
        async with Client(self, revision=revision, elicit=elicit) as client:
            return await client.call_tool(tool, box=box)

    async def code(self, box: str, elicit: Elicit | None = None, revision: str = versions.LATEST) -> str:
        """The code of a refusal; empty for a call that has run."""
        result = await self.call(box, elicit, revision)
        return result.text.rsplit("[", 1)[1].rstrip("]") if result.is_error else ""

    async def ticket(self, box: str) -> str:
        """The ticket of a call that is refused because no approver can be asked."""
        text = (await self.call(box)).text
        return text.split("ticket ")[1].split()[0]

    async def allow(self, id: str) -> None:
        await self.approvals.allow(await self.approvals.find(id), "once")


Post = Callable[..., Coroutine[Any, Any, dict[str, Any]]]


async def posting(attic: Attic, scenario: Callable[[Post], Awaitable[Any]]) -> Any:
    """A scenario of raw modern requests of a client that can ask."""
    waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}

    def hear(frame: bytes) -> None:
        answer = json.loads(frame)
        waiting.pop(answer["id"]).set_result(answer)

    session = attic.connect(hear)
    capable = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {"elicitation": {}}}
    ids = itertools.count()

    async def post(box: str, **params: Any) -> dict[str, Any]:
        whole = {"name": "burn", "arguments": {"box": box}, "_meta": capable, **params}
        id = next(ids)
        answered = waiting[id] = asyncio.get_running_loop().create_future()
        session.feed(json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": whole}).encode())
        return await answered

    try:
        return await scenario(post)
    finally:
        await session.close()


def said(answer: dict[str, Any]) -> str:
    """The code of an answer; the text of a result that is no error."""
    if "error" in answer:
        return answer["error"]["message"].rsplit("[", 1)[1].rstrip("]")
    text = answer["result"]["content"][0]["text"]
    return text.rsplit("[", 1)[1].rstrip("]") if answer["result"]["isError"] else text


def state(answer: dict[str, Any]) -> str:
    return answer["result"]["requestState"]
