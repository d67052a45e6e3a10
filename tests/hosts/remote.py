"""Other people's servers at a URL, each opened by `Client`, by `Host` and by the command line.

Servers of the Python SDK 1.x and of FastMCP 2 and 3 give a session id with their refusal of `server/discover`; those
of HTTP+SSE have only the transport of 2024-11-05. All servers run side by side.
"""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from environments import NODE_HOME, node, python_for
from processes import Failure, completed, free_port, listening, written

from tooltrue import Client, Host
from tooltrue.host.launches import Launches
from tooltrue.host.pins import Pins

HERE = Path(__file__).resolve().parent
CLI = [str(Path(sys.executable).parent / "tooltrue"), "list"]
CLI_SECONDS = 60.0
CHECK_SECONDS = 90.0

Row = tuple[str, str, float, bool]


@dataclass(frozen=True, slots=True)
class Remote:
    """A server at a URL. ``command`` starts it on a port; ``tool`` with ``arguments`` answers ``expected``."""

    label: str
    made_with: str
    path: str
    command: Callable[[int], list[str]]
    tool: str = "add"
    arguments: tuple[tuple[str, object], ...] = (("a", 1), ("b", 2))
    expected: str = "3"

    @property
    def is_sse(self) -> bool:
        return self.path == "/sse"


def _python(label: str, requirement: str, script: str, transport: str, path: str = "/mcp") -> Remote:
    def command(port: int) -> list[str]:
        return [python_for(label.removesuffix("-sse"), requirement), str(HERE / script), transport, str(port)]

    return Remote(label, requirement, path, command)


def _everything(port: int) -> list[str]:
    program = NODE_HOME / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
    return ["env", f"PORT={port}", node(), str(program), "sse"]


REMOTES = (
    _python("python-1", "mcp==1.30.0", "python_sdk.py", "streamable-http"),
    _python("fastmcp-2", "fastmcp==2.14.7", "fastmcp_server.py", "http"),
    _python("fastmcp-3", "fastmcp==3.4.10", "fastmcp_server.py", "http"),
    _python("python-1-sse", "mcp==1.30.0", "python_sdk.py", "sse", "/sse"),
    Remote("typescript-sse", "server-everything", "/sse", _everything, "echo", (("message", "hi"),), "Echo: hi"),
)


# -- the ways to open one ----------------------------------------------------------------------------------------------


async def by_client(remote: Remote, url: str) -> str:
    """List and call; the revision that was settled on."""
    async with Client(url) as client:
        names = [tool.name for tool in await client.list_tools()]
        assert remote.tool in names, names
        result = await client.call_tool(remote.tool, dict(remote.arguments))
        assert not result.is_error, result.text
        assert remote.expected in result.text, result.text
        return client.facts.revision


async def by_host(remote: Remote, url: str, folder: Path) -> None:
    """The same through a host that reads the server from a file and asks no approval for tools declared as read."""
    file = folder / f"{remote.label}.toml"
    file.write_text(f'[servers.far]\nurl = "{url}"\neffects = {{ read = ["*"] }}\n')
    state = folder / remote.label
    host = Host.from_config(
        file, approve_launch=lambda request: True, launches=Launches(state), pins=Pins(state / "pins"), audit=False
    )
    async with host:
        [server] = host.servers
        assert server.state == "ready", (server.state, str(server.reason))
        result = await host.call_tool(f"far_{remote.tool}", dict(remote.arguments), task=host.task())
        assert not result.is_error, result.text
        assert remote.expected in result.text, result.text


async def by_command(remote: Remote, url: str, folder: Path) -> None:
    """`tooltrue list URL` names the tool."""
    environment = os.environ | {"XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)}
    done = await asyncio.to_thread(completed, [*CLI, url, "--json"], CLI_SECONDS, env=environment)
    assert done.returncode == 0, (done.returncode, done.stderr)
    assert remote.tool in [tool["name"] for tool in json.loads(done.stdout)], done.stdout[:300]


# -- all of them -------------------------------------------------------------------------------------------------------


@contextmanager
def serving(remotes: Sequence[Remote]) -> Iterator[list[str]]:
    """The URL of each, all running at once. Raises NoNode or Failure where one does not start, or does not stop."""
    with ExitStack() as stack:
        urls: list[str] = []
        for remote in remotes:
            log, port = stack.enter_context(tempfile.TemporaryFile()), free_port()
            command = remote.command(port)
            try:
                stack.enter_context(listening(command, port, log))
            except Failure as failure:
                raise Failure(f"{remote.label}: {failure}", written(log)) from None
            urls.append(f"http://127.0.0.1:{port}{remote.path}")
        yield urls


async def judged(remote: Remote, url: str, folder: Path) -> Row:
    """One row of the table. A failure of one server leaves the others' rows alone."""
    began = time.monotonic()
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            revision = await by_client(remote, url)
            await by_host(remote, url, folder)
            await by_command(remote, url, folder)
    except Exception as error:  # noqa: BLE001 - the table tells of it
        return remote.label, f"{type(error).__name__}: {error}"[:600], time.monotonic() - began, False
    transport = "HTTP+SSE" if remote.is_sse else "Streamable HTTP"
    seen = f"{remote.made_with} over {transport}, {revision}: opened by Client, Host and `tooltrue list`"
    return remote.label, seen, time.monotonic() - began, True


async def _all(urls: list[str], folder: Path) -> list[Row]:
    return await asyncio.gather(*(judged(remote, url, folder) for remote, url in zip(REMOTES, urls, strict=True)))


def rows(folder: Path) -> list[Row]:
    """A row for each server. Raises NoNode or Failure where one cannot be had."""
    with serving(REMOTES) as urls:
        return asyncio.run(_all(urls, folder))
