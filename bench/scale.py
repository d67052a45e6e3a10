"""`python bench/scale.py`: the cost of a call in each part of a large deployment, and its limit (`docs/scaling.md`).

It serves `servers/ours/calls.py` with its state in Redis and its records in PostgreSQL, drives it over HTTP, and reads
the CPU time of each part. A model of these costs predicts the rate of two workers on this machine, which is measured
too, and of many machines, which is not.
"""

import argparse
import json
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psycopg
from redis import Redis

from harness import http_client, sides, wire
from harness.process import ServerFailed, running

CONNECTIONS = 32
MACHINES = (1, 10, 100, 1_000)
RATE = 50_000
_RATES = "\n".join(f"{of} = {{ per_second = {RATE}, burst = {RATE} }}" for of in ("tool", "caller", "server"))
_PATIENCE = 10.0
_PARTS = {
    "worker": "worker, µs of CPU",
    "client": "client, µs",
    "redis": "Redis, µs",
    "postgres": "PostgreSQL, µs",
    "commands": "commands of Redis",
}
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a call in µs of CPU: the worker that runs it, its client, Redis and PostgreSQL."""

    worker: float
    client: float
    redis: float
    postgres: float
    commands: float
    """How many Redis is asked."""

    @property
    def all(self) -> float:
        return self.worker + self.client + self.redis + self.postgres


@dataclass(frozen=True, slots=True)
class Measured:
    workers: int
    rate: float
    cost: Cost


def here(cost: Cost, workers: int, cpus: int) -> float:
    """Calls a second where everything shares ``cpus``: until the workers, or all CPUs, have no time left."""
    return min(workers * 1e6 / cost.worker, cpus * 1e6 / cost.all)


def capacities(cost: Cost, machines: int, cpus: int) -> dict[str, float]:
    """Calls a second that each part can bear, if it had all the machines that it is given to itself.

    Redis runs commands on one CPU. PostgreSQL links the records of a log in one transaction after the other, so that
    one CPU is the most that a log uses.
    """
    return {
        "workers": machines * cpus * 1e6 / cost.worker,
        "Redis": 1e6 / cost.redis if cost.redis else float("inf"),
        "PostgreSQL": 1e6 / cost.postgres if cost.postgres else float("inf"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--redis", help="one that nobody else uses meanwhile; otherwise redis-server is started")
    parser.add_argument("--postgres", default="postgresql://127.0.0.1:5432/postgres", help="%(default)s")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    cpus = os.cpu_count() or 1
    with _redis(options):
        measured = [_measured(options, workers) for workers in (1, 2)]
    cost = measured[0].cost
    print(f"{cpus} CPUs with load {os.getloadavg()[0]:.1f}\n")
    print("| a call costs | one worker | two workers |\n|---|---|---|")
    for part in _PARTS:
        print(f"| {_PARTS[part]} | {' | '.join(f'{getattr(one.cost, part):.1f}' for one in measured)} |")
    print("\n| workers | measured, calls/s | by the model | off by |\n|---|---|---|---|")
    for one in measured:
        said = here(one.cost, one.workers, cpus)
        print(f"| {one.workers} | {one.rate:,.0f} | {said:,.0f} | {said / one.rate - 1:+.0%} |")
    print(f"\n| machines of {cpus} CPUs | workers bear | Redis bears | one log bears | first to end |")
    print("|---|---|---|---|---|")
    for machines in MACHINES:
        bears = capacities(cost, machines, cpus)
        first = min(bears, key=lambda part: bears[part])
        print(f"| {machines:,} | {' | '.join(f'{rate:,.0f}' for rate in bears.values())} | {first} |")
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in measured], indent=2) + "\n")
    return 0


def _measured(options: argparse.Namespace, workers: int) -> Measured:
    messages = wire.echoes("echo", wire.MODERN)
    with _set_up(options, workers) as server, Redis.from_url(options.redis) as redis:
        # All workers have started after this, so that the connections of the measurement reach all of them.
        with http_client.exchanging(server.port, messages, CONNECTIONS) as exchange:
            warm = exchange.run(2.0)
        server.wait_for(warm.calls)
        before, own, asked, stored = server.used(), time.process_time(), redis.info("stats"), redis.info("cpu")
        with http_client.exchanging(server.port, messages, CONNECTIONS) as exchange:
            tally = exchange.run(options.seconds)
        own = time.process_time() - own
        server.wait_for(warm.calls + tally.calls)
        used = {part: seconds - before[part] for part, seconds in server.used().items()}
        now, later = redis.info("stats"), redis.info("cpu")
    each = 1e6 / tally.calls
    spent = sum(float(later[name]) - float(stored[name]) for name in ("used_cpu_user", "used_cpu_sys"))
    commands = (int(now["total_commands_processed"]) - int(asked["total_commands_processed"])) / tally.calls
    cost = Cost(used["worker"] * each, own * each, spent * each, used["postgres"] * each, commands)
    return Measured(workers, tally.rate, cost)


@contextmanager
def _redis(options: argparse.Namespace) -> Iterator[None]:
    """Sets the URL of one that is this run's own, unless one was given."""
    if options.redis:
        yield
        return
    port = http_client.free_port()
    options.redis = f"redis://127.0.0.1:{port}/0"
    with running(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", ""]) as process:
        http_client.wait_until_open(port, lambda: process.poll() is None)
        yield


@dataclass(frozen=True, slots=True)
class _Server:
    """A server with a state and a log of its own."""

    port: int
    process: int
    database: psycopg.Connection
    schema: str

    def wait_for(self, records: int) -> None:
        """Wait until the log has this many records: a call's cost includes the records written after its answer."""
        end = time.monotonic() + _PATIENCE
        while self._records() < records:
            if time.monotonic() > end:
                raise ServerFailed(f"{self._records()} of {records} calls are on record")
            time.sleep(0.02)

    def _records(self) -> int:
        # A row is a batch, and its position that of its last record.
        statement = f"SELECT coalesce(max(position), 0) FROM {self.schema}.tooltrue_log"
        row = self.database.execute(statement.encode()).fetchone()
        return int(row[0]) if row else 0

    def used(self) -> dict[str, float]:
        """Seconds of CPU so far: of this server with its workers, and of PostgreSQL."""
        ours, found = {self.process}, {"worker": 0.0, "postgres": 0.0}
        # Parents come before their children, unless process ids have wrapped around meanwhile.
        for process in sorted(int(path.name) for path in Path("/proc").glob("[0-9]*")):
            try:
                head, _, rest = Path(f"/proc/{process}/stat").read_text().rpartition(") ")
            except OSError:
                continue  # it has ended
            fields = rest.split()
            seconds = (int(fields[11]) + int(fields[12])) / _TICK
            if process == self.process or int(fields[1]) in ours:
                ours.add(process)
                found["worker"] += seconds
            elif head.partition("(")[2].startswith("postgres"):
                found["postgres"] += seconds
        return found


@contextmanager
def _set_up(options: argparse.Namespace, workers: int) -> Iterator[_Server]:
    schema = f"bench_{secrets.token_hex(4)}"
    with psycopg.connect(options.postgres, autocommit=True) as database, tempfile.TemporaryDirectory() as folder:
        database.execute(f"CREATE SCHEMA {schema}".encode())
        keys, config = Path(folder) / "keys", Path(folder) / "tooltrue.toml"
        keys.write_text("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n")
        keys.chmod(0o600)
        separator = "&" if "?" in options.postgres else "?"
        config.write_text(
            f'[audit]\nto = "{options.postgres}{separator}options=-csearch_path%3D{schema}"\n[rate]\n{_RATES}\n'
        )
        port = http_client.free_port()
        command = [*sides.ours().http("calls", port, workers), "--config", str(config)]
        command += ["--state", options.redis, "--sealing-key-file", str(keys)]
        try:
            with running(command) as process:
                http_client.wait_until_open(port, lambda: process.poll() is None)
                yield _Server(port, process.pid, database, schema)
        finally:
            database.execute(f"DROP SCHEMA {schema} CASCADE".encode())


if __name__ == "__main__":
    sys.exit(main())
