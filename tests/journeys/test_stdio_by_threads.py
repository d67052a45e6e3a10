"""Servers and clients on standard streams, by the way of Windows: threads read and write, and a job holds a family.

Each runs in a process in which what belongs to POSIX is hidden; the test itself, at the other end, hides nothing.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.serving import SERVER, Process, environment, is_alive, left_of, started
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.testing.state import LIMIT

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        sys.platform != "linux" or not HAS_POSIX,
        reason="the stand-ins for Windows's calls are made of what Linux has, and the test itself hides nothing",
    ),
]

TESTS = Path(__file__).parents[1]
HIDDEN = "import support.without_posix\n"
SERVED = HIDDEN + f"import runpy; runpy.run_path({str(SERVER)!r}, run_name='__main__')"


def hidden() -> dict[str, str]:
    return environment(TOOLTRUE_TESTS_SYSTEM="windows", PYTHONPATH=str(TESTS), TOOLTRUE_AUDIT="off")


def stdio(**settings: Any) -> contextlib.AbstractContextManager[Process]:
    return started([sys.executable, "-W", "error", "-c", SERVED], env=hidden(), **settings)


def eof(process: Process) -> None:
    process.close_input()


def sigint(process: Process) -> None:
    process.popen.send_signal(signal.SIGINT)


def sigbreak(process: Process) -> None:
    process.popen.send_signal(signal.SIGHUP)  # for which the hidden process has the name SIGBREAK


ENDS = pytest.mark.parametrize("end", [eof, sigint, sigbreak])


def rest(process: Process) -> bytes:
    assert process.popen.stderr is not None
    return process.popen.stderr.read()


# -- a server ----------------------------------------------------------------------------------------------------------


@ENDS
def test_an_idle_server_ends_well(end: Any):
    with stdio() as process:
        assert process.result("add", a=1)["structuredContent"] == 3
        end(process)
        assert process.ended() == 0
        assert process.read() is None
        assert rest(process) == b""


@ENDS
def test_a_tool_that_does_not_end_does_not_hold_up_the_end(end: Any):
    with stdio() as process:
        process.call("stuck")
        process.wait_for("waiting")
        end(process)
        assert process.ended() == 0


@ENDS
def test_a_blocked_event_loop_does_not_hold_up_the_end(end: Any):
    with stdio() as process:
        family = process.result("family")["structuredContent"]
        process.call("block_the_loop")
        process.wait_for("waiting")
        end(process)
        assert process.ended() == 1
        assert left_of(family) == []


@ENDS
def test_children_and_grandchildren_are_gone_stubborn_ones_too(end: Any):
    with stdio() as process:
        family = process.result("family")["structuredContent"]
        assert all(map(is_alive, family))
        end(process)
        assert process.ended() == 0
        assert left_of(family) == []


def test_the_output_of_a_tool_goes_to_standard_error_and_its_input_is_empty():
    with stdio() as process:
        process.call("print_everywhere")  # it fails, since there is no ctypes.CDLL(None)
        assert {process.errors() for _ in range(2)} == {"by print", "by descriptor"}
        assert process.read()["result"]["isError"]
        assert process.result("read_everywhere")["content"][0]["text"] == repr(("", "", b""))


def test_a_large_answer_arrives_whole_and_others_after_it():
    with stdio() as process:
        assert len(process.result("megabyte")["content"][0]["text"]) == 1_000_000
        for number in range(50):
            process.call("add", number, a=number)
        answers = [process.read() for _ in range(50)]
        assert {answer["id"]: answer["result"]["structuredContent"] for answer in answers} == {
            number: number + 2 for number in range(50)
        }


def test_a_reader_that_does_not_read_does_not_hold_up_the_end():
    with stdio() as process:
        for number in range(4):
            process.call("megabyte", number)
        process.wait_for_output()  # a server that has not begun to write has nothing that waits
        process.close_input()
        assert process.ended() == 1  # as elsewhere: what waits is not written in time
        assert b"Traceback" not in rest(process)


def test_a_reader_that_reads_later_gets_everything():
    with stdio() as process:
        for number in range(4):
            process.call("megabyte", number)
        process.call("add", "last", a=1)
        answers = [process.read() for _ in range(5)]
        assert {answer["id"] for answer in answers} == {0, 1, 2, 3, "last"}


def test_a_client_that_goes_away_before_a_large_answer_ends_the_server():
    with stdio() as process:
        process.call("flood", megabytes=1)
        assert process.popen.stdout is not None
        process.popen.stdout.close()
        process.close_input()
        assert process.ended() == 0
        assert b"Traceback" not in rest(process)


def test_the_input_and_the_output_may_be_files(tmp_path: Path):
    lines = [{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in range(3)]
    (tmp_path / "in").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with (
        open(tmp_path / "in") as source,
        open(tmp_path / "out", "wb") as target,
        stdio(stdin=source, stdout=target) as process,
    ):
        assert process.ended() == 0
        assert rest(process) == b""
    answers = map(json.loads, (tmp_path / "out").read_text().splitlines())
    assert [answer["id"] for answer in answers] == [0, 1, 2]


def test_a_failing_output_ends_the_server_and_its_child_processes(tmp_path: Path):
    note = tmp_path / "family"
    with open("/dev/full", "wb") as full, stdio(stdout=full) as process:
        process.call("family", note=str(note))
        process.wait_for("[TT4011]")
        assert process.ended() == 0
        assert left_of(json.loads(note.read_text())) == []
        assert b"Traceback" not in rest(process)


# -- a client ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def client(code: str, *arguments: str) -> Iterator[Process]:
    """A hidden process that runs ``code`` as the body of a coroutine; it prints what it has seen to standard error."""
    body = "".join(f"    {line}\n" for line in code.splitlines())
    program = (
        f"{HIDDEN}import asyncio, os, sys\n"
        "from tooltrue import Client\n"
        "from tooltrue.transport import stdio_client\n"
        "from tooltrue.transport.stdio_client import StdioLink\n"
        "stdio_client._PATIENCE_SECONDS = 0.2\n"
        f"COMMAND, ENV = [sys.executable, {str(SERVER)!r}], {{'TOOLTRUE_AUDIT': 'off'}}\n"
        "def tell(*words): print(*words, file=sys.stderr, flush=True)\n"
        f"async def main():\n{body}\n"
        "asyncio.run(main())\n"
    )
    with started([sys.executable, "-W", "error", "-c", program, *arguments], env=hidden()) as process:
        yield process


def test_a_client_starts_a_server_calls_it_and_ends_it():
    code = """
async with Client(COMMAND, env=ENV) as client:
    results = await asyncio.gather(*(client.call_tool("add", {"a": a}) for a in range(20)))
    tell([result.structured for result in results])
    tell(len((await client.call_tool("megabyte", {})).content[0].text))
    tell((await client.call_tool("process", {})).structured)
"""
    with client(code) as process:
        assert json.loads(process.errors()) == [a + 2 for a in range(20)]
        assert json.loads(process.errors()) == 1_000_000
        server = json.loads(process.errors())
        assert process.ended() == 0
        assert left_of([server]) == []
        assert rest(process) == b""


@pytest.mark.parametrize("way", ["close", "kill"])
def test_the_family_of_a_server_is_gone_with_the_link_or_with_the_server(way: str):
    code = f"""
async with Client(COMMAND, env=ENV) as client:
    server = (await client.call_tool("process", {{}})).structured
    family = (await client.call_tool("family", {{}})).structured
    tell([server, *family])
    if {way == "kill"}:
        os.kill(server, 9)
"""
    with client(code) as process:
        family = json.loads(process.errors())
        assert process.ended() == 0
        assert left_of(family) == []


STUBBORN = "import signal, sys, time; [signal.signal(n, signal.SIG_IGN) for n in (1, 2, 15)]; print('{}', flush=True)\n"


def test_a_server_that_ignores_the_end_of_its_input_and_the_break_is_killed():
    code = f"""
class Ear:
    heard = asyncio.Event()
    def feed(self, frame): self.heard.set()
    def lose(self, error): pass
link = StdioLink([sys.executable, "-c", {STUBBORN + "while True: time.sleep(60)"!r}])
await link.open(Ear())
await Ear.heard.wait()
tell(link.pid)
await link.close()
"""
    with client(code) as process:
        server = int(process.errors())
        assert process.ended() == 0
        assert left_of([server]) == []


def test_a_server_that_does_not_read_is_given_up_and_ended():
    code = f"""
class Ear:
    heard = asyncio.Event()
    def feed(self, frame): self.heard.set()
    def lose(self, error): pass
stdio_client._MAX_UNREAD = 1 << 20
link = StdioLink([sys.executable, "-c", {STUBBORN + "while True: time.sleep(60)"!r}])
await link.open(Ear())
await Ear.heard.wait()
try:
    while True:
        link.send(b"x" * 65_536, None, {{}})
except Exception as error:
    tell(type(error).__name__, error.code)
await link.close()
"""
    with client(code) as process:
        assert process.errors() == "ConnectionLost TT5027"
        assert process.ended() == 0


def test_the_loss_of_a_server_quotes_its_last_words_and_a_missing_one_is_named():
    code = """
for command in ([sys.executable, "-c", "import sys; sys.exit('the last words')"], ["no-such-program"]):
    try:
        async with Client(command) as client:
            await client.list_tools()
    except Exception as error:
        tell(error.code, error)
"""
    with client(code) as process:
        assert "the last words" in (lost := process.errors())
        assert lost.startswith("TT5004 ")
        assert process.errors().startswith("TT5003 no-such-program")
        assert process.ended() == 0


def test_a_batch_file_gets_no_argument_that_its_shell_would_interpret(tmp_path: Path):
    (tmp_path / "npx.CMD").write_text("@echo off\n")
    code = """
os.environ["PATH"] = sys.argv[1]
try:
    async with Client(["npx", "mcp-remote", "https://example.com/?a=1&calc"]):
        pass
except Exception as error:
    tell(error.code, error)
"""
    with client(code, str(tmp_path)) as process:
        refused = process.errors()
        assert refused.startswith("TT4700 npx ")
        assert "'&'" in refused
        assert process.ended() == 0


# -- isolated calls ----------------------------------------------------------------------------------------------------

ISOLATED = """
import os, subprocess, sys
from tooltrue import Server

server = Server("isolated")

@server.tool(isolation="process", seconds=2.0)
def forever(note: str) -> str:
    child = subprocess.Popen(["sleep", "600"])
    with open(note + ".new", "w") as file:
        file.write(f"[{os.getpid()}, {child.pid}]")
    os.rename(note + ".new", note)
    child.wait()
    return "ended"

@server.tool(isolation="process")
def double(number: int) -> int:
    subprocess.Popen(["sleep", "600"])
    return number * 2

if __name__ == "__main__":
    server.run()
"""


def test_an_isolated_call_returns_its_result_or_is_killed_with_its_children(tmp_path: Path):
    (tmp_path / "server.py").write_text(ISOLATED)
    program = HIDDEN + f"import runpy; runpy.run_path({str(tmp_path / 'server.py')!r}, run_name='__main__')"
    with started([sys.executable, "-c", program], env=hidden()) as process:
        assert process.result("double", number=21)["structuredContent"] == 42
        assert process.result("forever", 2, note=str(tmp_path / "note"))["isError"]
        assert left_of(json.loads((tmp_path / "note").read_text())) == []
        process.close_input()
        assert process.ended() == 0


def test_the_way_of_this_file_is_that_of_threads():
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN + "from tooltrue._internal.platform import pipes; print(pipes.PipeInput)"],
        env=hidden(),
        capture_output=True,
        timeout=LIMIT,
        text=True,
        check=True,
    )
    assert "threaded_pipes" in done.stdout
