"""A server in memory that answers by a table, and event loops whose clocks are not that of the machine."""

from __future__ import annotations

import asyncio
import json
import selectors
from collections.abc import Callable
from typing import Any

from tooltrue.protocol import versions

DISCOVERED = {"supportedVersions": list(versions.ALL), "capabilities": {"tools": {}}, "resultType": "complete"}


class Scripted:
    """A server in memory that answers by a table: method → result, error code, ``None`` (silence) or a function."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"server/discover": DISCOVERED, **answers}
        self.heard: list[dict[str, Any]] = []
        self._more = asyncio.Event()
        self.say: Callable[[Any], None] = lambda message: None

    def connect(self, write: Callable[[bytes], None]) -> Scripted:
        self.say = lambda message: write(json.dumps({"jsonrpc": "2.0", **message}).encode())
        return self

    def feed(self, frame: bytes) -> None:
        message = json.loads(frame)
        self.heard.append(message)
        self._more.set()
        if "id" not in message or "method" not in message:
            return
        answer = self.answers.get(message["method"], -32601)
        if callable(answer):
            answer = answer(message["params"])
        if isinstance(answer, int):
            self.say({"id": message["id"], "error": {"code": answer, "message": "no"}})
        elif answer is not None:
            self.say({"id": message["id"], "result": answer})

    async def until(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message that is it, once it is there."""
        while not (found := list(filter(is_it, self.heard))):
            self._more.clear()
            await self._more.wait()
        return found[0]

    async def close(self) -> None:
        self.say = lambda message: None


class StillLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock moves when it is told to."""

    now = 0.0

    def time(self) -> float:
        return self.now


class _Skipping(selectors.DefaultSelector):
    """Does not wait for a time: it is as if that had passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select()
        found = super().select(0)
        if not found:
            self.now += max(0.0, timeout)
        return found


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still while callbacks are ready, and otherwise jumps to the next timer.

    For code that runs in this loop alone: work of a thread or of another process would miss every timeout.
    """

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


class AheadLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock goes with that of the machine, and jumps ahead when it is told to."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead
