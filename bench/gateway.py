"""`make bench BENCH="--gateway"`: our gateway and its peers before the same server (`docs/performance.md`).

Each is called over HTTP, and has a server behind it that is called over HTTP, or that it starts itself. The added time
is that of a call through the gateway without that of a call to the same server.

The CPU time is that of the process of the gateway alone. Ours is compared with that of our server and client: while our
client calls the gateway, and the gateway our server, so that all three find the caches as cold; and each of them alone.
"""

import contextlib
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

from harness import http_client, sides, wire
from harness.gateways import GATEWAYS, Gateway, gateway, our_files, ours
from harness.process import Command, ServerFailed, cpu_microseconds, memory, on_one_cpu, running
from harness.real_servers import Entries, seconds_of_all, ten_servers
from harness.sides import NotHere
from harness.stdio_client import Pipes
from harness.warm_up import WarmUp
from harness.wire import MODERN, WrongAnswer, verified

_CONNECTIONS = 32
_CPU_GOAL, _MEMORY_GOAL, _READY_GOAL, _REAL_GOAL = 1.25, 20.0, 1.3, 1.15
_CALLERS = 1_000
_AT_A_TIME = 320  # calls of our client
_SLEEPERS = 10
_LOOK_SECONDS = 0.01  # between two lists: a gateway that starts servers has something else to do
_SLEEP = 0.3  # the slowest of ten sleeps ten times as long
_REST = 4.0  # before each start of ten servers: those of the start before are still ending
_LONGEST = 600.0
_PATIENCE = 60.0  # for a gateway to open its port

UPSTREAMS = ("http", "stdio")


@dataclass(frozen=True, slots=True)
class Chain:
    """The CPU time of a call in microseconds, by calls at once: one of each a round."""

    server: dict[int, list[float]] = field(default_factory=lambda: {1: [], _CONNECTIONS: []})
    client: dict[int, list[float]] = field(default_factory=lambda: {1: [], _CONNECTIONS: []})
    gateway: dict[int, list[float]] = field(default_factory=lambda: {1: [], _CONNECTIONS: []})

    def ratio(self, width: int) -> float:
        """The time of the gateway, next to that of the others in the same round."""
        rounds = zip(self.gateway[width], self.server[width], self.client[width], strict=True)
        return median(between / (server + client) for between, server, client in rounds)


@dataclass(slots=True)
class Calls:
    """The figures of a gateway before one kind of upstream: one of each a round."""

    rates: dict[int, list[float]] = field(default_factory=lambda: {1: [], _CONNECTIONS: []})
    cpu: dict[int, list[float]] = field(default_factory=lambda: {1: [], _CONNECTIONS: []})


def report(rounds: int, seconds: float, peers: Sequence[str]) -> int:
    """Print the tables; return 1 if our gateway could not be measured, never for a missed goal."""
    sides.compile_ours()
    with tempfile.TemporaryDirectory() as name:
        known = _known(peers, Path(name))
        figures: dict[tuple[str, str], Calls | str] = {}
        direct, server, client, chain = Calls(), Calls(), Calls(), Chain()
        for number in range(rounds):
            _say(f"round {number + 1}/{rounds}")
            _measure_direct(direct, seconds)
            _measure_server(server, seconds)
            _measure_client(client, seconds)
            _measure_chain(chain, seconds, Path(name))
            for one in known if number % 2 == 0 else known[::-1]:
                for kind in UPSTREAMS:
                    _measure(figures, one, kind, seconds, Path(name))
        print(_calls_table(figures, known, direct))
        print(_chain_table(chain))
        print(_cpu_table(figures, server, client))
        print(_memory_line(Path(name)))
        print(_ready_line(rounds, Path(name)))
        print(_real_line(rounds, Path(name)))
    return int(any(not isinstance(figures["ours", kind], Calls) for kind in UPSTREAMS))


def _known(peers: Sequence[str], folder: Path) -> list[Gateway]:
    known = [ours(folder)]
    for key in peers:
        try:
            known.append(gateway(key))
        except (NotHere, subprocess.CalledProcessError) as reason:
            _say(f"without {key}: {reason}")
    return known


# -- calls -------------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _upstream(kind: str) -> Iterator[Sequence[str]]:
    """A fast server, as an upstream: its URL while it runs, or its command."""
    side = sides.unguarded()
    if kind == "stdio":
        yield side.script("calls")
        return
    with _listening(lambda port: side.http("calls", port)) as (_, port):
        yield [f"http://127.0.0.1:{port}/mcp"]


@contextlib.contextmanager
def _listening(
    command: Callable[[int], Command], environment: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    port = http_client.free_port()
    with running(command(port), environment, _LONGEST) as process:
        http_client.wait_until_open(port, lambda: process.poll() is None, _PATIENCE)
        yield process, port


@contextlib.contextmanager
def _serving(one: Gateway, kind: str, folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A gateway before a fast server, and its port."""
    with (
        _upstream(kind) as target,
        _listening(lambda port: one.start(target, port, folder), dict(one.environment)) as serving,
    ):
        yield serving


def _measure(
    figures: dict[tuple[str, str], Calls | str], one: Gateway, kind: str, seconds: float, folder: Path
) -> None:
    """Add a round to the figures, or record why there is none."""
    found = figures.setdefault((one.key, kind), Calls())
    if isinstance(found, str):
        return
    if kind == "http" and not one.takes_urls:
        figures[one.key, kind] = "–"
        return
    try:
        with on_one_cpu(), _serving(one, kind, folder) as (process, port):
            rounds = {width: _called(port, one.era, process.pid, width, seconds, one.warm_up) for width in found.rates}
    except (ServerFailed, WrongAnswer, OSError) as error:
        _say(f"failed: {one.key} before {kind}: {error}")
        figures[one.key, kind] = "failed"
        return
    for width, (rate, cpu) in rounds.items():
        found.rates[width].append(rate)
        found.cpu[width].append(cpu)


def _measure_direct(found: Calls, seconds: float) -> None:
    side = sides.unguarded()
    with on_one_cpu(), _listening(lambda port: side.http("calls", port)) as (process, port):
        for connections, rates in found.rates.items():
            rates.append(_called(port, MODERN, process.pid, connections, seconds)[0])


def _called(port: int, era: str, pid: int, connections: int, seconds: float, least: float = 0.0) -> tuple[float, float]:
    """Calls a second, and the microseconds of CPU time that a process uses for each."""
    with http_client.exchanging(port, wire.echoes("echo", era), connections) as exchange:
        WarmUp.before(seconds, least).run(lambda time: exchange.run(time).rate)
        before = cpu_microseconds(pid)
        tally = exchange.run(seconds)
        return tally.rate, (cpu_microseconds(pid) - before) / tally.calls


def _measure_server(found: Calls, seconds: float) -> None:
    """The CPU time of our server, with every layer on, for the same call over HTTP."""
    side = sides.ours()
    with on_one_cpu(), _listening(lambda port: side.http("calls", port)) as (process, port):
        for connections, times in found.cpu.items():
            times.append(_called(port, MODERN, process.pid, connections, seconds)[1])


def _measure_client(found: Calls, seconds: float) -> None:
    """The CPU time of our client, for the same call over HTTP."""
    side = sides.ours()
    with (
        on_one_cpu(),
        _listening(lambda port: side.http("calls", port)) as (_, port),
        running(_client(port)) as process,
    ):
        for at_once, times in found.cpu.items():
            times += _called_by(process, at_once, seconds, (process,))


def _measure_chain(found: Chain, seconds: float, folder: Path) -> None:
    """The CPU time of our server, client and gateway for the same calls."""
    side, one = sides.ours(), ours(folder)
    with (
        on_one_cpu(),
        _listening(lambda port: side.http("calls", port)) as (server, behind),
        _listening(lambda port: one.start([f"http://127.0.0.1:{behind}/mcp"], port, folder), dict(one.environment)) as (
            between,
            port,
        ),
        running(_client(port)) as client,
    ):
        for at_once in found.gateway:
            times = _called_by(client, at_once, seconds, (server, client, between))
            for of_one, microseconds in zip((found.server, found.client, found.gateway), times, strict=True):
                of_one[at_once].append(microseconds)


def _client(port: int) -> Command:
    return (sys.executable, str(sides.ROOT / "bench" / "clients" / "counted.py"), f"http://127.0.0.1:{port}/mcp")


def _called_by(
    client: subprocess.Popen[bytes], at_once: int, seconds: float, processes: Sequence[subprocess.Popen[bytes]]
) -> list[float]:
    """The microseconds of CPU time that each of the processes uses for a call of our client."""
    have_called = partial(_have_called, client, _AT_A_TIME, at_once)
    WarmUp.before(seconds).run(lambda time: have_called())
    before, begun, calls = [cpu_microseconds(process.pid) for process in processes], time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        have_called()
        calls += _AT_A_TIME
    after = [cpu_microseconds(process.pid) for process in processes]
    return [(later - earlier) / calls for earlier, later in zip(before, after, strict=True)]


def _have_called(client: subprocess.Popen[bytes], count: int, at_once: int) -> float:
    """Have the client make that many calls, so many at once; its calls a second."""
    assert client.stdin is not None
    assert client.stdout is not None
    begun = time.perf_counter()
    client.stdin.write(b"%d %d\n" % (count, at_once))
    if not client.stdout.readline():
        raise EOFError("the client has ended")
    return count / (time.perf_counter() - begun)


# -- idle callers, and servers that are slow to start -----------------------------------------------------------------


def _idle_caller(folder: Path) -> float:
    """KB that our gateway holds for each caller that has called once, before a stateless server."""
    one = ours(folder, ("--trust-proxy", "127.0.0.1", "--user-header", "X-User"))
    with _serving(one, "http", folder) as (process, port):
        _call_as(port, range(100))
        before = memory(process, "Rss")
        _call_as(port, range(100, 100 + _CALLERS))
        return (memory(process, "Rss") - before) * 1024 / _CALLERS


def _call_as(port: int, callers: range) -> None:
    message = wire.echo("echo", 1, MODERN)
    for number in callers:
        http_client.ask(port, message, f"X-User: caller-{number}")


def _ready(folder: Path) -> tuple[float, float]:
    """Seconds until our gateway lists the tools of ten servers that sleep at their start, and of the slowest alone."""
    sleeping = sides.ours().script("sleeping")
    sleepers = {f"s{n}": (*sleeping, str(n * _SLEEP)) for n in range(1, _SLEEPERS + 1)}
    ten = _listed(_over_stdio(sleepers, folder), lambda tools: len(tools) == _SLEEPERS, {"XDG_STATE_HOME": str(folder)})
    return ten, _listed(sleepers[f"s{_SLEEPERS}"], lambda tools: len(tools) == 1, {})


def _over_stdio(servers: Mapping[str, Sequence[str] | Mapping[str, object]], folder: Path) -> Command:
    """The command of our gateway before these servers, which a person has approved. It lists all of their tools."""
    file, operator = our_files(servers, folder, "[search]\nbudget = 1_000_000\n")
    return (str(Path(sys.prefix) / "bin" / "tooltrue"), "gateway", str(file), "--config", str(operator))


def _real(servers: Entries, command: Command, folder: Path, *, ours_first: bool) -> tuple[float, float]:
    """Seconds until real servers have listed their tools: through our gateway, and to a plain client."""

    def through() -> float:
        time.sleep(_REST)
        environment = {"XDG_STATE_HOME": str(folder)}
        return _listed(command, lambda tools: servers.keys() <= {name.partition("_")[0] for name in tools}, environment)

    def plain() -> float:
        time.sleep(_REST)
        return seconds_of_all(servers)

    if ours_first:
        return through(), plain()
    without = plain()
    return through(), without


def _listed(command: Command, are_all: Callable[[Sequence[str]], bool], environment: dict[str, str]) -> float:
    """Seconds from the start of a process until the names of the tools that it lists are all."""
    begun = time.perf_counter()
    with running(command, environment) as process:  # it is ended after a minute, which raises
        pipes = Pipes(process, MODERN)
        for number in itertools.count(1):
            message = wire.tool_list(number, lambda result: "tools" in result, MODERN)
            if are_all([tool["name"] for tool in verified(message, pipes.ask(message))["tools"]]):
                return time.perf_counter() - begun
            time.sleep(_LOOK_SECONDS)
    raise AssertionError("unreachable")


# -- the tables --------------------------------------------------------------------------------------------------------


def _calls_table(figures: dict[tuple[str, str], Calls | str], known: Sequence[Gateway], direct: Calls) -> str:
    """Calls a second, and microseconds that are added to a call, with one connection and with many."""
    columns = [
        f"HTTP→{kind.upper() if kind == 'http' else kind}, {width}" for kind in UPSTREAMS for width in direct.rates
    ]
    lines = [["gateway", *columns], ["---"] * (len(columns) + 1)]
    alone = [f"{median(rates):,.0f}/s" for rates in direct.rates.values()]
    lines.append(["the server alone", *alone, *alone])
    for one in known:
        cells = [_cell(figures[one.key, kind], direct, width) for kind in UPSTREAMS for width in direct.rates]
        lines.append([one.name, *cells])
    return _markdown(lines)


def _cell(found: Calls | str, direct: Calls, width: int) -> str:
    if isinstance(found, str):
        return found
    rate = median(found.rates[width])
    added = width / rate - width / median(direct.rates[width])
    return f"{rate:,.0f}/s, +{added * 1e3:.2f} ms"


def _chain_table(chain: Chain) -> str:
    """The CPU time of a call in µs, and the ratio of that of the gateway to that of server and client together."""
    widths = list(chain.gateway)
    lines = [["CPU time of a call", *(f"{_at_once(width)}, µs" for width in widths)], ["---"] * 3]
    lines.append(["our server, which the gateway calls", *(f"{median(chain.server[width]):.0f}" for width in widths)])
    lines.append(["our client, which calls the gateway", *(f"{median(chain.client[width]):.0f}" for width in widths)])
    both = [f"{median(chain.gateway[width]):.0f} ({chain.ratio(width):.2f})" for width in widths]
    lines.append([f"our gateway between them (goal ≤ {_CPU_GOAL} of both)", *both])
    return "\n" + _markdown(lines)


def _cpu_table(figures: dict[tuple[str, str], Calls | str], server: Calls, client: Calls) -> str:
    """The CPU time of a call in µs, and its ratio to that of server and client together."""
    lines = [["each of them alone", *(f"{_at_once(width)}, µs" for width in server.cpu)], ["---"] * 3]
    lines += [["our server", *_times(server)], ["our client", *_times(client)]]
    for kind in UPSTREAMS:
        found = figures["ours", kind]
        if isinstance(found, Calls):
            both = {width: median(server.cpu[width]) + median(client.cpu[width]) for width in server.cpu}
            ratios = [
                f"{time} ({float(time) / both[width]:.2f})" for width, time in zip(both, _times(found), strict=True)
            ]
            lines.append([f"our gateway, HTTP→{kind}", *ratios])
    return "\n" + _markdown(lines)


def _at_once(width: int) -> str:
    return "1 call at a time" if width == 1 else f"{width} at once"


def _times(found: Calls) -> list[str]:
    return [f"{median(times):.0f}" for times in found.cpu.values()]


def _memory_line(folder: Path) -> str:
    return f"\nmemory for an idle caller: {_idle_caller(folder):.1f} KB (goal < {_MEMORY_GOAL:.0f})"


def _ready_line(rounds: int, folder: Path) -> str:
    ten, slowest = (median(times) for times in zip(*(_ready(folder) for _ in range(rounds)), strict=True))
    ratio = f"{ten / slowest:.2f} (goal ≤ {_READY_GOAL})"
    return f"ten servers that sleep at their start: {ten:.2f} s, the slowest alone {slowest:.2f} s, {ratio}"


def _real_line(rounds: int, folder: Path) -> str:
    try:
        servers = ten_servers(folder)
    except NotHere as reason:
        _say(f"without ten real servers: {reason}")
        return ""
    command = _over_stdio(servers, folder)
    _real(servers, command, folder, ours_first=True)  # the first start of a program reads it from the disk
    times = [_real(servers, command, folder, ours_first=number % 2 == 0) for number in range(rounds)]
    through, plain = (median(column) for column in zip(*times, strict=True))
    ratio = f"{median(ours / other for ours, other in times):.2f} (goal ≤ {_REAL_GOAL})"
    return f"ten real servers: {through:.2f} s, without the gateway {plain:.2f} s, {ratio}"


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


PEERS = tuple(GATEWAYS)
