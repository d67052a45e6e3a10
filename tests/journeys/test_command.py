"""The command tools in a server process of their own: the end of a program when its server ends or is killed."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

import pytest

from support.serving import Process, command, is_alive, started
from tooltrue._internal.platform.processes import descendants
from tooltrue.testing.state import LIMIT

pytestmark = pytest.mark.process

LIST = """\
[commands.work]
run = ["/bin/sh", "-c", "echo begun > begun; setsid sleep 300.31 & sleep 300.31; echo never > ended"]
description = "Works for long"
effect = "write"
interpreter = true
seconds = 600
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    (tmp_path / "commands.toml").write_text(LIST)
    return tmp_path / "work"


def begun(process: Process) -> list[int]:
    """All processes below a server whose command has begun: the shell and the two programs that it starts."""
    process.say(
        "tools/call",
        {"name": "execute_command", "arguments": {"command": "work"}, "_meta": {"progressToken": 1}},
        id=1,
    )
    while sum(_line_of(each).startswith("sleep\0") for each in descendants(process.pid)) < 2:
        assert process.popen.stdout is not None
        ready, _, _ = select.select([process.popen.stdout], [], [], 0.05)
        assert not ready, process.read()
    return [*descendants(process.pid)]


def _line_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


def all_gone(processes: list[int]) -> bool:
    for each in processes:
        try:
            watched = os.pidfd_open(each)
        except ProcessLookupError:
            continue
        try:
            select.select([watched], [], [], LIMIT)
        finally:
            os.close(watched)
    return not any(map(is_alive, processes))


@pytest.mark.needs("confinement")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_a_command_ends_with_its_server_however_that_ends(work: Path, name: str) -> None:
    options = ["--root", str(work), "--commands", str(work.parent / "commands.toml")]
    with started(command("serve", "command", *options)) as process:
        processes = begun(process)
        assert len(processes) >= 4
        process.popen.send_signal(signal.Signals[name])
        process.popen.wait(LIMIT)
        assert all_gone(processes)
    assert sorted(os.listdir(work)) == ["begun"]


def test_a_command_ends_when_its_supervisor_is_killed(work: Path) -> None:
    options = ["--root", str(work), "--commands", str(work.parent / "commands.toml")]
    with started(command("serve", "command", *options)) as process:
        processes = begun(process)
        supervisor = next(each for each in processes if "supervisor" in _line_of(each))
        os.kill(supervisor, signal.SIGKILL)
        answer = process.read()["result"]
        assert answer["isError"]
        assert answer["content"][0]["text"].endswith("[TT6146]")
        assert all_gone([each for each in processes if each != supervisor])
