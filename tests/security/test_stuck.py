"""Calls that never end, and answers that come too late: tools of a server, and servers of a client."""

from __future__ import annotations

import asyncio
import itertools
import json
import queue
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from support.clock import skip
from support.wire.raw_http import ENVELOPE
from support.wire.scripted import Scripted
from tooltrue import Client, Context, ImageContent, Server, ToolError
from tooltrue.errors import RequestTimeout
from tooltrue.testing.state import LIMIT

SHORT = 0.05
REVISIONS = ["2026-07-28", "2025-11-25"]

# -- B36: tools that never return --------------------------------------------------------------------------------------


class Stuck:
    """Tools that never return. Threads are released by ``gate``, at the end of a test."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    async def event(self) -> str:
        await asyncio.Event().wait()
        return ""

    async def future(self) -> str:
        return await asyncio.get_running_loop().create_future()

    async def sleeps(self) -> str:
        for _ in itertools.count():
            await asyncio.sleep(0.001)
        return ""

    async def turns(self) -> str:
        for _ in itertools.count():
            await asyncio.sleep(0)
        return ""

    async def empty_queue(self) -> str:
        return await asyncio.Queue[str]().get()

    async def lock(self) -> str:
        lock = asyncio.Lock()
        await lock.acquire()
        await lock.acquire()
        return ""

    async def tasks(self) -> str:
        return str(await asyncio.gather(self.event(), self.sleeps()))

    async def group(self) -> str:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.event())
            group.create_task(self.sleeps())
        return ""

    async def shielded(self) -> str:
        return await asyncio.shield(asyncio.get_running_loop().create_future())

    async def own_timeout(self) -> str:
        async with asyncio.timeout(10 * LIMIT):
            return await self.event()

    async def stream(self) -> str:
        async def parts() -> AsyncIterator[str]:
            while True:
                yield ""
                await asyncio.sleep(0)

        return "".join([part async for part in parts()])

    async def program(self) -> str:
        running = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
        try:
            return str(await running.wait())
        finally:
            running.kill()
            await running.wait()

    async def connection(self) -> str:
        one, other = socket.socketpair()
        with one, other:
            one.setblocking(False)
            return str(await asyncio.get_running_loop().sock_recv(one, 1))

    async def progress(self, context: Context) -> str:
        for number in itertools.count(1):
            context.progress(number)
            await asyncio.sleep(0)
        return ""

    async def returns_late(self) -> str:
        try:
            return await self.event()
        except asyncio.CancelledError:
            return "late-answer"

    async def raises_late(self) -> str:
        try:
            return await self.event()
        except asyncio.CancelledError:
            raise ValueError("late-answer") from None

    async def cleans_up(self) -> str:
        try:
            return await self.event()
        finally:
            await asyncio.sleep(0.001)

    async def swallows_thrice(self) -> str:
        for _ in range(3):
            try:
                await asyncio.wait_for(self.event(), SHORT * 2)
            except (asyncio.CancelledError, TimeoutError):
                continue
        return "late-answer"

    def thread(self) -> str:
        self.gate.wait()
        return "late-answer"

    def thread_that_sleeps(self) -> str:
        while not self.gate.is_set():
            time.sleep(0.001)
        return "late-answer"

    def thread_that_computes(self) -> str:
        while not self.gate.is_set():
            sum(range(100))
        return "late-answer"

    def thread_with_a_queue(self) -> str:
        empty = queue.Queue[str]()
        while not self.gate.is_set():
            try:
                return empty.get(timeout=0.01)
            except queue.Empty:
                continue
        return "late-answer"

    def thread_that_catches_all(self) -> str:
        while not self.gate.is_set():
            try:
                self.gate.wait(0.001)
                raise SystemExit
            except BaseException:  # noqa: BLE001 - as such a tool would
                continue
        return "late-answer"

    def thread_in_a_thread(self) -> str:
        other = threading.Thread(target=self.gate.wait)
        other.start()
        other.join()
        return "late-answer"


FORMS = [name for name in vars(Stuck) if not name.startswith("_")]


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    made = Stuck()
    yield made
    made.gate.set()


@pytest.mark.attack("B36")
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("form", FORMS)
def test_b36_a_tool_that_never_returns_is_answered_and_the_next_one_served(
    stuck: Stuck, form: str, revision: str
) -> None:
    server = Server("t", version="1")
    server.add_tool(getattr(stuck, form), name="stuck", effect="read", seconds=SHORT)
    server.add_tool(lambda: "quick", name="quick", effect="read")

    async def main() -> tuple[str, str]:
        async with asyncio.timeout(LIMIT), Client(server, revision=revision) as client:
            said = (await client.call_tool("stuck")).text
            quick = (await client.call_tool("quick")).text
            stuck.gate.set()
            return said, quick

    said, quick = asyncio.run(main())
    assert ("[TT2002]" in said, "[TT2003]" in said) == ("thread" not in form, "thread" in form), said
    assert "late-answer" not in said
    assert quick == "quick"


@pytest.mark.twin("B36")
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("form", ["thread", "thread_in_a_thread", "swallows_thrice"])
def test_b36_twin_the_same_tools_end_within_a_longer_limit(stuck: Stuck, form: str, revision: str) -> None:
    server = Server("t", version="1")
    server.add_tool(getattr(stuck, form), name="slow", effect="read", seconds=LIMIT)

    async def main() -> str:
        async with asyncio.timeout(LIMIT), Client(server, revision=revision) as client:
            asked = asyncio.ensure_future(client.call_tool("slow"))
            await client.ping()
            stuck.gate.set()
            return (await asked).text

    assert asyncio.run(main()) == "late-answer"


# -- B36: servers that never answer ------------------------------------------------------------------------------------

Say = Callable[[dict[str, Any], int], list[dict[str, Any]]]
DONE = {"content": [{"type": "text", "text": "done"}]}


def _progress(params: dict[str, Any], number: int) -> list[dict[str, Any]]:
    token = params.get("_meta", {}).get("progressToken")
    return [{"method": "notifications/progress", "params": {"progressToken": token, "progress": number}}]


SILENT: dict[str, Say] = {
    "nothing": lambda params, number: [],
    "progress": _progress,
    "progress that stands still": lambda params, number: _progress(params, 1),
    "progress that goes back": lambda params, number: _progress(params, -number),
    "much progress": lambda params, number: _progress(params, number) * 20,
    "progress and pings": lambda params, number: [*_progress(params, number), {"id": f"p{number}", "method": "ping"}],
    "progress of another call": lambda params, number: [
        {"method": "notifications/progress", "params": {"progressToken": 999, "progress": number}}],
    "pings": lambda params, number: [{"id": f"p{number}", "method": "ping"}],
    "messages of a log": lambda params, number: [
        {"method": "notifications/message", "params": {"level": "info", "data": number}}],
    "changes of the list": lambda params, number: [{"method": "notifications/tools/list_changed"}],
    "answers to nobody": lambda params, number: [{"id": 900 + number, "result": DONE}],
    "answers with a text for an id": lambda params, number: [{"id": f"x{number}", "result": DONE}],
    "errors without an id": lambda params, number: [{"id": None, "error": {"code": -32603, "message": "wait"}}],
    "unknown notifications": lambda params, number: [{"method": "notifications/wait", "params": {}}],
    "requests that do not exist": lambda params, number: [{"id": f"r{number}", "method": "wait/longer", "params": {}}],
    "a cancellation of its own": lambda params, number: [
        {"method": "notifications/cancelled", "params": {"requestId": number}}],
}  # fmt: skip
"""What a server says instead of an answer, time after time."""


def asked_of(say: Say, follows: bool) -> tuple[RequestTimeout, float]:
    """The error of a call of such a server, and the seconds after which it came by the clock of the loop."""

    async def main() -> tuple[RequestTimeout, float]:
        called = asyncio.Event()
        params: dict[str, Any] = {}

        def hear(heard: dict[str, Any]) -> None:
            params.update(heard)
            called.set()

        listed = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "resultType": "complete"}
        server = Scripted(**{"tools/call": hear, "tools/list": listed})
        loop = asyncio.get_running_loop()
        async with Client(server, timeout=10.0, total_timeout=100.0) as client:
            began = loop.time()
            progress = (lambda *facts: None) if follows else None
            asked = asyncio.ensure_future(client.call_tool("t", {}, progress=progress))
            await called.wait()
            for number in range(1, 60):
                if asked.done():
                    break
                for message in say(params, number):
                    server.say(message)
                await asyncio.sleep(0)
                skip(4.0)
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            with pytest.raises(RequestTimeout) as caught:
                await asked
            return caught.value, loop.time() - began

    return asyncio.run(main())


@pytest.mark.attack("B36")
@pytest.mark.parametrize("follows", [True, False], ids=["progress followed", "progress ignored"])
@pytest.mark.parametrize("name", SILENT)
def test_b36_a_server_that_never_answers_is_given_up(name: str, follows: bool) -> None:
    error, seconds = asked_of(SILENT[name], follows)
    assert error.code in ("TT5002", "TT5022", "TT5029")
    counts = follows and name in ("progress", "progress that stands still", "progress that goes back", "much progress", "progress and pings")  # fmt: skip  # noqa: E501
    assert seconds <= (110.0 if counts else 20.0)


@pytest.mark.twin("B36")
def test_b36_twin_a_slow_server_that_tells_of_its_progress_is_waited_for() -> None:
    def say(params: dict[str, Any], number: int) -> list[dict[str, Any]]:
        return _progress(params, number) if number < 15 else []

    error, seconds = asked_of(say, True)
    assert error.code == "TT5002"
    assert 60.0 <= seconds <= 80.0


# -- B35: answers after the cancellation, of a server ------------------------------------------------------------------

LATE = "late-answer"


class Going:
    """Tools that go on when they are cancelled. ``begun`` and ``over`` say how far they are; ``gate`` lets them end."""

    def __init__(self) -> None:
        self.begun, self.over, self.gate = threading.Event(), threading.Event(), threading.Event()

    async def cancelled(self) -> None:
        """Wait for the cancellation, and take no notice of it."""
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return

    async def obeys(self) -> str:
        self.begun.set()
        return await asyncio.get_running_loop().create_future()

    async def returns(self) -> str:
        await self.cancelled()
        return LATE

    async def returns_after_turns(self) -> str:
        await self.cancelled()
        for _ in range(50):
            await asyncio.sleep(0)
        return LATE

    async def raises(self) -> str:
        await self.cancelled()
        raise ValueError(LATE)

    async def refuses(self) -> str:
        await self.cancelled()
        raise ToolError(LATE)

    async def ends_the_program(self) -> str:
        await self.cancelled()
        raise SystemExit(LATE)

    async def returns_much(self) -> str:
        await self.cancelled()
        return LATE * 500_000

    async def returns_a_picture(self) -> ImageContent:
        await self.cancelled()
        return ImageContent.of(b"\x89PNG\r\n\x1a\n" + b"0" * 99, "image/png")

    async def tells_its_progress(self, context: Context) -> str:
        await self.cancelled()
        context.progress(1, 2, LATE)
        return LATE

    async def writes_to_the_log(self, context: Context) -> str:
        await self.cancelled()
        context.log("error", LATE)
        return LATE

    async def cleans_up(self) -> str:
        try:
            return await self.obeys()
        finally:
            await asyncio.sleep(0)

    async def leaves_a_task(self) -> str:
        task = asyncio.ensure_future(self.cancelled())
        await self.cancelled()
        task.cancel()
        await task
        return LATE

    def thread(self) -> str:
        self.begun.set()
        self.gate.wait()
        return LATE

    def thread_that_raises(self) -> str:
        self.begun.set()
        self.gate.wait()
        raise ValueError(LATE)


KINDS = [name for name in vars(Going) if not name.startswith("_") and name != "cancelled"]
ENVELOPES: dict[str, dict[str, Any]] = {"2026-07-28": {"_meta": ENVELOPE}, "2025-11-25": {}}


@pytest.mark.attack("B35")
@pytest.mark.parametrize("id", [7, "seven"])
@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_b35_nothing_of_a_call_is_sent_after_its_cancellation(kind: str, revision: str, id: int | str) -> None:
    going, envelope, heard = Going(), ENVELOPES[revision], list[dict[str, Any]]()
    server = Server("t", version="1")
    function = getattr(going, kind)

    async def main() -> list[dict[str, Any]]:
        session = server.connect(lambda frame: heard.append(json.loads(frame)))

        def send(method: str, params: dict[str, Any], **more: Any) -> None:
            session.feed(json.dumps({"jsonrpc": "2.0", "method": method, "params": params | envelope, **more}).encode())

        async def until(holds: Callable[[], bool]) -> None:
            while not holds():  # noqa: ASYNC110 - of other threads, too
                await asyncio.sleep(0)

        if not envelope:
            client = {"capabilities": {"elicitation": {}}, "clientInfo": {"name": "c", "version": "1"}}
            send("initialize", {"protocolVersion": revision, **client}, id=0)
            await until(lambda: bool(heard))
            send("notifications/initialized", {})
        call = {"name": "going", "arguments": {}}
        send("tools/call", call if envelope else call | {"_meta": {"progressToken": "p"}}, id=id)
        await until(going.begun.is_set)
        send("notifications/cancelled", {"requestId": id})
        before = len(heard)
        going.gate.set()
        send("tools/call", {"name": "quick", "arguments": {}}, id=id)  # the id is free again
        await until(lambda: len(heard) > before)
        for _ in range(100):
            await asyncio.sleep(0)
        await session.close()
        return heard[before:]

    server.add_tool(function, name="going", effect="read")
    server.add_tool(lambda: "quick", name="quick", effect="read")

    async def bounded() -> list[dict[str, Any]]:
        async with asyncio.timeout(LIMIT):
            return await main()

    [answer] = asyncio.run(bounded())
    assert (answer["id"], answer["result"]["content"][0]["text"]) == (id, "quick")


@pytest.mark.twin("B35")
@pytest.mark.parametrize("kind", ["thread", "thread_that_raises"])
def test_b35_twin_a_call_beside_a_cancelled_one_is_answered(kind: str) -> None:
    going = Going()
    server = Server("t", version="1")
    server.add_tool(getattr(going, kind), name="going", effect="read")

    async def main() -> str:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            gone, kept = (asyncio.ensure_future(client.call_tool("going")) for _ in range(2))
            await client.ping()
            gone.cancel()
            going.gate.set()
            return (await kept).text

    assert (LATE if kind == "thread" else "TT2004") in asyncio.run(main())


# -- B35: answers after the cancellation, to a client ------------------------------------------------------------------

WRONG = {"content": [{"type": "text", "text": LATE}], "resultType": "complete"}

TOO_LATE: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "a result": lambda id: [{"id": id, "result": WRONG}],
    "the same result again and again": lambda id: [{"id": id, "result": WRONG}] * 50,
    "an error": lambda id: [{"id": id, "error": {"code": -32603, "message": LATE}}],
    "an error and a result": lambda id: [
        {"id": id, "error": {"code": -32603, "message": LATE}}, {"id": id, "result": WRONG}],
    "a result with a text for an id": lambda id: [{"id": str(id), "result": WRONG}],
    "a result with a fraction for an id": lambda id: [{"id": float(id), "result": WRONG}],
    "a result without an id": lambda id: [{"id": None, "result": WRONG}],
    "an error without an id": lambda id: [{"id": None, "error": {"code": -32603, "message": LATE}}],
    "a result that is no object": lambda id: [{"id": id, "result": LATE}],
    "a result of another version": lambda id: [{"id": id, "jsonrpc": "1.0", "result": WRONG}],
    "a result and an error in one": lambda id: [
        {"id": id, "result": WRONG, "error": {"code": -32603, "message": LATE}}],
    "a question": lambda id: [{"id": id, "result": {"resultType": "input_required", "inputRequests": {}}}],
    "a large result": lambda id: [{"id": id, "result": {"content": [{"type": "text", "text": LATE * 100_000}]}}],
    "progress": lambda id: [
        {"method": "notifications/progress", "params": {"progressToken": id, "progress": 1, "message": LATE}}],
    "progress and a result": lambda id: [
        {"method": "notifications/progress", "params": {"progressToken": id, "progress": 1}},
        {"id": id, "result": WRONG}],
    "a cancellation": lambda id: [{"method": "notifications/cancelled", "params": {"requestId": id}}],
    "a request with its id": lambda id: [{"id": id, "method": "ping"}],
    "results of earlier calls": lambda id: [{"id": old, "result": WRONG} for old in range(id + 1)],
}  # fmt: skip


@pytest.mark.attack("B35")
@pytest.mark.parametrize("name", TOO_LATE)
def test_b35_an_answer_to_a_cancelled_call_is_none_to_the_next(name: str) -> None:
    async def main() -> str:
        listed = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], "resultType": "complete"}
        server = Scripted(**{"tools/call": None, "tools/list": listed})
        async with asyncio.timeout(LIMIT), Client(server) as client:
            first = asyncio.ensure_future(client.call_tool("t", {}))
            id = (await server.until(lambda message: message.get("method") == "tools/call"))["id"]
            first.cancel()
            await server.until(lambda message: message.get("method") == "notifications/cancelled")
            next = asyncio.ensure_future(client.call_tool("t", {}))
            asked = await server.until(lambda message: message.get("method") == "tools/call" and message["id"] != id)
            for message in TOO_LATE[name](id):
                server.say(message)
            await asyncio.sleep(0)
            assert not next.done()
            server.say({"id": asked["id"], "result": WRONG | {"content": [{"type": "text", "text": "mine"}]}})
            assert first.cancelled()
            return (await next).text

    assert asyncio.run(main()) == "mine"
