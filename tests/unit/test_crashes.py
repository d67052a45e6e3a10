"""A crash shows the author's frames; ours around them are counted, and shown on demand."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Annotated, Any

import pydantic
import pytest

from tooltrue import Client, Context, Depends, Server
from tooltrue.crashes import DEBUG
from tooltrue.errors import RpcError
from tooltrue.testing.state import LIMIT


def explode() -> Any:
    return 1 / 0


def refuse(value: int) -> Any:
    return explode()


async def explode_later() -> Any:
    return explode()


def crashes_in(server: Server) -> None:
    """One crash of each kind."""

    @server.tool
    def thread() -> Any:
        return explode()

    @server.tool
    async def loop() -> Any:
        return explode()

    @server.tool
    def validator(value: Annotated[int, pydantic.AfterValidator(refuse)]) -> int:
        return value

    @server.tool
    def dependency(value: Annotated[int, Depends(explode)]) -> int:
        return value

    @server.tool
    async def async_dependency(value: Annotated[int, Depends(explode_later)]) -> int:
        return value

    @server.tool
    def back_into_ours(context: Context) -> Any:
        return context.once("key", explode)

    @server.resource("docs://page")
    def page() -> Any:
        return explode()

    @server.prompt
    def words() -> Any:
        return explode()


def tool(name: str, **arguments: Any) -> Callable[[Client], Any]:
    return lambda client: client.call_tool(name, arguments)


CRASHES: dict[str, Callable[[Client], Any]] = {
    "thread": tool("thread"),
    "loop": tool("loop"),
    "validator": tool("validator", value=1),
    "dependency": tool("dependency"),
    "async dependency": tool("async_dependency"),
    "resource": lambda client: client.read_resource("docs://page"),
    "prompt": lambda client: client.get_prompt("words"),
}


def ours(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """The logged crashes of tooltrue, without other log records of the process."""
    return [record for record in caplog.records if record.exc_info and record.name.startswith("tooltrue")]


def logged(crash: Callable[[Client], Any], caplog: pytest.LogCaptureFixture) -> tuple[logging.LogRecord, str]:
    server = Server("t")
    crashes_in(server)

    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            await crash(client)

    with contextlib.suppress(RpcError):  # of a resource or a prompt
        asyncio.run(main())
    [record] = ours(caplog)
    return record, logging.Formatter().format(record)


@pytest.mark.parametrize("name", sorted(CRASHES))
def test_a_crash_begins_with_the_authors_frames(name: str, caplog: pytest.LogCaptureFixture) -> None:
    record, text = logged(CRASHES[name], caplog)
    assert "packages/tooltrue/src/tooltrue" not in text
    assert text.count("File ") <= 2
    assert text.splitlines()[2].strip().startswith(f'File "{__file__}"')
    assert text.endswith("ZeroDivisionError: division by zero")
    assert "frames of tooltrue are left out" in record.getMessage()
    assert "raise ToolError" in record.getMessage()
    assert len(text.splitlines()) <= 9


@pytest.mark.parametrize("name", sorted(CRASHES))
def test_all_frames_are_shown_on_demand(
    name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DEBUG, "1")
    _, text = logged(CRASHES[name], caplog)
    assert "tooltrue/policy/" in text
    assert "left out" not in text


def test_a_logger_that_shows_debug_messages_shows_all_frames(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "tooltrue")
    _, text = logged(CRASHES["thread"], caplog)
    assert "tooltrue/policy/" in text


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, StopIteration])
def test_the_traceback_of_a_process_ending_exception_starts_with_the_frames_of_the_author(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    server = Server("t")

    @server.tool
    def ends() -> Any:
        raise error

    async def main() -> None:
        async with asyncio.timeout(LIMIT), Client(server) as client:
            await client.call_tool("ends")

    asyncio.run(main())
    [record] = ours(caplog)
    text = logging.Formatter().format(record)
    assert "packages/tooltrue/src/tooltrue" not in text
    assert text.splitlines()[2].strip().startswith(f'File "{__file__}"')
    assert text.endswith(f"RuntimeError: the tool raised {error.__name__}")


def test_the_author_sees_where_they_called_back_into_ours(caplog: pytest.LogCaptureFixture) -> None:
    _, text = logged(tool("back_into_ours"), caplog)
    assert text.count(f'File "{__file__}"') == 2
    assert "packages/tooltrue/src/tooltrue" not in text
