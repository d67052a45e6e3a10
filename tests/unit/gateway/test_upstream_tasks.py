"""Callers of a gateway that follow the tasks of a stateless server themselves."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

import pytest

from support.fake_secrets import FAKES
from support.wire.scripted import DISCOVERED
from support.wire.upstream_tasks import (
    ACKNOWLEDGED,
    ASKING,
    COMPLETED,
    EXTENSION,
    LISTED,
    META,
    TEXT,
    TOOL,
    WORKING,
    Upstream,
    gateway_to,
    state,
    through,
)
from tooltrue import Client
from tooltrue.errors import InternalError, InvalidParams, MissingCapability, RpcError
from tooltrue.host.servers import Patience
from tooltrue.testing.state import LIMIT


def test_a_caller_gets_the_task_of_the_server_and_its_result():
    server = Upstream(WORKING, COMPLETED)

    async def use(client: Client) -> Any:
        task = await client.start_task("up_slow")
        first = await task.status()
        return task.id, first, (await task.result()).text

    id, first, text = through(server, use)
    assert (first.state, first.message, text) == ("working", "half of it", "done")
    assert "t-1" not in str(id)
    assert {params["taskId"] for params in server.sent("tasks/get")} == {"t-1"}


def test_a_caller_without_the_extension_gets_the_answer():
    server = Upstream(COMPLETED)
    assert through(server, lambda client: client.call_tool("up_slow"), tasks=False).text == "done"
    assert server.sent("tasks/get") == []


def test_a_question_of_the_task_is_answered_by_the_caller_once():
    server = Upstream(ASKING, ASKING, ASKING, ASKING, COMPLETED)

    async def use(client: Client) -> Any:
        task = await client.start_task("up_slow")
        status = await task.status()
        answer = {"q": {"action": "accept", "content": {"people": 4}}, "other": {"action": "decline"}}
        await task.answer(answer)
        await task.answer(answer)  # a replay
        return status.questions, (await task.result()).text

    questions, text = through(server, use, elicit=decline)
    assert (questions["q"]["params"]["message"], text) == ("How many?", "done")
    [update] = server.sent("tasks/update")
    assert update["inputResponses"] == {"q": {"action": "accept", "content": {"people": 4}}}
    assert update["taskId"] == "t-1"


def test_an_answer_that_is_none_is_refused_and_can_be_given_again():
    server = Upstream(ASKING)

    async def use(client: Client) -> None:
        task = await client.start_task("up_slow")
        with pytest.raises(InvalidParams):
            await task.answer({"q": {"action": "perhaps"}})
        await task.answer({"q": {"action": "decline"}})

    through(server, use, elicit=decline)
    assert [update["inputResponses"] for update in server.sent("tasks/update")] == [{"q": {"action": "decline"}}]


def test_an_answer_that_does_not_arrive_can_be_given_again():
    server = Upstream(ASKING, **{"tasks/update": -32603})

    async def use(client: Client) -> None:
        task = await client.start_task("up_slow")
        with pytest.raises(RpcError):
            await task.answer({"q": {"action": "decline"}})
        server.answers["tasks/update"] = ACKNOWLEDGED
        await task.answer({"q": {"action": "decline"}})

    through(server, use, elicit=decline)
    assert len(server.sent("tasks/update")) == 2


def test_a_question_that_the_caller_cannot_answer_is_not_shown():
    async def use(client: Client) -> None:
        task = await client.start_task("up_slow")
        with pytest.raises(MissingCapability):
            await task.status()

    through(Upstream(ASKING), use)


def test_a_caller_cancels_the_task():
    server = Upstream(WORKING, state("cancelled", statusMessage="as you like"))

    async def use(client: Client) -> Any:
        task = await client.start_task("up_slow")
        await task.status()
        await task.cancel()
        return await task.status()

    status = through(server, use)
    assert (status.state, status.message) == ("cancelled", "as you like")
    assert [params["taskId"] for params in server.sent("tasks/cancel")] == ["t-1"]


def test_a_failed_task_has_the_error_of_the_server_in_words_of_the_gateway():
    server = Upstream(state("failed", error={"code": -32050, "message": "the disk\u202e is full", "data": {"a": 1}}))

    async def use(client: Client) -> Any:
        return (await (await client.start_task("up_slow")).status()).raw["error"]

    error = through(server, use)
    assert error["code"] == -32050
    assert "the disk is full (-32050)" in error["message"]
    assert "a" not in error.get("data", {})


def test_a_task_that_the_server_has_forgotten_is_unknown():
    async def use(client: Client) -> None:
        task = await client.start_task("up_slow")
        with pytest.raises(InvalidParams, match="no task of this id"):
            await task.status()

    through(Upstream(WORKING, **{"tasks/get": -32602}), use)


def test_the_result_passes_the_layers_of_a_call():
    key = dict(FAKES)["github-token"]
    result = {"content": [{"type": "text", "text": f"the key is {key}"}]}

    async def use(client: Client) -> Any:
        return await (await client.start_task("up_slow")).result()

    result = through(Upstream(state("completed", result=result)), use)
    assert key not in result.text
    assert "the key is" in result.text


def test_a_result_against_the_output_schema_is_an_error_of_the_completed_task():
    tool = TOOL | {"outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}
    wrong = {"content": [], "structuredContent": {"n": "no number"}}
    server = Upstream(state("completed", result=wrong), **{"tools/list": LISTED | {"tools": [tool]}})

    async def use(client: Client) -> Any:
        return await (await client.start_task("up_slow")).status()

    status = through(server, use)
    assert status.state == "completed"
    assert status.raw["result"]["isError"] is True
    assert "no number" not in str(status.raw)


def test_a_message_of_the_task_is_masked():
    key = dict(FAKES)["github-token"]
    server = Upstream(state("working", statusMessage=f"with {key} \u200b" + 5_000 * "x"))

    async def use(client: Client) -> Any:
        return (await (await client.start_task("up_slow")).status()).message

    message = through(server, use)
    assert key not in message
    assert "\u200b" not in message
    assert len(message) < 2_000


def test_changes_reach_a_caller_that_listens():
    server = Upstream(WORKING, WORKING, COMPLETED)
    id, last = through(server, told)
    assert last["taskId"] == id
    assert last["result"]["content"][0]["text"] == "done"


def test_a_notification_of_the_server_reaches_a_caller_that_listens():
    """The server sends it once it has been polled for the last time in an hour."""
    server = Upstream(WORKING)
    stamp = dict[str, Any]()

    def listen(params: Any) -> None:
        stamp[META + "subscriptionId"] = server.heard[-1]["id"]
        acknowledged = {"notifications": params["notifications"], "_meta": stamp}
        server.say({"method": "notifications/subscriptions/acknowledged", "params": acknowledged})
        server.answers["tasks/get"] = last_poll

    def last_poll(params: Any) -> Any:
        asyncio.get_running_loop().call_soon(complete)
        server.answers["tasks/get"] = COMPLETED
        return WORKING | {"pollIntervalMs": 3_600_000}

    def complete() -> None:
        server.say({"method": "notifications/tasks", "params": {"_meta": stamp, **COMPLETED}})

    server.answers["subscriptions/listen"] = listen
    id, last = through(server, told)
    assert [params["notifications"] for params in server.sent("subscriptions/listen")] == [{"taskIds": ["t-1"]}]
    assert id != "t-1"
    assert last["taskId"] == id
    assert last["result"]["content"][0]["text"] == "done"


async def told(client: Client) -> Any:
    """The id of a task, and the notification of its end."""
    task = await client.start_task("up_slow")
    ended = asyncio.get_running_loop().create_future()

    def changed(params: Any) -> None:
        if params["status"] == "completed":
            ended.set_result(params)

    connection = client._connection  # pyright: ignore[reportPrivateUsage] - what its handles follow tasks by
    watching = asyncio.create_task(connection.watch_task(str(task.id), changed))
    last = await asyncio.wait_for(ended, LIMIT)
    watching.cancel()
    return task.id, last


def test_any_process_of_the_gateway_answers_for_the_task():
    """Also one that has started later: the id holds all."""
    server = Upstream(WORKING, COMPLETED)

    async def run() -> str:
        async with Client(gateway_to(server)) as client:
            id = (await client.start_task("up_slow")).id
        async with Client(gateway_to(server)) as client:
            return (await client.task(str(id)).result()).text

    assert asyncio.run(run()) == "done"


def test_questions_of_a_task_whose_tool_has_changed_are_not_answered():
    server = Upstream(ASKING)

    async def run() -> str:
        async with Client(gateway_to(server, host_settings={"pins": False}), elicit=decline) as client:
            id = str((await client.start_task("up_slow")).id)
        server.answers["tools/list"] = LISTED | {"tools": [TOOL | {"description": "Something else."}]}
        async with Client(gateway_to(server, host_settings={"pins": False}), elicit=decline) as client:
            with pytest.raises(InvalidParams) as error:
                await client.task(id).answer({"q": {"action": "decline"}})
            await client.task(id).cancel()
            return error.value.code or str(error.value)

    assert "TT5690" in asyncio.run(run())
    assert server.sent("tasks/update") == []
    assert len(server.sent("tasks/cancel")) == 1


def test_a_task_of_a_server_that_is_away_is_not_said_to_be_unknown():
    server = Upstream(COMPLETED)

    async def run() -> str:
        async with Client(gateway_to(server)) as client:
            id = str((await client.start_task("up_slow")).id)
        server.answers["server/discover"] = None
        gateway = gateway_to(server, host_settings={"patience": Patience(ready=0.1)})
        async with Client(gateway) as client:
            with pytest.raises(InternalError) as error:
                await client.task(id).status()
            return str(error.value)

    assert "not connected now" in asyncio.run(run())


def test_the_begin_and_the_end_of_a_task_are_recorded_once():
    async def run() -> list[Mapping[str, Any]]:
        gateway = gateway_to(Upstream(WORKING, COMPLETED), audit="memory:")
        async with Client(gateway) as client:
            task = await client.start_task("up_slow")
            await task.status()
            await task.status()
            await task.status()
            entries = await gateway.audit_log.read(0, 100)
            return [entry.record for entry in entries]

    records = asyncio.run(run())
    begins = [record for record in records if record["kind"] == "intent"]
    ends = [record for record in records if "completed" in str(record.get("notes"))]
    assert len(begins) == len(ends) == 1


def test_a_caller_with_too_many_tasks_gets_answers_without_one():
    numbers = itertools.count()
    server = Upstream(WORKING)

    def call(params: Any) -> Any:
        answer = server.call(params)
        return answer | {"taskId": f"t-{next(numbers)}"} if "taskId" in answer else answer

    server.answers |= {
        "tools/call": call,
        "tasks/get": lambda params: state("completed", params["taskId"], result=TEXT),
    }

    async def use(client: Client) -> list[str | None]:
        tasks = [await client.start_task("up_slow") for _ in range(101)]
        await tasks[0].status()  # it has ended
        return [*(task.id for task in tasks), (await client.start_task("up_slow")).id]

    ids = through(server, use)
    assert ids.index(None) == 100
    assert ids[101] is not None


def test_the_gateway_offers_the_extension_if_a_server_does():
    async def use(client: Client) -> Any:
        return client.facts.capabilities.get("extensions")

    assert through(Upstream(WORKING), use) == EXTENSION
    assert not through(Upstream(WORKING, **{"server/discover": DISCOVERED}), use)


async def decline(question: Any) -> Any:
    return False
