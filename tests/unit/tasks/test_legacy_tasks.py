"""Tasks in sessions of 2025-11-25, on the wire: a server in memory, with its engine on SQLite."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import TypedDict

from tooltrue import Client, Context, Form, Server, Tasks, ToolError
from tooltrue.errors import InvalidParams, MethodNotFound
from tooltrue.protocol import modern, versions
from tooltrue.testing.state import LIMIT
from tooltrue.tools.vocabulary import LOCAL, Principal
from tooltrue.transport.carrier import Carrier

RELATED = "io.modelcontextprotocol/related-task"


class Person(TypedDict):
    name: str


class Session:
    """A client's end of a session, spoken raw. ``answers`` are its results for the requests of the server."""

    def __init__(self, server: Server, principal: Principal = LOCAL) -> None:
        protocol = server._assembly.protocol  # pyright: ignore[reportPrivateUsage] - with a caller of its own
        self._session = protocol.connect(self._hear, Carrier("memory"), principal)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self.answers: list[Any] = []
        self.requests: list[Any] = []
        self.statuses: asyncio.Queue[Any] = asyncio.Queue()
        self.heard: list[Any] = []

    def _hear(self, frame: bytes) -> None:
        message = json.loads(frame)
        self.heard.append(message)
        if "method" not in message:
            self._waiting[message["id"]].set_result(message)
        elif "id" in message:
            self.requests.append(message)
            self.send({"id": message["id"], **self.answers.pop(0)})
        elif message["method"] == "notifications/tasks/status":
            self.statuses.put_nowait(message["params"])

    def send(self, message: Mapping[str, Any]) -> None:
        self._session.feed(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def begin(self, method: str, /, **params: Any) -> asyncio.Future[Any]:
        """Send a request; the future is its response."""
        id = len(self._waiting) + 1
        response = self._waiting[id] = asyncio.get_running_loop().create_future()
        self.send({"id": id, "method": method, "params": params})
        return response

    async def ask(self, method: str, /, **params: Any) -> Any:
        """The response to a request: its result, or its error."""
        async with asyncio.timeout(LIMIT):
            response = await self.begin(method, **params)
        return response.get("result") or response["error"]

    async def open(self, revision: str = versions.NEWEST_LEGACY, **capabilities: Any) -> Any:
        """The capabilities of the server."""
        client = {"name": "c", "version": "1"}
        opened = await self.ask("initialize", protocolVersion=revision, capabilities=capabilities, clientInfo=client)
        self.send({"method": "notifications/initialized"})
        return opened["capabilities"]

    async def call(self, tool: str, arguments: Any = None, **more: Any) -> Any:
        return await self.ask("tools/call", name=tool, arguments=arguments or {}, **more)

    async def task(self, tool: str, arguments: Any = None, **more: Any) -> str:
        """The id of the task that a call becomes."""
        created = await self.call(tool, arguments, task={}, **more)
        assert "task" in created, created
        return created["task"]["taskId"]

    async def get(self, task: str) -> Any:
        return await self.ask("tasks/get", taskId=task)

    async def result(self, task: str) -> Any:
        return await self.ask("tasks/result", taskId=task)

    async def until(self, task: str, status: str) -> Any:
        async with asyncio.timeout(LIMIT):
            while (members := await self.get(task))["status"] != status:
                assert members["status"] == "working"
                await asyncio.sleep(0.01)
        return members


def says(name: Any) -> Any:
    return {"result": {"action": "accept", "content": {"name": name}}}


def on_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that runs on an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


@pytest.fixture
def server(tmp_path: Path) -> Server:
    tasks = Tasks(store=f"sqlite:///{tmp_path}/tasks.db", caller=60, poll_seconds=2.5)
    server = Server("s", tasks=tasks, audit=f"sqlite://{tmp_path}/audit.db")

    @server.tool(effect="read", task=True)
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(effect="read", task="when-slow")
    async def quick() -> str:
        """Be quick."""
        return "quick"

    @server.tool(effect="read", task="manual")
    async def never(context: Context) -> str:
        """Decide against a task."""
        return "without"

    @server.tool(effect="read", task="required")
    async def only() -> str:
        """Run as a task alone."""
        return "done"

    @server.tool(effect="read")
    async def plain() -> str:
        """Never be a task."""
        return "plain"

    @server.tool(effect="read", task=True)
    async def greet(context: Context) -> str:
        """Greet a person."""
        answer = context.ask(Form("Your name?", Person))
        return f"Hello {answer.value and answer.value['name']}"

    @server.tool(effect="read", task=True)
    async def wait(context: Context) -> str:
        """Wait for ever."""
        context.progress(1, 2, "half")
        await asyncio.Event().wait()
        return "over"

    @server.tool(effect="read", task=True)
    async def broken() -> str:
        """Fail."""
        raise ToolError("no such thing")

    @server.tool(effect="read", task=True)
    async def refused() -> str:
        """Fail as a protocol error."""
        raise InvalidParams("not this way")

    @server.tool(effect="destructive", task=True)
    async def wipe(place: str) -> str:
        """Wipe a place."""
        return f"wiped {place}"

    return server


@contextlib.asynccontextmanager
async def session(server: Server, **capabilities: Any) -> AsyncIterator[Session]:
    async with server.serving():
        client = Session(server)
        await client.open(**capabilities)
        yield client


@pytest.mark.requirement("LTASK-01", "LTASK-28", "XTASK-40")
@on_a_loop
async def test_tasks_are_offered_while_they_run_and_listed_where_callers_are_told_apart(server: Server) -> None:
    both = {"cancel": {}, "requests": {"tools": {"call": {}}}}
    async with server.serving():
        offered = await Session(server).open(extensions={modern.TASKS: {}})
        assert offered["tasks"] == {"list": {}, **both}
        assert "extensions" not in offered
        shared = Session(server, Principal("local:http"))
        assert (await shared.open())["tasks"] == both
        assert (await shared.ask("tasks/list"))["code"] == -32601
        assert "tasks" not in await Session(server).open("2025-06-18")
    assert "tasks" not in await Session(server).open()


@pytest.mark.requirement("LTASK-08", "XTASK-40")
@pytest.mark.parametrize("revision", ["2025-06-18", "2024-11-05", "2025-11-25"])
@on_a_loop
async def test_a_session_without_tasks_passes_over_the_wish_for_one(server: Server, revision: str) -> None:
    async def check(client: Session) -> None:
        await client.open(revision, extensions={modern.TASKS: {}}, tasks={"requests": {"tools": {"call": {}}}})
        for wish in ({}, 5, {"ttl": "long"}):
            assert (await client.call("add", {"a": 1, "b": 2}, task=wish))["content"][0]["text"] == "3"
        assert (await client.get("1"))["code"] == -32601
        [listed] = [tool for tool in (await client.ask("tools/list"))["tools"] if tool["name"] == "add"]
        assert "execution" not in listed

    if revision == versions.NEWEST_LEGACY:
        await check(Session(server))
    else:
        async with server.serving():
            await check(Session(server))


@on_a_loop
async def test_a_list_tells_which_tools_run_as_tasks(server: Server) -> None:
    async with session(server) as client:
        tools = (await client.ask("tools/list"))["tools"]
    support = {tool["name"]: tool.get("execution", {}).get("taskSupport") for tool in tools}
    assert support.pop("plain") is None
    assert support.pop("only") == "required"
    assert set(support.values()) == {"optional"}


@pytest.mark.requirement("LTASK-05", "LTASK-07")
@on_a_loop
async def test_a_call_against_the_support_of_its_tool_is_refused(server: Server) -> None:
    async with session(server) as client:
        forbidden = await client.call("plain", task={})
        assert (forbidden["code"], "TT5661" in forbidden["message"]) == (-32601, True)
        required = await client.call("only")
        assert (required["code"], "TT5662" in required["message"]) == (-32601, True)
        assert (await client.result(await client.task("only")))["content"][0]["text"] == "done"


@pytest.mark.requirement("LTASK-09", "LTASK-10", "LTASK-14", "LTASK-16", "XTASK-40")
@on_a_loop
async def test_a_call_with_a_wish_becomes_a_task_at_once_in_every_mode(server: Server) -> None:
    async with session(server, extensions={modern.TASKS: {}}) as client:
        ids = set[str]()
        for tool in ("add", "quick", "never", "only"):
            created = await client.call(tool, {"a": 1, "b": 2} if tool == "add" else {}, task={})
            [(_, task)] = created.items()
            assert set(task) == {"taskId", "status", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"}
            assert (task["status"], task["ttl"], task["pollInterval"]) == ("working", 86_400_000, 2_500)
            ids.add(task["taskId"])
            await client.result(task["taskId"])
            ended = await client.get(task["taskId"])
            assert {**ended, "status": "working", "lastUpdatedAt": task["lastUpdatedAt"]} == task
            assert ended["status"] == "completed"
        assert len(ids) == 4
        for tool, text in (("quick", "quick"), ("never", "without")):
            assert (await client.call(tool))["content"][0]["text"] == text
        assert (await client.call("add", {"a": 1, "b": 2}))["content"][0]["text"] == "3"  # without a wish


@pytest.mark.requirement("LTASK-12", "LTASK-17")
@on_a_loop
async def test_the_result_of_a_task_is_that_of_the_call_marked_as_related(server: Server) -> None:
    async with session(server) as client:
        for tool, arguments in (("add", {"a": 1, "b": 2}), ("broken", {}), ("quick", {})):
            direct, id = await client.call(tool, arguments), await client.task(tool, arguments)
            assert await client.result(id) == {**direct, "_meta": {RELATED: {"taskId": id}}}
            task = await client.get(id)
            assert task["status"] == ("failed" if direct["isError"] else "completed")
            assert task.get("statusMessage") == ("no such thing" if direct["isError"] else None)
        direct, id = await client.call("refused"), await client.task("refused")
        assert direct["code"] == -32602
        assert await client.result(id) == direct
        failed = await client.get(id)
        assert (failed["status"], failed["statusMessage"]) == ("failed", "not this way")


@pytest.mark.requirement("LTASK-11", "LTASK-12", "LTASK-17")
@on_a_loop
async def test_a_task_asks_the_client_that_waits_for_its_result(server: Server) -> None:
    async with session(server, elicitation={}) as client:
        id = await client.task("greet")
        asking = await client.until(id, "input_required")
        assert "inputRequests" not in asking
        assert client.requests == []
        client.answers = [says(7), says("Ada")]
        assert (await client.result(id))["content"][0]["text"] == "Hello Ada"
        assert [request["method"] for request in client.requests] == ["elicitation/create"] * 2
        assert {str(request["params"]["_meta"]) for request in client.requests} == {str({RELATED: {"taskId": id}})}
        assert (await client.get(id))["status"] == "completed"


@on_a_loop
async def test_a_question_stays_open_if_the_client_cannot_answer_it(server: Server) -> None:
    async with session(server, elicitation={}) as client:
        id = await client.task("greet")
        client.answers = [{"error": {"code": -1, "message": "no person here"}}, {"result": {"action": "perhaps"}}]
        for problem in ("no person here", "action"):
            error = await client.result(id)
            assert (error["code"], problem in error["message"]) == (-32602, True)
        without = Session(server)
        await without.open()
        assert "elicitation" in (await without.result(id))["message"]
        assert without.requests == []
        assert (await client.get(id))["status"] == "input_required"
        client.answers = [says("Ada")]
        assert (await client.result(id))["content"][0]["text"] == "Hello Ada"


@on_a_loop
async def test_a_task_without_a_client_that_can_be_asked_fails(server: Server) -> None:
    async with session(server) as client:
        id = await client.task("greet")
        error = await client.result(id)
        assert "TT5608" in error["message"]
        assert (await client.get(id))["status"] == "failed"


@on_a_loop
async def test_a_person_approves_a_task_before_it_begins(server: Server) -> None:
    async with session(server, elicitation={}) as client:
        client.answers = [{"result": {"action": "accept", "content": {"answer": "once"}}}]
        id = await client.task("wipe", {"place": "x"})
        assert (await client.result(id))["content"][0]["text"] == "wiped x"
        assert len(client.requests) == 1


@pytest.mark.requirement("LTASK-21", "LTASK-22")
@on_a_loop
async def test_a_task_is_cancelled_once_and_an_ended_one_not_at_all(server: Server) -> None:
    async with session(server) as client:
        id = await client.task("wait")
        waiting = client.begin("tasks/result", taskId=id)
        assert (await client.ask("tasks/cancel", taskId=id))["status"] == "cancelled"
        assert (await client.get(id))["status"] == "cancelled"
        async with asyncio.timeout(LIMIT):
            assert (await waiting)["error"]["code"] == -32602
        ended = await client.task("quick")
        await client.result(ended)
        for task, status in ((id, "cancelled"), (ended, "completed")):
            error = await client.ask("tasks/cancel", taskId=task)
            assert (error["code"], "TT5663" in error["message"]) == (-32602, True)
            assert (await client.get(task))["status"] == status


@pytest.mark.requirement("LTASK-23")
@on_a_loop
async def test_a_cancelled_request_cancels_no_task(server: Server) -> None:
    async with session(server) as client:
        call = client.begin("tools/call", name="wait", arguments={}, task={})
        id = (await call)["result"]["task"]["taskId"]
        client.send({"method": "notifications/cancelled", "params": {"requestId": 2}})
        client.begin("tasks/result", taskId=id)
        client.send({"method": "notifications/cancelled", "params": {"requestId": 3}})
        assert (await client.get(id))["status"] == "working"
        await client.ask("tasks/cancel", taskId=id)


@pytest.mark.requirement("LTASK-18")
@on_a_loop
async def test_the_parameter_names_the_task_and_no_metadata_does(server: Server) -> None:
    async with session(server) as client:
        other, id = await client.task("wait"), await client.task("quick")
        meta = {RELATED: {"taskId": other}}
        await client.ask("tasks/result", taskId=id, _meta=meta)
        assert (await client.ask("tasks/get", taskId=id, _meta=meta))["taskId"] == id
        assert (await client.ask("tasks/cancel", taskId=id, _meta=meta))["code"] == -32602
        assert (await client.get(other))["status"] == "working"
        await client.ask("tasks/cancel", taskId=other)


@pytest.mark.requirement("LTASK-20", "LTASK-25")
@on_a_loop
async def test_a_list_has_every_task_of_the_caller_the_newest_first_and_in_pages(server: Server) -> None:
    async with session(server) as client:
        assert await client.ask("tasks/list") == {"tasks": []}
        ids = [await client.task("quick") for _ in range(52)]
        other = Session(server, Principal("other"))
        await other.open()
        assert await other.ask("tasks/list") == {"tasks": []}
        await client.result(ids[-1])
        first = await client.ask("tasks/list")
        second = await client.ask("tasks/list", cursor=first["nextCursor"])
        assert "nextCursor" not in second
        listed = [task["taskId"] for task in (*first["tasks"], *second["tasks"])]
        assert len(first["tasks"]) == 50
        assert set(listed) == set(ids)
        assert len(listed) == len(ids)
        assert (await client.get(ids[-1])) in first["tasks"]
        for cursor in ("never", ids[0][:-1], (await other.task("quick"))):
            error = await client.ask("tasks/list", cursor=cursor)
            assert (error["code"], "TT5660" in error["message"]) == (-32602, True)


@pytest.mark.requirement("LTASK-25", "LTASK-26", "LTASK-27")
@pytest.mark.attack("B29")
@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
@on_a_loop
async def test_b29_a_task_of_another_session_caller_is_unknown_like_one_that_never_was(
    server: Server, method: str
) -> None:
    async with session(server) as client:
        id = await client.task("wait")
        other = Session(server, Principal("other"))
        await other.open()
        errors = [await one.ask(method, taskId=task) for one, task in ((other, id), (other, "1"), (client, "0" * 32))]
        assert {(error["code"], error["message"]) for error in errors} == {(-32602, errors[0]["message"])}
        assert "TT5602" in errors[0]["message"]
        assert (await client.get(id))["status"] == "working"
        await client.ask("tasks/cancel", taskId=id)


@pytest.mark.requirement("LTASK-14", "LTASK-29")
@on_a_loop
async def test_a_task_is_stored_for_the_shorter_of_the_two_times(server: Server) -> None:
    async with session(server) as client:
        for wished, real in ((60_001, 60_001), (1e15, 86_400_000), (None, 86_400_000)):
            task = (await client.call("quick", task={"ttl": wished}))["task"]
            assert task["ttl"] == real
            assert (await client.get(task["taskId"]))["ttl"] == real
        for wrong in (0, -1, "long", True):
            assert (await client.call("quick", task={"ttl": wrong}))["code"] == -32602
        short = (await client.call("wait", task={"ttl": 1}))["task"]["taskId"]
        await client.until(short, "cancelled")
        service = server._assembly.protocol.served.tasks  # pyright: ignore[reportPrivateUsage] - its sweeper is slow
        assert service is not None
        await service.sweep()
        assert (await client.get(short))["code"] == -32602


@pytest.mark.requirement("LTASK-29")
@on_a_loop
async def test_the_tasks_of_a_session_caller_are_limited_and_recorded(server: Server) -> None:
    async with session(server) as client:
        ids = [await client.task("wait") for _ in range(60)]
        refused = await client.call("wait", task={})
        assert (refused["isError"], "60" in refused["content"][0]["text"]) == (True, True)
        await client.get(ids[0])
        for id in ids:
            await client.ask("tasks/cancel", taskId=id)
        records = [entry.record for entry in await server.audit_log.read(0, 1000)]
    assert {"task get", "task cancel"} <= {record["kind"] for record in records}


@pytest.mark.requirement("LTASK-24")
@on_a_loop
async def test_a_session_is_told_of_its_own_tasks_until_they_have_ended(server: Server) -> None:
    async with session(server, elicitation={}) as client:
        other = Session(server)
        await other.open()
        waiting = await client.task("wait", _meta={"progressToken": "p"})
        id = await client.task("greet")
        client.answers = [says("Ada")]
        await client.result(id)
        await client.ask("tasks/cancel", taskId=waiting)
        statuses = dict[str, Any]()
        async with asyncio.timeout(LIMIT):
            while {task["status"] for task in statuses.values()} != {"completed", "cancelled"}:
                task = await client.statuses.get()
                assert statuses.get(task["taskId"], {}).get("status") not in ("completed", "cancelled")
                statuses[task["taskId"]] = task
        assert set(statuses) == {waiting, id}
        assert statuses[id] == await client.get(id)
        assert other.statuses.empty()
        assert not any(message.get("method") == "notifications/progress" for message in client.heard)


@pytest.mark.requirement("XTASK-41")
@on_a_loop
async def test_a_task_of_a_session_is_there_for_stateless_requests_too(server: Server) -> None:
    async with session(server) as client:
        id = await client.task("wait")
        meta = {
            modern.VERSION: versions.LATEST,
            modern.CAPABILITIES: {"extensions": {modern.TASKS: {}}},
        }
        assert (await client.ask("tasks/get", taskId=id, _meta=meta))["ttlMs"] == 86_400_000
        assert (await client.ask("tasks/cancel", taskId=id, _meta=meta))["resultType"] == "complete"
        assert (await client.get(id))["status"] == "cancelled"


@on_a_loop
async def test_the_result_of_a_tool_that_is_gone_stays_here(server: Server) -> None:
    async with session(server) as client:
        id = await client.task("quick")
        await client.result(id)
        server.remove_tool("quick")
        assert "TT5605" in (await client.result(id))["message"]
        assert (await client.ask("tasks/list"))["tasks"][0]["status"] == "failed"


@pytest.mark.requirement("LTASK-03", "LTASK-04")
@on_a_loop
async def test_our_client_begins_no_task_in_a_session(server: Server) -> None:
    async with server.serving(), Client(server, revision=versions.NEWEST_LEGACY) as client:
        assert (await client.call_tool("plain")).text == "plain"  # it would be refused with a wish
        assert (await client.call_tool("add", a=1, b=2)).text == "3"
        with pytest.raises(MethodNotFound, match="only runs as a task"):
            await client.call_tool("only")
