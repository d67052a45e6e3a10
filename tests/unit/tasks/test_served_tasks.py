"""Calls that become tasks, on the wire: a server in memory, with its engine on SQLite."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from click.testing import CliRunner
from sqlalchemy import Engine, event
from typing_extensions import TypedDict

from tooltrue import (
    Answer,
    Client,
    ConfigurationError,
    Context,
    DefinitionError,
    Form,
    Header,
    Server,
    Tasks,
    ToolError,
)
from tooltrue._internal.platform.users import operating_system_user
from tooltrue.cli.main import cli
from tooltrue.errors import InvalidParams
from tooltrue.protocol import modern, versions
from tooltrue.testing.state import LIMIT
from tooltrue.tools.vocabulary import LOCAL, Principal
from tooltrue.transport.carrier import Carrier

WITHOUT_TASKS: list[Any] = [
    {},
    {"extensions": {}},
    {"extensions": {modern.TASKS: True}},
    {"tasks": {"requests": {"tools": {"call": {}}}}},
]
CAN = {"extensions": {modern.TASKS: {}}, "elicitation": {}}


class Person(TypedDict):
    name: str


NAME = Form("Your name?", Person)


class Speaker:
    """A client's end, spoken raw."""

    def __init__(self, server: Server, principal: Principal = LOCAL) -> None:
        self._answers: dict[int, asyncio.Future[Any]] = {}
        protocol = server._assembly.protocol  # pyright: ignore[reportPrivateUsage] - with a caller of its own
        self._session = protocol.connect(self._hear, Carrier("memory"), principal)
        self._number = 0
        self.notifications: asyncio.Queue[Any] = asyncio.Queue()

    def _hear(self, frame: bytes) -> None:
        message = json.loads(frame)
        if "id" not in message:
            self.notifications.put_nowait(message)
        elif not (answer := self._answers[message["id"]]).done():  # a subscription that was given up
            answer.set_result(message)

    async def follow(self, *tasks: str) -> Any:
        """Subscribe to tasks. Returns the filter that is honoured."""
        following = asyncio.ensure_future(self.ask("subscriptions/listen", notifications={"taskIds": tasks}))
        following.add_done_callback(lambda done: done.cancelled() or done.exception())
        return (await self.heard())["notifications"]

    async def heard(self) -> Any:
        """The parameters of the next notification."""
        async with asyncio.timeout(LIMIT):
            message = await self.notifications.get()
        assert message["method"] in ("notifications/subscriptions/acknowledged", "notifications/tasks")
        return message["params"]

    async def ask(self, method: str, capabilities: Any = CAN, **params: Any) -> Any:
        """The response to a stateless request."""
        meta = {modern.VERSION: versions.LATEST, modern.CAPABILITIES: capabilities}
        return await self.say(method, {**params, "_meta": meta})

    async def say(self, method: str, params: Any) -> Any:
        """The response to a request with just these parameters."""
        self._number += 1
        self._answers[self._number] = asyncio.get_running_loop().create_future()
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._session.feed(json.dumps(message).encode())
        async with asyncio.timeout(LIMIT):
            return await self._answers[self._number]

    async def call(self, tool: str, capabilities: Any = CAN, /, **arguments: Any) -> Any:
        answer = await self.ask("tools/call", capabilities, name=tool, arguments=arguments)
        return answer.get("result") or answer["error"]

    async def task(self, tool: str, /, **arguments: Any) -> str:
        """The id of the task that a call becomes."""
        result = await self.call(tool, **arguments)
        assert result["resultType"] == "task", result
        return result["taskId"]

    async def get(self, task: str) -> Any:
        answer = await self.ask("tasks/get", taskId=task)
        return answer.get("result") or answer["error"]

    async def until_asked_again(self, task: str, key: str) -> Any:
        """The task when it asks under another key than this one."""
        result = await self.until(task, "input_required")
        return await self.until_asked_again(task, key) if key in result["inputRequests"] else result

    async def until(self, task: str, *states: str) -> Any:
        """The task in one of these states."""
        async with asyncio.timeout(LIMIT):
            while (result := await self.get(task)).get("status") not in states:
                assert "status" in result, result
                await asyncio.sleep(0.01)
        return result


@contextlib.contextmanager
def rounds_read() -> Iterator[list[str]]:
    """The statements by which the rounds of tasks are read, of all databases."""
    statements = list[str]()

    def note(connection: object, cursor: object, statement: str, *_: object) -> None:
        if "workflow_input" in statement and statement.startswith("SELECT"):
            statements.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield statements
    finally:
        event.remove(Engine, "before_cursor_execute", note)


def _name(answer: Answer[Person]) -> str:
    assert answer.value is not None
    return answer.value["name"]


def _changed(id: str) -> str:
    return ("B" if id[0] == "A" else "A") + id[1:]


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that runs on an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return made(tmp_path)


def made(tmp_path: Path) -> Server:
    server = Server(
        "s", tasks=Tasks(store=f"sqlite:///{tmp_path}/tasks.db", caller=3), audit=f"sqlite://{tmp_path}/audit.db"
    )
    gate = asyncio.Event()

    @server.tool(effect="read", task=True)
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(effect="read", task=True)
    def plain(a: int) -> int:
        """Add one."""
        return a + 1

    @server.tool(effect="read", task=True)
    async def greet(context: Context) -> str:
        """Greet a person."""
        return f"Hello {_name(context.ask(NAME))}"

    @server.tool(effect="read", task=True)
    async def pair(context: Context) -> str:
        """Ask two things."""
        answers = context.ask_all({"one": NAME, "two": Form("And yours?", Person)})
        return f"{_name(answers['one'])} and {_name(answers['two'])}"

    @server.tool(effect="read", task=True)
    async def wait() -> str:
        """Wait for ever."""
        await gate.wait()
        return "over"

    @server.tool(effect="read", task=True)
    async def report(context: Context) -> str:
        """Report progress, and wait for ever."""
        context.progress(1, 3, "one of three")
        context.progress(0.5, 3, "back again")
        await gate.wait()
        return "over"

    @server.tool(effect="read", task=True)
    def count(context: Context) -> str:
        """Report progress from a thread, and wait for an answer."""
        context.progress(2, 3)
        return _name(context.ask(NAME))

    @server.tool(effect="read", task=True)
    async def broken() -> str:
        """Fail."""
        raise ToolError("no such thing")

    @server.tool(effect="read", task=True)
    async def refused() -> str:
        """Fail as a protocol error."""
        raise InvalidParams("not this way")

    @server.tool(effect="read", task="required")
    async def only() -> str:
        """Run as a task alone."""
        return "done"

    @server.tool(effect="read", task="when-slow")
    async def quick() -> str:
        """Be quick."""
        return "quick"

    @server.tool(effect="read", task="when-slow")
    async def slow() -> str:
        """Be slow."""
        await gate.wait()
        return "slow"

    @server.tool(effect="destructive", task=True)
    async def wipe(place: str) -> str:
        """Wipe a place."""
        return f"wiped {place}"

    return server


@contextlib.asynccontextmanager
async def speaking(server: Server) -> AsyncIterator[Speaker]:
    async with server.serving():
        yield Speaker(server)


@pytest.mark.requirement("XTASK-06", "XTASK-12", "XTASK-14")
@on_a_loop
async def test_a_call_becomes_a_task_that_has_its_result(server: Server) -> None:
    async with speaking(server) as client:
        created = await client.call("add", a=1, b=2)
        assert created["resultType"] == "task"
        assert created["status"] == "working"
        assert (created["ttlMs"], created["pollIntervalMs"]) == (86_400_000, 1_000)
        task = await client.until(created["taskId"], "completed")
        assert task["resultType"] == "complete"
        assert task["taskId"] == created["taskId"]
        assert task["createdAt"] == created["createdAt"]
        assert task["result"]["structuredContent"] == 3
        assert task["result"]["resultType"] == "complete"


@on_a_loop
async def test_a_plain_function_runs_as_a_task_too(server: Server) -> None:
    async with speaking(server) as client:
        task = await client.until(await client.task("plain", a=1), "completed")
        assert task["result"]["structuredContent"] == 2


@pytest.mark.requirement("XTASK-01", "XTASK-07", "XTASK-39")
@pytest.mark.parametrize(
    "capabilities",
    [{}, {"extensions": {}}, {"extensions": {modern.TASKS: True}}, {"tasks": {"requests": {"tools": {"call": {}}}}}],
)
@on_a_loop
async def test_a_client_without_the_extension_gets_the_result(server: Server, capabilities: Any) -> None:
    async with speaking(server) as client:
        result = await client.call("add", capabilities, a=1, b=2)
        assert result["structuredContent"] == 3


@pytest.mark.requirement("XTASK-04")
@on_a_loop
async def test_a_tool_that_requires_tasks_refuses_other_clients(server: Server) -> None:
    async with speaking(server) as client:
        error = await client.call("only", {})
        assert error["code"] == -32021
        assert error["data"] == {"requiredCapabilities": {"extensions": {modern.TASKS: {}}}}
        assert "TT5601" in error["message"]
        task = await client.until(await client.task("only"), "completed")
        assert task["result"]["content"][0]["text"] == "done"


@pytest.mark.requirement("XTASK-38")
@on_a_loop
async def test_the_extension_is_advertised_while_tasks_run(server: Server) -> None:
    async with speaking(server) as client:
        offered = (await client.ask("server/discover"))["result"]["capabilities"]
        assert offered["extensions"] == {modern.TASKS: {}}
        assert "tasks" not in offered


@pytest.mark.requirement("XTASK-32")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
@on_a_loop
async def test_each_request_declares_the_extension(server: Server, method: str) -> None:
    async with speaking(server) as client:
        task = await client.task("wait")
        answer = await client.ask(method, {}, taskId=task, inputResponses={})
        assert answer["error"]["code"] == -32021
        await client.ask("tasks/cancel", taskId=task)


@pytest.mark.requirement("XTASK-36")
@pytest.mark.parametrize("method", ["tasks/result", "tasks/list"])
@on_a_loop
async def test_the_methods_of_the_earlier_tasks_do_not_exist(server: Server, method: str) -> None:
    async with speaking(server) as client:
        assert (await client.ask(method, taskId="1"))["error"]["code"] == -32601


@pytest.mark.requirement("XTASK-30", "XTASK-31", "XTASK-42", "XTASK-43", "XTASK-44")
@pytest.mark.attack("B29")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
@on_a_loop
async def test_b29_a_task_of_another_caller_is_unknown_like_one_that_never_was(server: Server, method: str) -> None:
    async with speaking(server) as client:
        task = await client.task("wait")
        other = Speaker(server, Principal("other"))
        answers = [
            (await one.ask(method, taskId=id, inputResponses={}))["error"]
            for one, id in ((other, task), (other, "1"), (client, "0" * 32), (client, _changed(task)))
        ]
        assert {(error["code"], error["message"]) for error in answers} == {(-32602, answers[0]["message"])}
        assert "TT5602" in answers[0]["message"]
        assert (await client.get(task))["status"] == "working"
        await client.ask("tasks/cancel", taskId=task)


@pytest.mark.requirement("XTASK-10", "XTASK-11", "XTASK-12", "XTASK-15")
@on_a_loop
async def test_a_failure_of_the_tool_is_a_result_and_a_protocol_error_fails_the_task(server: Server) -> None:
    async with speaking(server) as client:
        task = await client.until(await client.task("broken"), "completed")
        assert task["result"]["isError"]
        assert task["result"]["content"][0]["text"] == "no such thing"
        task = await client.until(await client.task("refused"), "failed")
        assert task["error"] == {"code": -32602, "message": "not this way"}
        assert task["statusMessage"] == "not this way"


@pytest.mark.requirement("XTASK-12", "XTASK-26", "XTASK-27")
@on_a_loop
async def test_a_task_asks_its_client_and_goes_on_with_the_answer(server: Server) -> None:
    async with speaking(server) as client:
        id = await client.task("greet")
        task = await client.until(id, "input_required")
        [(key, request)] = task["inputRequests"].items()
        assert request["method"] == "elicitation/create"
        assert (await client.get(id))["inputRequests"] == task["inputRequests"]
        answer = {"action": "accept", "content": {"name": "Ada"}}
        acknowledged = await client.ask("tasks/update", taskId=id, inputResponses={key: answer, "other": 1})
        assert set(acknowledged["result"]) == {"resultType", "_meta"}
        task = await client.until(id, "completed")
        assert task["result"]["content"][0]["text"] == "Hello Ada"
        again = await client.ask("tasks/update", taskId=id, inputResponses={key: answer})
        assert "error" not in again


@pytest.mark.requirement("XTASK-13")
@on_a_loop
async def test_answers_may_come_one_by_one_and_the_first_counts(server: Server) -> None:
    def says(name: str) -> Any:
        return {"action": "accept", "content": {"name": name}}

    async with speaking(server) as client:
        id = await client.task("pair")
        one, two = (await client.until(id, "input_required"))["inputRequests"]
        await client.ask("tasks/update", taskId=id, inputResponses={two: says("Bo")})
        task = await client.get(id)
        assert task["status"] == "input_required"
        assert list(task["inputRequests"]) == [one]
        await client.ask("tasks/update", taskId=id, inputResponses={two: says("Cy")})
        await client.ask("tasks/update", taskId=id, inputResponses={one: says("Ada")})
        task = await client.until(id, "completed")
        assert task["result"]["content"][0]["text"] == "Ada and Bo"


@pytest.mark.requirement("XTASK-23", "XTASK-24")
@on_a_loop
async def test_a_malformed_answer_is_refused_and_an_unfit_one_asked_for_again_under_another_key(server: Server) -> None:
    async with speaking(server) as client:
        id = await client.task("greet")
        [key] = (await client.until(id, "input_required"))["inputRequests"]
        refused = await client.ask("tasks/update", taskId=id, inputResponses={key: {"action": "perhaps"}})
        assert refused["error"]["code"] == -32602
        unfit = {"action": "accept", "content": {"name": 7}}
        await client.ask("tasks/update", taskId=id, inputResponses={key: unfit})
        [other] = (await client.until_asked_again(id, key))["inputRequests"]
        assert other != key
        await client.ask("tasks/cancel", taskId=id)


@pytest.mark.requirement("XTASK-29")
@on_a_loop
async def test_a_poll_looks_its_task_up_once(server: Server) -> None:
    async with speaking(server) as client:
        task = await client.task("add", a=1, b=2)
        await client.until(task, "completed")
        with rounds_read() as statements:
            await client.get(task)
    assert len(statements) == 1


@on_a_loop
async def test_a_task_is_cancelled_once(server: Server) -> None:
    async with speaking(server) as client:
        id = await client.task("wait")
        assert "error" not in await client.ask("tasks/cancel", taskId=id)
        await client.until(id, "cancelled")
        assert "error" not in await client.ask("tasks/cancel", taskId=id)
        assert (await client.get(id))["status"] == "cancelled"


@on_a_loop
async def test_a_quick_call_is_answered_at_once_and_a_slow_one_by_a_task(server: Server) -> None:
    async with speaking(server) as client:
        result = await client.call("quick")
        assert result["content"][0]["text"] == "quick"
        id = await client.task("slow")
        assert (await client.get(id))["status"] == "working"
        await client.ask("tasks/cancel", taskId=id)


@pytest.mark.attack("B29")
@on_a_loop
async def test_a_caller_has_a_limited_number_of_tasks(server: Server) -> None:
    async with speaking(server) as client:
        tasks = [await client.task("wait") for _ in range(3)]
        result = await client.call("wait")
        assert result["isError"]
        assert "TT5603" in result["content"][0]["text"]
        assert (await Speaker(server, Principal("other")).call("add", a=1, b=1))["resultType"] == "task"
        for task in tasks:
            await client.ask("tasks/cancel", taskId=task)
        await client.until(tasks[0], "cancelled")
        await client.task("add", a=1, b=1)


@pytest.mark.requirement("XTASK-09")
@on_a_loop
async def test_a_person_approves_a_task_before_it_begins_and_once(server: Server) -> None:
    async with speaking(server) as client:
        asked = await client.call("wipe", place="x")
        assert asked["resultType"] == "input_required"
        [key] = asked["inputRequests"]
        yes = {"action": "accept", "content": {"answer": "once"}}
        more = {"requestState": asked["requestState"], "inputResponses": {key: yes}}
        created = (await client.ask("tools/call", name="wipe", arguments={"place": "x"}, **more))["result"]
        assert created["resultType"] == "task", created
        task = await client.until(created["taskId"], "completed")
        assert task["result"]["content"][0]["text"] == "wiped x"
        again = await client.ask("tools/call", name="wipe", arguments={"place": "x"}, **more)
        assert "error" in again


@on_a_loop
async def test_a_task_of_a_tool_that_is_gone_ends_with_a_sentence(server: Server) -> None:
    async with speaking(server) as client:
        id = await client.task("add", a=1, b=2)
        await client.until(id, "completed")
        server.remove_tool("add")
        task = await client.get(id)
        assert task["status"] == "failed"
        assert "TT5605" in task["error"]["message"]
        assert "result" not in task


@on_a_loop
async def test_the_begin_and_the_end_of_a_task_are_recorded(server: Server) -> None:
    async with speaking(server) as client:
        await client.until(await client.task("add", a=1, b=2), "completed")
        entries = [entry.record for entry in await server.audit_log.read(0, 100)]
    calls = [record for record in entries if record["kind"] == "call"]
    assert len(calls) == 2
    assert calls[0]["notes"] == calls[1]["notes"]


@pytest.mark.parametrize("task", ["never", 1.5])
def test_a_wrong_setting_of_a_tool_is_refused(task: Any) -> None:
    server = Server("s")

    def tool() -> None:
        """Do it."""

    with pytest.raises(DefinitionError, match="task"):
        server.add_tool(tool, task=task)


@on_a_loop
async def test_the_operator_names_the_store_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLTRUE_TASKS", f"sqlite://{tmp_path}/elsewhere.db")
    async with Server("s", tasks=Tasks()).serving():
        pass
    assert (tmp_path / "elsewhere.db").exists()
    assert (tmp_path / "elsewhere.db.key").stat().st_mode & 0o077 == 0


@on_a_loop
async def test_tasks_of_several_machines_need_keys_that_they_share() -> None:
    server = Server("s", tasks=Tasks(store="postgresql://ada:secret@db.example/tasks"))
    with pytest.raises(ConfigurationError, match="keys that all its servers share") as refused:
        async with server.serving():
            pass
    assert "secret" not in str(refused.value)


def test_a_tool_with_credentials_of_its_caller_becomes_no_task() -> None:
    server = Server("s")

    def tool(token: Annotated[str, Header("authorization", credentials=True)]) -> None:
        """Do it."""

    with pytest.raises(DefinitionError, match="credentials") as refused:
        server.add_tool(tool, task=True)
    assert "test_served_tasks.py" in str(refused.value)


@pytest.mark.parametrize("name", ["ttl_seconds", "poll_seconds", "caller"])
def test_a_limit_of_tasks_is_above_zero(name: str) -> None:
    settings: dict[str, Any] = {name: 0}
    with pytest.raises(ConfigurationError, match=name):
        Tasks(**settings)


@on_a_loop
async def test_the_newest_progress_is_the_message_of_a_running_task(server: Server) -> None:
    async with speaking(server) as client:
        id = await client.task("report")
        async with asyncio.timeout(LIMIT):
            assert await client.follow(id) == {"taskIds": [id]}
            while (task := await client.get(id)).get("statusMessage") != "one of three":
                await client.heard()
        assert task["status"] == "working"
        await client.ask("tasks/cancel", taskId=id)
        asking = await client.until(await client.task("count"), "input_required")
        assert "statusMessage" not in asking


@on_a_loop
async def test_an_act_of_an_operator_is_recorded_and_told_to_those_that_follow_the_task(
    server: Server, tmp_path: Path
) -> None:
    async def operator(*words: str) -> None:
        command = ["tasks", "--store", f"sqlite:///{tmp_path}/tasks.db", *words]
        done = await asyncio.to_thread(CliRunner().invoke, cli, command)
        assert done.exit_code == 0, done.output

    async with speaking(server) as client:
        ids = {tool: await client.task(tool) for tool in ("wait", "greet", "pair")}
        [key] = (await client.until(ids["greet"], "input_required"))["inputRequests"]
        await client.until(ids["pair"], "input_required")
        tasks = await server.audit_log.read(0, 100)
        note = {entry.record["subject"]: entry.record["notes"] for entry in tasks if entry.record["kind"] == "call"}
        await client.follow(*ids.values())
        short = {tool: notes[0].removeprefix("task ") for tool, notes in note.items()}
        await operator("cancel", short["wait"])
        await operator("cancel", short["pair"])
        await operator("answer", short["greet"], "name=Ada")
        heard = dict[str, str]()
        while heard != {ids["wait"]: "cancelled", ids["pair"]: "cancelled", ids["greet"]: "completed"}:
            task = await client.heard()
            heard[task["taskId"]] = task["status"]
        records = list[dict[str, Any]]()
        async with asyncio.timeout(LIMIT):
            while len(records) < 3:
                entries = await server.audit_log.read(0, 100)
                records = [entry.record for entry in entries if entry.record["kind"].startswith("operator ")]
                await asyncio.sleep(0.05)  # a worker takes the acts with its next sign of life
    by_tool = {record["subject"]: record for record in records}
    assert {tool: record["kind"] for tool, record in by_tool.items()} == {
        "wait": "operator cancel",
        "pair": "operator cancel",
        "greet": "operator answer",
    }
    assert {record["who"] for record in records} == {operating_system_user()}
    assert {tool: record["notes"] for tool, record in by_tool.items()} == {tool: note[tool] for tool in by_tool}
    assert by_tool["greet"]["arguments"] == {"questions": [key]}
    assert all(record["outcome"] == "ok" for record in records)


@pytest.mark.requirement("XTASK-34")
@on_a_loop
async def test_a_change_of_a_task_that_is_followed_is_announced_with_the_whole_task(server: Server) -> None:
    async with speaking(server) as client:
        id = await client.task("greet")
        await client.until(id, "input_required")
        other = await Speaker(server, Principal("other")).task("wait")
        assert await client.follow(id, other, "none") == {"taskIds": [id]}
        [key] = (await client.get(id))["inputRequests"]
        answer = {"action": "accept", "content": {"name": "Ada"}}
        await client.ask("tasks/update", taskId=id, inputResponses={key: answer})
        while (task := await client.heard())["status"] != "completed":
            assert task["taskId"] == id
        assert task["result"]["content"][0]["text"] == "Hello Ada"
        assert modern.SUBSCRIPTION_ID in task["_meta"]


@pytest.mark.requirement("XTASK-33")
@on_a_loop
async def test_tasks_are_followed_with_the_extension_alone(server: Server) -> None:
    async with speaking(server) as client:
        answer = await client.ask("subscriptions/listen", {}, notifications={"taskIds": ["1"]})
        assert answer["error"]["code"] == -32021


@pytest.mark.requirement("XTASK-37")
@on_a_loop
async def test_a_call_takes_no_notice_of_the_parameter_of_the_earlier_tasks(server: Server) -> None:
    async with speaking(server) as client:
        answer = await client.ask("tools/call", {}, name="add", arguments={"a": 1, "b": 2}, task={"ttl": 1})
        assert answer["result"]["structuredContent"] == 3


@pytest.mark.requirement("XTASK-08")
@on_a_loop
async def test_a_task_outlives_the_server_that_began_it(tmp_path: Path) -> None:
    async with speaking(made(tmp_path)) as client:
        working, asking = await client.task("wait"), await client.task("greet")
        [key] = (await client.until(asking, "input_required"))["inputRequests"]
    async with speaking(made(tmp_path)) as client:
        assert (await client.get(working))["status"] == "working"
        await client.ask("tasks/cancel", taskId=working)
        answer = {"action": "accept", "content": {"name": "Ada"}}
        await client.ask("tasks/update", taskId=asking, inputResponses={key: answer})
        task = await client.until(asking, "completed")
        assert task["result"]["content"][0]["text"] == "Hello Ada"


@on_a_loop
async def test_our_client_follows_a_task_and_answers_its_questions(server: Server) -> None:
    async with server.serving(), Client(server, elicit=lambda question: {"name": "Ada"}) as client:
        assert (await client.call_tool("add", a=1, b=2)).value == 3
        assert (await client.call_tool("greet")).text == "Hello Ada"


def interrupted(tmp_path: Path, begun: threading.Event, go: threading.Event) -> Server:
    """A server whose steps wait for ``go``, in a function of each kind."""
    server = Server("s", tasks=Tasks(store=f"sqlite:///{tmp_path}/tasks.db"), audit=False)

    async def pay() -> str:
        begun.set()
        await asyncio.Event().wait()
        return "paid"

    def plain_pay() -> str:
        begun.set()
        go.wait()
        return "paid"

    @server.tool(effect="write", task=True)
    async def alone(context: Context) -> str:
        """Pay."""
        with contextlib.suppress(Exception):
            return await context.once("pay", pay)
        return "suppressed"

    @server.tool(effect="write", task=True)
    async def grouped(context: Context) -> str:
        """Pay in a group."""

        async def step() -> str:
            return await context.once("pay", pay)

        async with asyncio.TaskGroup() as group:
            group.create_task(step())
        return "grouped"

    @server.tool(effect="write", task=True)
    def plain(context: Context) -> str:
        """Pay on a thread."""
        with contextlib.suppress(Exception):
            return context.once("pay", plain_pay)
        return "suppressed"

    return server


@pytest.mark.parametrize("tool", ["alone", "grouped", "plain"])
@on_a_loop
async def test_a_task_whose_step_was_interrupted_fails_with_the_name_of_the_step(tmp_path: Path, tool: str) -> None:
    begun, go = threading.Event(), threading.Event()
    try:
        async with speaking(interrupted(tmp_path, begun, go)) as client:
            task = await client.task(tool)
            assert await asyncio.to_thread(begun.wait, LIMIT)
        go.set()
        async with speaking(interrupted(tmp_path, begun, go)) as client:
            ended = await client.until(task, "completed", "failed", "input_required")
    finally:
        go.set()
    assert ended["status"] == "failed"
    assert ended["error"]["code"] == -32603
    assert "'pay'" in ended["error"]["message"]
    assert "TT5604" in ended["error"]["message"]


@on_a_loop
async def test_a_plain_function_becomes_a_task_where_it_says_so(tmp_path: Path) -> None:
    server = Server("s", tasks=Tasks(store=f"sqlite:///{tmp_path}/tasks.db"), audit=False)

    @server.tool(effect="read", task="manual")
    def count(lines: int, context: Context) -> int:
        """Count lines."""
        if lines > 10:
            context.become_task()
        return lines

    async with speaking(server) as client:
        assert (await client.call("count", lines=1))["structuredContent"] == 1
        task = await client.until(await client.task("count", lines=11), "completed")
        assert task["result"]["structuredContent"] == 11


@pytest.mark.parametrize(("retry", "state"), [(False, "failed"), (True, "completed")])
@on_a_loop
async def test_a_step_that_a_question_cut_is_not_repeated_unless_it_is_declared(
    tmp_path: Path, retry: bool, state: str
) -> None:
    server = Server("s", tasks=Tasks(store=f"sqlite:///{tmp_path}/tasks.db"), audit=False)
    payments: list[str] = []
    begun = asyncio.Event()

    async def pay() -> str:
        payments.append("paid")
        begun.set()
        if len(payments) == 1:
            await asyncio.Event().wait()  # until it is cut
        return "paid"

    @server.tool(effect="write", task=True)
    async def pay_and_ask(context: Context) -> str:
        """Pay, and ask meanwhile."""

        async def ask() -> str:
            await begun.wait()
            return _name(context.ask(NAME))

        async with asyncio.TaskGroup() as group:
            group.create_task(_awaited(context.once("pay", pay, retry=retry)))
            answer = group.create_task(ask())
        return answer.result()

    async with speaking(server) as client:
        id = await client.task("pay_and_ask")
        [key] = (await client.until(id, "input_required"))["inputRequests"]
        answer = {"action": "accept", "content": {"name": "Ada"}}
        await client.ask("tasks/update", taskId=id, inputResponses={key: answer})
        task = await client.until(id, "completed", "failed")
    assert task["status"] == state
    assert len(payments) == 1 + retry
    if not retry:
        assert "TT5604" in task["error"]["message"]


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value
