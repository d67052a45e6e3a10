"""Operations that one worker of a gateway holds, and whose caller comes back at another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from typing_extensions import TypedDict

from tooltrue import Client, Context, Form, Server, ToolError
from tooltrue.client.config import ServerConfig
from tooltrue.client.relayed import InputRequested, RelayedRequest
from tooltrue.errors import InvalidParams
from tooltrue.gateway import distant_rounds
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.state.facts import Facts, MemoryFacts

T = TypeVar("T")

CAPABILITIES = {"elicitation": {"form": {}}}
KEY = b"k" * 32


class Name(TypedDict):
    name: str


def upstream(ran: list[str]) -> Server:
    server = Server("upstream", confirm=Confirm.never())

    @server.tool(effect="read")
    def greet(context: Context) -> str:
        """Greet somebody."""
        name = context.ask(Form("Your name?", Name))
        context.progress(1, 2, "asked")
        ran.append("greet")
        if name.value is None:
            raise ToolError("nobody to greet")
        return f"Hello {name.value['name']}"

    @server.tool(effect="read")
    def count(context: Context) -> str:
        """Count for somebody."""
        context.ask(Form("Your name?", Name))
        for number in range(1, 6):
            context.progress(number, 5)
        return "counted"

    @server.tool(effect="read")
    async def hang(context: Context) -> str:
        """Wait for ever."""
        context.ask(Form("Your name?", Name))
        context.progress(1)
        await asyncio.Event().wait()
        return ""

    @server.prompt
    def letter(context: Context) -> str:
        answer = context.ask(Form("Your name?", Name))
        return "Dear" if answer.value is None else f"Dear {answer.value['name']}"

    @server.resource("notes://name")
    def note(context: Context) -> str:
        answer = context.ask(Form("Your name?", Name))
        return "-" if answer.value is None else answer.value["name"]

    return server


@asynccontextmanager
async def served_worker(facts: Facts) -> AsyncGenerator[Client]:
    """A worker as the command line serves it, with ``--no-confirm``: it gets the shared facts after it was made."""
    one = ServerConfig("up", "up", target=upstream([]), revision="2025-11-25", hints=True)
    gateway = Gateway({"up": one}).with_guard(confirm=Confirm.never())
    gateway.share(keys=[KEY], facts=facts)
    async with Client(gateway, revision="2026-07-28") as client:
        yield client


@asynccontextmanager
async def worker(facts: Facts, ran: list[str]) -> AsyncGenerator[Client]:
    """A worker of a gateway before a session-based server, and a client of it."""
    one = ServerConfig("up", "up", target=upstream(ran), revision="2025-11-25", hints=True)
    gateway = Gateway({"up": one}, confirm=Confirm.never(), facts=facts, keys=[KEY])
    async with Client(gateway, revision="2026-07-28") as client:
        yield client


def at_two(use: Callable[[Client, Client], Awaitable[T]]) -> tuple[T, list[str], list[str]]:
    """Return the result of ``use`` with a client of each of two workers, and which tools ran behind each."""
    first_ran, second_ran = list[str](), list[str]()

    async def run() -> T:
        facts = MemoryFacts()
        async with worker(facts, first_ran) as first, worker(facts, second_ran) as second:
            return await use(first, second)

    return asyncio.run(run()), first_ran, second_ran


async def asked(client: Client, send: Callable[[Client], Awaitable[Any]]) -> InputRequested:
    with pytest.raises(InputRequested) as question:
        await send(client.relaying(RelayedRequest(CAPABILITIES)))
    return question.value


def answered(client: Client, question: InputRequested, response: Any) -> Client:
    (key,) = question.requests or {}
    return client.relaying(RelayedRequest(CAPABILITIES, {key: response}, question.state))


ADA = {"action": "accept", "content": {"name": "Ada"}}


def test_a_call_goes_on_where_it_is_held() -> None:
    async def use(first: Client, second: Client) -> Any:
        seen: list[Any] = []
        note = lambda *report: seen.append(report)  # noqa: E731
        question = await asked(first, lambda client: client.call_tool("up_greet", progress=note))
        result = await answered(second, question, ADA).call_tool("up_greet", progress=note)
        return result.text, seen

    result, first_ran, second_ran = at_two(use)
    assert result == ("Hello Ada", [(1, 2, "asked")])
    assert (first_ran, second_ran) == (["greet"], [])


def test_workers_of_the_command_line_find_the_operations_of_each_other() -> None:
    async def run() -> str:
        facts = MemoryFacts()
        async with served_worker(facts) as first, served_worker(facts) as second:
            question = await asked(first, lambda client: client.call_tool("up_greet"))
            return (await answered(second, question, ADA).call_tool("up_greet")).text

    assert asyncio.run(run()) == "Hello Ada"


class RepeatingFacts(MemoryFacts):
    """Facts that deliver a word to another worker once more, when it has been answered."""

    def __init__(self) -> None:
        super().__init__()
        self.first: tuple[str, bytes] | None = None

    async def publish(self, channel: str, payload: bytes) -> None:
        if channel.startswith("gateway-worker:"):
            self.first = channel, payload
        await super().publish(channel, payload)

    async def remove(self, key: str) -> bytes | None:
        if key.startswith("gateway-outcome:") and self.first is not None and await self.get(key) is not None:
            channel, payload = self.first
            self.first = None
            await super().publish(channel, payload)
            for _ in range(100):
                await asyncio.sleep(0)
        return await super().remove(key)


def test_a_word_that_comes_again_when_the_call_has_ended_changes_nothing() -> None:
    async def run() -> str:
        facts = RepeatingFacts()
        async with worker(facts, []) as first, worker(facts, []) as second:
            question = await asked(first, lambda client: client.call_tool("up_greet"))
            return (await answered(second, question, ADA).call_tool("up_greet")).text

    assert asyncio.run(run()) == "Hello Ada"


class OvertakingFacts(MemoryFacts):
    """Facts that take longer over an early word than over a late one, as a store with several connections may."""

    def __init__(self) -> None:
        super().__init__()
        self.turns = 100

    async def publish(self, channel: str, payload: bytes) -> None:
        if channel.startswith("gateway-answers:"):
            self.turns -= 10
            for _ in range(self.turns):
                await asyncio.sleep(0)
        await super().publish(channel, payload)


def test_progress_comes_in_its_order_and_before_the_result() -> None:
    async def run() -> list[Any]:
        seen: list[Any] = []
        note = lambda *report: seen.append(report[0])  # noqa: E731
        facts = OvertakingFacts()
        async with worker(facts, []) as first, worker(facts, []) as second:
            question = await asked(first, lambda client: client.call_tool("up_count", progress=note))
            result = await answered(second, question, ADA).call_tool("up_count", progress=note)
            return [*seen, result.text]

    assert asyncio.run(run()) == [1, 2, 3, 4, 5, "counted"]


def test_a_prompt_and_a_resource_go_on_as_well() -> None:
    async def use(first: Client, second: Client) -> Any:
        question = await asked(first, lambda client: client.get_prompt("up_letter"))
        prompt = await answered(second, question, ADA).get_prompt("up_letter")
        question = await asked(first, lambda client: client.read_resource("notes://name"))
        (part,) = await answered(second, question, ADA).read_resource("notes://name")
        return prompt.messages[0].content, part

    (greeting, part), *_ = at_two(use)
    assert (greeting.text, part.text) == ("Dear Ada", "Ada")


def test_a_failure_comes_back_as_one() -> None:
    async def use(first: Client, second: Client) -> Any:
        question = await asked(first, lambda client: client.call_tool("up_greet"))
        return await answered(second, question, {"action": "decline"}).call_tool("up_greet")

    result, *_ = at_two(use)
    assert (result.is_error, result.text) == (True, "nobody to greet")


def test_a_malformed_answer_ends_nothing() -> None:
    async def use(first: Client, second: Client) -> Any:
        question = await asked(first, lambda client: client.call_tool("up_greet"))
        with pytest.raises(InvalidParams, match="action"):
            await answered(second, question, {"action": "perhaps"}).call_tool("up_greet")
        return (await answered(second, question, ADA).call_tool("up_greet")).text

    assert at_two(use)[0] == "Hello Ada"


def test_a_worker_that_has_ended_loses_its_calls_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distant_rounds, "_HERE_SECONDS", 0.01)
    monkeypatch.setattr(distant_rounds, "_SILENT_SECONDS", 0.05)

    async def run() -> Any:
        facts = MemoryFacts()
        async with worker(facts, []) as second:
            async with worker(facts, []) as first:
                question = await asked(first, lambda client: client.call_tool("up_greet"))
            return await answered(second, question, ADA).call_tool("up_greet")

    result = asyncio.run(run())
    assert result.is_error
    assert "Call again to begin anew" in result.text


def test_a_worker_that_ends_while_it_runs_a_call_leaves_it_open_whether_it_took_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(distant_rounds, "_HERE_SECONDS", 0.01)

    async def run() -> Any:
        facts, runs = MemoryFacts(), asyncio.Event()
        note = lambda *report: runs.set()  # noqa: E731
        async with worker(facts, []) as second:
            async with worker(facts, []) as first:
                question = await asked(first, lambda client: client.call_tool("up_hang", progress=note))
                hanging = answered(second, question, ADA).call_tool("up_hang", progress=note)
                call = asyncio.create_task(hanging)
                await runs.wait()
            monkeypatch.setattr(distant_rounds, "_SILENT_SECONDS", 0.05)  # a busy worker is not silent before
            return await call

    result = asyncio.run(run())
    assert result.is_error
    assert "the call may have taken effect" in result.text
