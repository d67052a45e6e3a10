"""Operations that are held while their caller answers a question of the server."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tooltrue.errors import ToolError
from tooltrue.gateway.operations import CallerOperation
from tooltrue.gateway.wording import HELD_OPERATION_GONE, TOO_MANY_HELD_OPERATIONS
from tooltrue.jsonrpc.messages import Json
from tooltrue.protocol.types import InputRequiredResult
from tooltrue.tools.vocabulary import RequestContext

__all__ = ["HELD_SECONDS", "MOST_HELD", "Elsewhere", "HeldOperations"]

HELD_SECONDS = 900.0
MOST_HELD = 100

_HELD = "held:"
"""How a ``requestState`` begins that names a held operation: its worker, and its own name."""


class Elsewhere(Protocol):
    """The way to the operations that other workers hold."""

    async def go_on(self, worker: str, name: str, context: RequestContext, method: str) -> Any: ...


@dataclass(slots=True)
class _Held:
    operation: CallerOperation
    expiry: asyncio.TimerHandle


class HeldOperations:
    """The held operations of this worker. Each is held for ``seconds``, and then cancelled. A caller may have 100 of
    them. ``elsewhere`` leads to those of other workers."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._entries: dict[str, _Held] = {}
        self.worker = secrets.token_urlsafe(8)
        self.elsewhere: Elsewhere | None = None

    async def until_asked(self, operation: CallerOperation) -> Any:
        """Return the result of an operation, or the questions of its server, until whose answers it is held."""
        if questions := await operation.until_asked():
            return InputRequiredResult(dict(questions), requestState=f"{_HELD}{self.worker}.{self._hold(operation)}")
        return operation.result()

    @property
    def count(self) -> int:
        return len(self._entries)

    def is_named_by(self, state: str | None) -> bool:
        """Whether a ``requestState`` names a held operation."""
        return state is not None and state.startswith(_HELD)

    async def go_on(self, state: str, context: RequestContext, method: str) -> Any:
        """Run the next round of the operation that ``state`` names, with the answers in ``context``. Raises
        ``ToolError`` if it is not held any more, and ``InvalidParams``, which ends nothing, for malformed answers."""
        worker, _, name = state.removeprefix(_HELD).partition(".")
        if worker != self.worker and self.elsewhere is not None:
            return await self.elsewhere.go_on(worker, name, context, method)
        return await self.until_asked(self.resume(name, context))

    def _hold(self, operation: CallerOperation) -> str:
        if sum(one.operation.principal == operation.principal for one in self._entries.values()) >= MOST_HELD:
            operation.cancel()
            raise ToolError.of(TOO_MANY_HELD_OPERATIONS, limit=MOST_HELD)
        name = secrets.token_urlsafe(16)
        self._entries[name] = _Held(operation, asyncio.get_running_loop().call_later(self._seconds, self._expire, name))
        return name

    def resume(self, name: str, context: RequestContext) -> CallerOperation:
        """Take the operation of this name, which this worker holds, and give it the answers."""
        entry = self._entries.get(name)
        if entry is None or entry.operation.principal != context.principal.id:
            raise ToolError.of(HELD_OPERATION_GONE)
        responses: Mapping[str, Json] = {} if context.rounds is None else context.rounds.responses
        entry.operation.check(responses)
        del self._entries[name]
        entry.expiry.cancel()
        entry.operation.go_on(context, responses)
        return entry.operation

    def _expire(self, name: str) -> None:
        self._entries.pop(name).operation.cancel()

    def close(self) -> None:
        """Cancel them all."""
        for entry in self._entries.values():
            entry.expiry.cancel()
            entry.operation.cancel()
        self._entries.clear()
