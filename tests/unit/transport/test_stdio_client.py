"""Closing a link ends the child process that it started, even if the close is cancelled."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from support.event_loops import each_event_loop
from tooltrue.jsonrpc.messages import Id
from tooltrue.jsonrpc.peer import Dropped
from tooltrue.testing.state import LIMIT
from tooltrue.transport import stdio_client
from tooltrue.transport.stdio_client import StdioLink

__all__ = ["each_event_loop"]

pytestmark = pytest.mark.usefixtures("each_event_loop")

STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("ready", flush=True)
while True:
    signal.pause()
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


# Each script leaves the process group; its last process prints its id on the one descriptor that the test reads.
AWAY = """
import os, sys, signal
def leave():
    os.setsid()
    {more}
    print(os.getpid(), flush=True)
    while True:
        signal.pause()
if os.fork() == 0:
    leave()
{then}
"""
AWAYS = {
    "a session of its own": AWAY.format(more="", then="sys.stdin.read()"),
    "a parent that has gone": AWAY.format(more="if os.fork(): os._exit(0)", then="sys.stdin.read()"),
    "a server that has gone": AWAY.format(more="if os.fork(): os._exit(0)", then=""),
    "an empty environment": (
        "import os, subprocess, sys\n"
        "code = 'import os, signal; print(os.getpid(), flush=True); signal.pause()'\n"
        "subprocess.Popen([sys.executable, '-c', code], env={}, start_new_session=True)\n"
        "sys.stdin.read()"
    ),
}


@pytest.mark.attack("E09")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the process group is all that is known")
@pytest.mark.parametrize("way", AWAYS)
def test_e09_a_process_that_left_the_process_group_is_killed_too(way: str) -> None:
    async def main() -> None:
        ear = Ear()
        link = StdioLink([sys.executable, "-c", AWAYS[way]])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.heard.wait()
            process = os.pidfd_open(int(ear.last))
            await link.close()
            await end_of(process)

    asyncio.run(main())


@pytest.mark.twin("E09")
def test_e09_twin_a_process_of_another_connection_stays_alive() -> None:
    async def main() -> bool:
        ears, links = [Ear(), Ear()], [StdioLink([sys.executable, "-c", STUBBORN]) for _ in range(2)]
        async with asyncio.timeout(LIMIT):
            for link, ear in zip(links, ears, strict=True):
                await link.open(ear)
                await ear.heard.wait()
            closing = asyncio.ensure_future(links[0].close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            assert links[1].pid is not None
            os.kill(links[1].pid, 0)
            process = os.pidfd_open(links[1].pid)
            closing = asyncio.ensure_future(links[1].close())
            await asyncio.sleep(0)
            closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            await end_of(process)
            return True

    assert asyncio.run(main())


async def end_of(process: int) -> None:
    """Return once the process has ended."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(process, ended.set)
    await ended.wait()
    asyncio.get_running_loop().remove_reader(process)
    os.close(process)


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="an end is seen by a descriptor")
@pytest.mark.parametrize("is_cancelled", [True, False])
def test_a_child_process_that_ignores_termination_is_killed_even_if_the_close_is_cancelled(
    is_cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio_client, "_PATIENCE_SECONDS", 0.05)

    async def main() -> None:
        ear = Ear()
        link = StdioLink([sys.executable, "-c", STUBBORN])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.heard.wait()
            assert link.pid is not None
            process = os.pidfd_open(link.pid)
            closing = asyncio.ensure_future(link.close())
            if is_cancelled:
                await asyncio.sleep(0)
                closing.cancel()
            await asyncio.gather(closing, return_exceptions=True)
            await end_of(process)

    asyncio.run(main())


@pytest.mark.attack("E11")
def test_a_server_inherits_no_descriptor_of_its_client(tmp_path: Path) -> None:
    listing = "import os; print(*(os.path.realpath(f'/proc/self/fd/{each}') for each in os.listdir('/proc/self/fd')))"

    async def main() -> bytes:
        ear = Ear()
        link = StdioLink([sys.executable, "-c", listing])
        async with asyncio.timeout(LIMIT):
            await link.open(ear)
            await ear.heard.wait()
            await link.close()
        return ear.last

    with open(tmp_path / "ours", "w") as file:
        os.set_inheritable(file.fileno(), True)
        heard = asyncio.run(main())
    assert heard.count(b":[") >= 3  # its three streams are pipes or sockets
    assert b"ours" not in heard


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
