"""`make bench-instructions`: instructions of a call and of a start, counted by callgrind (`docs/performance.md`).

`--base REV` counts another commit too, in turn, and fails when the checkout needs more than 5 % more instructions.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from harness import gateways, http_client, sides, wire
from harness.callgrind import CannotCount, Count, CountedProcess, check_tools, count_process, counted
from harness.process import Command, ServerFailed, running
from harness.sides import ROOT
from harness.stdio_client import Pipes
from harness.wire import MODERN, Message, WrongAnswer, verified

_MORE = 1.05
_LONGEST = 900.0  # a server of the counted client runs as long as that
_PATIENCE = 120.0  # for a server to open its port, under callgrind
_FAILED, _NOT_MEASURED = 1, 2
_SERVERS = ROOT / "bench" / "servers"


def _lists(tools: int) -> wire.Expect:
    """Whether a result lists so many tools."""
    return lambda result: len(result["tools"]) == tools


@dataclass(frozen=True, slots=True)
class Call:
    """A row: `count` calls of `server` are counted after `warm_up` others.

    `is_client` says that the client is counted, while the server runs outside of valgrind. With `before`, a gateway is
    counted, and the server runs behind it: as a program (`stdio`) or at a URL (`http`). `width` calls are made at once.
    """

    key: str
    title: str
    server: str
    messages: Sequence[Message]
    warm_up: int = 300
    count: int = 200
    is_http: bool = False
    is_client: bool = False
    before: str = ""
    width: int = 1


@dataclass(frozen=True, slots=True)
class Start:
    """A row: the whole process of `server`, which lists its tools once and ends with its input."""

    key: str
    title: str
    server: str
    tools: int


Row = Call | Start

CALLS = (
    Call("echo", "stdio, one at a time, `async def`", "calls", wire.echoes("echo", MODERN)),
    Call("inline", "stdio, one at a time, `def`, `blocking=False`", "calls", wire.echoes("echo_inline", MODERN)),
    Call("beside-task", "stdio, one at a time, beside a tool that is a task", "tasks", wire.echoes("echo", MODERN)),
    Call("rows", "stdio, validated call, 20 rows", "calls", wire.searches(MODERN), 150, 100),
    Call("1mb", "stdio, 1 MB of prose", "calls", wire.larges("large_prose", MODERN), 10, 10),
    Call("many", "stdio, one at a time, of 1,000 tools", "many", wire.notes(MODERN)[:50]),  # each tool is warm
    Call("list", "stdio, list of 1,000 tools", "many", [wire.tool_list(1, _lists(1_000), MODERN)], 50, 20),
    Call("http", "HTTP, 1 connection, `async def`", "calls", wire.echoes("echo", MODERN), is_http=True),
    Call("http-32", "HTTP, 32 connections", "calls", wire.echoes("echo", MODERN), 3000, 3200, is_http=True, width=32),
    Call("client", "client, stdio", "calls", (), is_client=True),
    Call("client-http", "client, HTTP", "calls", (), is_http=True, is_client=True),
    Call("client-http-32", "client, HTTP, 32 at once", "calls", (), 3000, 3200, is_http=True, is_client=True, width=32),
    Call("gateway", "gateway, HTTP→HTTP", "calls", wire.echoes("echo", MODERN), is_http=True, before="http"),
    Call("gateway-stdio", "gateway, HTTP→stdio", "calls", wire.echoes("echo", MODERN), is_http=True, before="stdio"),
    Call(
        "gateway-32",
        "gateway, HTTP→HTTP, 32 connections",
        "calls",
        wire.echoes("echo", MODERN),
        3000,
        3200,
        is_http=True,
        before="http",
        width=32,
    ),
)
STARTS = (
    Start("start", "start and end, 7 typed tools", "seven", 7),
    Start("start-raw", "start and end, 7 tools of a JSON Schema", "raw", 7),
    Start("start-1000", "start and end, 1,000 tools", "many", 1_000),
)
ROWS: tuple[Row, ...] = (*CALLS, *STARTS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if a row is more than 5 % above the base, 2 if this machine cannot count."""
    options = _options(arguments)
    try:
        check_tools()
        return _report(options.only, options.base)
    except CannotCount as reason:
        print(f"not measured: {reason}")
        return _NOT_MEASURED
    except (ServerFailed, WrongAnswer) as error:
        print(f"failed: {error}")
        return _FAILED


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/instructions.py", description=__doc__)
    keys = ", ".join(row.key for row in ROWS)
    parser.add_argument("--only", type=_rows, default=ROWS, metavar="ROW,…", help=keys)
    parser.add_argument("--base", metavar="REV", help="also count this commit, and fail with 5 %% more than it")
    return parser.parse_args(arguments)


def _rows(text: str) -> tuple[Row, ...]:
    wanted = text.split(",")
    if unknown := set(wanted) - {row.key for row in ROWS}:
        raise argparse.ArgumentTypeError(f"no row {', '.join(sorted(unknown))}")
    return tuple(row for row in ROWS if row.key in wanted)


# -- counting ----------------------------------------------------------------------------------------------------------


def _report(rows: Sequence[Row], base: str | None) -> int:
    with ExitStack() as stack:
        trees = {"": ROOT} if base is None else {"base: ": stack.enter_context(_worktree(base)), "": ROOT}
        counts = {name: dict[str, Count]() for name in trees}
        for group in _groups(rows):
            for name, tree in trees.items():
                _say(f"{name}{', '.join(row.key for row in group)}")
                counts[name] |= _count_base(group, tree) if tree != ROOT else _count(group, tree)
    print(_table(rows, counts))
    more = [row.key for row in rows if base is not None and _ratio(row, counts) > _MORE]
    if more:
        print(f"\nmore than 5 % above the base: {', '.join(more)}")
    return _FAILED if more else 0


Group = Sequence[Call] | Sequence[Start]


def _groups(rows: Sequence[Row]) -> list[Group]:
    """The calls that share a counted process, and each start alone."""
    calls: dict[tuple[str, bool, bool, str], list[Call]] = {}
    for row in rows:
        if isinstance(row, Call):
            calls.setdefault((row.server, row.is_http, row.is_client, row.before), []).append(row)
    return [*calls.values(), *([row] for row in rows if isinstance(row, Start))]


def _count_base(group: Group, tree: Path) -> dict[str, Count]:
    """Raises CannotCount if a process of the base does not answer: that is no fault of this checkout."""
    try:
        return _count(group, tree)
    except (ServerFailed, WrongAnswer) as error:
        raise CannotCount(f"the base does not run here: {error}") from error


def _count(group: Group, tree: Path) -> dict[str, Count]:
    """Count each of these rows with the packages of `tree`."""
    environment = _environment(tree)
    counts: dict[str, Count] = {}
    calls: list[Call] = []
    for row in group:
        if isinstance(row, Start):
            counts[row.key] = _count_start(row, environment)
        else:
            calls.append(row)
    return {**counts, **(_count_calls(calls, environment) if calls else {})}


def _count_start(start: Start, environment: Mapping[str, str]) -> Count:
    """Count the second start: the first one may compile byte code."""
    command = (sys.executable, str(_SERVERS / "ours" / f"{start.server}.py"))
    with running(command, environment) as process:
        _list(start, process)
    return count_process(command, environment, partial(_list, start))


def _list(start: Start, process: subprocess.Popen[bytes]) -> None:
    message = wire.tool_list(1, _lists(start.tools), MODERN)
    verified(message, Pipes(process, MODERN).ask(message))


def _count_calls(calls: Sequence[Call], environment: Mapping[str, str]) -> dict[str, Count]:
    """Count each of these calls in one process."""
    port = http_client.free_port() if calls[0].is_http else None
    with ExitStack() as stack:
        command = _counted_command(calls[0], port, stack)
        process = stack.enter_context(counted(command, environment))
        counts: dict[str, Count] = {}
        for call in calls:
            make_calls = (
                partial(_have_called, process, call.width) if call.is_client else _caller(call, process, port, stack)
            )
            make_calls(call.warm_up)
            counts[call.key] = process.count(partial(make_calls, call.count)).per(call.count)
        return counts


def _counted_command(call: Call, port: int | None, stack: ExitStack) -> Command:
    if call.is_client:
        return (sys.executable, str(ROOT / "bench" / "clients" / "counted.py"), *_target(call.server, port, stack))
    if call.before:
        assert port is not None
        behind = http_client.free_port() if call.before == "http" else None
        return _gateway(_target(call.server, behind, stack), port, stack)
    return _command(call.server, port)


def _target(server: str, port: int | None, stack: ExitStack) -> Sequence[str]:
    """A server of this checkout: its command, or with a port the URL of one that runs."""
    side = sides.ours()
    if port is None:
        return side.script(server)
    process = stack.enter_context(running(side.http(server, port), longest=_LONGEST))
    http_client.wait_until_open(port, lambda: process.poll() is None, _PATIENCE)
    return [f"http://127.0.0.1:{port}/mcp"]


def _gateway(target: Sequence[str], port: int, stack: ExitStack) -> Command:
    """The command of a gateway with all layers before a server."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    _, _, *options = gateways.ours(folder).start(target, port, folder)
    return (sys.executable, str(_SERVERS / "counted" / "gateway.py"), *options)


def _have_called(client: CountedProcess, at_once: int, count: int) -> object:
    assert client.process.stdin is not None
    assert client.process.stdout is not None
    client.process.stdin.write(b"%d %d\n" % (count, at_once))
    if not client.process.stdout.readline():
        raise EOFError("the client has ended")


def _caller(call: Call, server: CountedProcess, port: int | None, stack: ExitStack) -> Callable[[int], object]:
    """A function that makes a number of calls, one at a time."""
    if port is None:
        return partial(_ask, Pipes(server.process, MODERN), cycle(call.messages))
    http_client.wait_until_open(port, lambda: server.process.poll() is None, _PATIENCE)
    if call.before:
        _wait_for_tools(port)
    return stack.enter_context(http_client.exchanging(port, call.messages, call.width)).run_calls


def _wait_for_tools(port: int) -> None:
    """A gateway serves before its servers are ready."""
    deadline = time.monotonic() + _PATIENCE
    while not http_client.ask(port, wire.tool_list(1, lambda result: "tools" in result, MODERN))["tools"]:
        if time.monotonic() > deadline:
            raise ServerFailed("the gateway lists no tools")


def _ask(pipes: Pipes, messages: Iterator[Message], count: int) -> None:
    for message in islice(messages, count):
        verified(message, pipes.ask(message))


def _command(server: str, port: int | None) -> Command:
    script = str(_SERVERS / "counted" / f"{server}.py")
    if port is None:
        return (sys.executable, script)
    return (sys.executable, str(Path(sys.prefix) / "bin" / "tooltrue"), "serve", script, "--http", f"127.0.0.1:{port}")


# -- the base ----------------------------------------------------------------------------------------------------------


@contextmanager
def _worktree(revision: str) -> Iterator[Path]:
    """A checkout of another commit, which runs with the packages of this environment."""
    git = ("git", "-C", str(ROOT))
    with tempfile.TemporaryDirectory() as name:
        tree = Path(name) / "base"
        add = [*git, "worktree", "add", "--quiet", "--detach", str(tree), revision]
        if subprocess.run(add, check=False).returncode:
            raise CannotCount(f"git has no commit {revision}")
        try:
            yield tree
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(tree)], check=True)


def _environment(tree: Path) -> dict[str, str]:
    """Import the packages of this tree. Raises CannotCount if those of another would be counted."""
    environment = {"PYTHONPATH": os.pathsep.join(map(str, sorted(tree.glob("packages/*/src"))))}
    locate = [sys.executable, "-c", "import tooltrue; print(tooltrue.__file__)"]
    place = subprocess.run(locate, check=True, capture_output=True, text=True, env={**os.environ, **environment})
    if not Path(place.stdout.strip()).is_relative_to(tree):
        raise CannotCount(f"the packages of {tree} cannot be imported")
    return environment


# -- the table ---------------------------------------------------------------------------------------------------------


def _table(rows: Sequence[Row], counts: Mapping[str, Mapping[str, Count]]) -> str:
    """Thousands of instructions of a call, or of a process."""
    columns = [f"{name}{part}" for name in counts for part in ("loop", "other threads", "sum")]
    ratios = ["ratio"] if len(counts) > 1 else []
    lines = [["thousand instructions", *columns, *ratios]]
    lines.append(["---"] * len(lines[0]))
    for row in rows:
        cells = [_number(part) for of in counts.values() for part in _parts(of[row.key])]
        lines.append([row.title, *cells, *([f"{_ratio(row, counts):.3f}"] if ratios else [])])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _parts(count: Count) -> tuple[float, float, float]:
    return count.loop, count.others, count.total


def _number(instructions: float) -> str:
    return f"{instructions / 1_000:,.1f}"


def _ratio(row: Row, counts: Mapping[str, Mapping[str, Count]]) -> float:
    return counts[""][row.key].total / counts["base: "][row.key].total


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
