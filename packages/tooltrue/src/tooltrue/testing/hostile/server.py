"""A hostile server: well-behaved except for its tricks. In memory, or on pipes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tooltrue._internal.platform.pipes import PipeInput, SharedOutput
from tooltrue.errors import ConfigurationError
from tooltrue.protocol import modern, versions
from tooltrue.testing.hostile.definitions import DEFINITIONS
from tooltrue.testing.hostile.manners import MANNERS
from tooltrue.testing.hostile.tool_results import RESULTS
from tooltrue.testing.hostile.tricks import Message, Trick, plain, text
from tooltrue.testing.wording import MISBEHAVIOUR_REQUIRES_OWN_PROCESS, UNKNOWN_MISBEHAVIOUR
from tooltrue.transport.lines import LineSplitter

__all__ = ["TRICKS", "Era", "Hostile", "HostileSession", "serve_stdio"]

Era: TypeAlias = Literal["both", "modern", "legacy"]

TRICKS: Mapping[str, Trick] = {trick.name: trick for trick in (*DEFINITIONS, *RESULTS, *MANNERS)}
"""All tricks, by name."""

GOOD = plain("look", annotations={"readOnlyHint": True})
"""The additional tool, which is well-behaved."""


async def _nothing() -> None:
    await asyncio.sleep(0)


def _nowhere(frame: bytes) -> None:
    """Discards frames after the end of the visit."""


class Hostile:
    """``Hostile("rug-pull", "says-order")``: a target for clients in this process. ``methods`` are those of all
    messages from clients; :meth:`hears` waits for one. A call of ``look`` makes it announce a changed list.

    ``ConfigurationError`` for an unknown trick, or one that would end this process, unless ``owns_process``."""

    def __init__(self, *names: str, era: Era = "both", owns_process: bool = False) -> None:
        if unknown := [name for name in names if name not in TRICKS]:
            raise ConfigurationError.of(UNKNOWN_MISBEHAVIOUR, names=", ".join(unknown), known=", ".join(TRICKS))
        self.tricks = tuple(TRICKS[name] for name in names)
        if not owns_process and (spared := [trick.name for trick in self.tricks if trick.needs_process]):
            raise ConfigurationError.of(MISBEHAVIOUR_REQUIRES_OWN_PROCESS, names=", ".join(spared))
        self.era: Era = era
        self.methods: list[str] = []
        self.visits = 0
        self._news = asyncio.Event()

    def connect(self, write: Callable[[bytes], None]) -> HostileSession:
        return self.visit(write, _nothing)

    def visit(self, write: Callable[[bytes], None], drain: Callable[[], Awaitable[None]]) -> HostileSession:
        """Open a connection whose frames are written by ``write``; ``drain`` returns when there is room for more."""
        self.visits += 1
        return HostileSession(self, write, drain, _VisitState(self.visits - 1))

    def note(self, method: str) -> None:
        self.methods.append(method)
        self._news.set()

    async def hears(self, method: str) -> None:
        """Return once a message of this method has come."""
        while method not in self.methods:
            self._news.clear()
            await self._news.wait()

    @property
    def instructions(self) -> str | None:
        return next((trick.instructions for trick in self.tricks if trick.instructions), None)


@dataclass
class _VisitState:
    """The state of a visit."""

    number: int
    looks: int = 0
    pending_questions: dict[str, asyncio.Future[Message]] = field(default_factory=dict[str, "asyncio.Future[Message]"])


class HostileSession:
    """One visit (:class:`tooltrue.testing.hostile.tricks.Visit`), and the server's end of its channel."""

    def __init__(
        self, server: Hostile, write: Callable[[bytes], None], drain: Callable[[], Awaitable[None]], state: _VisitState
    ) -> None:
        self.server = server
        self.state = state
        self.drain = drain
        self._write = write
        self._tasks: set[asyncio.Task[None]] = set()

    def beside(self, write: Callable[[bytes], None], drain: Callable[[], Awaitable[None]]) -> HostileSession:
        """The same visit on another stream."""
        return HostileSession(self.server, write, drain, self.state)

    async def hears(self, method: str) -> None:
        await self.server.hears(method)

    # --- incoming messages --------------------------------------------------------------------------------------------

    def feed(self, frame: bytes) -> None:
        task = asyncio.get_running_loop().create_task(self.take(json.loads(frame)))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def take(self, message: Message) -> None:
        """Handle a message: by a trick, or honestly."""
        method = message.get("method")
        if method is None:
            if future := self.state.pending_questions.get(str(message.get("id"))):
                future.set_result(message)
            return
        self.server.note(method)
        tool_name = message.get("params", {}).get("name") if method == "tools/call" else None
        for trick in self.server.tricks if tool_name != GOOD["name"] else ():
            take = trick.takes.get(method) or trick.takes.get("")
            if take is not None and tool_name in (None, trick.name):
                await take(self, message)
                return
        if method == "subscriptions/listen":
            params = {
                "_meta": {modern.SUBSCRIPTION_ID: message["id"]},
                "notifications": message["params"]["notifications"],
            }
            self.say({"method": "notifications/subscriptions/acknowledged", "params": params})
        elif "id" in message:
            self.say(self.honest(message))
        if tool_name == GOOD["name"]:
            self.say({"method": "notifications/tools/list_changed"})

    async def close(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        self._write = _nowhere

    # --- outgoing messages --------------------------------------------------------------------------------------------

    def say(self, message: Message) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def raw(self, frame: bytes) -> None:
        self._write(frame)

    async def ask(self, method: str, params: Message) -> Message:
        id = f"asked-{len(self.state.pending_questions)}"
        self.state.pending_questions[id] = asyncio.get_running_loop().create_future()
        self.say({"id": id, "method": method, "params": params})
        return await self.state.pending_questions[id]

    def honest(self, message: Message) -> Message:
        params: Message = message.get("params") or {}
        result = self._result(message["method"], params)
        if isinstance(result, int):
            return {"id": message["id"], "error": {"code": result, "message": "no such thing"}}
        if modern.VERSION in params.get("_meta", {}):
            result = {"resultType": "complete", **result}
        return {"id": message["id"], "result": result}

    def _result(self, method: str, params: Message) -> Message | int:
        match method:
            case "server/discover" if self.server.era != "legacy":
                revisions = versions.ALL if self.server.era == "both" else versions.MODERN
                return {"supportedVersions": list(revisions), **self._server_info()}
            case "initialize" if self.server.era != "modern":
                return {"protocolVersion": versions.LEGACY[0], **self._server_info()}
            case "tools/list":
                tools = [GOOD, *self._published()]
                self.state.looks += 1
                return {"tools": tools}
            case "tools/call":
                return self._tool_result(params.get("name", ""))
            case "ping":
                return {}
            case _:
                return -32601

    def _server_info(self) -> Message:
        info: Message = {
            "serverInfo": {"name": "hostile", "version": "1"},
            "capabilities": {"tools": {"listChanged": True}},
        }
        return {**info, **({"instructions": self.server.instructions} if self.server.instructions else {})}

    def _published(self) -> list[Message]:
        tools: list[Message] = []
        for trick in self.server.tricks:
            if trick.publishes is not None:
                tools += trick.publishes(self)
            elif trick.result is not None or trick.http is not None or "tools/call" in trick.takes:
                tools.append(_definition_of(trick))
        return tools

    def _tool_result(self, name: str) -> Message:
        trick = TRICKS.get(name)
        if trick is None or trick.result is None or trick not in self.server.tricks:
            return text("blue")
        return trick.result() if callable(trick.result) else trick.result


def _definition_of(trick: Trick) -> Message:
    return plain(trick.name) if trick.schema is None else plain(trick.name, outputSchema=trick.schema)


# -- over pipes --------------------------------------------------------------------------------------------------------

_MAX_LINE = 64 * 1_048_576
_END_SECONDS = 1.0


async def serve_stdio(server: Hostile) -> None:
    """One visit on standard input and output, until the input ends or the output has no reader."""
    finished, has_room = asyncio.Event(), asyncio.Event()
    has_room.set()
    output = SharedOutput(os.dup(sys.stdout.fileno()))
    output.crowded = lambda is_crowded: has_room.clear() if is_crowded else has_room.set()
    output.open(finished.set, lambda error: None)

    async def drain() -> None:
        await asyncio.sleep(0)  # a trick without an end gives the loop a turn
        await has_room.wait()

    session = server.visit(lambda frame: output.send(frame + b"\n"), drain)
    lines = LineSplitter(session.feed, finished.set, _MAX_LINE)
    reading = PipeInput(sys.stdin.fileno(), lines.feed, finished.set)
    await finished.wait()
    reading.stop()
    await session.close()
    await output.close_within(_END_SECONDS)
