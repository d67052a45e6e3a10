"""Closing a link ends the child process that it started, even if the close is cancelled."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import psutil
import pytest

from support.event_loops import each_event_loop
from support.serving import is_alive, left_of
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.peer import Dropped
from tooltrue.testing.state import LIMIT
from tooltrue.transport import stdio_client
from tooltrue.transport.stdio_client import StdioLink

__all__ = ["each_event_loop"]

pytestmark = pytest.mark.usefixtures("each_event_loop")

STUBBORN = """
import signal, time
for name in ("SIGTERM", "SIGBREAK"):
    if hasattr(signal, name):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
print("ready", flush=True)
while True:
    time.sleep(60)
"""


class Ear:
    """Hears that the child says something."""

    def __init__(self) -> None:
        self.heard = asyncio.Event()
        self.last = b""
        self.dropped = Dropped()

    def feed(self, frame: bytes) -> None:
        self.last = frame
        self.heard.set()

    def awaits(self, id: Id) -> bool:
        return False

    def fail(self, id: Id, error: Exception) -> None: ...

    def lose(self, error: Exception) -> None: ...


# A server that starts a process outside its process group, which prints its id on the descriptor that the test reads.
AWAY = """
import os, subprocess, sys
def leave(env=None):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    detached = getattr(subprocess, "DETACHED_PROCESS", 0)
    return subprocess.Popen([sys.executable, "-c", code], env=env, start_new_session=True, creationflags=detached)
def leave_without_parent():
    subprocess.run([sys.executable, "-c", sys.argv[1], sys.argv[1], "leave()"], check=True)
exec(sys.argv[2])
"""
AWAYS = {
    "a session of its own": "leave(); sys.stdin.read()",
    "a parent that has gone": "leave_without_parent(); sys.stdin.read()",
    "a server that has gone": "leave_without_parent()",
    # Windows starts no program without this variable.
    "an empty environment": (
        "leave({name: os.environ[name] for name in ['SYSTEMROOT'] if name in os.environ}); sys.stdin.read()"
    ),
}


@pytest.mark.attack("E09")
@pytest.mark.needs("fork")
@pytest.mark.parametrize("way", AWAYS)
def test_e09_a_process_that_left_the_process_group_is_killed_too(way: str) -> None:
    async def main() -> int:
        ear = Ear()
        link = StdioLink([sys.executable, "-W", "ignore", "-c", AWAY, AWAY, AWAYS[way]])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.heard.wait()
            away = int(ear.last)
            assert is_alive(away)
            await link.close()
            return away

    assert left_of([asyncio.run(main())]) == []


@pytest.mark.twin("E09")
def test_e09_twin_a_process_of_another_connection_stays_alive() -> None:
    async def main() -> int:
        ears, links = [Ear(), Ear()], [StdioLink([sys.executable, "-c", STUBBORN]) for _ in range(2)]
        async with asyncio.timeout(LIMIT):
            for link, ear in zip(links, ears, strict=True):
                await link.open(ear)
                await ear.heard.wait()
            await cancelled_close(links[0])
            other = links[1].pid
            assert other is not None
            assert is_alive(other)
            await cancelled_close(links[1])
            return other

    assert left_of([asyncio.run(main())]) == []


async def cancelled_close(link: StdioLink) -> None:
    closing = asyncio.ensure_future(link.close())
    await asyncio.sleep(0)
    closing.cancel()
    await asyncio.gather(closing, return_exceptions=True)


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_a_child_process_that_ignores_termination_is_killed_even_if_the_close_is_cancelled(
    is_cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_client, "_PATIENCE_SECONDS", 0.05)

    async def main() -> int:
        ear = Ear()
        link = StdioLink([sys.executable, "-c", STUBBORN])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.heard.wait()
            assert link.pid is not None
            child = link.pid
            await (cancelled_close(link) if is_cancelled else link.close())
            return child

    assert left_of([asyncio.run(main())]) == []


def test_the_end_of_a_killed_child_process_is_noticed_before_the_close_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_client, "_PATIENCE_SECONDS", 0.0)

    async def main() -> int:
        ear = Ear()
        link = StdioLink([sys.executable, "-c", STUBBORN])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.heard.wait()
            assert link.pid is not None
            child = link.pid
            await link.close()
            return child if psutil.pid_exists(child) else 0

    assert asyncio.run(main()) == 0


FLOOD = """
import sys, time
print("first" + "\\n-" * 1_500, flush=True)
time.sleep(0.05)
print("last", flush=True)
sys.stdin.read()
"""


class FloodedEar(Ear):
    """Knows when it heard the first and the last line."""

    def __init__(self) -> None:
        super().__init__()
        self.at: dict[bytes, float] = {}
        self.has_ended = asyncio.Event()

    def feed(self, frame: bytes) -> None:
        self.at[frame] = asyncio.get_running_loop().time()
        if frame == b"last":
            self.has_ended.set()


def test_a_flood_of_lines_is_read_with_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio_client, "LINES_PER_SECOND", 1_000.0)

    async def main() -> float:
        ear = FloodedEar()
        link = StdioLink([sys.executable, "-c", FLOOD])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.has_ended.wait()
            await link.close()
        return ear.at[b"last"] - ear.at[b"first"]

    assert asyncio.run(main()) >= 0.5


# A server that does not end with its input, but terminates when it is asked to.
PATIENT = """
import signal, sys, time
def end(*_):
    open(sys.argv[1], "w").close()
    sys.exit()
signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
while True:
    time.sleep(60)
"""


@pytest.mark.needs("signals")
def test_a_child_process_that_is_not_waited_for_any_longer_is_asked_to_terminate(tmp_path: Path) -> None:
    async def main() -> None:
        ear = Ear()
        link = StdioLink([sys.executable, "-c", PATIENT, str(tmp_path / "terminated")])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.heard.wait()
            closing = asyncio.ensure_future(link.close())
            await asyncio.sleep(0)
            link.terminate()
            await closing

    asyncio.run(main())
    assert (tmp_path / "terminated").exists()


def test_a_child_process_that_is_not_waited_for_any_longer_is_killed_where_it_ignores_termination(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stdio_client, "_PATIENCE_SECONDS", LIMIT)
    monkeypatch.setattr(stdio_client, "_TERMINATION_SECONDS", 0.05)

    async def main() -> int:
        ear = Ear()
        link = StdioLink([sys.executable, "-c", STUBBORN])
        async with asyncio.timeout(LIMIT / 2):
            await link.open(ear)
            await ear.heard.wait()
            assert link.pid is not None
            child = link.pid
            closing = asyncio.ensure_future(link.close())
            await asyncio.sleep(0)
            link.terminate()
            await closing
            return child

    assert left_of([asyncio.run(main())]) == []


@pytest.mark.attack("E11")
def test_a_server_inherits_no_descriptor_of_its_client(tmp_path: Path) -> None:
    opening = "import sys; file = open(sys.argv[1], 'w'); print('ready', flush=True); sys.stdin.read()"

    async def main() -> set[str]:
        ear = Ear()
        link = StdioLink([sys.executable, "-c", opening, str(tmp_path / "theirs")])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.heard.wait()
            opened = {Path(file.path).name for file in psutil.Process(link.pid).open_files()}
            await link.close()
        return opened

    with open(tmp_path / "ours", "w") as file:
        os.set_inheritable(file.fileno(), True)
        opened = asyncio.run(main())
    assert "theirs" in opened
    assert "ours" not in opened


class Listener(Ear):
    """Waits for the loss of the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = asyncio.Event()
        self.error: Exception | None = None

    def lose(self, error: Exception) -> None:
        self.error = self.error or error
        self.lost.set()


async def loss(code: str) -> str:
    """The report of the loss of a server that runs this code."""
    listener = Listener()
    link = StdioLink([sys.executable, "-c", f"import os, sys; {code}"])
    async with asyncio.timeout(LIMIT):
        await link.open(listener)
        await listener.lost.wait()
        await link.close()
    return str(listener.error)


def test_the_loss_of_a_server_that_has_ended_quotes_its_last_words():
    assert "the last words" in asyncio.run(loss("sys.exit('the last words')"))


@pytest.mark.parametrize("more", ["", "os.close(2); "])
def test_the_loss_of_a_server_that_has_closed_its_output_quotes_its_last_words(more: str):
    code = f"os.close(1); sys.stderr.write('the last words'); sys.stderr.flush(); {more}sys.stdin.read()"
    # A child of uvloop has its standard output twice, so that closing it has no effect.
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        assert "the last words" in runner.run(loss(code))


ENDLESS = """
import sys
while True:
    sys.stdout.write("x" * 65_536)
"""


@pytest.mark.attack("B13")
@pytest.mark.parametrize("before", ["", "{}", "no message"])
def test_b13_a_line_that_never_ends_is_given_up_at_the_cap(before: str):
    async def main() -> Exception | None:
        listener = Listener()
        link = StdioLink([sys.executable, "-c", f"print({before!r})" + ENDLESS])
        await link.open(listener)
        async with asyncio.timeout(LIMIT):
            await listener.lost.wait()
            assert link._child is not None  # pyright: ignore[reportPrivateUsage]
            await link._child._exited.wait()  # pyright: ignore[reportPrivateUsage] - its pipe is closed
        await link.close()
        return listener.error

    assert "too long" in str(asyncio.run(main()))
