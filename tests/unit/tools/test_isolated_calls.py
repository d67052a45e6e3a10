"""A process for each call: its input, its output, and its end together with all of its child processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.clock import skip
from support.platforms import FEATURES
from tooltrue import Client, Context, DefinitionError, Server
from tooltrue.testing.state import LIMIT
from unit.tools import workshop

pytestmark = pytest.mark.process


def served(*functions: Callable[..., Any], **settings: Any) -> Server:
    server = Server("workshop")
    for function in functions:
        server.add_tool(function, isolation="process", **settings)
    return server


def call(server: Server, name: str, arguments: dict[str, Any] | None = None) -> Any:
    async def once() -> Any:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            return await client.call_tool(name, arguments or {})

    return asyncio.run(once())


def test_arguments_go_in_and_a_value_comes_out_and_nothing_stays():
    server = served(workshop.measure)
    for _ in range(2):
        result = call(server, "measure", {"part": {"name": "leg", "count": 3}})
        assert result.structured == {"name": "leg", "count": 6}
    assert workshop.calls == []


def test_an_async_function_is_called_in_another_process():
    assert call(served(workshop.later), "later", {"word": "child"}).text == f"child of {os.getpid()}"


def test_a_tool_error_shows_its_message_and_an_unexpected_exception_hides_it(caplog: pytest.LogCaptureFixture):
    server = served(workshop.fails, workshop.crashes, workshop.falls)
    assert call(server, "fails").text == "no more wood"
    crashed = call(server, "crashes").text
    assert "TT2004" in crashed
    assert "hunter2" not in crashed
    assert "hunter2" in caplog.text
    assert "TT2004" in call(server, "falls").text
    assert ("SIGABRT" if FEATURES["signals"].is_there() else "status 3") in caplog.text


def test_an_error_has_the_language_of_the_server_in_all_its_parts():
    server = Server("workshop", language="zh")
    server.add_tool(workshop.misplaced, isolation="process")
    assert call(server, "misplaced").text == "设置 part 必须是 leg 或 top。 [TT3016]"


def gone(pid: int) -> bool:
    """Whether a process has ended, waited for or not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


async def until(holds: Callable[[], bool]) -> None:
    """Other people's processes send no events; polled, and bounded."""
    async with asyncio.timeout(LIMIT):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


def test_b36_a_process_that_is_late_is_killed_with_all_that_it_has_started(tmp_path: Path):
    note = tmp_path / "pids"

    async def main() -> None:
        async with Client(served(workshop.spins, seconds=LIMIT), timeout=10 * LIMIT) as client:
            asked = asyncio.ensure_future(client.call_tool("spins", {"note": str(note)}))
            await until(note.exists)  # only then its time passes
            pids = [int(word) for word in note.read_text().split()]
            skip(LIMIT)
            assert "TT2002" in (await asked).text
            await until(lambda: all(map(gone, pids)))

    asyncio.run(main())


def test_a_call_that_is_cancelled_ends_its_process(tmp_path: Path):
    note = tmp_path / "pids"

    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client(served(workshop.spins)) as client:
            asked = asyncio.ensure_future(client.call_tool("spins", {"note": str(note)}))
            await until(note.exists)
            asked.cancel()
            pids = [int(word) for word in note.read_text().split()]
            await until(lambda: all(map(gone, pids)))

    asyncio.run(main())


def test_processes_that_an_isolated_call_started_end_with_it(tmp_path: Path):
    note = tmp_path / "pid"
    assert call(served(workshop.leaves), "leaves", {"note": str(note)}).text == "done"
    asyncio.run(until(lambda: gone(int(note.read_text()))))


@pytest.mark.needs("fifos")
def test_a_process_that_falls_is_not_waited_for_because_its_copy_lives(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = call(served(workshop.falls_beside_its_copy, seconds=10 * LIMIT), "falls_beside_its_copy", {"pipe": str(pipe)})  # fmt: skip  # noqa: E501
    assert "TT2004" in result.text
    asyncio.run(until(lambda: opened(pipe)))


def opened(pipe: Path) -> bool:
    """Whether somebody stood at the other end."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def asks(context: Context) -> str:
    return ""


@pytest.mark.parametrize("function", [lambda: "", asks])
def test_a_function_that_another_process_cannot_call_is_refused_at_registration(function: Callable[..., Any]):
    with pytest.raises(DefinitionError, match="isolation"):
        Server("t").add_tool(function, name="tool", isolation="process")


def test_a_raw_handler_has_no_process():
    with pytest.raises(DefinitionError, match="isolation"):
        Server("t").add_raw_tool("tool", {"type": "object"}, lambda arguments: "", isolation="process")
