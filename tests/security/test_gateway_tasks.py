"""Attacks on the tasks that a gateway passes on: by its callers on each other, and by servers on its callers."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest

from support.fake_secrets import FAKES
from support.gateway_callers import Caller
from support.wire.upstream_tasks import ASKING, COMPLETED, TEXT, WORKING, Upstream, gateway_to, state
from tooltrue import Client
from tooltrue.errors import InvalidParams, RpcError
from tooltrue.gateway.gateway import Gateway
from tooltrue.policy.config import read_operator_config
from tooltrue.testing.state import LIMIT

T = TypeVar("T")

ACCEPTED = {"q": {"action": "accept", "content": {"people": 4}}}


def of_two(server: Upstream, use: Callable[[Client, Client], Awaitable[T]], **settings: Any) -> T:
    """Return the result of ``use`` with the clients of two callers of one gateway."""

    async def run() -> T:
        gateway = gateway_to(server, **settings)
        clients = [Client(Caller(gateway, name), elicit=lambda question: False) for name in ("ada", "bob")]
        async with asyncio.timeout(LIMIT), gateway.in_lifespan(), clients[0] as ada, clients[1] as bob:
            return await use(ada, bob)

    return asyncio.run(run())


async def requests(client: Client, id: str) -> list[str]:
    """What the three requests about a task bring: ``ok``, or the error."""
    task = client.task(id)
    answers: list[str] = []
    for request in (task.status, lambda: task.answer(ACCEPTED), task.cancel):
        try:
            await request()
            answers.append("ok")
        except InvalidParams as error:
            answers.append(str(error))
    return answers


UNKNOWN = ["There is no task of this id. It may have ended and expired; call the tool again. [TT5602]"] * 3


@pytest.mark.attack("B29")
def test_the_id_of_another_caller_is_unknown():
    server = Upstream(ASKING)

    async def use(ada: Client, bob: Client) -> list[str]:
        id = str((await ada.start_task("up_slow")).id)
        server.heard.clear()
        return await requests(bob, id)

    assert of_two(server, use) == UNKNOWN
    assert server.heard == []


@pytest.mark.twin("B29")
def test_the_id_of_its_caller_is_known():
    async def use(ada: Client, bob: Client) -> list[str]:
        return await requests(ada, str((await ada.start_task("up_slow")).id))

    assert of_two(Upstream(ASKING), use) == ["ok", "ok", "ok"]


FORGERIES: dict[str, Callable[[str], str]] = {
    "that of the server": lambda id: "t-1",
    "that of the server with the mark of the gateway": lambda id: "up.t-1",
    "nothing": lambda id: "x",
    "the mark alone": lambda id: "up.",
    "one character changed": lambda id: id[:-5] + ("A" if id[-5] != "A" else "B") + id[-4:],
    "one character more": lambda id: id + "A",
    "one character less": lambda id: id[:-1],
    "another spelling": lambda id: id + "=",
    "without the mark": lambda id: id.removeprefix("up."),
    "the first half": lambda id: id[: len(id) // 2],
    "twice": lambda id: id + id.removeprefix("up."),
    "upper case": str.upper,
    "line break": lambda id: id + "\n",
    "NUL": lambda id: id + "\0",
    "another mark": lambda id: id.replace("up.", "UP."),
    "very long": lambda id: id + "A" * 100_000,
    "a path": lambda id: f"../{id}",
    "no letters": lambda id: "up.\u202e\u200b",
    "reversed": lambda id: "up." + id.removeprefix("up.")[::-1],
    "spaces": lambda id: f" {id} ",
}


@pytest.mark.attack("B29")
@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_a_guessed_id_reaches_no_server(forge: Callable[[str], str]):
    server = Upstream(ASKING)

    async def use(ada: Client, bob: Client) -> list[str]:
        id = str((await ada.start_task("up_slow")).id)
        server.heard.clear()
        return await requests(ada, forge(id))

    assert of_two(server, use) == UNKNOWN
    assert server.heard == []


def views(server: Upstream, text: str) -> Gateway:
    return gateway_to(server, operator=read_operator_config("tooltrue.toml", text))


@pytest.mark.attack("B29", "B30")
def test_the_id_of_another_view_is_unknown():
    server = Upstream(COMPLETED)

    async def run() -> list[str]:
        gateway = views(server, '[views.one]\nservers = "up"\n\n[views.two]\nservers = "up"\n')
        async with Client(gateway.view("one")) as one, Client(gateway.view("two")) as two:
            id = str((await one.start_task("up_slow")).id)
            server.heard.clear()
            return await requests(two, id)

    assert asyncio.run(run()) == UNKNOWN
    assert server.heard == []


@pytest.mark.twin("B30")
def test_a_view_answers_for_its_own_tasks():
    async def run() -> str:
        gateway = views(Upstream(COMPLETED), '[views.one]\nservers = "up"\n')
        async with Client(gateway.view("one")) as one:
            return (await (await one.start_task("up_slow")).result()).text

    assert asyncio.run(run()) == "done"


@pytest.mark.attack("B03")
def test_the_task_of_a_tool_that_is_denied_by_now_is_unknown():
    """Authorization is asked again at every request."""
    server = Upstream(COMPLETED)

    async def run() -> list[str]:
        async with Client(gateway_to(server)) as client:
            id = str((await client.start_task("up_slow")).id)
        server.heard.clear()
        rules = '[[rules]]\ntools = "up_slow"\nthen = "hide"\n\n[[rules]]\ntools = "*"\nthen = "allow"\n'
        async with Client(views(server, rules)) as client:
            return await requests(client, id)

    assert asyncio.run(run()) == UNKNOWN
    assert [message for message in server.heard if message["method"].startswith("tasks/")] == []


@pytest.mark.twin("B03")
def test_the_task_of_a_tool_that_is_allowed_is_known():
    server = Upstream(COMPLETED)

    async def run() -> str:
        async with Client(gateway_to(server)) as client:
            id = str((await client.start_task("up_slow")).id)
        async with Client(views(server, '[[rules]]\ntools = "up_slow"\nthen = "allow"\n')) as client:
            return (await client.task(id).result()).text

    assert asyncio.run(run()) == "done"


@pytest.mark.attack("B28")
def test_a_replayed_update_reaches_the_server_once():
    server = Upstream(ASKING)

    async def use(ada: Client, bob: Client) -> None:
        task = await ada.start_task("up_slow")
        await asyncio.gather(*[task.answer(ACCEPTED) for _ in range(20)])

    of_two(server, use)
    assert [update["inputResponses"] for update in server.sent("tasks/update")] == [ACCEPTED]


@pytest.mark.twin("B28")
def test_another_question_of_the_same_task_can_be_answered():
    more = {"r": ASKING["inputRequests"]["q"]}
    server = Upstream(ASKING, state("input_required", inputRequests=more))

    async def use(ada: Client, bob: Client) -> None:
        task = await ada.start_task("up_slow")
        await task.answer(ACCEPTED)
        await task.answer({"r": ACCEPTED["q"]})

    of_two(server, use)
    assert [update["inputResponses"] for update in server.sent("tasks/update")] == [ACCEPTED, {"r": ACCEPTED["q"]}]


def numbered(server: Upstream) -> None:
    """Have each call be a task of its own."""
    numbers = itertools.count()

    def call(params: Any) -> Any:
        answer = server.call(params)
        return answer | {"taskId": f"t-{next(numbers)}"} if "taskId" in answer else answer

    server.answers |= {"tools/call": call, "tasks/get": lambda params: state("working", params["taskId"])}


@pytest.mark.attack("B26")
def test_a_thousand_tasks_of_one_caller_are_a_hundred():
    server = Upstream(WORKING)
    numbered(server)

    async def use(ada: Client, bob: Client) -> tuple[int, bool]:
        async def start() -> bool:
            task = await ada.start_task("up_slow")
            return task.id is not None and (await task.status()).state == "working"

        started = [await start() for _ in range(300)]
        together = await asyncio.gather(*[start() for _ in range(700)])
        return sum(started) + sum(together), (await bob.start_task("up_slow")).id is not None

    assert of_two(server, use, rate=None) == (100, True)


@pytest.mark.attack("B26")
def test_tasks_that_a_server_makes_at_once_are_a_hundred_and_it_is_told_to_end_the_others():
    server = Upstream(WORKING)
    numbered(server)
    call = server.answers["tools/call"]

    def held(params: Any) -> Any:
        """Answer the calls once there are ninety."""
        calls = [message for message in server.heard if message["method"] == "tools/call"][60:]
        if len(calls) == 90:
            for message in calls[:-1]:
                server.say({"id": message["id"], "result": call(params)})
            return call(params)
        return None

    async def use(ada: Client, bob: Client) -> list[Any]:
        for _ in range(60):
            await ada.start_task("up_slow")
        server.answers["tools/call"] = held
        return await asyncio.gather(*[ada.start_task("up_slow") for _ in range(90)])

    started = of_two(server, use)
    assert [task.id is not None for task in started].count(True) == 40
    refused = [task for task in started if task.id is None]
    assert len(server.sent("tasks/cancel")) == len(refused) == 50


@pytest.mark.twin("B26")
def test_a_caller_whose_tasks_end_can_begin_others():
    server = Upstream(WORKING)
    numbered(server)
    server.answers["tasks/get"] = lambda params: state("completed", params["taskId"], result=TEXT)

    async def use(ada: Client, bob: Client) -> bool:
        tasks = [await ada.start_task("up_slow") for _ in range(100)]
        for task in tasks:
            await task.status()
        return all([(await ada.start_task("up_slow")).id is not None for _ in range(100)])

    assert of_two(server, use)


SECRET = dict(FAKES)["github-token"]
LIES: dict[str, Any] = {
    "the task of another": state("completed", "t-2", result=TEXT),
    "no status": {"resultType": "complete", "taskId": "t-1"},
    "a status that does not exist": state("exploded"),
    "no result": state("completed"),
    "a result that is none": state("completed", result={"content": "text"}),
    "an error that is none": state("failed", error="no"),
    "an error without a number": state("failed", error={"code": "x", "message": "y"}),
    "questions that are none": state("input_required", inputRequests=[1]),
    "a question of no method": state("input_required", inputRequests={"q": {"method": "shell/run"}}),
    "a form for a password": state(
        "input_required",
        inputRequests={
            "q": {
                "method": "elicitation/create",
                "params": {"message": 10_000 * "x", "requestedSchema": {"type": "object", "properties": {}}},
            }
        },
    ),
    "a hundred questions": state(
        "input_required", inputRequests={f"q{n}": ASKING["inputRequests"]["q"] for n in range(500)}
    ),
    "a time that is none": state("working") | {"createdAt": "<script>"},
    "a negative time": state("working") | {"ttlMs": -1},
    "a task for an answer": WORKING | {"resultType": "task"},
    "a question for an answer": {"resultType": "input_required", "inputRequests": ASKING["inputRequests"]},
    "an empty answer": {},
    "a list": [],
}


@pytest.mark.attack("B33")
@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_server_that_lies_about_a_task_is_not_believed(lie: Any):
    async def use(ada: Client, bob: Client) -> Any:
        task = await ada.start_task("up_slow")
        with pytest.raises(RpcError) as error:
            await task.status()
        return str(error.value)

    said = of_two(Upstream(lie), use)
    assert "t-2" not in said
    assert "<script>" not in said


HOSTILE = f"\x1b[2J\u202e{SECRET} " + 100_000 * "x"


@pytest.mark.attack("B33")
@pytest.mark.parametrize("status", ["working", "cancelled", "failed"])
def test_a_hostile_message_of_a_task_is_cleaned_cut_and_masked(status: str):
    more: dict[str, Any] = (
        {"error": {"code": -32000, "message": HOSTILE, "data": {"key": SECRET}}} if status == "failed" else {}
    )

    async def use(ada: Client, bob: Client) -> Any:
        return (await (await ada.start_task("up_slow")).status()).raw

    said = str(of_two(Upstream(state(status, statusMessage=HOSTILE, **more)), use))
    assert all(bad not in said for bad in ("\x1b", "\\x1b", "\u202e", SECRET))
    assert len(said) < 5_000


@pytest.mark.attack("B33")
def test_a_huge_result_of_a_task_is_cut_and_hides_no_secret():
    text = 5_000_000 * "x" + SECRET
    server = Upstream(state("completed", result={"content": [{"type": "text", "text": text}]}))

    async def use(ada: Client, bob: Client) -> Any:
        return (await (await ada.start_task("up_slow")).status()).raw["result"]

    result = str(of_two(server, use))
    assert SECRET not in result
    assert len(result) < 3 * 1_048_576


@pytest.mark.attack("B33")
def test_an_id_that_no_client_could_send_back_is_refused():
    server = Upstream(WORKING, **{"tools/call": WORKING | {"resultType": "task", "taskId": 3_000 * "x"}})

    async def use(ada: Client, bob: Client) -> Any:
        return await ada.call_tool("up_slow")

    assert of_two(server, use).is_error


@pytest.mark.twin("B33")
def test_an_honest_server_is_believed():
    async def use(ada: Client, bob: Client) -> Any:
        task = await ada.start_task("up_slow")
        return (await task.status()).message, (await task.result()).text

    assert of_two(Upstream(WORKING, COMPLETED), use) == ("half of it", "done")
