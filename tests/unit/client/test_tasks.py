"""A client whose calls a server runs as tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest

from support.wire.scripted import DISCOVERED, Scripted, SkippingLoop
from tooltrue import Client, QuestionLimits
from tooltrue.client.answers import Elicitation
from tooltrue.client.relayed import RelayedRequest
from tooltrue.errors import (
    ConnectionLost,
    InternalError,
    InvalidAnswer,
    InvalidParams,
    InvalidResult,
    RequestTimeout,
    TaskCancelled,
    TransportError,
)
from tooltrue.jsonrpc.messages import Json

META = "io.modelcontextprotocol/"
EXTENSION = {META + "tasks": {}}
ACKNOWLEDGED = {"resultType": "complete"}
TEXT = {"content": [{"type": "text", "text": "done"}]}
TIMES = {"createdAt": "2026-07-28T10:00:00Z", "lastUpdatedAt": "2026-07-28T10:00:01Z", "ttlMs": None}
INITIALIZED = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
FORM = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
QUESTION = {"method": "elicitation/create", "params": FORM}
ACCEPTED = {"action": "accept", "content": {}}

Test = Callable[[Client], Coroutine[Any, Any, Any]]


def state(status: str, **members: Any) -> dict[str, Any]:
    return {"resultType": "complete", "taskId": "t-1", "status": status, **TIMES, **members}


def created(**members: Any) -> dict[str, Any]:
    return WORKING | {"resultType": "task"} | members


def asking(*keys: str, **members: Any) -> dict[str, Any]:
    return state("input_required", inputRequests=dict.fromkeys(keys, QUESTION), **members)


WORKING = state("working")
COMPLETED = state("completed", result=TEXT)


class Tasks(Scripted):
    """A server that runs each call as the task ``t-1``, which goes through ``states``, one for each poll; the last one
    stays. ``at`` has the time of each poll, by the clock of the loop."""

    def __init__(self, *states: Any, **answers: Any) -> None:
        acknowledged = dict.fromkeys(("tasks/update", "tasks/cancel"), ACKNOWLEDGED)
        super().__init__(**{"tools/call": created(), "tasks/get": self._next, **acknowledged, **answers})
        self.states = list(states)
        self.at: list[float] = []

    def _next(self, params: Any) -> Any:
        self.at.append(asyncio.get_running_loop().time())
        answer = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return answer(params) if callable(answer) else answer

    def sent(self, method: str) -> list[Any]:
        return [message["params"] for message in self.heard if message.get("method") == method]

    @property
    def methods(self) -> list[str]:
        return [message["method"] for message in self.heard if message["method"] != "server/discover"]


def run(server: Scripted, test: Test, **settings: Any) -> Any:
    async def main() -> Any:
        async with Client(server, **settings) as client:
            return await test(client)

    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        return runner.run(main())


async def call(client: Client) -> str:
    return (await client.call_tool("t")).text


# -- the extension -----------------------------------------------------------------------------------------------------


def test_a_session_based_server_does_not_learn_of_the_extension():
    server = Scripted(**{"server/discover": -32601, "initialize": INITIALIZED, "tools/call": TEXT})
    assert run(server, call) == "done"
    assert all("extensions" not in str(message) for message in server.heard[1:])


def test_a_request_for_another_client_does_not_declare_the_extension_of_that_client():
    async def test(client: Client) -> None:
        capabilities: dict[str, Json] = {"sampling": {}, "extensions": {**EXTENSION, "x/y": {}}}
        await client.relaying(RelayedRequest(capabilities)).call_tool("t")

    server = Tasks(COMPLETED, **{"tools/call": TEXT})
    run(server, test)
    [params] = server.sent("tools/call")
    assert params["_meta"][META + "clientCapabilities"] == {"sampling": {}, "extensions": {"x/y": {}}}


@pytest.mark.requirement("XTASK-03")
@pytest.mark.parametrize(
    ("method", "act"),
    [
        ("tools/list", lambda client: client.list_tools()),
        ("resources/read", lambda client: client.read_resource("a://b")),
        ("prompts/get", lambda client: client.get_prompt("p")),
        ("tasks/get", lambda client: client.task("t-1").status()),
    ],
)
def test_a_task_in_answer_to_another_request_than_a_call_is_not_valid(method: str, act: Test):
    with pytest.raises(InvalidAnswer) as caught:
        run(Scripted(**{method: created()}), act)
    assert caught.value.code == "TT5009"


@pytest.mark.requirement("XTASK-03")
def test_a_task_is_not_valid_where_the_extension_was_not_declared():
    async def relayed(client: Client) -> str:
        return (await client.relaying(RelayedRequest({"extensions": EXTENSION})).call_tool("t")).text

    for test, settings in ((call, {"tasks": False}), (relayed, {})):
        server = Tasks(COMPLETED)
        with pytest.raises(InvalidAnswer, match="did not declare"):
            run(server, test, **settings)
        assert server.methods == ["tools/call"]


# -- states ------------------------------------------------------------------------------------------------------------

WRONG: dict[str, dict[str, Any]] = {
    "no id": {"taskId": None},
    "an empty id": {"taskId": ""},
    "an id that is a number": {"taskId": 7},
    "an unknown status": {"status": "running"},
    "no status": {"status": None},
    "no time": {"createdAt": None},
    "a time that is none": {"lastUpdatedAt": "yesterday"},
    "a TTL that is text": {"ttlMs": "1"},
    "a TTL below zero": {"ttlMs": -1},
    "a TTL that is true": {"ttlMs": True},
    "an interval that is null": {"pollIntervalMs": None},
    "an interval below zero": {"pollIntervalMs": -1},
    "an interval that is a fraction": {"pollIntervalMs": 0.5},
    "a message that is a list": {"statusMessage": ["a"]},
}
WRONG_STATES: dict[str, dict[str, Any]] = {
    **{case: WORKING | members for case, members in WRONG.items()},
    "another task": state("working", taskId="t-2"),
    "no questions": state("input_required"),
    "questions that are a list": state("input_required", inputRequests=[QUESTION]),
    "a question that is text": state("input_required", inputRequests={"a": "?"}),
    "no result": state("completed"),
    "a result that is text": state("completed", result="done"),
    "a result that is a question": state("completed", result={"resultType": "input_required", "requestState": ""}),
    "a result that is a task": state("completed", result=created()),
    "a result with other content": state("completed", result={"content": [{"type": "hologram"}]}),
    "no error": state("failed"),
    "an error without a number": state("failed", error={"message": "no"}),
    "an error without words": state("failed", error={"code": -32603}),
    "a result of another type": WORKING | {"resultType": "working"},
}


@pytest.mark.parametrize("case", WRONG)
def test_a_new_task_that_is_not_valid_is_an_error_of_the_server(case: str):
    server = Tasks(COMPLETED, **{"tools/call": created(**WRONG[case])})
    with pytest.raises(InvalidAnswer) as caught:
        run(server, call)
    assert caught.value.code == "TT5009"
    assert server.methods == ["tools/call"]


def test_a_new_task_without_a_ttl_is_not_valid():
    answer = created()
    del answer["ttlMs"]
    with pytest.raises(InvalidAnswer, match="ttlMs"):
        run(Tasks(COMPLETED, **{"tools/call": answer}), call)


@pytest.mark.parametrize("case", WRONG_STATES)
def test_a_state_that_is_not_valid_ends_the_call(case: str):
    with pytest.raises(InvalidAnswer) as caught:
        run(Tasks(WRONG_STATES[case]), call)
    assert caught.value.code == "TT5009"


def test_a_state_has_what_the_server_reports():
    async def test(client: Client) -> None:
        seen = await client.task("t-1").status()
        assert (seen.id, seen.state, seen.message) == ("t-1", "input_required", "Waiting.")
        assert (seen.ttl, seen.interval, seen.is_final) == (90.0, 2.5, False)
        assert seen.created == datetime(2026, 7, 28, 10, tzinfo=UTC)
        assert seen.updated == datetime(2026, 7, 28, 10, 0, 1, tzinfo=UTC)
        assert seen.questions == {"a": QUESTION}

    more = {"ttlMs": 90_000, "pollIntervalMs": 2_500, "statusMessage": "Waiting."}
    run(Tasks(asking("a", **more, createdAt="2026-07-28T12:00:00+02:00", lastUpdatedAt="2026-07-28T10:00:01")), test)


@pytest.mark.parametrize("status", ["input_required", "completed", "failed", "cancelled"])
def test_a_new_task_in_another_state_is_polled_at_once_for_the_rest(status: str):
    server = Tasks(COMPLETED, **{"tools/call": created(status=status, inputRequests=7)})
    assert run(server, call) == "done"
    assert server.at == [0.0]


# -- the end of a task -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("XTASK-02", "XTASK-17")
def test_a_call_that_runs_as_a_task_returns_the_result_of_the_task():
    server = Tasks(WORKING, WORKING, COMPLETED)
    assert run(server, call) == "done"
    assert server.methods == ["tools/call", "tasks/get", "tasks/get", "tasks/get"]
    assert all(params["taskId"] == "t-1" for params in server.sent("tasks/get"))
    assert all(
        params["_meta"][META + "clientCapabilities"] == {"extensions": EXTENSION} for params in server.sent("tasks/get")
    )


@pytest.mark.requirement("XTASK-02")
def test_a_call_that_is_answered_at_once_needs_no_task():
    server = Tasks(COMPLETED, **{"tools/call": TEXT})
    assert run(server, call) == "done"
    assert server.methods == ["tools/call"]


def test_the_questions_of_a_call_come_before_its_task():
    def answer(params: Any) -> Any:
        if "inputResponses" in params:
            return created()
        return {"resultType": "input_required", "inputRequests": {"a": QUESTION}, "requestState": "s"}

    server = Tasks(COMPLETED, **{"tools/call": answer})
    assert run(server, call, elicit=lambda question: True) == "done"
    assert server.methods == ["tools/call", "tools/call", "tasks/get"]


def test_the_result_of_a_task_is_validated_as_that_of_a_call():
    async def test(client: Client) -> None:
        await client.list_tools()
        with pytest.raises(InvalidResult) as caught:
            await client.call_tool("t")
        assert caught.value.result.structured == {"a": "x"}
        with pytest.raises(InvalidResult):
            await client.task("t-1", tool="t").result()
        assert (await client.task("t-1").result()).structured == {"a": "x"}
        with pytest.raises(InvalidResult):
            await client.task("t-1", returns=dict[str, int]).result()
        assert (await client.call_tool("other", returns=dict[str, str])).value == {"a": "x"}

    output = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tools = [{"name": "t", "inputSchema": {"type": "object"}, "outputSchema": output}]
    server = Tasks(
        state("completed", result={**TEXT, "structuredContent": {"a": "x"}}), **{"tools/list": {"tools": tools}}
    )
    run(server, test)
    assert "tasks/cancel" not in server.methods  # they have ended


def test_a_result_with_its_type_and_one_that_is_an_error_are_results():
    async def test(client: Client) -> bool:
        return (await client.call_tool("t")).is_error

    result = {"resultType": "complete", "content": [], "isError": True}
    assert run(Tasks(state("completed", result=result)), test)


def test_a_task_that_failed_raises_the_error_of_the_call():
    server = Tasks(state("failed", error={"code": -32602, "message": "no such tool", "data": {"name": "t"}}))
    with pytest.raises(InvalidParams, match="no such tool") as caught:
        run(server, call)
    assert (caught.value.number, caught.value.data) == (-32602, {"name": "t"})
    assert "tasks/cancel" not in server.methods


def test_a_task_that_was_cancelled_has_an_error_of_its_own():
    server = Tasks(state("cancelled", statusMessage="by an operator"))
    with pytest.raises(TaskCancelled) as caught:
        run(server, call)
    assert (caught.value.code, caught.value.status.message) == ("TT5310", "by an operator")
    assert "tasks/cancel" not in server.methods


def test_a_task_that_the_server_does_not_know_is_not_waited_for():
    with pytest.raises(InvalidParams):
        run(Tasks(-32602), call)


# -- polling -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("XTASK-16")
def test_a_task_is_polled_at_the_interval_that_the_server_suggests_last():
    states = (state("working", pollIntervalMs=2_000), state("working", pollIntervalMs=30_000), COMPLETED)
    server = Tasks(*states, **{"tools/call": created(pollIntervalMs=5_000)})
    run(server, call)
    assert server.at == pytest.approx([5.0, 7.0, 37.0])


@pytest.mark.parametrize(("suggested", "interval"), [({}, 1.0), ({"pollIntervalMs": 0}, 0.02)])
def test_the_interval_has_a_default_and_bounds(suggested: Any, interval: float):
    server = Tasks(WORKING | suggested, COMPLETED, **{"tools/call": created(**suggested)})
    run(server, call)
    assert server.at == pytest.approx([interval, 2 * interval])
    longest = Tasks(COMPLETED, **{"tools/call": created(pollIntervalMs=10**15)})
    run(longest, call)
    assert longest.at == pytest.approx([60.0])


def test_the_messages_of_a_task_are_progress_of_its_call():
    def fails(number: float, total: float | None, message: str | None) -> None:
        seen.append((number, total, message))
        raise ValueError("not the fault of the task")

    seen: list[Any] = []
    texts = ("Begun.", "Begun.", None, "Nearly.", "x" * 3_000)
    states = [state("working", **({} if text is None else {"statusMessage": text})) for text in texts]
    server = Tasks(*states, COMPLETED)
    assert run(server, lambda client: client.call_tool("t", progress=fails)).text == "done"
    assert seen == [(1, None, "Begun."), (2, None, "Nearly."), (3, None, 2_000 * "x")]


def test_a_task_is_given_up_at_the_end_of_its_ttl_and_not_before():
    server = Tasks(state("working", ttlMs=9_500), **{"tools/call": created(ttlMs=1_000)})
    with pytest.raises(RequestTimeout) as caught:
        run(server, call)
    assert caught.value.code == "TT5311"
    assert server.at == pytest.approx([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 9.5])
    assert server.methods[-1] == "tasks/cancel"


def test_the_time_limits_of_a_client_are_for_requests_and_not_for_tasks():
    async def test(client: Client) -> str:
        return (await client.call_tool("t", timeout=2.0)).text

    server = Tasks(*50 * [state("working", pollIntervalMs=60_000)], COMPLETED)
    assert run(server, test, timeout=5.0, total_timeout=10.0) == "done"
    assert server.at[-1] > 2_900.0


def test_a_time_limit_of_a_call_ends_its_task():
    async def test(client: Client) -> None:
        with pytest.raises(RequestTimeout) as caught:
            await client.call_tool("t", total_timeout=4.5)
        assert caught.value.code == "TT5312"
        assert asyncio.get_running_loop().time() == pytest.approx(4.5)

    server = Tasks(WORKING)
    run(server, test)
    assert server.methods[-1] == "tasks/cancel"
    assert len(server.sent("tasks/cancel")) == 1


def test_a_server_that_answers_no_poll_is_asked_again_and_is_lost_in_the_end():
    silent = Tasks(lambda params: None)
    with pytest.raises(ConnectionLost, match=r"client\.task\('t-1'\)") as caught:
        run(silent, call, timeout=5.0)
    assert caught.value.code == "TT5313"
    assert "tasks/cancel" not in silent.methods  # it may be taken up again


def test_an_internal_error_of_the_server_may_pass():
    async def test(client: Client) -> str:
        with pytest.raises(InternalError):
            await client.task("t-1").status()  # it polls once
        return (await client.task("t-1").result()).text

    server = Tasks(-32603, -32603, -32603, COMPLETED)
    assert run(server, test) == "done"
    assert server.at == pytest.approx([0.0, 0.0, 0.5, 1.5])
    with pytest.raises(ConnectionLost) as caught:
        run(Tasks(-32603), call)
    assert caught.value.code == "TT5313"


def test_a_server_that_is_gone_on_a_shared_channel_is_gone_for_good():
    async def test(client: Client) -> None:
        with pytest.raises(ConnectionLost) as caught:
            await client.call_tool("t")
        assert caught.value.code == "TT5313"
        assert len(server.at) == 1

    async def close(client: Client) -> None:
        following = asyncio.ensure_future(test(client))
        await server.until(lambda message: message["method"] == "tasks/get")
        await client.close()
        await following

    server = Tasks(WORKING)
    run(server, close)


# -- cancellation ------------------------------------------------------------------------------------------------------


async def cancelled(client: Client, server: Tasks, times: int = 1) -> None:
    following = asyncio.ensure_future(client.call_tool("t"))
    await server.until(lambda message: message["method"] == "tasks/get")
    await asyncio.sleep(0.5)  # between two polls
    following.cancel()
    for _ in range(times - 1):
        await server.until(lambda message: message["method"] == "tasks/cancel")
        following.cancel()
    await asyncio.wait((following,))
    assert following.cancelled()


@pytest.mark.requirement("XTASK-28")
def test_a_call_that_is_cancelled_cancels_its_task_by_a_request():
    server = Tasks(WORKING)
    run(server, lambda client: cancelled(client, server))
    assert [params["taskId"] for params in server.sent("tasks/cancel")] == ["t-1"]
    assert "notifications/cancelled" not in server.methods


def test_a_server_that_does_not_answer_a_cancellation_holds_up_nothing():
    async def test(client: Client) -> None:
        for times in (1, 2):
            begun = asyncio.get_running_loop().time()
            await cancelled(client, server, times)
            assert asyncio.get_running_loop().time() - begun < 5.0
        assert len(asyncio.all_tasks()) == 1

    server = Tasks(WORKING, **{"tasks/cancel": None})
    run(server, test)


# -- questions ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("XTASK-19", "XTASK-20", "XTASK-22", "XTASK-25")
def test_each_question_of_a_task_is_answered_once():
    def elicit(question: Elicitation) -> bool:
        asked.append(question)
        return True

    asked: list[Elicitation] = []
    states = (asking("a"), asking("a"), asking("a", "b"), WORKING, asking("b", "c"), COMPLETED)
    server = Tasks(*states)
    assert run(server, call, elicit=elicit) == "done"
    assert [params["inputResponses"] for params in server.sent("tasks/update")] == [
        {"a": ACCEPTED},
        {"b": ACCEPTED},
        {"c": ACCEPTED},
    ]
    assert {params["taskId"] for params in server.sent("tasks/update")} == {"t-1"}
    assert len(asked) == 3


def test_two_that_await_one_task_have_the_person_asked_once():
    async def elicit(question: Elicitation) -> bool:
        asked.append(question)
        await asyncio.sleep(5.0)
        server.states[:] = [COMPLETED]
        return True

    async def test(client: Client) -> list[str]:
        task = await client.start_task("t")
        return [result.text for result in await asyncio.gather(task.result(), task.result())]

    asked: list[Elicitation] = []
    server = Tasks(asking("a"))
    assert run(server, test, elicit=elicit) == ["done", "done"]
    assert len(asked) == len(server.sent("tasks/update")) == 1


def test_an_answer_that_got_lost_is_sent_again_and_the_person_not_asked_again():
    def elicit(question: Elicitation) -> bool:
        asked.append(question)
        return True

    asked: list[Elicitation] = []
    acknowledgements = iter([-32603, ACKNOWLEDGED])
    server = Tasks(
        asking("a"), asking("a"), asking("a"), COMPLETED, **{"tasks/update": lambda _: next(acknowledgements)}
    )
    assert run(server, call, elicit=elicit) == "done"
    assert [params["inputResponses"] for params in server.sent("tasks/update")] == 2 * [{"a": ACCEPTED}]
    assert len(asked) == 1


def test_a_person_is_no_longer_asked_when_the_task_has_ended_or_another_client_has_answered():
    async def elicit(question: Elicitation) -> bool:
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.append(question)
        return True

    for after in ((COMPLETED,), (WORKING, WORKING, COMPLETED), (asking("b"), WORKING, COMPLETED)):
        withdrawn: list[Elicitation] = []
        server = Tasks(asking("a"), asking("a"), *after)
        assert run(server, call, elicit=elicit) == "done"
        assert len(withdrawn) == 1 + (after[0] != COMPLETED and after[0]["status"] == "input_required")
        assert "tasks/update" not in server.methods


def test_the_time_of_a_person_does_not_count_toward_the_limit_of_a_call():
    async def elicit(question: Elicitation) -> bool:
        await asyncio.sleep(600.0)
        server.states[:] = [WORKING, WORKING, COMPLETED]
        return True

    server = Tasks(asking("a"))
    assert run(server, lambda client: client.call_tool("t", total_timeout=10.0), elicit=elicit).text == "done"
    assert server.at[-1] > 600.0


@pytest.mark.requirement("XTASK-21")
def test_a_question_of_a_task_is_trusted_no_more_than_that_of_a_call():
    secret = {"type": "object", "properties": {"password": {"type": "string"}}}
    question = {"method": "elicitation/create", "params": {"message": "Your password?", "requestedSchema": secret}}
    server = Tasks(state("input_required", inputRequests={"a": question}), COMPLETED)
    run(server, call, elicit=lambda question: pytest.fail("a person was asked for a secret"))
    assert [params["inputResponses"] for params in server.sent("tasks/update")] == [{"a": {"action": "decline"}}]
    many = Tasks(asking(*"abc"))
    with pytest.raises(InvalidAnswer):
        run(many, call, elicit=lambda question: True, questions=QuestionLimits(waiting=2))
    assert many.methods[-1] == "tasks/cancel"


def test_a_task_that_asks_what_the_client_cannot_answer_is_given_up():
    server = Tasks(asking("a"))
    with pytest.raises(InvalidAnswer) as caught:
        run(server, call)
    assert caught.value.code == "TT5010"
    assert server.methods[-1] == "tasks/cancel"


def test_an_error_of_the_function_that_answers_ends_the_call():
    def elicit(question: Elicitation) -> bool:
        raise ZeroDivisionError

    server = Tasks(asking("a", pollIntervalMs=60_000))
    with pytest.raises(ZeroDivisionError):
        run(server, call, elicit=elicit)
    assert server.methods[-1] == "tasks/cancel"
    assert max(server.at) == pytest.approx(1.0)  # at once


# -- handles -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("XTASK-18")
def test_a_program_comes_back_to_a_task_by_its_id():
    async def start(client: Client) -> str | None:
        return (await client.start_task("t", {"total_timeout": 1}, a=2)).id

    async def come_back(client: Client) -> str:
        return (await client.task(id or "").result()).text

    server = Tasks(WORKING, COMPLETED)
    id = run(server, start)
    assert id == "t-1"
    assert server.methods == ["tools/call"]
    assert server.sent("tools/call")[0]["arguments"] == {"total_timeout": 1, "a": 2}
    assert run(server, come_back) == "done"
    assert server.at[0] == 0.0  # a task that was away is polled at once


def test_a_task_goes_on_when_its_handle_is_no_longer_awaited():
    async def test(client: Client) -> None:
        task = await client.start_task("t")
        following = asyncio.ensure_future(task.result())
        await server.until(lambda message: message["method"] == "tasks/get")
        following.cancel()
        await asyncio.wait((following,))
        with pytest.raises(RequestTimeout):
            await task.result(total_timeout=3.0)
        assert "tasks/cancel" not in server.methods
        await task.cancel()
        assert server.methods[-1] == "tasks/cancel"
        server.states[:] = [state("cancelled")]
        with pytest.raises(TaskCancelled):
            await task.result()

    server = Tasks(WORKING)
    run(server, test)


def test_the_updates_of_a_task_are_its_new_states_and_its_questions_are_for_the_caller():
    async def test(client: Client) -> list[str]:
        task = client.task("t-1")
        seen: list[str] = []
        async for now in task.updates():
            seen.append(now.state)
            if now.questions:
                await task.answer({"a": {"action": "decline"}})
        assert (await task.result()).text == "done"
        return seen

    server = Tasks(WORKING, WORKING, asking("a"), asking("a"), COMPLETED)
    assert run(server, test, elicit=lambda question: pytest.fail("the caller answers")) == [
        "working",
        "input_required",
        "completed",
    ]
    assert [params["inputResponses"] for params in server.sent("tasks/update")] == [{"a": {"action": "decline"}}]
    assert len(server.at) == 5  # the end is known


def test_a_question_that_the_caller_has_answered_is_not_put_to_the_person():
    async def test(client: Client) -> str:
        task = await client.start_task("t")
        await task.answer({"a": {"action": "decline"}})
        return (await task.result()).text

    server = Tasks(asking("a"), COMPLETED)
    assert run(server, test, elicit=lambda question: pytest.fail("the caller has answered")) == "done"


def test_the_handle_of_a_call_that_was_answered_at_once_has_its_result():
    async def test(client: Client) -> None:
        task = await client.start_task("t", returns=str)
        assert task.id is None
        assert (await task.result()).value == "done"
        assert (await task.status()).state == "completed"
        assert [now.state async for now in task.updates()] == ["completed"]
        await task.cancel()
        await task.answer({})

    server = Tasks(COMPLETED, **{"tools/call": TEXT})
    run(server, test)
    assert server.methods == ["tools/call"]


def test_there_are_no_tasks_without_the_extension():
    legacy = Scripted(**{"server/discover": -32601, "initialize": INITIALIZED})
    for server, settings in ((legacy, {}), (Tasks(COMPLETED), {"tasks": False})):
        with pytest.raises(TransportError) as caught:
            run(server, lambda client: client.task("t-1").result(), **settings)
        assert caught.value.code == "TT5314"


# -- notifications -----------------------------------------------------------------------------------------------------

PUSHING = {**DISCOVERED, "capabilities": {"tools": {}, "extensions": EXTENSION}}


def listening(server: Tasks, honoured: Any, *pushed: Any) -> Callable[[Any], None]:
    """Acknowledge the part ``honoured`` of a subscription, and send the states ``pushed``."""

    def listen(params: Any) -> None:
        stamp = {META + "subscriptionId": server.heard[-1]["id"]}
        acknowledged = {"notifications": honoured, "_meta": stamp}
        server.say({"method": "notifications/subscriptions/acknowledged", "params": acknowledged})
        for one in pushed:
            server.say({"method": "notifications/tasks", "params": {"_meta": stamp, **one}})

    return listen


def test_a_notification_brings_the_end_of_a_task_before_the_next_poll():
    server = Tasks(state("working", pollIntervalMs=60_000), **{"server/discover": PUSHING})
    wrong = (state("completed"), state("completed", taskId="t-2", result=TEXT), {"taskId": ["t-1"]})
    server.answers["subscriptions/listen"] = listening(server, {"taskIds": ["t-1"]}, *wrong, COMPLETED)
    assert run(server, call) == "done"
    assert server.at == pytest.approx([1.0])
    [params] = server.sent("subscriptions/listen")
    assert params["notifications"] == {"taskIds": ["t-1"]}


def test_a_notification_that_is_older_than_a_poll_changes_nothing():
    old = asking("a", lastUpdatedAt="2026-07-28T10:00:00Z")
    server = Tasks(WORKING, WORKING, COMPLETED, **{"server/discover": PUSHING})
    server.answers["subscriptions/listen"] = listening(server, {"taskIds": ["t-1"]}, old)
    assert run(server, call, elicit=lambda question: pytest.fail("it is not asked any more")) == "done"


def test_a_notification_does_not_shorten_the_interval_of_polls():
    server = Tasks(WORKING, WORKING, WORKING, COMPLETED, **{"server/discover": PUSHING})
    server.answers["subscriptions/listen"] = listening(server, {"taskIds": ["t-1"]}, WORKING)
    assert run(server, call) == "done"
    assert server.at == pytest.approx([1.0, 2.0, 3.0, 4.0])


def test_the_end_that_a_notification_brings_stays_the_end():
    def late(params: Any) -> Any:
        server.say({"method": "notifications/tasks", "params": COMPLETED})
        return WORKING  # as it was when the poll came

    server = Tasks(WORKING, late, **{"server/discover": PUSHING})
    server.answers["subscriptions/listen"] = listening(server, {"taskIds": ["t-1"]})
    assert run(server, call) == "done"
    assert len(server.at) == 2


@pytest.mark.parametrize(
    ("answer", "times"),
    [(-32601, 1), ({}, 1), (7, 1), (-32603, 2), ({"taskIds": []}, 2), ({"taskIds": ["t-2"]}, 2), (None, 2)],
)
def test_a_server_without_notifications_is_polled_and_asked_again_only_if_it_may_have_some(answer: Any, times: int):
    async def test(client: Client) -> None:
        for _ in range(2):
            server.states[:] = [WORKING, WORKING, COMPLETED]
            assert await call(client) == "done"

    server = Tasks(WORKING, **{"server/discover": PUSHING})
    refuses = answer is None or (isinstance(answer, int) and answer < 0)
    server.answers["subscriptions/listen"] = answer if refuses else listening(server, answer)
    run(server, test)
    assert len(server.sent("subscriptions/listen")) == times


def test_a_server_that_does_not_declare_the_extension_is_not_asked_for_notifications():
    server = Tasks(WORKING, WORKING, COMPLETED)
    run(server, call)
    assert "subscriptions/listen" not in server.methods
