"""The servers with tasks that are compared: their stores, and how they are started with one worker and with two."""

import base64
import secrets
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from os import environ
from pathlib import Path

import psycopg
from psycopg import sql

from harness import http_client
from harness.process import ServerFailed, cpu_seconds, running
from harness.sides import NotHere, environment, ours

__all__ = [
    "SERVERS",
    "STORES",
    "Serving",
    "TaskServer",
    "check_server",
    "open_store",
    "our_environment",
    "serving_tasks",
]

_LONGEST = 300.0
_PATIENCE = 60.0  # for a server to open its port
_FASTMCP = ("fastmcp[tasks]==4.1.4", "uvloop>=0.22", "httptools>=0.7")
_SCRIPT = str(Path(__file__).parents[1] / "servers" / "fastmcp" / "tasks.py")


# -- stores ------------------------------------------------------------------------------------------------------------


@contextmanager
def _sqlite(folder: Path) -> Iterator[str]:
    yield f"sqlite:///{folder / 'tasks.db'}"


@contextmanager
def _postgresql(folder: Path) -> Iterator[str]:
    """A database of the server that the tests use too."""
    server = environ.get("TOOLTRUE_TEST_POSTGRES", "postgresql://127.0.0.1:5432/postgres")
    name = f"tooltrue_bench_{uuid.uuid4().hex[:12]}"
    try:
        connection = psycopg.connect(server, autocommit=True, connect_timeout=10)
    except psycopg.OperationalError as error:
        raise NotHere(f"no PostgreSQL at {server}") from error
    with connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield server.rpartition("/")[0] + f"/{name}"
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def _redis(folder: Path) -> Iterator[str]:
    """A server of its own, with the settings that it has without a file of settings."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        raise NotHere("neither redis-server nor valkey-server is on the path")
    port = http_client.free_port()
    command = (program, "--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder))
    with running(command, longest=_LONGEST) as process:
        http_client.wait_until_open(port, lambda: process.poll() is None)
        yield f"redis://127.0.0.1:{port}/0"


@contextmanager
def _memory(folder: Path) -> Iterator[str]:
    yield "memory://"


_STORES: Mapping[str, Callable[[Path], AbstractContextManager[str]]] = {
    "SQLite": _sqlite,
    "PostgreSQL": _postgresql,
    "Redis": _redis,
    "memory": _memory,
}


def open_store(name: str, folder: Path) -> AbstractContextManager[str]:
    """A new, empty store, by its URL, with its files in ``folder``. Raises NotHere where this machine has none."""
    return _STORES[name](folder)


# -- servers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TaskServer:
    """One row. ``key`` is "ours" or "fastmcp"."""

    key: str
    name: str
    store: str
    workers: int

    @property
    def title(self) -> str:
        return f"{self.name} on {self.store}, {self.workers} {'worker' if self.workers == 1 else 'workers'}"


SERVERS: Sequence[TaskServer] = (
    *(TaskServer("ours", "tooltrue", store, workers) for store in ("SQLite", "PostgreSQL") for workers in (1, 2)),
    *(TaskServer("fastmcp", "FastMCP 4.1.4", "Redis", workers) for workers in (1, 2)),
    TaskServer("fastmcp", "FastMCP 4.1.4", "memory", 1),
)
STORES = tuple(_STORES)


def check_server(server: TaskServer, folder: Path) -> None:
    """Install the server if necessary. Raises NotHere if this machine cannot run it."""
    with open_store(server.store, folder):
        pass
    if server.key == "fastmcp":
        environment("fastmcp-tasks", _FASTMCP)


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that runs: its port, and all its processes but those of the store."""

    port: int
    processes: Sequence[subprocess.Popen[bytes]]

    def cpu_seconds(self) -> float:
        return sum(map(cpu_seconds, self.processes))


@contextmanager
def serving_tasks(server: TaskServer, poll_ms: int, folder: Path) -> Iterator[Serving]:
    """The server on a new store, with its workers, which tells clients to poll every ``poll_ms``."""
    with open_store(server.store, folder) as url, ExitStack() as stack:
        port = http_client.free_port()
        start = _start_ours if server.key == "ours" else _start_fastmcp
        processes = start(server, url, {"BENCH_POLL_MS": str(poll_ms)}, port, folder, stack)
        http_client.wait_until_open(port, lambda: processes[0].poll() is None, _PATIENCE)
        yield Serving(port, processes)


def our_environment(url: str, folder: Path) -> dict[str, str]:
    """Variables of our servers on this store, with a key: PostgreSQL needs one, and SQLite would have it in a file."""
    key = base64.b64encode(secrets.token_bytes(32)).decode()
    return {"TOOLTRUE_TASKS": url, "TOOLTRUE_SEALING_KEY": key, "XDG_STATE_HOME": str(folder)}


Processes = Sequence[subprocess.Popen[bytes]]


def _start_ours(
    server: TaskServer, url: str, variables: Mapping[str, str], port: int, folder: Path, stack: ExitStack
) -> Processes:
    """Workers of `tooltrue serve`."""
    command = ours().http("tasks", port, server.workers)
    return (stack.enter_context(running(command, {**variables, **our_environment(url, folder)}, _LONGEST)),)


def _start_fastmcp(
    server: TaskServer, url: str, variables: Mapping[str, str], port: int, folder: Path, stack: ExitStack
) -> Processes:
    """The server, which has a worker in its process, and beside it the worker of its command."""
    python = str(environment("fastmcp-tasks", _FASTMCP))
    store = {**variables, "FASTMCP_DOCKET_URL": url}
    processes = [stack.enter_context(running((python, _SCRIPT, str(port)), store, _LONGEST))]
    for _ in range(server.workers - 1):
        command = (python, "-m", "fastmcp_tasks.worker_cli", "worker", _SCRIPT)
        processes.append(worker := stack.enter_context(running(command, store, _LONGEST)))
        _wait_for_line(worker, b"Starting worker")
    return processes


def _wait_for_line(process: subprocess.Popen[bytes], text: bytes) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return
    raise ServerFailed("a worker ended before it began to work")
