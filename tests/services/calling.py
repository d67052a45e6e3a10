"""One call of a toolbox family, as a client sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tooltrue import Client, Server
from tooltrue.client.call_results import Result
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.tools.local import LocalToolset
from tooltrue_toolbox.service_client import ServicePatience

__all__ = ["NOW", "Waits", "call", "calls"]

NOW = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


class Waits:
    """A patience that does not wait, and remembers how long it would have."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def _sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)

    @property
    def patience(self) -> ServicePatience:
        return ServicePatience(sleep=self._sleep, now=lambda: NOW)


def server(tools: LocalToolset) -> Server:
    return Server("services", toolsets=[tools], confirm=Confirm.never())


def calls(tools: LocalToolset, use: Callable[[Client], Any]) -> Any:
    async def once() -> Any:
        async with Client(server(tools), elicit=_yes) as client:
            return await use(client)

    return asyncio.run(once())


def _yes(question: object) -> bool:
    return True


def call(tools: LocalToolset, tool: str, /, **arguments: Any) -> Result:
    async def once(client: Client) -> Result:
        return await client.call_tool(tool, arguments)

    return calls(tools, once)
