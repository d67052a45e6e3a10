"""Workers, each a process of its own that serves on two pipes, and a client that follows tasks across them."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from support.serving import command, environment
from task_faults.ledger import Ledger
from tooltrue.protocol import modern, versions

__all__ = ["ANSWER", "TERMINAL", "Failure", "Fleet", "Gone", "Worker"]

SERVER = Path(__file__).with_name("server.py")
META = {
    modern.VERSION: versions.LATEST,
    modern.CAPABILITIES: {"extensions": {modern.TASKS: {}}, "elicitation": {}},
}
TERMINAL = ("completed", "failed", "cancelled")
ANSWER = "yes"
READY_SECONDS = 120.0
REQUEST_SECONDS = 60.0


class Gone(Exception):
    """The worker was killed before it answered."""


class Failure(Exception):
    """The worker answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Worker:
    """A process of the server, and the requests to it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)
        self._reading = asyncio.create_task(self._read())
        self.pid = process.pid
        self.is_alive = True

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            message = json.loads(line)
            if (answer := self._answers.pop(message.get("id"), None)) is not None and not answer.done():
                answer.set_result(message)
        self.is_alive = False
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(Gone())

    def begin(self, method: str, **params: Any) -> asyncio.Future[Any]:
        """Send a request, and return its answer to come. ``Gone`` if the worker has ended."""
        if not self.is_alive:
            raise Gone
        assert self._process.stdin is not None
        id = next(self._ids)
        self._answers[id] = answer = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())  # it may be of no interest
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": {**params, "_meta": META}}
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        return answer

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request. Raises ``Gone`` or ``Failure``."""
        async with asyncio.timeout(REQUEST_SECONDS):
            return result_of(await self.begin(method, **params))

    async def kill(self) -> None:
        """``kill -9``. Answers that it has written before come through."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.wait()
        await self._reading


def result_of(answer: dict[str, Any]) -> dict[str, Any]:
    if "error" in answer:
        raise Failure(answer["error"]["code"], answer["error"]["message"])
    return answer["result"]


class Fleet:
    """Workers on one database. ``killed`` has the ids of processes that were killed, ``died`` of those that ended
    otherwise."""

    def __init__(self, store: str, folder: Path, log: Path, ledger: Ledger, random: Random) -> None:
        self._store = store
        self._folder = folder
        self._log = log
        self._random = random
        self.ledger = ledger
        self.workers: list[Worker] = []
        self.killed = set[int]()
        self.died = set[int]()

    async def start(self, *, version: int = 1) -> Worker:
        """Start a worker, and wait until it serves."""
        variables = {"STORE": self._store, "LEDGER": str(self.ledger.pipe), "VERSION": str(version)}
        with self._log.open("ab") as log:
            process = await asyncio.create_subprocess_exec(
                *command("serve", str(SERVER)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                env=environment(XDG_STATE_HOME=str(self._folder), **variables),
                pass_fds=(self.ledger.pipe,),
                limit=1 << 22,
            )
        worker = Worker(process)
        self.workers.append(worker)
        async with asyncio.timeout(READY_SECONDS):
            try:
                await worker.ask("tools/list")
            except Gone:
                raise RuntimeError(f"a worker did not start: {self.complaints()}") from None
        return worker

    async def kill(self, worker: Worker) -> None:
        if worker.is_alive:
            self.killed.add(worker.pid)
        else:
            self.died.add(worker.pid)
        await worker.kill()
        self.workers.remove(worker)

    def any(self) -> Worker | None:
        """One of the workers that live."""
        alive = [worker for worker in self.workers if worker.is_alive]
        return self._random.choice(alive) if alive else None

    def complaints(self) -> str:
        """The last lines that the workers have written to standard error."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])


@contextlib.asynccontextmanager
async def fleet(
    store: str, folder: Path, log: Path, ledger: Ledger, random: Random, versions: Sequence[int] = (1, 1)
) -> AsyncGenerator[Fleet]:
    """Workers of these versions."""
    workers = Fleet(store, folder, log, ledger, random)
    try:
        await asyncio.gather(*(workers.start(version=version) for version in versions))
        yield workers
    finally:
        for worker in workers.workers:
            await worker.kill()
