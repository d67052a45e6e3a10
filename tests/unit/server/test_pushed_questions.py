"""Questions that are pushed over HTTP, and answers that come unasked: from anybody, more than once, of any size."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from tooltrue.errors import RpcError
from tooltrue.jsonrpc.messages import Failure, RpcResponse
from tooltrue.server.pushed_questions import PushedQuestions
from tooltrue.state.facts import MemoryFacts
from tooltrue.testing.state import LIMIT
from tooltrue.tools.vocabulary import Principal

ADA, BOB = Principal("ada"), Principal("bob")


class Way:
    """A stream, and the messages sent over it."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Any] = asyncio.Queue()

    def send(self, frame: bytes) -> None:
        self.sent.put_nowait(json.loads(frame))

    def notify(self, method: str, params: Any) -> None:
        self.sent.put_nowait({"method": method, "params": params})


class Heard(MemoryFacts):
    """A store that records the published messages."""

    def __init__(self) -> None:
        super().__init__()
        self.published: list[bytes] = []

    async def publish(self, channel: str, payload: bytes) -> None:
        self.published.append(payload)
        await super().publish(channel, payload)


def run(scenario: Callable[[Heard, PushedQuestions, PushedQuestions], Coroutine[Any, Any, None]]) -> None:
    """With two workers that share facts."""

    async def main() -> None:
        facts = Heard()
        one, other = PushedQuestions(facts), PushedQuestions(facts)
        await one.open()
        await other.open()
        async with asyncio.timeout(LIMIT):
            await scenario(facts, one, other)

    asyncio.run(main())


def asked(questions: PushedQuestions, way: Way, principal: Principal = ADA) -> asyncio.Task[Any]:
    return asyncio.create_task(questions.ask(way, "session", principal, "roots/list", {}, 60.0))


def test_an_answer_without_a_pending_question_is_not_published_to_other_workers():
    async def scenario(facts: Heard, one: PushedQuestions, other: PushedQuestions) -> None:
        way = Way()
        task = asked(one, way)
        id = (await way.sent.get())["id"]
        await other.receive("session", RpcResponse("x", {"large": "x" * 1_000}))
        await other.receive("session", RpcResponse(None, {}))  # pyright: ignore[reportArgumentType] - an answer may have no id
        await other.receive("another session", RpcResponse(id, {}))
        assert facts.published == []
        await other.receive("session", RpcResponse(id, {"roots": []}))
        assert await task == {"roots": []}
        assert len(facts.published) == 1

    run(scenario)


def test_a_question_is_answered_once():
    async def scenario(facts: Heard, one: PushedQuestions, other: PushedQuestions) -> None:
        way = Way()
        task = asked(one, way)
        id = (await way.sent.get())["id"]
        for worker in (other, one, other):
            await worker.receive("session", RpcResponse(id, worker is one))
        assert await task is False
        await other.receive("session", RpcResponse(id, None))
        assert (len(facts.published), len(facts)) == (1, 0)

    run(scenario)


@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize(
    "large", [RpcResponse("", "x" * 1024 * 1024), Failure("", RpcError.received(-1, "x" * 1024 * 1024))]
)
def test_an_answer_that_is_too_large_is_a_failure_at_every_worker(at: int, large: Any):
    async def scenario(facts: Heard, *workers: PushedQuestions) -> None:
        way = Way()
        task = asked(workers[0], way)
        id = (await way.sent.get())["id"]
        message = RpcResponse(id, large.result) if isinstance(large, RpcResponse) else Failure(id, large.error)
        await workers[at].receive("session", message)
        with pytest.raises(RpcError, match="larger than"):
            await task
        assert sum(map(len, facts.published)) < 1_000

    run(scenario)


def test_a_caller_is_asked_so_much_at_once_and_others_are_asked_all_the_same():
    async def scenario(facts: Heard, one: PushedQuestions, other: PushedQuestions) -> None:
        way = Way()
        tasks = [asked(one, way) for _ in range(1_000)]
        ids = [(await way.sent.get())["id"] for _ in tasks]
        with pytest.raises(RpcError, match="questions wait"):
            await asked(one, way)
        tasks.append(asked(one, way, BOB))
        ids.append((await way.sent.get())["id"])
        for id in ids:
            await one.receive("session", RpcResponse(id, "yes"))
        assert await asyncio.gather(*tasks) == ["yes"] * 1_001
        again = asked(one, way)
        await one.receive("session", RpcResponse((await way.sent.get())["id"], "yes"))
        await again

    run(scenario)
