"""`make bench BENCH="--openapi"`: tools of described APIs, next to FastMCP's `from_openapi` (`docs/openapi.md`).

Both are servers over stdio that our client calls. `openapi-core` judges each request by the description, without its
security: FastMCP takes credentials from the HTTP client alone. The arguments are generated from the schema of each tool
as the server lists it, so that a schema that permits what the API does not is a fault of that server.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from harness import sides
from harness.process import Command

sys.path += [str(sides.ROOT / "tests" / folder) for folder in ("", "openapi_apis")]

from request_judges import METHODS, PathJudge, description_root, first_page
from sources import APIS, Api, description_file

from support.website import Said, running
from tooltrue import Client
from tooltrue.errors import TooltrueError
from tooltrue.jsonrpc.messages import encode
from tooltrue.protocol.schema import OWN, compile_schema
from tooltrue.testing.generate import valid_samples

_CALL_SECONDS = 20.0
_SIDE_SECONDS = 900.0
"""For the start and all calls of one description."""
_HEAD = """\
| API | operations | | tools | tokens | requests | judged right | calls without a request |
|---|---:|---|---:|---:|---:|---:|---:|"""


def report(rounds: int, seconds: float, names: frozenset[str]) -> int:
    """Print the tables, that of calls for the APIs of these names, or for all. Return 0: they are a comparison, and no
    check."""
    known = {"tooltrue": sides.ours(), (peer := sides.peer("fastmcp")).name: peer}
    commands = {name: side.script("openapi") for name, side in known.items()}
    with tempfile.TemporaryDirectory() as folder:
        print(_HEAD, flush=True)
        for api in APIS:
            if not names or api.name in names:
                _compare(api, commands, Path(folder))
        print()
        _compare_escapes(commands, Path(folder))
        print()
        _compare_times(commands, Path(folder), rounds, seconds)
    return 0


def _compare(api: Api, commands: Mapping[str, Command], folder: Path) -> None:
    root = description_root(description_file(api))
    if "swagger" in root:
        return  # FastMCP does not read it
    file = folder / "api.json"
    file.write_text(json.dumps(root, default=str))  # YAML has dates
    count = sum(method in METHODS for item in root["paths"].values() for method in item)
    for name, command in commands.items():
        judge = PathJudge(root)
        with running(judge) as site:
            cells = asyncio.run(_with(command, file, f"{site.url}/v1", _generated_calls)) or ("–", "", "")
        sent = len(site.asked)
        tools, tokens, silent = cells
        print(
            f"| {api.name} | {count} | {name} | {tools} | {tokens} | {sent} | {sent - len(judge.faults)} | {silent} |",
            flush=True,
        )
        for fault in judge.faults:
            print(f"  {name}: {fault}", file=sys.stderr)


async def _with(command: Command, file: Path, url: str, use: Callable[[Client], Any]) -> Any:
    """The result of ``use`` with a client of this server; ``None`` if the server does not start."""
    try:
        async with asyncio.timeout(_SIDE_SECONDS), Client([*command, str(file), url]) as client:
            return await use(client)
    except (TooltrueError, OSError, TimeoutError) as error:
        print(f"{command[0]}: {error}"[:300], file=sys.stderr)
        return None


async def _generated_calls(client: Client) -> tuple[int, str, int]:
    tools = await client.list_tools()
    size = sum(len(encode(tool)) for tool in tools)
    silent = 0
    for tool in tools:
        try:  # a schema that is not valid has no arguments
            samples = valid_samples(compile_schema(tool.inputSchema, bounds=OWN), seed=7, count=1)[:1]
            async with asyncio.timeout(_CALL_SECONDS):
                silent += any([(await client.call_tool(tool.name, first_page(one.value))).is_error for one in samples])
        except (TooltrueError, TimeoutError):
            silent += 1
    return len(tools), f"{size // 4:,}", silent


# -- escapes -----------------------------------------------------------------------------------------------------------

_CLIMBING = ("../admin", "..%2fadmin", "%2e%2e/admin", "..", ".", "a/b", "a%2fb", "a?role=admin", "a#b", "..;/admin")
_GET_USER: Mapping[str, Any] = {
    "operationId": "get_user",
    "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}],
    "responses": {"200": {"description": "The user"}},
}
_USERS = {
    "openapi": "3.0.3",
    "info": {"title": "Users", "version": "1"},
    "paths": {"/users/{id}": {"get": _GET_USER}},
}
_INSIDE = re.compile(r"/v1/users/(?!\.{1,2}$|%2e(?:%2e|\.)?$|\.%2e$)[^/?#]+", re.IGNORECASE)


def _compare_escapes(commands: Mapping[str, Command], folder: Path) -> None:
    file = folder / "users.json"
    file.write_text(json.dumps(_USERS))

    async def climb(client: Client) -> None:
        for value in _CLIMBING:
            await client.call_tool("get_user", {"id": value})

    print(f"| {len(_CLIMBING)} values that would leave their segment | requests | on another path | with a query |")
    print("|---|---:|---:|---:|")
    for name, command in commands.items():
        with running(lambda asked: Said(200, {"id": "a"})) as site:
            asyncio.run(_with(command, file, f"{site.url}/v1", climb))
        outside = sum(not _INSIDE.fullmatch(asked.path) for asked in site.asked)
        print(
            f"| {name} | {len(site.asked)} | {outside} | {sum(bool(asked.raw_query) for asked in site.asked)} |",
            flush=True,
        )


# -- times -------------------------------------------------------------------------------------------------------------

_UPSTREAM = """
import asyncio, contextlib, sys
async def serve(reader, writer):
    with contextlib.suppress(asyncio.IncompleteReadError):  # the connection is closed
        while await reader.readuntil(b"\\r\\n\\r\\n"):
            head = b"HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\ncontent-length: 11\\r\\n\\r\\n"
            writer.write(head + b'{"id": "7"}')
    writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""


@dataclass(slots=True)
class _Times:
    ready: list[float]
    rates: list[float]


def _many(count: int) -> dict[str, Any]:
    return {
        **_USERS,
        "paths": {
            f"/users{number}/{{id}}": {"get": {**_GET_USER, "operationId": f"get_{number}"}} for number in range(count)
        },
    }


def _compare_times(commands: Mapping[str, Command], folder: Path, rounds: int, seconds: float) -> None:
    file = folder / "many.json"
    file.write_text(json.dumps(_many(1_000)))
    times = {name: _Times([], []) for name in commands}
    with subprocess.Popen(
        [sys.executable, "-c", _UPSTREAM], stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
    ) as api:
        assert api.stdout is not None
        url = f"http://127.0.0.1:{api.stdout.readline().strip()}/v1"
        try:
            for _ in range(rounds):
                for name, command in commands.items():
                    begun = time.perf_counter()

                    async def measure(client: Client, begun: float = begun, name: str = name) -> None:
                        await client.list_tools()
                        times[name].ready.append(time.perf_counter() - begun)
                        times[name].rates.append(await _rate(client, seconds))

                    asyncio.run(_with(command, file, url, measure))
        finally:
            api.terminate()
    ours, theirs = times.values()
    print("| 1,000 operations | " + " | ".join(commands) + " | tooltrue ÷ FastMCP |")
    print("|---|---:|---:|---:|")
    print(_row("start, until all tools are listed, s", ours.ready, theirs.ready, "{:.2f}"))
    print(_row("calls a second through one tool, one after the other", ours.rates, theirs.rates, "{:.0f}"))


async def _rate(client: Client, seconds: float) -> float:
    count, begun = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - begun) < seconds:
        await client.call_tool("get_7", {"id": "7"})
        count += 1
    return count / elapsed


def _row(label: str, ours: Sequence[float], theirs: Sequence[float], form: str) -> str:
    if not ours or not theirs:
        return f"| {label} | – | – | – |"
    ratio = median(one / other for one, other in zip(ours, theirs, strict=False))
    return f"| {label} | {form.format(median(ours))} | {form.format(median(theirs))} | {ratio:.2f} |"
