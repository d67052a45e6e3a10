"""In-memory servers with scripted answers for a host, and the host around them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tooltrue.host.host import Host
from tooltrue.policy.audit.recorder import Recorder
from tooltrue.policy.consent.approvals import Approvals
from tooltrue.policy.guard import Guard
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.policy.pipeline import standard
from tooltrue.protocol import versions
from tooltrue.state.facts import Facts
from tooltrue.testing.state import LIMIT
from tooltrue.tools.toolset import Provider


def _as_of_a_server(
    provider: Provider, guard: Guard, facts: Facts, recorder: Recorder, approvals: Approvals
) -> Provider:
    return standard(provider, guard, facts, recorder, approvals=approvals)


OPEN: Mapping[str, Any] = {"guard": Guard(confirm=Confirm.never()), "guarding": _as_of_a_server}
"""A host in which nobody is asked, and whose results are as the server gave them."""


class Published:
    """A server that publishes ``tools`` unchanged, and answers a call of any tool with ``answer``."""

    def __init__(self, *tools: Any, answer: Any = None, **said: Any) -> None:
        self.tools = list(tools)
        self.answer = answer if answer is not None else {"content": [{"type": "text", "text": "done"}]}
        self.said = {"resources": [], "templates": [], "prompts": [], "instructions": None, **said}
        self.called: list[dict[str, Any]] = []
        self.heard: list[str] = []
        self.say: Callable[[Any], None] = lambda message: None
        self._news = asyncio.Event()

    def connect(self, write: Callable[[bytes], None]) -> Published:
        self.say = lambda message: write(json.dumps({"jsonrpc": "2.0", **message}).encode())
        return self

    def feed(self, frame: bytes) -> None:
        message = json.loads(frame)
        method, id = message.get("method"), message.get("id")
        self.heard.append(method)
        self._news.set()
        if method == "subscriptions/listen":
            said = {"method": "notifications/subscriptions/acknowledged"}
            self.say({**said, "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}})
        elif id is not None:
            result = self._result(method, message.get("params", {}))
            if isinstance(result, int):
                self.say({"id": id, "error": {"code": result, "message": "no such thing \x1b[31mhere"}})
            elif result is not None:
                self.say({"id": id, "result": {"resultType": "complete", **result}})

    def _result(self, method: str, params: dict[str, Any]) -> Any:
        match method:
            case "server/discover":
                kinds: dict[str, Any] = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
                said = {"supportedVersions": list(versions.ALL), "capabilities": kinds}
                return said | ({"instructions": self.said["instructions"]} if self.said["instructions"] else {})
            case "tools/list":
                return {"tools": self.tools}
            case "resources/list":
                return {"resources": self.said["resources"]}
            case "resources/templates/list":
                return {"resourceTemplates": self.said["templates"]}
            case "prompts/list":
                return {"prompts": self.said["prompts"]}
            case "resources/read":
                return {"contents": [{"uri": params["uri"], "text": f"read by {id(self)}"}]}
            case "prompts/get":
                return {"messages": [{"role": "user", "content": {"type": "text", "text": params["name"]}}]}
            case "tools/call":
                self.called.append(params)
                return self.answer(params) if callable(self.answer) else self.answer
            case _:
                return -32601

    async def hears(self, method: str, times: int = 1) -> None:
        """Return once a message of this method has come so often."""
        while self.heard.count(method) < times:
            self._news.clear()
            await self._news.wait()

    def publish(self, *tools: Any) -> None:
        """Publish other tools, and say so."""
        self.tools = list(tools)
        self.say({"method": "notifications/tools/list_changed"})

    async def close(self) -> None:
        self.say = lambda message: None


def tool(name: str, description: str = "Does it.", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def hosted(servers: Any, test: Callable[[Host], Awaitable[Any]], **settings: Any) -> Any:
    """The return value of ``test`` for a host of these servers, which has no person to ask."""

    async def main() -> Any:
        async with asyncio.timeout(LIMIT), Host(servers, **{**OPEN, "audit": False, **settings}) as host:
            return await test(host)

    return asyncio.run(main())


def names(servers: Mapping[str, Any], **settings: Any) -> list[str]:
    async def test(host: Host) -> list[str]:
        return [one.name for one in await host.list_tools()]

    return hosted(servers, test, **settings)
