"""The table: the measurement and the unit of each row, and the promise of tooltrue. `ROWS` has the order."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import count
from statistics import median

from harness import http_client, sides, wire
from harness.process import Command, cpu_seconds, memory, running
from harness.sides import PEERS, ROOT, Side
from harness.stdio_client import Pipes, in_flight, sequential
from harness.tally import Tally
from harness.warm_up import WarmUp
from harness.wire import Message, WrongAnswer, verified

_TOOLS = 1_000
_WIDTH = 64
_CONNECTIONS = 32
_STARTING = 1.0  # seconds of calls, until the last worker has started
_STARTS = 3  # per round; the median counts

Measure = Callable[[Side, float], float]
Messages = Callable[[str], Sequence[Message]]


@dataclass(frozen=True, slots=True)
class Goal:
    """The promise: tooltrue's figure divided by that of ``of``, and at least ``lead`` times those of ``ahead``."""

    text: str
    met: Callable[[float], bool]
    of: str = sides.BASE
    ahead: tuple[str, ...] = ()
    lead: float = 1.0


# Two of the promises of some rows: for CPython 3.11 as it is installed, and for 3.13 with a quicker event loop.
_IS_FAST = sys.version_info >= (3, 13) and find_spec("uvloop") is not None


def at_least(ratio: float, fast: float | None = None, of: str = sides.BASE) -> Goal:
    """`fast` is the promise for a quick Python, where that is another one."""
    least = fast if fast is not None and _IS_FAST else ratio
    return Goal(f"≥ {least:g}×", lambda measured: measured >= least, of)


def and_ahead(goal: Goal) -> Goal:
    return replace(goal, text=f"{goal.text} and ahead", ahead=_TS1)


def and_level(goal: Goal) -> Goal:
    """Within 5 % of TypeScript 1.x; ahead of it on a quick Python."""
    if _IS_FAST:
        return and_ahead(goal)
    return replace(goal, text=f"{goal.text} and within 5 %", ahead=_TS1, lead=0.95)


def at_most(text: str, fraction: float, of: str = sides.BASE) -> Goal:
    return Goal(f"≤ {text}", lambda measured: measured <= fraction, of)


@dataclass(frozen=True, slots=True)
class Row:
    """`measure(side, seconds)` starts a fresh server of that side, and returns one figure in `unit`.

    `alternating` says that client and server never have work at the same time. `sides` are measured beside tooltrue.
    """

    key: str
    title: str
    unit: str
    goal: Goal | None
    measure: Measure
    alternating: bool = False
    sides: tuple[str, ...] = PEERS

    @property
    def more_is_better(self) -> bool:
        return self.unit.endswith("/s")


# -- over stdio --------------------------------------------------------------------------------------------------------


@contextmanager
def _piped(side: Side, server: str) -> Iterator[Pipes]:
    with running(side.script(server), side.environment) as process:
        yield Pipes(process, side.era)


def stdio(messages: Messages, server: str, side: Side, seconds: float) -> float:
    """One call at a time."""
    with _piped(side, server) as pipes:
        return _sequential(pipes, messages(side.era), side, seconds)


def stdio_in_flight(messages: Messages, side: Side, seconds: float) -> float:
    with _piped(side, "calls") as pipes:
        return _warm(lambda time: in_flight(pipes, messages(side.era), _WIDTH, time), side, seconds).rate


def stdio_validated(side: Side, seconds: float) -> float:
    with _piped(side, "calls") as pipes:
        forbidden = wire.forbidden_search(side.era)
        if side.key != "limit":
            wire.check_refused(forbidden, pipes.ask(forbidden))
        return _sequential(pipes, wire.searches(side.era), side, seconds)


def stdio_list(side: Side, seconds: float) -> float:
    """Whole lists a second, however many pages the server makes of one."""
    with _piped(side, "many") as pipes:
        pages = _pages(pipes, side.era)
        return _sequential(pipes, pages, side, seconds) / len(pages)


def _sequential(pipes: Pipes, messages: Sequence[Message], side: Side, seconds: float) -> float:
    return _warm(lambda time: sequential(pipes, messages, time), side, seconds).rate


def _warm(work: Callable[[float], Tally], side: Side, seconds: float) -> Tally:
    """The tally of `seconds` of work, once its rate is steady."""
    WarmUp.before(seconds, side.warm_up).run(lambda time: work(time).rate)
    return work(seconds)


def _pages(pipes: Pipes, era: str) -> list[Message]:
    """The requests that fetch the whole list, each expecting this result; raises WrongAnswer if tools are missing."""
    pages: list[Message] = []
    names: set[str] = set()
    cursor = None
    for number in count(1):
        page = wire.tool_list(number, lambda result: "tools" in result, era, cursor)
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


# -- over HTTP ---------------------------------------------------------------------------------------------------------


@contextmanager
def _listening(side: Side, server: str, workers: int = 1) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The server and its port."""
    port = http_client.free_port()
    with running(side.http(server, port, workers), side.environment) as process:
        http_client.wait_until_open(port, lambda: process.poll() is None)
        if workers > 1:  # the first of them has opened the port; connections must reach the others too
            with http_client.exchanging(port, _ECHO(side.era), _CONNECTIONS) as exchange:
                exchange.run(_STARTING)
        yield process, port


def http(messages: Messages, connections: int, side: Side, seconds: float, workers: int = 1) -> float:
    return _exchanged(messages(side.era), connections, side, seconds, workers).rate


def http_slow(messages: Messages, connections: int, side: Side, seconds: float) -> float:
    """Milliseconds that 99 of 100 calls stay under."""
    return _exchanged(messages(side.era), connections, side, seconds).slow


def http_workers(side: Side, seconds: float) -> float:
    """Two workers of tooltrue; the other side is tooltrue with one."""
    return http(_ECHO, _CONNECTIONS, side, seconds, _workers(side))


def http_workers_cpu(side: Side, seconds: float) -> float:
    """Microseconds of CPU that all processes of such a server use for a call."""
    with (
        _listening(side, "calls", _workers(side)) as (process, port),
        http_client.exchanging(port, _ECHO(side.era), _CONNECTIONS) as exchange,
    ):
        WarmUp.before(seconds, side.warm_up).run(lambda time: exchange.run(time).rate)
        before = cpu_seconds(process)
        calls = exchange.run(seconds).calls
        return (cpu_seconds(process) - before) / calls * 1e6


def _workers(side: Side) -> int:
    return 1 if side.key == "one" else 2


def http_list(side: Side, seconds: float) -> float:
    """Whole lists a second, of those that make one page of it."""
    messages = [wire.tool_list(number, _has_all, side.era) for number in range(1, 8)]
    return _exchanged(messages, 1, side, seconds, server="many").rate


def _exchanged(
    messages: Sequence[Message], connections: int, side: Side, seconds: float, workers: int = 1, server: str = "calls"
) -> Tally:
    with (
        _listening(side, server, workers) as (_, port),
        http_client.exchanging(port, messages, connections) as exchange,
    ):
        return _warm(exchange.run, side, seconds)


def _has_all(result: dict) -> bool:
    return len(result["tools"]) == _TOOLS


# -- clients, starts, memory -------------------------------------------------------------------------------------------


def client(side: Side, seconds: float) -> float:
    """Calls a second that the side's own client makes of the limit, which it starts."""
    return _rate_of(side, seconds, sides.limit().script("calls"))


def client_http(side: Side, seconds: float) -> float:
    with _listening(sides.limit(), "bare") as (_, port):
        return _rate_of(side, seconds, [f"http://127.0.0.1:{port}/mcp"])


def _rate_of(side: Side, seconds: float, target: Sequence[str]) -> float:
    bench = {"PYTHONPATH": str(ROOT / "bench")}  # the client warms up as this harness does
    with running([*side.client(), str(seconds), *target], bench) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
    if not line:
        raise EOFError("the client has measured nothing")
    return float(line)


def start(command: Callable[[Side], Command], tools: int, side: Side, seconds: float) -> float:
    """Milliseconds from the start of the process to its answer to `tools/list`, asked for at once."""
    return median(_start(side, command(side), tools) for _ in range(_STARTS))


def _start(side: Side, command: Command, tools: int) -> float:
    message = wire.tool_list(1, lambda result: 0 < len(result["tools"]) <= tools, side.era)
    begun = time.perf_counter()
    with running(command) as process:
        answer = Pipes(process, side.era).ask(message)
        elapsed = time.perf_counter() - begun
    verified(message, answer)
    return elapsed * 1_000


def held(field: str, side: Side, seconds: float) -> float:
    """MB after the start, one `tools/list` and one call."""
    with running(side.script("seven")) as process:
        pipes = Pipes(process, side.era)
        for message in (wire.tool_list(1, lambda result: len(result["tools"]) == 7, side.era), _ECHO(side.era)[0]):
            verified(message, pipes.ask(message))
        return memory(process, field)


def _script(server: str) -> Callable[[Side], Command]:
    return lambda side: side.script(server)


def _cli(server: str) -> Callable[[Side], Command]:
    return lambda side: side.cli(server)


# -- the rows ----------------------------------------------------------------------------------------------------------

_ECHO = partial(wire.echoes, "echo")
_SYNC = partial(wire.echoes, "echo_sync")
_INLINE = partial(wire.echoes, "echo_inline")

_PROSE, _JSON, _HEX = (partial(wire.larges, tool) for tool in wire.LARGE)

_CALLS = (*PEERS, "limit")
_TS1 = ("ts1",)


def _calls(messages: Messages, server: str = "calls") -> Measure:
    return partial(stdio, messages, server)


def _start_row(key: str, title: str, text: str, fraction: float, command: Callable[[Side], Command], tools: int) -> Row:
    return Row(key, title, "ms", at_most(text, fraction), partial(start, command, tools))


ROWS = (
    Row(
        "stdio",
        "stdio, one at a time, `async def`",
        "calls/s",
        and_level(at_least(16, 22)),
        _calls(_ECHO),
        True,
        _CALLS,
    ),
    Row("stdio-sync", "stdio, one at a time, `def`", "calls/s", at_least(8, 10), _calls(_SYNC), True),
    Row(
        "stdio-inline",
        "stdio, one at a time, `def`, `blocking=False`",
        "calls/s",
        and_level(at_least(16, 22)),
        _calls(_INLINE),
        True,
    ),
    Row(
        "stdio-64",
        f"stdio, {_WIDTH} in flight",
        "calls/s",
        and_ahead(at_least(32, 36)),
        partial(stdio_in_flight, _ECHO),
        False,
        _CALLS,
    ),
    Row(
        "stdio-64-unaudited",
        f"stdio, {_WIDTH} in flight, no records",
        "calls/s",
        None,
        partial(stdio_in_flight, _ECHO),
    ),
    Row(
        "stdio-rows",
        "stdio, validated call, 20 rows",
        "calls/s",
        and_ahead(at_least(8, 9)),
        stdio_validated,
        True,
        _CALLS,
    ),
    Row("stdio-1mb", "stdio, 1 MB of prose", "calls/s", at_least(0.5, 1.5), _calls(_PROSE), True, _CALLS),
    Row("stdio-1mb-json", "stdio, 1 MB of JSON", "calls/s", at_least(0.5, 1.5), _calls(_JSON), True, _CALLS),
    Row("stdio-1mb-hex", "stdio, 1 MB of hexadecimal digits", "calls/s", None, _calls(_HEX), True, _CALLS),
    Row("stdio-list", f"stdio, list of {_TOOLS:,} tools", "lists/s", at_least(60), stdio_list, True),
    Row("stdio-many", f"stdio, one at a time, of {_TOOLS:,} tools", "calls/s", None, _calls(wire.notes, "many"), True),
    Row("http", "HTTP, 1 connection, `async def`", "calls/s", at_least(5, 6), partial(http, _ECHO, 1), True, _CALLS),
    Row("http-sync", "HTTP, 1 connection, `def`", "calls/s", None, partial(http, _SYNC, 1), True),
    Row(
        "http-32",
        f"HTTP, {_CONNECTIONS} connections",
        "calls/s",
        at_least(6, 8),
        partial(http, _ECHO, _CONNECTIONS),
        False,
        _CALLS,
    ),
    Row(
        "http-32-p99",
        f"HTTP, {_CONNECTIONS} connections, 99 of 100 within",
        "ms",
        at_most("1/4", 1 / 4),
        partial(http_slow, _ECHO, _CONNECTIONS),
        False,
        _CALLS,
    ),
    Row(
        "http-list",
        f"HTTP, list of {_TOOLS:,} tools",
        "lists/s",
        at_least(50),
        http_list,
        True,
        ("mcp2", "mcp2-uvloop", "ts2"),
    ),
    Row("http-workers", "HTTP, two workers next to one", "calls/s", None, http_workers, False, ("one",)),
    Row(
        "http-workers-cpu",
        "HTTP, two workers next to one, CPU of a call",
        "µs",
        at_most("1.1×", 1.1, "one"),
        http_workers_cpu,
        False,
        ("one",),
    ),
    Row("client", "client of the same server, stdio", "calls/s", at_least(4.5), client, True, ("mcp2",)),
    Row("client-http", "client of the same server, HTTP", "calls/s", at_least(8), client_http, True, ("mcp2",)),
    _start_row("start", "start of `python server.py`, 7 tools", "1/3.5", 1 / 3.5, _script("seven"), 7),
    _start_row("start-cli", "start of `tooltrue serve`, 7 tools", "1/3.5", 1 / 3.5, _cli("seven"), 7),
    _start_row("start-raw", "start with 7 tools of a JSON Schema", "1/6", 1 / 6, _script("raw"), 7),
    _start_row("start-1000", f"start with {_TOOLS:,} tools", "1/5", 1 / 5, _script("many"), _TOOLS),
    Row("memory", "memory after the first call, RSS", "MB", at_most("65 %", 0.65), partial(held, "Rss")),
    Row("memory-pss", "memory after the first call, PSS", "MB", at_most("65 %", 0.65), partial(held, "Pss")),
)
