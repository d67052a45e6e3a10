"""A concurrency limit whose queue is fair to callers."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ["FairSlots", "NoSlot"]


class NoSlot(Exception):
    """There are too many operations in the queue, or none has ended in time."""


class FairSlots:
    """Slots for ``at_once`` operations. Beyond that each caller has a queue of ``waiting``, and the callers take turns,
    so that a caller with many operations delays another by one operation at a time. An operation waits for ``seconds``.
    """

    __slots__ = ("_at_once", "_queues", "_seconds", "_waiting", "running")

    def __init__(self, at_once: int, waiting: int, seconds: float) -> None:
        self._at_once = at_once
        self._waiting = waiting
        self._seconds = seconds
        self._queues: dict[str, deque[asyncio.Future[bool]]] = {}
        self.running = 0

    @property
    def waiting(self) -> int:
        return sum(map(len, self._queues.values()))

    def try_take(self) -> bool:
        """Take a slot if one is free; then no operation waits."""
        if self.running >= self._at_once:
            return False
        self.running += 1
        return True

    async def wait(self, caller: str) -> None:
        """Wait for a slot, and take it. Raises ``NoSlot``."""
        queue = self._queues.setdefault(caller, deque())
        if len(queue) >= self._waiting:
            raise NoSlot
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[bool] = loop.create_future()
        queue.append(turn)
        timer = loop.call_later(self._seconds, _give_up, turn)
        try:
            has_slot = await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.free()  # it got its slot just as it was cancelled
            raise
        finally:
            timer.cancel()
            self._leave(caller, turn)
        if not has_slot:
            raise NoSlot

    def free(self) -> None:
        """Give a slot back: to the next caller that waits."""
        while self._queues:
            caller = next(iter(self._queues))
            queue = self._queues.pop(caller)
            turn = queue.popleft()
            if queue:
                self._queues[caller] = queue  # its next turn comes after those of all others
            if not turn.done():
                turn.set_result(True)
                return
        self.running -= 1

    def _leave(self, caller: str, turn: asyncio.Future[bool]) -> None:
        queue = self._queues.get(caller)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[caller]


def _give_up(turn: asyncio.Future[bool]) -> None:
    if not turn.done():
        turn.set_result(False)
