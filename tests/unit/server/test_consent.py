"""Rounds through the handlers: the arguments of a restarted call, and the number of uses of its consent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tooltrue import Client, Context, Form, RpcError, Server, ToolError
from tooltrue.errors import InvalidParams
from tooltrue.protocol import modern, versions
from tooltrue.testing.state import LIMIT

SURE = Form("Sure?")
YES = {"action": "accept", "content": {}}
CAPABLE = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: {"elicitation": {}}}

Post = Callable[..., Awaitable[dict[str, Any]]]


def over(server: Server, scenario: Callable[[Post], Awaitable[Any]]) -> Any:
    """Run a scenario that sends modern requests by hand; the answers come whole."""

    async def main() -> Any:
        came: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        session = server.connect(lambda frame: came.put_nowait(json.loads(frame)))

        async def post(method: str, **params: Any) -> dict[str, Any]:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": CAPABLE}}
            session.feed(json.dumps(message).encode())
            return await came.get()

        try:
            return await scenario(post)
        finally:
            await session.close()

    return asyncio.run(main())


def answered(server: Server, tool: str, arguments: dict[str, Any], revision: str) -> Any:
    async def main() -> Any:
        async with Client(server, revision=revision, elicit=lambda question: True) as client:
            return (await client.call_tool(tool, arguments)).value

    return asyncio.run(main())


@pytest.mark.parametrize("revision", [versions.LATEST, versions.NEWEST_LEGACY])
def test_a_round_starts_with_the_original_arguments_even_if_the_last_round_mutated_them(revision: str):
    server = Server("s")
    seen: list[Any] = []

    @server.tool
    async def tidy(items: list[str], context: Context) -> str:
        seen.append(list(items))
        items.sort()
        context.ask(SURE)
        return "".join(items)

    def raw(arguments: dict[str, Any], context: Context) -> str:
        word = arguments.pop("word")
        context.ask(SURE)
        return word

    server.add_raw_tool("raw", {"type": "object", "required": ["word"]}, raw)
    assert answered(server, "tidy", {"items": ["b", "a"]}, revision) == "ab"
    assert seen == [["b", "a"], ["b", "a"]]
    assert answered(server, "raw", {"word": "w"}, revision) == "w"


@pytest.mark.parametrize(
    ("settings", "times"), [({}, 1), ({"effect": "destructive", "confirm": False}, 1), ({"idempotent": True}, 2)]
)
def test_one_consent_is_for_one_effect(settings: dict[str, Any], times: int):
    server = Server("s")
    done: list[int] = []

    @server.tool(**settings)
    async def do(context: Context) -> str:
        if context.ask(SURE, key="sure"):
            done.append(1)
        return "done"

    async def scenario(post: Post) -> list[dict[str, Any]]:
        state = (await post("tools/call", name="do"))["result"]["requestState"]
        again = {"name": "do", "requestState": state, "inputResponses": {"sure": YES}}
        return [await post("tools/call", **again), await post("tools/call", **again)]

    answers = over(server, scenario)
    assert len(done) == times
    assert ["error" in answer for answer in answers] == [False, times == 1]


@pytest.mark.requirement("MRTR-13", "MRTR-15")
def test_an_answer_that_is_none_does_not_use_up_the_consent():
    server = Server("s")

    @server.tool
    async def do(context: Context) -> str:
        try:
            return context.ask(SURE, key="sure").action
        except Exception:  # noqa: BLE001 - as careless bodies do
            return "swallowed"

    async def scenario(post: Post) -> list[Any]:
        state = (await post("tools/call", name="do"))["result"]["requestState"]
        bad = await post("tools/call", name="do", requestState=state, inputResponses={"sure": 5})
        good = await post("tools/call", name="do", requestState=state, inputResponses={"sure": YES})
        return [bad["error"]["code"], good["result"]["content"][0]["text"]]

    assert over(server, scenario) == [-32602, "accept"]


@pytest.mark.parametrize("revision", [versions.LATEST, versions.NEWEST_LEGACY])
def test_questions_in_a_task_group_are_put_one_after_the_other(revision: str):
    server = Server("s")

    @server.tool
    async def both(context: Context) -> str:
        async def one(key: str) -> str:
            return context.ask(Form(f"{key}?"), key=key).action

        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(one("a")), group.create_task(one("b"))
        return f"{first.result()}, {second.result()}"

    assert answered(server, "both", {}, revision) == "accept, accept"


def test_answers_too_large_to_be_kept_are_the_models_to_hear_of():
    server = Server("s")
    text = {"type": "object", "properties": {"text": {"type": "string"}}}

    @server.tool
    async def do(context: Context) -> str:
        context.ask(Form("Text?", text))
        return context.ask(SURE).action

    async def main() -> str:
        async with Client(
            server, elicit=lambda question: {"text": "x" * 100_000} if question.fields else True
        ) as client:
            return (await client.call_tool("do")).value

    with pytest.raises(ToolError, match="TT2016"):
        asyncio.run(main())


@pytest.mark.parametrize("revision", [versions.LATEST, versions.NEWEST_LEGACY])
def test_a_prompt_and_a_resource_that_end_in_their_own_cancellation_are_answered(revision: str):
    server = Server("s")

    async def broken() -> str:
        task = asyncio.ensure_future(asyncio.sleep(1))
        task.cancel()
        await task
        return "never"

    server.add_prompt(broken, name="broken")
    server.add_resource("test://broken", broken)

    async def main() -> list[int]:
        numbers: list[int] = []
        async with Client(server, revision=revision, timeout=LIMIT) as client:
            for ask in (lambda: client.get_prompt("broken"), lambda: client.read_resource("test://broken")):
                try:
                    await ask()
                except RpcError as error:
                    numbers.append(error.number)
        return numbers

    assert asyncio.run(main()) == [-32603, -32603]


def test_a_bad_question_is_not_put_to_a_person():
    put: list[Any] = []

    async def main() -> None:
        server = Server("s")

        async def bad(arguments: dict[str, Any], context: Context) -> Any:
            raise AssertionError

        server.add_raw_tool("bad", {"type": "object"}, bad)
        async with Client(server, elicit=put.append) as client:
            for params in (
                {"message": "?", "mode": "url", "url": "javascript:alert(1)"},
                {"message": "?", "requestedSchema": {"type": "nonsense"}},
            ):
                with pytest.raises(InvalidParams):
                    await client._answers.to({"method": "elicitation/create", "params": params})  # pyright: ignore[reportPrivateUsage]

    asyncio.run(main())
    assert put == []


@pytest.mark.twin("B28")
def test_a_round_that_asked_on_may_be_sent_again():
    server = Server("s")
    done: list[int] = []

    @server.tool
    async def do(context: Context) -> str:
        context.ask(SURE, key="a")
        context.ask(Form("Really?"), key="b")
        done.append(1)
        return "done"

    async def scenario(post: Post) -> list[bool]:
        state = (await post("tools/call", name="do"))["result"]["requestState"]
        first = {"name": "do", "requestState": state, "inputResponses": {"a": YES}}
        states = [(await post("tools/call", **first))["result"]["requestState"] for _ in range(3)]
        last = [
            await post("tools/call", name="do", requestState=state, inputResponses={"b": YES})
            for state in (states[0], states[0])
        ]
        return ["error" in answer for answer in last]

    assert over(server, scenario) == [False, True]
    assert done == [1]
