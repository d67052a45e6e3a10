"""The rounds of a task: those of any call, with checkpoints that outlive the process."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tooltrue.errors import DefinitionError, InternalError, ParseError
from tooltrue.jsonrpc.messages import Json, decode, encode
from tooltrue.protocol.types import replaced
from tooltrue.tasks.engine import Checkpoints, StepInterrupted
from tooltrue.tasks.wording import TASK_STEP_INTERRUPTED, TASK_STEP_NOT_ASYNC
from tooltrue.tools.rounds import InputRequired, Memory, Rounds
from tooltrue.tools.wording import ONCE_VALUE_NOT_JSON

__all__ = ["TaskRounds"]


class TaskRounds(Rounds):
    """One round of a task of ``tool``. ``hide`` and ``reveal`` seal the values that the engine stores.

    Its number begins with 1, since the call itself was counted before the task began.
    """

    __slots__ = ("_checkpoints", "_cut", "_hide", "_loop", "_reveal", "_tool")
    of_task = True

    def __init__(
        self,
        tool: str,
        memory: Memory | None,
        responses: Mapping[str, Json],
        checkpoints: Checkpoints,
        hide: Callable[[bytes], str],
        reveal: Callable[[str], bytes],
    ) -> None:
        super().__init__(memory, responses)
        self.number += 1
        self._tool = tool
        self._cut = set[str]() if memory is None else set(memory.cut)
        self._checkpoints = checkpoints
        self._hide = hide
        self._reveal = reveal
        self._loop = asyncio.get_running_loop()

    def once(self, key: str, make: Callable[[], Any], *, retry: bool = False) -> Any:
        if key in self._made():
            return super().once(key, make)
        if _is_on(self._loop):
            return self._from_loop(key, make, retry)
        return self._from_thread(key, make, retry)

    def _from_loop(self, key: str, make: Callable[[], Any], retry: bool) -> Awaitable[Any]:
        """Return the awaitable step of an async function. To call ``make`` begins nothing: it makes a coroutine."""
        step = make()
        if not inspect.isawaitable(step):
            raise DefinitionError.of(TASK_STEP_NOT_ASYNC, key=repr(key))
        return self._stored(key, step, retry)

    async def _stored(self, key: str, step: Awaitable[Any], retry: bool) -> Any:
        async def run() -> str:
            return self._packed(key, await step, awaited=True)

        try:
            return self._unpacked(key, await self._checkpoint(key, run, retry))
        finally:
            if inspect.iscoroutine(step):
                step.close()  # of a step that was stored before, which has not begun

    def _from_thread(self, key: str, make: Callable[[], Any], retry: bool) -> Any:
        """Run the step of a plain function on another thread, while this one waits for its checkpoint."""
        context = contextvars.copy_context()

        async def run() -> str:
            value = await asyncio.get_running_loop().run_in_executor(None, context.run, make)
            return self._packed(key, value, awaited=False)

        checkpoint = self._checkpoint(key, run, retry)
        return self._unpacked(key, asyncio.run_coroutine_threadsafe(checkpoint, self._loop).result())

    async def _checkpoint(self, key: str, run: Callable[[], Awaitable[str]], retry: bool) -> str:
        """Return the stored value of a step. Ends the task if the step may have run before."""
        if key in self._cut and not retry:
            raise self._interrupted(key)
        self._cut.add(key)
        try:
            text = await self._checkpoints.once(key, run, retry=retry)
        except StepInterrupted:
            raise self._interrupted(key) from None
        except Exception:
            self._cut.discard(key)
            raise
        self._cut.discard(key)
        return text

    def _interrupted(self, key: str) -> InputRequired:
        return InputRequired(InternalError.of(TASK_STEP_INTERRUPTED, tool=self._tool, step=repr(key)))

    def after(self, digests: Mapping[str, str], own: str | None = None) -> Memory:
        return replaced(super().after(digests, own), cut=tuple(sorted(self._cut)))

    def _packed(self, key: str, value: Any, *, awaited: bool) -> str:
        try:
            return self._hide(encode([awaited, value]))
        except (TypeError, ValueError, RecursionError, ParseError):
            raise DefinitionError.of(ONCE_VALUE_NOT_JSON, key=key) from None

    def _unpacked(self, key: str, stored: str) -> Any:
        awaited, value = decode(self._reveal(stored))
        self._made()[key] = (awaited, encode(value))
        return value


def _is_on(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
