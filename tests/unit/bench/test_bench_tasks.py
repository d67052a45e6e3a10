"""The bench of tasks: its client against a small server, its stores, and its tables."""

import json
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.sources import ROOT

sys.path.append(str(ROOT / "bench"))  # scripts that are not installed

import tasks as bench
from harness.sides import NotHere
from harness.task_client import following
from harness.task_servers import SERVERS, open_store
from harness.wire import WrongAnswer

POLL_MS = 20
POLLS = 3
"""The third poll of a task finds it completed."""


class Stub(ThreadingHTTPServer):
    """Echoes as tasks. ``change`` may change any result; ``early`` are the polls that came too early."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.texts = dict[str, str]()
        self.polls = dict[str, int]()
        self.answered = dict[str, float]()
        self.early = list[str]()

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "tools/call":
            id = f"task {len(self.texts)}"
            self.texts[id], self.polls[id] = params["arguments"]["text"], 0
            return self.change({"resultType": "task", "taskId": id, "status": "working", "pollIntervalMs": POLL_MS})
        id = params["taskId"]
        if time.perf_counter() - self.answered[id] < POLL_MS / 1_000:
            self.early.append(id)
        self.polls[id] += 1
        state: dict[str, Any] = {"resultType": "complete", "taskId": id, "pollIntervalMs": POLL_MS}
        if self.polls[id] < POLLS:
            return {**state, "status": "working"}
        content = [{"type": "text", "text": self.texts[id]}]
        return self.change({**state, "status": "completed", "result": {"content": content, "isError": False}})

    def change(self, result: dict[str, Any]) -> dict[str, Any]:
        return result


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert isinstance(self.server, Stub)
        result = self.server.result(request["method"], request["params"])
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        self.server.answered[result["taskId"]] = time.perf_counter()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    def log_message(self, *_: object, **__: object) -> None:
        pass


@contextmanager
def serving(stub: Stub) -> Generator[int]:
    thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield stub.server_port
    finally:
        stub.shutdown()
        thread.join()
        stub.server_close()


def follow(stub: Stub, tasks: int) -> None:
    """Follow tasks, three at a time, until so many have ended."""
    with serving(stub) as port, following(port, "echo_later", 3) as client:
        ended = 0
        while ended < tasks:
            ended += client.run(POLL_MS / 1_000).calls


def test_each_task_is_polled_to_its_end_and_a_next_one_begins():
    stub = Stub()
    follow(stub, 7)
    assert len(stub.texts) >= 7
    assert max(stub.polls.values()) == POLLS
    assert len(set(stub.texts.values())) == len(stub.texts)


def test_no_poll_comes_before_the_time_that_the_server_has_told():
    stub = Stub()
    follow(stub, 7)
    assert stub.early == []


def test_the_polls_of_ended_tasks_are_counted():
    stub = Stub()
    with serving(stub) as port, following(port, "echo_later", 2) as client:
        ended = 0
        while ended < 5:
            ended += client.run(POLL_MS / 1_000).calls
        assert client.polls == ended * POLLS


class Wrong(Stub):
    def change(self, result: dict[str, Any]) -> dict[str, Any]:
        if "result" in result:
            result["result"]["content"][0]["text"] = "another text"
        return result


class Failing(Stub):
    def change(self, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "status": "failed"} if "result" in result else result


class Ordinary(Stub):
    def change(self, result: dict[str, Any]) -> dict[str, Any]:
        return {**result, "resultType": "complete"} if result["resultType"] == "task" else result


@pytest.mark.parametrize("stub", [Wrong, Failing, Ordinary])
def test_a_task_with_another_result_or_none_and_an_ordinary_answer_make_no_figure(stub: type[Stub]):
    with pytest.raises(WrongAnswer):
        follow(stub(), 1)


def test_a_store_that_the_machine_lacks_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TOOLTRUE_TEST_POSTGRES", "postgresql://127.0.0.1:1/postgres")
    for store in ("Redis", "PostgreSQL"):
        with pytest.raises(NotHere), open_store(store, tmp_path):
            pass


def figures(rate: float) -> bench.Figures:
    return bench.Figures([rate, rate * 2, rate * 3], [4, 4, 4], [10, 12, 14], [30, 31, 32])


def row_of(table: str, *, store: str, workers: int) -> list[str]:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return next(row for row in rows if row[1:3] == [store, str(workers)])


def test_the_ratio_is_that_to_fastmcp_on_redis_with_as_many_workers():
    table = bench.tasks_table(
        {server: figures(10 * server.workers * (1 + (server.key == "ours"))) for server in SERVERS}
    )
    assert row_of(table, store="SQLite", workers=1)[3:5] == ["40.0 (20.0–60.0)", "2.00×"]
    assert row_of(table, store="Redis", workers=2)[3:5] == ["40.0 (20.0–60.0)", "base"]
    assert row_of(table, store="memory", workers=1)[4] == "1.00×"


def test_without_redis_a_row_has_no_ratio():
    table = bench.tasks_table({server: figures(10) for server in SERVERS if server.store != "Redis"})
    assert row_of(table, store="PostgreSQL", workers=1)[4] == ""


def test_a_server_that_failed_has_no_figure():
    measured: dict[Any, bench.Figures | str] = {server: figures(10) for server in SERVERS}
    measured[SERVERS[0]] = "failed"
    assert row_of(bench.tasks_table(measured), store="SQLite", workers=1)[3:] == ["failed", "", "", "", ""]
