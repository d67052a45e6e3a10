"""Rounds of operations that another worker holds.

The worker that holds an operation has its request to the server. A caller that comes back at another worker is passed
on to it, over the events that the workers share::

      worker of the caller                        worker that holds the operation
        |--- go on: name, answers --------------------->|
        |<-- here ---------------------------------------|   at once, and every few seconds
        |<-- progress, log ------------------------------|   in their order
        |<-- done ---------------------------------------|   the outcome is in the facts
        |--- cancel ------------------------------------>|   the caller has cancelled

Events may be lost, so the first word is repeated until there is an answer, and the outcome is looked for even without
the last one. A worker that gives no sign has ended: its operations are gone, and the caller learns that, and whether
the operation may have taken effect.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from tooltrue.client.call_results import Result, contents_of, prompt_of, result_of
from tooltrue.errors import InternalError, RpcError, StateError, ToolError, TransportError
from tooltrue.gateway.error_members import error_of, members_of
from tooltrue.gateway.held_operations import HeldOperations
from tooltrue.gateway.wording import HELD_OPERATION_GONE, HOLDER_LOST
from tooltrue.jsonrpc.messages import Json, decode, encode
from tooltrue.jsonrpc.peer import internal_error
from tooltrue.protocol.types import InputRequiredResult, PromptResult, ReadResourceResult
from tooltrue.state.facts import Facts
from tooltrue.tools.rounds import Rounds
from tooltrue.tools.vocabulary import Principal, RequestContext

__all__ = ["DistantRounds"]

_HERE_SECONDS = 3.0
_SILENT_SECONDS = 10.0
_OUTCOME_SECONDS = 120.0
_MOST_WORDS = 1_000

_GO_ON, _CANCEL = "go on", "cancel"
_HERE, _PROGRESS, _LOG, _DONE = "here", "progress", "log", "done"


class DistantRounds:
    """Passes rounds on to the workers that hold their operations, and runs those of other workers here."""

    def __init__(self, facts: Facts, operations: HeldOperations) -> None:
        self._facts = facts
        self._operations = operations
        self._running: dict[str, asyncio.Task[None]] = {}
        self._unsubscribe: Callable[[], None] = lambda: None

    async def open(self) -> None:
        """Listen for rounds of callers at other workers."""
        self._unsubscribe = await self._facts.subscribe(_worker(self._operations.worker), self._on_word)
        self._operations.elsewhere = self

    async def close(self) -> None:
        """End the rounds that run here for other workers."""
        self._unsubscribe()
        self._operations.elsewhere = None
        running = [*self._running.values()]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    # --- the worker of the caller -------------------------------------------------------------------------------------

    async def go_on(self, worker: str, name: str, context: RequestContext, method: str) -> Any:
        """Run a round at the worker that holds its operation. Raises ``ToolError`` if that worker has ended."""
        reply = secrets.token_urlsafe(16)
        loop, has_ended, is_answered = asyncio.get_running_loop(), asyncio.Event(), False
        last = loop.time()

        def on_word(payload: bytes) -> None:
            nonlocal last, is_answered
            last, is_answered = loop.time(), True
            match decode(payload):
                case [str(kind), done, total, message] if kind == _PROGRESS:
                    context.channel.progress(done, total, message)
                case [str(kind), str(level), data, logger] if kind == _LOG:
                    context.channel.log(level, data, logger)
                case [str(kind)] if kind == _DONE:
                    has_ended.set()
                case _:
                    pass

        unsubscribe = await self._facts.subscribe(_answers(reply), on_word)
        responses: Mapping[str, Json] = {} if context.rounds is None else context.rounds.responses
        word = encode([_GO_ON, reply, name, context.principal.id, responses, context.capabilities])
        try:
            while True:
                if not is_answered:
                    await self._facts.publish(_worker(worker), word)
                # Not at any other word: progress that came before the outcome may be on its way still.
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_HERE_SECONDS):
                        await has_ended.wait()
                has_ended.clear()
                if (outcome := await self._facts.remove(_outcome(reply))) is not None:
                    return _outcome_of(decode(outcome), method)
                if loop.time() - last > _SILENT_SECONDS:
                    raise ToolError.of(HOLDER_LOST if is_answered else HELD_OPERATION_GONE)
        except asyncio.CancelledError:
            await asyncio.shield(self._facts.publish(_worker(worker), encode([_CANCEL, reply])))
            raise
        finally:
            unsubscribe()

    # --- the worker that holds ----------------------------------------------------------------------------------------

    def _on_word(self, payload: bytes) -> None:
        match decode(payload):
            case [str(kind), str(reply), str(name), str(principal), responses, capabilities] if kind == _GO_ON:
                if reply not in self._running:  # else the word has come a second time
                    channel, rounds = _DistantChannel(), Rounds(None, responses)
                    context = RequestContext(Principal(principal), channel, capabilities, rounds=rounds)
                    task = asyncio.get_running_loop().create_task(self._run(reply, name, context, channel))
                    self._running[reply] = task
                    task.add_done_callback(lambda task: self._running.pop(reply, None))
            case [str(kind), str(reply)] if kind == _CANCEL and reply in self._running:
                self._running[reply].cancel()
            case _:
                pass

    async def _run(self, reply: str, name: str, context: RequestContext, channel: _DistantChannel) -> None:
        loop = asyncio.get_running_loop()
        sending = loop.create_task(channel.send(lambda word: self._facts.publish(_answers(reply), word)))
        signs = loop.create_task(channel.give_signs())
        try:
            try:
                outcome = _members_of(await self._operations.until_asked(self._operations.resume(name, context)))
            except Exception as error:  # noqa: BLE001 - the caller gets it
                outcome = _members_of(error)
            # Without its store this worker gives no sign either, by which the caller learns that the outcome is lost.
            with contextlib.suppress(StateError):
                # The word may come again once the operation has ended: then its outcome stays.
                await self._facts.put_if_absent(_outcome(reply), encode(outcome), _OUTCOME_SECONDS)
            channel.tell(_DONE)
            await sending
        finally:
            signs.cancel()
            sending.cancel()


class _DistantChannel:
    """The way back to a caller at another worker. Words are sent one after another: over several connections of the
    store a later one could overtake. Of too many, the oldest are dropped."""

    def __init__(self) -> None:
        self._words: deque[tuple[Json, ...]] = deque(maxlen=_MOST_WORDS)
        self._has_words = asyncio.Event()

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        self.tell(_PROGRESS, progress, total, message)

    def log(self, level: str, data: Any, logger: str | None) -> None:
        self.tell(_LOG, level, data, logger)

    def detach(self) -> None: ...

    def tell(self, *word: Json) -> None:
        self._words.append(word)
        self._has_words.set()

    async def give_signs(self) -> None:
        """Tell every few seconds that the operation is here."""
        while True:
            self.tell(_HERE)
            await asyncio.sleep(_HERE_SECONDS)

    async def send(self, publish: Callable[[bytes], Awaitable[None]]) -> None:
        """Send the words, up to the last one. One that the store does not take is lost, as any event may be."""
        while True:
            await self._has_words.wait()
            self._has_words.clear()
            while self._words:
                word = self._words.popleft()
                with contextlib.suppress(StateError):
                    await publish(encode(word))
                if word[0] == _DONE:
                    return


def _worker(name: str) -> str:
    return f"gateway-worker:{name}"


def _answers(reply: str) -> str:
    return f"gateway-answers:{reply}"


def _outcome(reply: str) -> str:
    return f"gateway-outcome:{reply}"


# --- outcomes --------------------------------------------------------------------------------------------------------


def _members_of(outcome: object) -> list[Json]:
    """An outcome as JSON: its kind, and its members."""
    match outcome:
        case InputRequiredResult():
            return ["asks", outcome.inputRequests, outcome.requestState]
        case Result():
            return ["result", outcome.raw]
        case ReadResourceResult():
            return ["result", {"contents": outcome.contents}]
        case PromptResult():
            return ["result", outcome]
        case RpcError() | ToolError() | TransportError():
            return ["error", members_of(outcome)]
        case _:
            assert isinstance(outcome, Exception)
            return _members_of(internal_error(outcome))


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "tools/call": lambda members: result_of("", members),
    "resources/read": lambda members: ReadResourceResult(contents_of(members)),
    "prompts/get": prompt_of,
}


def _outcome_of(outcome: Any, method: str) -> Any:
    """The outcome of a round at another worker; its error is raised."""
    match outcome:
        case ["asks", requests, state]:
            return InputRequiredResult(requests, requestState=state)
        case ["result", members]:
            return _READ[method](members)
        case ["error", members]:
            raise error_of(members)
        case _:
            raise InternalError("an outcome of another worker cannot be read")
