"""A stateless server that runs calls as tasks, by a script, and a gateway to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from support.wire.scripted import DISCOVERED, Scripted
from tooltrue import Client
from tooltrue.client.config import ServerConfig
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.layers.confirm import Confirm

__all__ = [
    "ACKNOWLEDGED",
    "ASKING",
    "COMPLETED",
    "EXTENSION",
    "LISTED",
    "META",
    "TEXT",
    "TOOL",
    "WORKING",
    "Upstream",
    "gateway_to",
    "state",
    "through",
]

T = TypeVar("T")

META = "io.modelcontextprotocol/"
EXTENSION = {META + "tasks": {}}
ACKNOWLEDGED = {"resultType": "complete"}
TEXT = {"content": [{"type": "text", "text": "done"}]}
TIMES = {"createdAt": "2026-07-28T10:00:00Z", "lastUpdatedAt": "2026-07-28T10:00:01Z", "ttlMs": 60_000}
FORM = {"message": "How many?", "requestedSchema": {"type": "object", "properties": {"people": {"type": "integer"}}}}
QUESTION = {"method": "elicitation/create", "params": FORM}
TOOL = {"name": "slow", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
LISTED = {"tools": [TOOL], "ttlMs": 0, "cacheScope": "public", "resultType": "complete"}
SPEAKS = DISCOVERED | {"capabilities": {"tools": {}, "extensions": EXTENSION}}


def state(status: str, id: str = "t-1", **members: Any) -> dict[str, Any]:
    return {"resultType": "complete", "taskId": id, "status": status, **TIMES, "pollIntervalMs": 100, **members}


WORKING = state("working", statusMessage="half of it")
COMPLETED = state("completed", result=TEXT)
ASKING = state("input_required", inputRequests={"q": QUESTION})


class Upstream(Scripted):
    """A server that runs calls as the task ``t-1`` where the caller declares the extension. The task goes through
    ``states``, one for each poll; the last one stays."""

    def __init__(self, *states: Any, **answers: Any) -> None:
        acknowledged = dict.fromkeys(("tasks/update", "tasks/cancel"), ACKNOWLEDGED)
        table = {"server/discover": SPEAKS, "tools/list": LISTED, "tools/call": self.call, "tasks/get": self._next}
        super().__init__(**{**table, **acknowledged, **answers})
        self.states = list(states)

    def call(self, params: Any) -> Any:
        declared = params["_meta"][META + "clientCapabilities"].get("extensions", {})
        return WORKING | {"resultType": "task"} if META + "tasks" in declared else TEXT | {"resultType": "complete"}

    def _next(self, params: Any) -> Any:
        return self.states.pop(0) if len(self.states) > 1 else self.states[0]

    def sent(self, method: str) -> list[Any]:
        return [message["params"] for message in self.heard if message.get("method") == method]


def through(server: Scripted, use: Callable[[Client], Awaitable[T]], **settings: Any) -> T:
    """Return the result of ``use`` with a client of a gateway to ``server``."""

    async def run() -> T:
        async with Client(gateway_to(server), **settings) as client:
            return await use(client)

    return asyncio.run(run())


def gateway_to(server: Scripted, **settings: Any) -> Gateway:
    """A gateway to ``server``, which is called ``up``. Its keys are the same each time."""
    one = ServerConfig("up", "up", target=server, revision="2026-07-28", hints=True)
    return Gateway({"up": one}, **{"confirm": Confirm.never(), "keys": [b"k" * 32], **settings})
