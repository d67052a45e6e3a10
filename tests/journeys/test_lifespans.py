"""The lifespan of servers as processes: entered before the first request, and left on every kind of end."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.serving import STOPS, Process, ask_to_end, command, environment, free_port, http, left_of, started
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

SERVER = Path(__file__).with_name("pooled.py")
SIGNALS = pytest.mark.parametrize("number", STOPS)
PROMISED_SECONDS = 3.0
SLACK_SECONDS = 3.0  # for a machine under load


@contextlib.contextmanager
def stdio(fault: str = "") -> Iterator[Process]:
    with started([sys.executable, "-W", "error", str(SERVER)], env=environment(FAULT=fault)) as process:
        yield process


def lines(process: Process) -> list[str]:
    """Its standard error, read until it ends."""
    found: list[str] = []
    while line := process.errors():
        found.append(line.rsplit(" ", 1)[0] if line.rsplit(" ", 1)[-1].isdigit() else line)
    return found


def test_a_lifespan_is_entered_before_the_first_request_and_left_when_the_input_ends() -> None:
    with stdio() as process:
        assert process.result("is_open")["structuredContent"] is True
        process.close_input()
        assert lines(process) == ["a line that is no message", "opening", "opened", "closed"]
        assert process.ended() == 0


@SIGNALS
def test_a_signal_leaves_the_lifespan(number: int) -> None:
    with stdio() as process:
        assert process.result("is_open")["structuredContent"] is True
        process.popen.send_signal(number)
        assert lines(process)[-1] == "closed"
        assert process.ended() == 0


@SIGNALS
def test_a_signal_stops_a_start_that_hangs(number: int) -> None:
    with stdio("hanging-start") as process:
        process.wait_for("opening")
        process.popen.send_signal(number)
        assert lines(process) == ["closed"]
        assert process.ended() == 0


def test_a_start_that_fails_ends_the_program_with_the_authors_frames_one_sentence_and_code_2() -> None:
    with stdio("start") as process:
        _, opening, log, *trace, error, sentence = lines(process)
        assert (opening, log, trace[0]) == (
            "opening",
            "The lifespan of pooled failed.",
            "Traceback (most recent call last):",
        )
        assert [line for line in trace if line.startswith("  File")] == [line for line in trace if str(SERVER) in line]
        assert error == "ValueError: no database"
        assert sentence.startswith("The server pooled cannot start: its lifespan raised ValueError: no database")
        assert sentence.endswith("[TT4522]")
        assert process.ended() == 2


@pytest.mark.parametrize("is_asked", [True, False])
def test_a_lifespan_that_hangs_at_the_end_is_reported_and_the_process_ends(is_asked: bool) -> None:
    with stdio("hanging-end") as process:
        assert process.result("is_open")["structuredContent"] is True
        began = time.monotonic()
        ask_to_end(process.popen) if is_asked else process.close_input()
        assert "TT4525" in "\n".join(lines(process))
        assert process.ended() == 0
        assert time.monotonic() - began < PROMISED_SECONDS + SLACK_SECONDS


def test_a_tool_that_never_ends_does_not_keep_the_lifespan_from_being_left() -> None:
    with stdio() as process:
        process.call("wait_forever")
        process.wait_for("waiting")
        ask_to_end(process.popen)
        assert lines(process) == ["closed"]
        assert process.ended() == 0


# --- HTTP -------------------------------------------------------------------------------------------------------------


@SIGNALS
def test_an_http_server_leaves_its_lifespan(number: int) -> None:
    with http(target=str(SERVER), env=environment()) as (_, process):
        process.popen.send_signal(number)
        assert lines(process)[-1] == "closed"
        assert process.ended() == 0


def test_each_worker_enters_and_leaves_a_lifespan_of_its_own() -> None:
    with http("--workers", "2", target=str(SERVER), env=environment()) as (_, process):
        opened = [process_of(process, "opened") for _ in range(2)]
        ask_to_end(process.popen)
        closed = [process_of(process, "closed") for _ in range(2)]
        assert sorted(opened) == sorted(closed)
        assert len({*opened, process.pid}) == 3
        assert process.ended() == 0


def process_of(process: Process, word: str) -> int:
    """The number of the process that says this word next."""
    while not (line := process.errors()).startswith(f"{word} "):
        assert line, f"the process ended without saying {word!r}"
    return int(line.rpartition(" ")[2])


def serve(fault: str, *options: str) -> subprocess.CompletedProcess[str]:
    arguments = command("serve", str(SERVER), "--http", f"127.0.0.1:{free_port()}", *options)
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": LIMIT, "check": False}
    return subprocess.run(arguments, env=environment(FAULT=fault), stdin=subprocess.DEVNULL, **settings)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_http_server_whose_lifespan_fails_ends_with_code_2(workers: str) -> None:
    done = serve("start", "--workers", workers)
    assert done.returncode == 2
    assert "ValueError: no database" in done.stderr
    assert "tooltrue: The server pooled cannot start" in done.stderr
    assert "site-packages" not in done.stderr
    assert "Exception in 'lifespan' protocol" not in done.stderr


@SIGNALS
def test_a_signal_stops_the_start_of_an_http_server(number: int) -> None:
    arguments = command("serve", str(SERVER), "--http", f"127.0.0.1:{free_port()}")
    with started(arguments, stdin=subprocess.DEVNULL, env=environment(FAULT="hanging-start")) as process:
        process.wait_for("opening")
        process.popen.send_signal(number)
        assert lines(process) == ["closed"]
        assert process.ended() == 0


def test_an_http_server_with_a_hanging_lifespan_ends_in_time() -> None:
    with http(target=str(SERVER), env=environment(FAULT="hanging-end")) as (_, process):
        began = time.monotonic()
        ask_to_end(process.popen)
        assert "TT4525" in "\n".join(lines(process))
        assert process.ended() == 0
        assert left_of([process.pid]) == []
        assert time.monotonic() - began < PROMISED_SECONDS + SLACK_SECONDS


# --- verbs ------------------------------------------------------------------------------------------------------------


def test_a_verb_that_calls_enters_the_lifespan_and_one_that_lists_does_not() -> None:
    settings: dict[str, Any] = {"capture_output": True, "text": True, "timeout": LIMIT, "check": False}
    called = subprocess.run(command("call", str(SERVER), "is_open"), env=environment(), **settings)
    assert called.stdout == "true\n"
    assert "closed" in called.stderr
    for verb in ("list", "inspect"):
        listed = subprocess.run(command(verb, str(SERVER)), env=environment(FAULT="start"), **settings)
        assert listed.returncode == 0
        assert "is_open" in listed.stdout or verb == "inspect"
        assert "opening" not in listed.stderr
