"""A model and its tools, over real HTTP and through the providers' own packages: the messages on the wire, and the
state of a conversation after a failure."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from tooltrue import ImageContent, LocalToolset, ModelError, ModelRateLimited, ModelUnavailable, Server, ToolError
from tooltrue.host.calls import EndedCall, Hooks, ResolvedCall
from tooltrue.host.host_guard import Hosting, hosted
from tooltrue.host.models.endpoints import model_of
from tooltrue.host.models.model import Model, ModelMessage, Picture, ToolMessage, UserMessage
from tooltrue.host.run import Conversation, RunLimits, RunResult, local, run
from tooltrue.policy.audit.audit_settings import Audit
from tooltrue.policy.guard import Guard
from tooltrue.protocol.types import replaced
from tooltrue.testing.models import Call, Fails, ModelRequest, Says, ScriptedModel, Sends
from tooltrue.testing.state import LIMIT
from tooltrue.tools.tasks import Budget as TaskBudget
from tooltrue.tools.tasks import Task
from tooltrue.tools.toolset import Toolset
from tooltrue.tools.vocabulary import RequestContext

WIRES = {"chat": "openai:gpt", "responses": "openai-responses:gpt", "messages": "anthropic:claude"}
KEYS = {"OPENAI_API_KEY": "sk-open", "ANTHROPIC_API_KEY": "sk-anth", "TOOLTRUE_MODEL_KEY": "sk-mine"}

every_wire = pytest.mark.parametrize("wire", WIRES)


@contextlib.asynccontextmanager
async def scripted(wire: str, *script: Any, **settings: Any) -> AsyncGenerator[tuple[Model, ScriptedModel]]:
    told = ScriptedModel(*script)
    with told.serving() as url:
        settings = {"retries": 0, **settings}
        async with model_of(WIRES[wire], base_url=url, environment=KEYS, **settings) as model:
            yield model, told
    assert told.refused == []


def calculator() -> LocalToolset:
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return tools


def told(wire: str, *script: Any, tools: Toolset | None = None, **more: Any) -> tuple[RunResult, ScriptedModel]:
    """The result of a run, and the model with the requests that it received."""

    async def scenario() -> tuple[RunResult, ScriptedModel]:
        settings = more.pop("settings", {})
        async with asyncio.timeout(LIMIT), scripted(wire, *script, **settings) as (model, sent):
            return await run(model, "go", tools or calculator(), **more), sent

    return asyncio.run(scenario())


def replies(run: RunResult) -> list[str]:
    return [reply.text for message in run.messages if isinstance(message, ToolMessage) for reply in message.replies]


# --- the way of a conversation ---------------------------------------------------------------------------------------


@every_wire
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_model_calls_a_tool_and_reads_its_result(wire: str, stream: bool):
    heard: list[str] = []
    script = Says("Let me add.", calls=[Call("add", {"a": 1, "b": 2}, "c1")]), Says("It is 3.", input=20, output=7)
    done, sent = told(wire, *script, hooks=Hooks(text=heard.append), settings={"stream": stream})
    assert (done.text, done.stop, done.steps) == ("It is 3.", "end", 2)
    assert (done.usage.input, done.usage.output) == (30, 12)
    assert replies(done) == ["3"]
    assert "".join(heard) == "Let me add.It is 3."
    assert (len(heard) > 2) is stream
    assert [request.body.get("stream", False) for request in sent.requests] == [stream, stream]


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
ADD = {"name": "add", "description": "Add two numbers."}
TOOLS = {
    "chat": {"type": "function", "function": {**ADD, "parameters": SCHEMA}},
    "responses": {"type": "function", **ADD, "parameters": SCHEMA, "strict": False},
    "messages": {**ADD, "input_schema": SCHEMA},
}


@every_wire
def test_tools_have_the_shape_of_their_provider(wire: str):
    _, sent = told(wire, Says("Hello."))
    assert sent.requests[0].body["tools"] == [TOOLS[wire]]


SENT_BACK: dict[str, Any] = {
    "chat": [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "one", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}},
                {"id": "two", "type": "function", "function": {"name": "add", "arguments": '{"a":3,"b":4}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "one", "content": "3"},
        {"role": "tool", "tool_call_id": "two", "content": "7"},
    ],
    "responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "function_call", "call_id": "one", "name": "add", "arguments": '{"a":1,"b":2}'},
        {"type": "function_call", "call_id": "two", "name": "add", "arguments": '{"a":3,"b":4}'},
        {"type": "function_call_output", "call_id": "one", "output": "3"},
        {"type": "function_call_output", "call_id": "two", "output": "7"},
    ],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "one", "name": "add", "input": {"a": 1, "b": 2}},
                {"type": "tool_use", "id": "two", "name": "add", "input": {"a": 3, "b": 4}},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": id,
                    "content": [{"type": "text", "text": text}],
                    "is_error": False,
                }
                for id, text in (("one", "3"), ("two", "7"))
            ],
        },
    ],
}


@every_wire
def test_results_go_back_in_the_order_of_the_calls_whichever_ends_first(wire: str):
    tools, second_is_done = LocalToolset(), asyncio.Event()

    @tools.tool(effect="read")
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        if a == 3:
            second_is_done.set()
        await second_is_done.wait()  # so the first ends after the second: they run side by side
        return a + b

    calls = [Call("add", {"a": 1, "b": 2}, "one"), Call("add", {"a": 3, "b": 4}, "two")]
    _, sent = told(wire, Says(calls=calls), Says("done"), tools=tools)
    body = sent.requests[1].body
    assert body.get("messages", body.get("input")) == SENT_BACK[wire]


def test_no_more_calls_run_at_once_than_the_limits_say():
    tools, running, most = LocalToolset(), 0, 0

    @tools.tool(effect="read")
    async def wait() -> None:
        """Wait a little."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await asyncio.sleep(0)
        running -= 1

    done, _ = told("chat", Says(calls=[Call("wait")] * 9), Says("done"), tools=tools, limits=RunLimits(at_once=2))
    assert (most, len(replies(done))) == (2, 9)


@every_wire
def test_the_thinking_of_a_model_is_returned_unchanged_while_its_question_is_open(wire: str):
    script = Says(thinking="hm", calls=[Call("add", {"a": 1, "b": 2}, "c1")]), Says("3", thinking="yes"), Says("bye")

    async def scenario() -> list[Any]:
        async with asyncio.timeout(LIMIT), scripted(wire, *script) as (model, sent):
            talk = Conversation(model, calculator())
            await talk.say("go")
            await talk.say("thanks")
            return [request.body.get("messages", request.body.get("input")) for request in sent.requests]

    _, second, third = asyncio.run(scenario())
    match wire:
        case "chat":
            assert second[1]["reasoning_content"] == "hm"
            assert not any("reasoning_content" in message for message in third)
        case "responses":
            item = {
                "id": "rs_1",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": "c2VhbGVk",
            }
            assert second[1] == item
        case _:
            assert second[1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}


@every_wire
def test_a_model_that_did_not_think_this_gets_no_thoughts_of_another(wire: str):
    others = ModelMessage("Hello.", native=[{"type": "thinking", "thinking": "hm"}], by="another")

    async def scenario() -> Any:
        async with asyncio.timeout(LIMIT), scripted(wire, Says("fine")) as (model, sent):
            await run(model, [UserMessage(("hi",)), others, UserMessage(("how are you?",))], calculator())
            return sent.requests[0].body

    assert "hm" not in str(asyncio.run(scenario()))


PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@every_wire
@pytest.mark.parametrize("sees", [True, False])
def test_a_picture_reaches_a_model_that_sees(wire: str, sees: bool):
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def draw() -> ImageContent:
        """Draw a dot."""
        return ImageContent(data=PIXEL, mimeType="image/png")

    settings = {"sees": sees} if wire == "chat" else {}
    done, sent = told(wire, Says(calls=[Call("draw")]), Says("A dot."), tools=tools, settings=settings)
    results = [reply for message in done.messages if isinstance(message, ToolMessage) for reply in message.replies]
    assert results[0].parts == (Picture(PIXEL, "image/png"),)
    assert (PIXEL in str(sent.requests[1].body)) is (sees or wire != "chat")
    if not sees and wire == "chat":
        assert "a picture, image/png" in str(sent.requests[1].body["messages"][-1]["content"])


@every_wire
def test_an_error_is_marked_as_one(wire: str):
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def fail() -> str:
        """Fail."""
        raise ToolError("The shelf is empty. Fill it first.")

    done, sent = told(wire, Says(calls=[Call("fail", "{}", "c1")]), Says("I see."), tools=tools)
    assert replies(done) == ["The shelf is empty. Fill it first."]
    body = sent.requests[1].body
    sent_back: Any = body["input"] if wire == "responses" else body["messages"]
    last = sent_back[-1]
    match wire:
        case "chat":
            assert last["content"] == "Error: The shelf is empty. Fill it first."
        case "responses":
            assert last["output"] == "Error: The shelf is empty. Fill it first."
        case _:
            assert last["content"][0]["is_error"] is True


@every_wire
def test_a_question_a_system_message_and_the_history_reach_the_model(wire: str):
    given = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi."}]},
        {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Bye."},
    ]

    async def scenario() -> Any:
        async with asyncio.timeout(LIMIT), scripted(wire, Says("Bye.")) as (model, sent):
            await run(model, given, calculator())
            return sent.requests[0].body

    body = asyncio.run(scenario())
    assert all(text in str(body) for text in ("Be brief.", "Hi.", "Hello.", "Bye."))
    assert (body.get("system") == "Be brief.") is (wire == "messages")


# --- malformed output of a model -------------------------------------------------------------------------------------

NO_CALLS = [
    pytest.param(Call("add", '{"a": 1, "b":'), "TT9511", id="cut short"),
    pytest.param(Call("add", "[1, 2]"), "TT9511", id="no object"),
    pytest.param(Call("add", '{"a": NaN, "b": 1}'), "TT9511", id="no number"),
    pytest.param(Call("subtract", {"a": 1, "b": 2}), "TT9510", id="no such tool"),
    pytest.param(Call("add; rm -rf /", {"a": 1}), "TT9510", id="no name"),
]


@every_wire
@pytest.mark.parametrize(("call", "code"), NO_CALLS)
def test_an_invalid_call_of_a_model_is_answered_with_an_error_and_a_next_step(wire: str, call: Call, code: str):
    ended: list[EndedCall] = []
    done, _ = told(wire, Says(calls=[call]), Says("Sorry."), hooks=Hooks(after=ended.append))
    assert done.stop == "end"
    assert f"[{code}]" in replies(done)[0]
    assert [(one.step, one.reply.is_error) for one in ended] == [(None, True)]


@every_wire
def test_b08_a_key_that_a_model_writes_twice_runs_nothing(wire: str):
    done, _ = told(wire, Says(calls=[Call("add", '{"a": 1, "b": 1, "a": 2}')]), Says("Sorry."))
    assert "The key 'a' stands twice" in replies(done)[0]


@every_wire
def test_b08_twin_a_key_in_two_objects_is_two_keys(wire: str):
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def keys(a: dict[str, int], b: dict[str, int]) -> list[str]:
        """The keys."""
        return [*a, *b]

    done, _ = told(wire, Says(calls=[Call("keys", '{"a": {"x": 1}, "b": {"x": 2}}')]), Says("x"), tools=tools)
    assert replies(done) == ['["x","x"]']


@every_wire
def test_a_call_without_arguments_has_none(wire: str):
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def now() -> str:
        """What time is it?"""
        return "noon"

    done, _ = told(wire, Says(calls=[Call("now", "")]), Says("Noon."), tools=tools)
    assert replies(done) == ["noon"]


LENGTH = {"chat": "length", "responses": "max_output_tokens", "messages": "max_tokens"}


@every_wire
def test_a_call_in_an_answer_that_was_cut_does_not_run(wire: str):
    tools = LocalToolset()

    @tools.tool(effect="destructive")
    async def wipe(path: str = "/") -> str:
        """Wipe."""
        raise AssertionError("it must not run")

    done, _ = told(wire, Says(calls=[Call("wipe", "")], stop=LENGTH[wire]), Says("Sorry."), tools=tools)
    assert "[TT9513]" in replies(done)[0]


@every_wire
def test_an_answer_that_was_cut_says_so(wire: str):
    done, _ = told(wire, Says("Once upon a", stop=LENGTH[wire]))
    assert (done.text, done.stop) == ("Once upon a", "length")


REFUSES = {"chat": "content_filter", "responses": "content_filter", "messages": "refusal"}


@every_wire
def test_a_model_that_refuses_calls_nothing(wire: str):
    said = Says("I will not.", calls=[Call("add", {"a": 1, "b": 2})], stop=REFUSES[wire])
    done, _ = told(wire, said)
    assert (done.text, done.stop, replies(done)) == ("I will not.", "refused", [])


def forever(request: ModelRequest) -> Says:
    return Says("more", calls=[Call("add", {"a": 1, "b": 2})])


@every_wire
def test_a_model_that_never_stops_calling_is_stopped(wire: str):
    done, sent = told(wire, forever, limits=RunLimits(steps=5))
    assert (done.stop, done.steps, len(sent.requests)) == ("steps", 5, 5)
    assert replies(done) == ["3"] * 5


def test_tokens_that_are_used_up_end_a_run_before_the_next_call():
    done, _ = told("chat", forever, limits=RunLimits(tokens=40))
    assert (done.stop, done.usage.total) == ("tokens", 45)
    assert replies(done)[:-1] == ["3", "3"]
    assert "[TT9515]" in replies(done)[-1]


def test_a_task_that_is_stopped_ends_its_run_and_tokens_count_for_it():
    hosting = Hosting(budget=TaskBudget(calls=1))
    tasks: list[Task] = []

    def context() -> RequestContext:
        tasks.append(hosting.task())
        return replaced(local(), task=tasks[-1])

    provider = hosted(calculator(), Guard(audit=Audit.of(False)), hosting)
    done, _ = told("chat", forever, tools=provider, context=context)
    assert (done.stop, done.steps) == ("stopped", 4)
    assert "[TT9351]" in done.reason
    assert [task.tokens for task in tasks] == [done.usage.total]


def test_of_too_many_calls_in_one_answer_the_first_run():
    said = Says(calls=[Call("add", {"a": number, "b": 0}) for number in range(5)])
    done, _ = told("chat", said, Says("Well."), limits=RunLimits(calls=3))
    assert replies(done)[:3] == ["0", "1", "2"]
    assert all("[TT9516]" in reply for reply in replies(done)[3:])


# --- how an endpoint fails -------------------------------------------------------------------------------------------


def failure(wire: str, *script: Any, **more: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        told(wire, *script, **more)
    return caught.value


@every_wire
@pytest.mark.parametrize(("status", "code"), [(400, "TT9520"), (401, "TT9521"), (404, "TT9520"), (500, "TT9520")])
def test_a_refusal_is_an_error_of_ours(wire: str, status: int, code: str):
    error = failure(wire, Fails(status, "computer says no"))
    assert (error.code, error.status, "computer says no" in str(error)) == (code, status, True)


@every_wire
def test_an_endpoint_that_is_busy_says_when_to_come_back(wire: str):
    error = failure(wire, Fails(429, "slow down", {"retry-after": "7"}))
    assert isinstance(error, ModelRateLimited)
    assert (error.code, error.seconds) == ("TT9522", 7.0)


@every_wire
def test_an_endpoint_that_is_busy_is_asked_again_when_it_says(wire: str):
    script = Fails(429, headers={"retry-after-ms": "1"}), Fails(529, headers={"retry-after-ms": "1"}), Says("Now.")
    done, sent = told(wire, *script, settings={"retries": 2})
    assert (done.text, len(sent.requests)) == ("Now.", 3)


@every_wire
def test_a_long_retry_after_of_an_endpoint_does_not_block_the_caller(wire: str):
    failed = Fails(429, headers={"retry-after": "86400"})
    assert failure(wire, failed, Fails(429), settings={"retries": 1, "seconds": 0.1}).code in ("TT9522", "TT9527")


# A call whose arguments have come, and an end that has not.
HALVES: dict[str, list[Any]] = {
    "chat": [
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [{"index": 0, "id": "c", "function": {"name": "add", "arguments": "{}"}}],
                    },
                }
            ]
        }
    ],
    "responses": [
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "function_call", "name": "add"}},
        {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{}"},
    ],
    "messages": [
        {"type": "message_start", "message": {"usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "c", "name": "add"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{}"}},
    ],
}


@every_wire
@pytest.mark.parametrize("cut", [True, False], ids=["broken", "ended"])
def test_of_a_stream_that_is_cut_nothing_runs(wire: str, cut: bool):
    called: list[ResolvedCall] = []
    error = failure(wire, Sends(HALVES[wire], cut=cut), hooks=Hooks(before=called.append))
    assert error.code == ("TT9523" if cut else "TT9524")
    assert called == []


@every_wire
def test_an_error_within_a_stream_is_one(wire: str):
    event = {"type": "error", "error": {"type": "overloaded_error", "message": "too much"}, "message": "too much"}
    error = failure(wire, Sends([event]))
    assert error.code == "TT9520"
    assert "too much" in str(error)


@every_wire
@pytest.mark.parametrize("data", [b"{not json", b"[1]", b"null"])
def test_a_stream_that_is_no_json_is_no_answer(wire: str, data: bytes):
    assert failure(wire, Sends([{"type": "ping"}, data])).code == "TT9524"


@every_wire
def test_an_endpoint_that_falls_silent_is_given_up(wire: str):
    assert failure(wire, Sends(HALVES[wire], hangs=True), settings={"seconds": 0.05}).code == "TT9527"


@every_wire
def test_an_endpoint_that_is_not_there_is_said(wire: str):
    async def scenario() -> None:
        nobody = "http://127.0.0.1:9/v1"
        async with model_of(WIRES[wire], base_url=nobody, environment=KEYS, retries=0) as model:
            await run(model, "go", calculator())

    with pytest.raises(ModelError) as caught:
        asyncio.run(scenario())
    assert isinstance(caught.value, ModelUnavailable)
    assert caught.value.code == "TT9530"


@every_wire
def test_a_conversation_goes_on_after_a_failure(wire: str):
    async def scenario() -> RunResult:
        script = Says(calls=[Call("add", {"a": 1, "b": 2})]), Fails(500), Says("It is 3.")
        async with asyncio.timeout(LIMIT), scripted(wire, *script) as (model, _):
            talk = Conversation(model, calculator())
            with pytest.raises(ModelError):
                await talk.say("go")
            return await talk.say([])

    done = asyncio.run(scenario())
    assert (done.text, replies(done)) == ("It is 3.", ["3"])


# --- an end from outside ---------------------------------------------------------------------------------------------


def waiting() -> tuple[LocalToolset, asyncio.Event, list[str]]:
    tools, began, seen = LocalToolset(), asyncio.Event(), list[str]()

    @tools.tool(effect="read")
    async def wait() -> str:
        """Wait."""
        began.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            seen.append("ended")

    @tools.tool(effect="read")
    async def quick() -> str:
        """Do not wait."""
        return "quick"

    return tools, began, seen


@every_wire
def test_cancelling_ends_the_calls_that_run_and_leaves_a_conversation_that_goes_on(wire: str):
    async def scenario() -> tuple[RunResult, list[str]]:
        tools, began, seen = waiting()
        script = Says(calls=[Call("quick"), Call("wait")]), Says("What next?")
        async with asyncio.timeout(LIMIT), scripted(wire, *script) as (model, _):
            talk = Conversation(model, tools)
            running = asyncio.create_task(talk.say("go"))
            await began.wait()
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            return await talk.say("never mind"), seen

    done, seen = asyncio.run(scenario())
    assert seen == ["ended"]
    assert replies(done)[0] == "quick"
    assert "[TT9514]" in replies(done)[1]


@every_wire
def test_cancelling_ends_an_answer_on_its_way(wire: str):
    async def scenario() -> bool:
        async with asyncio.timeout(LIMIT), scripted(wire, Sends(HALVES[wire], hangs=True)) as (model, sent):
            running = asyncio.create_task(run(model, "go", calculator()))
            await asyncio.to_thread(sent.waits.wait)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            return await asyncio.to_thread(sent.left.wait, LIMIT)

    assert asyncio.run(scenario())


def test_time_that_is_up_ends_the_calls_that_run():
    """The call has to have begun before the time is up: on a busy machine it gets more of it."""
    for seconds in (0.2, 2.0, 16.0):
        tools, began, seen = waiting()
        done, _ = told("chat", Says(calls=[Call("wait")]), tools=tools, limits=RunLimits(seconds=seconds))
        if began.is_set():
            break
    assert (done.stop, seen) == ("time", ["ended"])
    assert "[TT9514]" in replies(done)[0]


def test_a_tool_that_cancels_itself_costs_only_itself(caplog: pytest.LogCaptureFixture):
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def give_up() -> str:
        """Give up."""
        raise asyncio.CancelledError

    @tools.tool(effect="read")
    async def crash() -> str:
        """Crash."""
        raise RuntimeError("the password is hunter2")

    done, _ = told("chat", Says(calls=[Call("give_up"), Call("crash")]), Says("Oh."), tools=tools)
    assert all("[TT2004]" in reply and "hunter2" not in reply for reply in replies(done))
    assert "hunter2" in caplog.text


# --- hooks -----------------------------------------------------------------------------------------------------------


def test_a_call_that_a_hook_refuses_does_not_run_and_the_model_reads_why():
    async def before(step: ResolvedCall) -> str | None:
        return "Not on Sundays." if step.arguments["a"] == 1 else None

    calls = [Call("add", {"a": 1, "b": 2}), Call("add", {"a": 2, "b": 2})]
    done, _ = told("chat", Says(calls=calls), Says("Pity."), hooks=Hooks(before=before))
    assert replies(done) == ["Not on Sundays.", "4"]


def test_an_exception_of_a_hook_ends_the_run():
    def before(step: ResolvedCall) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        told("chat", Says(calls=[Call("add", {"a": 1, "b": 2})] * 3), hooks=Hooks(before=before))


def test_progress_and_thoughts_are_told_as_they_come():
    tools, said = LocalToolset(), list[Any]()

    @tools.tool(effect="read")
    async def count(context: Any) -> str:
        """Count."""
        return "counted"

    hooks = Hooks(thinking=said.append, after=lambda ended: said.append((ended.step and ended.step.tool, ended.size)))
    told("chat", Says(thinking="hm, hm", calls=[Call("count", {"context": 1})]), Says("x"), tools=tools, hooks=hooks)
    assert said == ["hm, h", "m", ("count", 7)]


def shop() -> Server:
    server = Server("shop", version="1", audit=False)

    @server.tool(effect="read")
    async def greet() -> str:
        """Greet whoever it is."""
        return "hello"

    @server.tool(effect="destructive")
    async def burn(box: str) -> str:
        """Burn a box."""
        return f"{box} is ashes"

    return server


@pytest.mark.parametrize(("answer", "reply"), [(True, "attic is ashes"), (False, "[TT")])
def test_the_person_at_the_terminal_is_asked_before_a_destructive_call(answer: bool, reply: str):
    asked: list[str] = []

    def elicit(question: Any) -> bool:
        asked.append(question.message)
        return answer

    done, _ = told(
        "chat",
        Says(calls=[Call("burn", {"box": "attic"})]),
        Says("Done."),
        tools=shop().provider,
        hooks=Hooks(elicit=elicit),
    )
    assert len(asked) == 1
    assert "attic" in asked[0]
    assert reply in replies(done)[0]


def test_a_tool_that_asks_without_a_person_present_fails_and_reports_it():
    tools = LocalToolset()

    @tools.tool(effect="read")
    async def name(context: Any = None) -> str:
        """Ask for a name."""
        return "x"

    done, _ = told("chat", Says(calls=[Call("burn", {"box": "attic"})]), Says("Oh."), tools=shop().provider)
    assert "[TT" in replies(done)[0]
    assert "ashes" not in replies(done)[0]


def test_a_tool_that_comes_while_a_run_goes_on_is_shown_with_the_next_answer():
    tools = LocalToolset()

    def two() -> int:
        """Two."""
        return 2

    @tools.tool(effect="read")
    def learn() -> str:
        """Learn a trick."""
        tools.add(two, effect="read")
        return "learnt"

    done, sent = told("chat", Says(calls=[Call("learn")]), Says(calls=[Call("two")]), Says("2"), tools=tools)
    assert replies(done) == ["learnt", "2"]
    assert [len(request.body["tools"]) for request in sent.requests] == [1, 2, 2]


@every_wire
def test_a_tool_goes_to_the_model_as_its_provider_takes_it_and_its_call_comes_back(wire: str):
    tools = LocalToolset()

    def price(arguments: dict[str, Any]) -> str:
        return "3 euros"

    tools.add_raw("shop.price.v1", {"type": "object"}, price, description="The price.", effect="read")

    def answer(request: ModelRequest) -> Says:
        said: list[Any] = request.body["input"] if wire == "responses" else request.body["messages"]
        [tool] = request.body["tools"]
        name = tool["function"]["name"] if wire == "chat" else tool["name"]
        return Says("done") if len(said) > 1 else Says(calls=[Call(name)])

    done, _ = told(wire, answer, tools=tools)
    assert replies(done) == ["3 euros"]


# --- keys ------------------------------------------------------------------------------------------------------------


@every_wire
def test_a_key_goes_only_to_the_endpoint_that_it_belongs_to(wire: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "sk-open")
    _, sent = told(wire, Says("Hello."))
    headers = str(sent.requests[0].headers)
    assert "sk-mine" in headers
    assert "sk-open" not in headers
    assert "sk-anth" not in headers


@pytest.mark.parametrize("name", [*WIRES.values(), "deepseek:chat"])
def test_a_key_that_is_missing_is_named(name: str, refuses: Callable[..., str]):
    assert "_API_KEY" in refuses("TT9525", model_of, name, environment={})


def test_a_model_without_a_known_provider_is_refused(refuses: Callable[..., str]):
    assert "deepseek" in refuses("TT9528", model_of, "gpt", environment=KEYS)


def test_an_invalid_base_url_is_refused_before_any_request(refuses: Callable[..., str]):
    assert "nonsense" in refuses("TT9827", model_of, "gpt", base_url="nonsense", environment=KEYS)


@pytest.fixture(name="refuses")
def _refuses() -> Callable[..., str]:
    def refuses(code: str, function: Callable[..., Any], *arguments: Any, **more: Any) -> str:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - its code is looked at
            function(*arguments, **more)
        assert getattr(caught.value, "code", None) == code
        return str(caught.value)

    return refuses
