"""Calls that never end, and answers that come too late: tools of a server, and servers of a client."""

from __future__ import annotations

import asyncio
import itertools
import queue
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.clock import skip
from support.wire.scripted import Scripted
from tooltrue import Client, Context, Server
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
        async def parts() -> Any:
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
