"""The table: what is measured in each row, in which unit, and what toolwright promises. `ROWS` has the order."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from statistics import median

from harness import http_client, wire
from harness.process import Command, memory, running
from harness.sides import Side
from harness.stdio_client import Pipes, in_flight, sequential
from harness.wire import Message, WrongAnswer, verified

_WARM_UP = 0.15  # seconds of the same work before the clock starts
_TOOLS = 1_000
_WIDTH = 64
_CONNECTIONS = 32
_STARTS = 3  # per round; the median counts

Measure = Callable[[Side, float], float]


@dataclass(frozen=True, slots=True)
class Goal:
    """What toolwright divided by the peer has to be."""

    text: str
    met: Callable[[float], bool]


def at_least(ratio: float) -> Goal:
    return Goal(f"≥ {ratio:g}×", lambda measured: measured >= ratio)


def at_most(text: str, fraction: float) -> Goal:
    return Goal(f"≤ {text}", lambda measured: measured <= fraction)


@dataclass(frozen=True, slots=True)
class Row:
    """`measure(side, seconds)` starts a fresh server of that side, and returns one figure in `unit`.

    `alternating` says that client and server never have work at the same time.
    """

    key: str
    title: str
    unit: str
    goal: Goal | None
    measure: Measure
    alternating: bool = False


def stdio_sequential(messages: Sequence[Message], side: Side, seconds: float) -> float:
    with running(side.script("calls.py")) as process:
        return _sequential(Pipes(process), messages, seconds)


def stdio_limit(messages: Sequence[Message], side: Side, seconds: float) -> float:
    with running(side.limit()) as process:
        return _sequential(Pipes(process), messages, seconds)


def stdio_in_flight(messages: Sequence[Message], side: Side, seconds: float) -> float:
    with running(side.script("calls.py")) as process:
        pipes = Pipes(process)
        in_flight(pipes, messages, _WIDTH, _WARM_UP)
        return in_flight(pipes, messages, _WIDTH, seconds).rate


def stdio_validated(messages: Sequence[Message], side: Side, seconds: float) -> float:
    with running(side.script("calls.py")) as process:
        pipes = Pipes(process)
        forbidden = wire.forbidden_search()
        verified(forbidden, pipes.ask(forbidden))
        return _sequential(pipes, messages, seconds)


def stdio_list(side: Side, seconds: float) -> float:
    """Whole lists a second, however many pages the server makes of one."""
    with running(side.script("many.py")) as process:
        pipes = Pipes(process)
        pages = _pages(pipes)
        return _sequential(pipes, pages, seconds) / len(pages)


def http(messages: Sequence[Message], connections: int, side: Side, seconds: float) -> float:
    port = http_client.free_port()
    with running(side.http("calls.py", port)) as process:
        http_client.wait_until_open(port, lambda: process.poll() is None)
        http_client.exchange(port, messages, connections, _WARM_UP)
        return http_client.exchange(port, messages, connections, seconds).rate


def start(command: Callable[[Side], Command], side: Side, seconds: float) -> float:
    """Milliseconds from the start of the process to its answer to `tools/list`, asked for at once."""
    return median(_start(command(side)) for _ in range(_STARTS))


def held(field: str, side: Side, seconds: float) -> float:
    """MB after the start, one `tools/list` and one call."""
    with running(side.script("seven.py")) as process:
        pipes = Pipes(process)
        for message in (wire.tool_list(1, _has_seven), wire.echo("echo", 2)):
            verified(message, pipes.ask(message))
        return memory(process, field)


def _seven_script(side: Side) -> Command:
    return side.script("seven.py")


def _seven_cli(side: Side) -> Command:
    return side.cli("seven.py")


def _sequential(pipes: Pipes, messages: Sequence[Message], seconds: float) -> float:
    sequential(pipes, messages, _WARM_UP)
    return sequential(pipes, messages, seconds).rate


def _start(command: Command) -> float:
    message = wire.tool_list(1, _has_seven)
    begun = time.perf_counter()
    with running(command) as process:
        answer = Pipes(process).ask(message)
        elapsed = time.perf_counter() - begun
    verified(message, answer)
    return elapsed * 1_000


def _has_seven(result: dict) -> bool:
    return len(result["tools"]) == 7


def _pages(pipes: Pipes) -> list[Message]:
    """The requests that fetch the whole list, each expecting what it brought now; raises WrongAnswer if tools lack."""
    pages: list[Message] = []
    names: set[str] = set()
    cursor = None
    for number in count():
        page = wire.tool_list(number, lambda result: "tools" in result, cursor)
        result = verified(page, pipes.ask(page))
        pages.append(replace(page, expect=partial(_same_tools, result["tools"])))
        names.update(tool["name"] for tool in result["tools"])
        cursor = result.get("nextCursor")
        if cursor is None:
            break
    if len(names) != _TOOLS:
        raise WrongAnswer(f"{len(names)} tools in {len(pages)} pages")
    return pages


def _same_tools(tools: list, result: dict) -> bool:
    return result["tools"] == tools


_ECHO = wire.echoes("echo")
_SYNC = wire.echoes("echo_sync")
_SEARCH = wire.searches()
_THIRD = at_most("1/3", 1 / 3)

ROWS = (
    Row("stdio", "stdio, one at a time, `async def`", "calls/s", at_least(6), partial(stdio_sequential, _ECHO), True),
    Row("stdio-sync", "stdio, one at a time, `def`", "calls/s", at_least(6), partial(stdio_sequential, _SYNC), True),
    Row("stdio-64", f"stdio, {_WIDTH} in flight", "calls/s", at_least(6), partial(stdio_in_flight, _ECHO)),
    Row(
        "stdio-rows", "stdio, validated call, 20 rows", "calls/s", at_least(6), partial(stdio_validated, _SEARCH), True
    ),
    Row("stdio-list", f"stdio, list of {_TOOLS:,} tools", "lists/s", at_least(20), stdio_list, True),
    Row("stdio-limit", "(least Python that answers, stdio)", "calls/s", None, partial(stdio_limit, _ECHO), True),
    Row("http", "HTTP, 1 connection, `async def`", "calls/s", at_least(3), partial(http, _ECHO, 1), True),
    Row("http-sync", "HTTP, 1 connection, `def`", "calls/s", at_least(3), partial(http, _SYNC, 1), True),
    Row("http-32", f"HTTP, {_CONNECTIONS} connections", "calls/s", at_least(3), partial(http, _ECHO, _CONNECTIONS)),
    Row("start", "start of `python server.py`, 7 tools", "ms", _THIRD, partial(start, _seven_script)),
    Row("start-cli", "start of `toolwright serve server.py`", "ms", _THIRD, partial(start, _seven_cli)),
    Row("memory", "memory after the first call, RSS", "MB", at_most("60 %", 0.6), partial(held, "Rss")),
    Row("memory-pss", "memory after the first call, PSS", "MB", at_most("60 %", 0.6), partial(held, "Pss")),
)
