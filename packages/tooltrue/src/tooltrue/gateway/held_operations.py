"""Operations that are held while their caller answers a question of the server."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from tooltrue.errors import ToolError
from tooltrue.gateway.operations import CallerOperation
from tooltrue.gateway.wording import HELD_OPERATION_GONE, TOO_MANY_HELD_OPERATIONS
from tooltrue.jsonrpc.messages import Json
from tooltrue.tools.vocabulary import RequestContext

__all__ = ["MOST_HELD", "HeldOperations"]

MOST_HELD = 100


@dataclass(slots=True)
class _Held:
    operation: CallerOperation
    expiry: asyncio.TimerHandle


class HeldOperations:
    """Each is held for ``seconds``, and then cancelled. A caller may have 100 of them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._held: dict[str, _Held] = {}

    def hold(self, operation: CallerOperation) -> str:
        """Hold an operation until its caller comes back; return the name by which it does. Raises ``ToolError``, and
        cancels the operation, if the caller has too many."""
        if sum(one.operation.principal == operation.principal for one in self._held.values()) >= MOST_HELD:
            operation.cancel()
            raise ToolError.of(TOO_MANY_HELD_OPERATIONS, limit=MOST_HELD)
        name = secrets.token_urlsafe(16)
        self._held[name] = _Held(operation, asyncio.get_running_loop().call_later(self._seconds, self._expire, name))
        return name

    def resume(self, name: str, context: RequestContext) -> CallerOperation:
        """Return the operation for the next round of its caller, with the answers in ``context``. Raises ``ToolError``
        if it is not held here any more, and ``InvalidParams``, which ends nothing, for malformed answers."""
        held = self._held.get(name)
        if held is None or held.operation.principal != context.principal.id:
            raise ToolError.of(HELD_OPERATION_GONE)
        responses: Mapping[str, Json] = {} if context.rounds is None else context.rounds.responses
        held.operation.check(responses)
        del self._held[name]
        held.expiry.cancel()
        held.operation.go_on(context, responses)
        return held.operation

    def _expire(self, name: str) -> None:
        self._held.pop(name).operation.cancel()

    def close(self) -> None:
        """Cancel them all."""
        for held in self._held.values():
            held.expiry.cancel()
            held.operation.cancel()
        self._held.clear()
