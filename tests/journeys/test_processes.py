"""Servers as processes: output, input, orphaned processes, and shutdown."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from support.serving import (
    META,
    SERVER,
    STOPS,
    Process,
    command,
    environment,
    http,
    is_alive,
    left_of,
    started,
    started_by,
    stdio,
)
from tooltrue.protocol import versions
from tooltrue.testing.state import LIMIT

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is promised"),
]

ADD = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}}


# -- whose are the descriptors -----------------------------------------------------------------------------------------


@pytest.mark.attack("B49")
@pytest.mark.requirement("STDIO-02")
def test_the_output_of_a_tool_goes_to_standard_error_and_not_into_the_protocol():
    with stdio() as process:
        assert process.result("print_everywhere")["content"][0]["text"] == "printed"
        assert {process.errors() for _ in range(4)} == {"by print", "by descriptor", "by libc", "by child"}
        assert process.result("add", 2, a=1)["structuredContent"] == 3


@pytest.mark.twin("B49")
def test_a_tool_that_reads_standard_input_gets_end_of_file_and_no_protocol_bytes():
    with stdio() as process:
        process.call("read_everywhere", 1)
        process.call("add", 2, a=1)
        answers = {answer["id"]: answer["result"] for answer in (process.read(), process.read())}
        assert answers[1]["content"][0]["text"] == repr(("", "", b""))
        assert answers[2]["structuredContent"] == 3


def test_a_malformed_line_is_answered_and_the_next_one_works():
    with stdio() as process:
        for line, code in ((b"{\n", -32700), (b"7\n", -32600), (b'{"a":1,"a":2}\n', -32700), (b"\xff\n", -32700)):
            process.raw(line)
            answer = process.read()
            assert answer["error"]["code"] == code
            assert "id" not in answer
        assert process.result("add", a=1)["structuredContent"] == 3


def test_b13_a_line_without_an_end_ends_the_connection_before_it_ends():
    with stdio() as process:
        with contextlib.suppress(BrokenPipeError):  # the server has stopped to read
            for _ in range(17):
                process.raw(b"x" * (1 << 20))
        assert "TT1069" in process.read()["error"]["message"]
        assert process.ended() == 0


def test_an_async_tool_that_leaves_the_program_is_a_crash_and_not_the_servers_end():
    with stdio() as process:
        result = process.result("leave")
        assert result["isError"]
        assert "hunter2" not in str(result)
        assert process.result("add", 2, a=1)["structuredContent"] == 3


# -- slow calls do not block other calls -------------------------------------------------------------------------------


def test_sixty_calls_of_a_slow_function_hold_up_neither_a_ping_nor_another_tool():
    with stdio() as process:
        for number in range(60):
            process.call("stuck", f"slow {number}")
        for _ in range(16):  # as many threads as one tool may have
            process.wait_for("waiting")
        for number in range(20):  # the slow calls never end: a ping that shared their threads would not be answered
            process.raw(b'{"jsonrpc":"2.0","id":%d,"method":"ping"}\n' % number)
            assert process.read() == {"jsonrpc": "2.0", "id": number, "result": {}}
        assert process.result("add", "quick", a=1)["structuredContent"] == 3


# -- the end -----------------------------------------------------------------------------------------------------------


def eof(process: Process) -> None:
    process.close_input()


def sigint(process: Process) -> None:
    process.popen.send_signal(signal.SIGINT)


def sigterm(process: Process) -> None:
    process.popen.send_signal(signal.SIGTERM)


ENDS = pytest.mark.parametrize("end", [eof, sigint, sigterm])


def rest(process: Process) -> bytes:
    """The remaining data of standard error, which every writer has closed."""
    assert process.popen.stderr is not None
    return process.popen.stderr.read()


@pytest.mark.requirement("STDIO-11")
@ENDS
def test_an_idle_server_ends_well(end: Any):
    with stdio() as process:
        process.result("add", a=1)
        end(process)
        assert process.ended() == 0
        assert process.read() is None
        assert rest(process) == b""


@pytest.mark.requirement("STDIO-11")
@ENDS
def test_a_running_async_tool_is_cancelled(end: Any, tmp_path: Path):
    with stdio() as process:
        process.call("wait_forever", file=str(tmp_path / "said"))
        process.wait_for("waiting")
        end(process)
        assert process.ended() == 0
        assert (tmp_path / "said").read_text() == "cancelled"
        assert process.read() is None, "a cancelled call is not answered"


@ENDS
@pytest.mark.parametrize("tool", ["stuck", "never_give_up"])
def test_a_tool_that_does_not_end_does_not_hold_up_the_end(tool: str, end: Any):
    with stdio() as process:
        process.call(tool)
        process.wait_for("waiting")
        end(process)
        assert process.ended() == 0


@pytest.mark.parametrize("tool", ["block_the_loop", "block_in_c"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_blocked_event_loop_does_not_hold_up_a_signal(number: signal.Signals, tool: str):
    with stdio() as process:
        family = process.result("family")["structuredContent"]
        process.call(tool)
        process.wait_for("waiting")
        process.popen.send_signal(number)
        assert process.ended() == 1
        assert left_of(family) == []


@ENDS
def test_children_and_grandchildren_are_gone_stubborn_ones_too(end: Any):
    with stdio() as process:
        family = process.result("family")["structuredContent"]
        assert all(map(is_alive, family))
        end(process)
        assert process.ended() == 0
        assert left_of(family) == []


def test_a_quick_call_made_before_the_end_of_input_is_still_answered():
    with stdio() as process:
        process.call("brief", seconds=0.2)
        process.wait_for("waiting")
        process.close_input()
        assert process.read()["result"]["content"][0]["text"] == "done"
        assert process.ended() == 0


def test_a_last_line_without_its_newline_counts():
    with stdio() as process:
        process.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        process.close_input()
        assert process.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        assert process.ended() == 0


def test_the_input_may_be_a_file(tmp_path: Path):
    lines = [{"jsonrpc": "2.0", "id": id, "method": "ping"} for id in range(3)]
    (tmp_path / "in").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open(tmp_path / "in") as source, stdio(stdin=source) as process:
        assert [process.read()["id"] for _ in range(3)] == [0, 1, 2]
        assert process.ended() == 0


def test_the_output_may_be_a_file(tmp_path: Path):
    with open(tmp_path / "out", "wb") as target, stdio(stdout=target) as process:
        process.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
        process.close_input()
        assert process.ended() == 0
    assert json.loads((tmp_path / "out").read_text())["id"] == 1


@pytest.mark.requirement("STDIO-11")
def test_an_input_that_is_empty_ends_the_server():
    with stdio(stdin=subprocess.DEVNULL) as process:
        assert process.ended() == 0
        assert rest(process) == b""


def test_a_client_that_reads_no_more_ends_the_server():
    with stdio() as process:
        process.result("add", a=1)
        assert process.popen.stdout is not None
        process.popen.stdout.close()
        assert process.ended() == 0
        assert rest(process) == b""


def test_a_client_that_goes_away_before_a_large_answer_ends_the_server():
    with stdio() as process:
        process.call("flood", megabytes=1)
        assert process.popen.stdout is not None
        process.popen.stdout.close()
        process.close_input()
        assert process.ended() == 0
        assert b"Traceback" not in rest(process)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a disk that is full")
def test_a_failing_output_ends_the_server_and_its_child_processes(tmp_path: Path):
    note = tmp_path / "family"
    with open("/dev/full", "wb") as full, stdio(stdout=full) as process:
        process.call("family", note=str(note))
        process.wait_for("[TT4011]")
        assert process.ended() == 0
        assert left_of(json.loads(note.read_text())) == []
        assert b"Traceback" not in rest(process)


# -- HTTP --------------------------------------------------------------------------------------------------------------


class Session:
    """A legacy HTTP session, spoken raw; every request on a connection of its own, so that any worker may get it."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self.headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        status, headers, _ = self.post(
            "initialize",
            {
                "protocolVersion": versions.NEWEST_LEGACY,
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "0"},
            },
        )
        assert status == 200
        self.headers |= {
            "mcp-session-id": headers["mcp-session-id"],
            "mcp-protocol-version": versions.NEWEST_LEGACY,
        }

    def send(self, method: str, body: bytes | None = None, within: float = LIMIT) -> tuple[int, Any, bytes]:
        connection = HTTPConnection(self._url.netloc, timeout=within)
        try:
            connection.request(method, self._url.path, body, self.headers)
            response = connection.getresponse()
            return response.status, {key.lower(): value for key, value in response.getheaders()}, response.read()
        finally:
            connection.close()

    def post(self, method: str, params: Any = None, id: int = 1) -> tuple[int, Any, Any]:
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params or {}}
        status, headers, body = self.send("POST", json.dumps(message).encode())
        return status, headers, json.loads(body) if body else None

    def call(self, tool: str) -> tuple[int, Any]:
        status, _, answer = self.post("tools/call", {"name": tool, "arguments": {}})
        return status, answer


@pytest.mark.parametrize("number", STOPS)
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_signal_ends_an_http_server_its_workers_and_their_children(number: int, workers: str):
    with http("--workers", workers) as (url, process):
        _, answer = Session(url).call("family")
        family = json.loads(answer["result"]["content"][0]["text"])
        process.popen.send_signal(number)
        process.ended()
        assert left_of(family) == []
        assert b"Traceback" not in rest(process)


def test_workers_end_when_their_parent_process_is_killed():
    with http("--workers", "2") as (_, process):
        family = started_by(process.pid)
        assert len(family) >= 2
        process.popen.kill()
        process.ended()
        assert left_of(family) == []


@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_a_caller_still_waiting_when_an_http_server_ends_is_notified(era: str, tmp_path: Path):
    with http() as (url, process):
        session, file = Session(url), tmp_path / "end"
        parts = urlsplit(url)
        connection = HTTPConnection(parts.netloc, timeout=LIMIT)
        params: dict[str, Any] = {"name": "wait_forever", "arguments": {"file": str(file)}}
        headers = session.headers
        if era == "modern":
            params["_meta"] = META
            headers = {"content-type": "application/json", "mcp-protocol-version": versions.LATEST}
            headers |= {"mcp-method": "tools/call", "mcp-name": "wait_forever"}
        body = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
        connection.request("POST", parts.path, json.dumps(body).encode(), headers)
        process.wait_for("waiting")
        process.popen.send_signal(signal.SIGTERM)
        response = connection.getresponse()
        assert (response.status, b"[TT1053]" in response.read()) == (503, True)
        connection.close()
        assert process.ended() == 0
        assert file.read_text("utf-8") == "cancelled"
        assert b"Traceback" not in rest(process)


def _nothing_may_be_written() -> None:
    import resource  # noqa: PLC0415 - where it is

    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


@pytest.mark.needs("limits")
def test_workers_without_a_folder_for_their_state_are_refused_in_a_sentence():
    arguments = command("serve", str(SERVER), "--http", "127.0.0.1:0", "--workers", "2")
    with started(arguments, env=environment(TOOLTRUE_AUDIT="off"), preexec_fn=_nothing_may_be_written) as process:
        assert process.ended() == 2
        said = rest(process).decode()
        assert "[TT7058]" in said
        assert "Traceback" not in said


def test_a_server_that_cannot_record_says_so_in_a_sentence():
    with stdio(env=environment(XDG_STATE_HOME="/proc/nowhere")) as process:
        assert process.ended() == 2
        said = rest(process).decode()
        assert "[TT7010]" in said
        assert "Traceback" not in said


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_old_transport_is_served_by_one_worker_only(workers: str):
    with started(command("serve", str(SERVER), "--sse", "--http", "127.0.0.1:0", "--workers", workers)) as process:
        if workers == "1":
            process.wait_for("tooltrue serves")
        else:
            assert process.ended() == 2
            assert "[TT4010]" in rest(process).decode()


def test_an_old_client_is_served_at_sse_where_that_was_asked_for():
    with http("--sse") as (url, _):
        connection = HTTPConnection(urlsplit(url).netloc, timeout=LIMIT)
        connection.request("GET", "/sse")
        response = connection.getresponse()
        assert response.readline() == b"event: endpoint\n"
        assert response.readline().startswith(b"data: messages?session=")
        connection.close()


@pytest.mark.parametrize("tool", ["stuck", "block_in_c"])
def test_a_stuck_tool_does_not_hold_up_the_end_of_an_http_server(tool: str):
    with http() as (url, process):
        session = Session(url)
        connection = http_request_without_waiting(url, session, tool)
        process.wait_for("waiting")
        process.popen.send_signal(signal.SIGTERM)
        process.ended()
        connection.close()


def http_request_without_waiting(url: str, session: Session, tool: str) -> Any:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=LIMIT)
    body = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
    connection.request("POST", parts.path, json.dumps(body).encode(), session.headers)
    return connection


def test_a_session_that_one_worker_opened_is_served_by_each_and_ended_for_all():
    with http("--workers", "2") as (url, _):
        session, other = Session(url), Session(url)
        served, deadline = set[str](), time.monotonic() + LIMIT
        while len(served) < 2 and time.monotonic() < deadline:
            served.add(session.call("process")[1]["result"]["content"][0]["text"])
        assert len(served) == 2, "both workers have answered"
        assert session.send("DELETE")[0] == 204
        assert {session.call("process")[0] for _ in range(20)} == {404}
        assert other.call("process")[0] == 200


def test_a_stream_is_read_again_at_each_worker():
    with http("--workers", "2") as (url, _):
        session = Session(url)
        params = {"name": "count", "arguments": {"to": 3}, "_meta": {"progressToken": "p"}}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        status, headers, body = session.send("POST", json.dumps(message).encode())
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        primed, _, events = body.partition(b"\n\n")
        assert events.count(b"event: message") == 4
        session.headers |= {"accept": "text/event-stream", "last-event-id": primed.decode().split()[1]}
        for _ in range(12):  # whichever worker takes the connection
            status, _, again = session.send("GET")
            assert (status, again.removeprefix(b": keep-alive\n\n")) == (200, events)


def test_a_call_whose_worker_was_killed_ends_with_an_error_at_the_other():
    with http("--workers", "2") as (url, _):
        session = Session(url)
        params = {"name": "tell_process_and_wait", "arguments": {}, "_meta": {"progressToken": "p"}}
        message = {"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params}
        connection = HTTPConnection(urlsplit(url).netloc, timeout=LIMIT)
        connection.request("POST", "/mcp", json.dumps(message).encode(), session.headers)
        lines = iter(connection.getresponse().readline, b"")
        id = next(line for line in lines if line.startswith(b"id: ")).split()[1].decode()
        told = json.loads(next(line for line in lines if b"notifications/progress" in line).removeprefix(b"data: "))
        psutil.Process(told["params"]["progress"]).kill()
        session.headers |= {"accept": "text/event-stream", "last-event-id": id}
        status, _, body = session.send("GET", within=3 * LIMIT)
        last = json.loads(body.rstrip().rpartition(b"data: ")[2])
        assert (status, last["id"], last["error"]["code"]) == (200, 8, -32603)
        assert "[TT1057]" in last["error"]["message"]
        connection.close()
        assert session.call("add")[0] == 200  # the session goes on


def test_the_streams_of_a_session_end_at_each_worker():
    with http("--workers", "2") as (url, _):
        session = Session(url)
        listening = [HTTPConnection(urlsplit(url).netloc, timeout=LIMIT) for _ in range(8)]
        for connection in listening:
            connection.request("GET", "/mcp", headers={**session.headers, "accept": "text/event-stream"})
        streams = [connection.getresponse() for connection in listening]
        assert all(stream.readline().startswith(b"id: ") for stream in streams)
        assert session.send("DELETE")[0] == 204
        assert [stream.read() for stream in streams] == [b"data: \n\n"] * 8
        for connection in listening:
            connection.close()


def test_a_session_cannot_be_kept_by_spelling_its_token_otherwise():
    with http() as (url, _):
        session = Session(url)
        token = session.headers["mcp-session-id"]
        assert session.send("DELETE")[0] == 204
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        spellings = [token + "=" * (-len(token) % 4), token.replace("-", "+"), token.replace("_", "/")]
        spellings += [token[:-1] + letters[letters.index(token[-1]) ^ bits] for bits in range(16)]
        for spelling in {*spellings}:
            session.headers["mcp-session-id"] = spelling
            assert session.call("process")[0] == 404, spelling


@pytest.mark.requirement("LHTTP-23")
def test_two_sessions_opened_at_once_are_two():
    with http() as (url, _):
        tokens = {Session(url).headers["mcp-session-id"] for _ in range(10)}
        assert len(tokens) == 10


@pytest.mark.attack("B45")
@pytest.mark.requirement("HTTP-04", "HTTP-05")
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:80"])
def test_a_server_without_authentication_refuses_to_listen_beyond_loopback(address: str):
    with started(command("serve", str(SERVER), "--http", address)) as process:
        assert process.ended() == 2
        said = rest(process).decode()
        assert "[TT4005]" in said
        assert "authenticate" in said
        assert "Traceback" not in said


def test_a_port_that_is_taken_is_said_in_a_sentence():
    with http() as (url, _):
        address = urlsplit(url).netloc
        with started(command("serve", str(SERVER), "--http", address)) as process:
            assert process.ended() == 2
            assert "Traceback" not in rest(process).decode()


@pytest.mark.attack("B47")
@pytest.mark.twin("B47")  # environment variables that are not our secrets are passed on
def test_the_key_of_the_workers_is_not_in_the_environment_that_tools_pass_on(tmp_path: Path):
    server = tmp_path / "leaky.py"
    server.write_text(
        "import os, subprocess\nfrom tooltrue import Server\nserver = Server('leaky')\n"
        "@server.tool\ndef env() -> str:\n    return subprocess.run(['env'], capture_output=True, text=True).stdout\n"
    )
    with http(target=str(server)) as (url, _):
        text = Session(url).call("env")[1]["result"]["content"][0]["text"]
    assert "PATH=" in text
    assert "TOOLTRUE" not in text


def test_a_server_whose_client_is_gone_before_it_said_anything_ends():
    reader, writer = os.pipe()
    with started(["sh", "-c", f"exec {sys.executable} {SERVER}"], stdin=reader) as process:
        os.close(reader)
        os.close(writer)
        assert process.ended() == 0


@pytest.mark.requirement("SUB-06", "SUB-09")
def test_a_subscriber_is_notified_when_the_server_ends():
    with stdio() as process:
        process.say("subscriptions/listen", {"notifications": {"toolsListChanged": True}}, 7)
        assert process.read()["method"] == "notifications/subscriptions/acknowledged"
        process.popen.send_signal(signal.SIGTERM)
        cancelled, closed = process.read(), process.read()
        assert cancelled["method"] == "notifications/cancelled"
        assert cancelled["params"]["requestId"] == 7
        assert (closed["id"], closed["result"]["resultType"]) == (7, "complete")
        assert process.ended() == 0


def test_a_blocked_event_loop_does_not_hold_up_the_end_of_the_input():
    with stdio() as process:
        process.call("block_the_loop")
        process.wait_for("waiting")
        process.close_input()
        assert process.ended() == 1


def test_unread_answers_do_not_pile_up_in_memory():
    with stdio() as process:
        process.result("add", a=1)
        before = peak(process)
        message = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "megabyte", "_meta": META}}
        process.raw(b"".join(json.dumps({**message, "id": id}).encode() + b"\n" for id in range(120)))
        answers = [process.read() for _ in range(120)]
        assert sorted(answer["id"] for answer in answers) == list(range(120))
        assert {len(answer["result"]["content"][0]["text"]) for answer in answers} == {1_000_000}
        assert peak(process) - before < 50 * 1_024


def peak(process: Process) -> int:
    """The most memory that a process has had so far, in kB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
