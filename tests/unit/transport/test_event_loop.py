"""A server on standard input and output behaves the same on a loop of asyncio and on uvloop."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import pytest

from support.serving import STOPS, Process, started

pytestmark = pytest.mark.process

WITHOUT_UVLOOP = "import sys; sys.modules['uvloop'] = None\n"
# Python 3.14 deprecates policies, and 3.16 has none.
POLICY = """
import asyncio, warnings
class Loop(asyncio.SelectorEventLoop):
    pass
with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    class Policy(asyncio.DefaultEventLoopPolicy):
        def new_event_loop(self):
            return Loop()
    asyncio.set_event_loop_policy(Policy())
"""
SERVER = """
import asyncio, sys
from tooltrue import Server

server = Server("loops")

@server.tool(effect="read")
async def loop() -> str:
    kind = type(asyncio.get_running_loop())
    return f"{kind.__module__.partition('.')[0]} {kind.__name__}"

@server.tool(effect="read")
def thread(text: str) -> str:
    return text

@server.tool(effect="read")
async def child() -> str:
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print('a child')", stdout=-1)
    return (await child.communicate())[0].decode().strip()

@server.tool(effect="read", seconds=0.05)
async def late() -> str:
    await asyncio.Event().wait()

@server.tool(effect="read")
async def hang() -> str:
    await asyncio.Event().wait()

@server.tool(effect="read")
def lines_of_writes() -> list[int]:
    return written

server.run()
"""
NOTED = """
import os
written, write = [], os.write
def note(descriptor, data):
    written.append(bytes(data).count(b"\\n"))
    return write(descriptor, data)
os.write = note
"""
"""Counts the lines of each write, whichever way the system takes."""
PREPARATIONS = {"asyncio": WITHOUT_UVLOOP, **({"uvloop": ""} if find_spec("uvloop") else {})}


def text_of(server: Process, tool: str, **arguments: object) -> str:
    return server.result(tool, **arguments)["content"][0]["text"]


@pytest.mark.parametrize("kind", PREPARATIONS)
def test_a_conversation_is_the_same(kind: str):
    with started([sys.executable, "-W", "error", "-c", PREPARATIONS[kind] + SERVER]) as server:
        assert text_of(server, "loop").partition(" ")[0] == kind
        assert text_of(server, "child") == "a child"
        assert "0.05" in text_of(server, "late")
        for id in range(200):
            server.call("thread", id, text="x" * id * 20)
        server.call("hang", 200)
        server.say("notifications/cancelled", {"requestId": 200})
        answers = {
            answer["id"]: answer["result"]["content"][0]["text"] for answer in (server.read() for _ in range(200))
        }
        assert answers == {id: "x" * id * 20 for id in range(200)}
        server.close_input()
        assert server.read() is None
        assert server.ended() == 0


@pytest.mark.parametrize("kind", PREPARATIONS)
@pytest.mark.parametrize("number", STOPS)
def test_a_signal_ends_the_server_while_a_call_runs(kind: str, number: int):
    with started([sys.executable, "-W", "error", "-c", PREPARATIONS[kind] + SERVER]) as server:
        assert text_of(server, "thread", text="ready") == "ready"
        server.call("hang", 2)
        server.popen.send_signal(number)
        assert server.ended() == 0


def test_answers_to_lines_that_came_together_are_written_together():
    with started([sys.executable, "-W", "error", "-c", NOTED + SERVER]) as server:
        assert text_of(server, "thread", text="ready") == "ready"
        server.raw(b"no message\n" * 40)  # no more than a pipe takes at once
        assert [server.read()["error"]["code"] for _ in range(40)] == [-32700] * 40
        assert server.result("lines_of_writes")["structuredContent"] == [1, 40]


def test_a_policy_of_the_author_decides():
    with started([sys.executable, "-W", "error", "-c", POLICY + SERVER]) as server:
        assert text_of(server, "loop") == "__main__ Loop"
