"""Many tools are judged by several processes, with the findings of one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process is copied on Linux only")

COUNT = 600


def definitions() -> list[dict[str, Any]]:
    """Tools with findings of several kinds, among them those that a rule has over all tools together."""
    return [
        {
            "name": f"get_thing_{number}",
            "description": f"Get thing {number % 7}." if number % 3 else "",
            "inputSchema": {"type": "object", "properties": {"id": {"type": "string", "default": number % 2}}},
        }
        for number in range(COUNT)
    ]


def judged(file: Path, processes: int) -> str:
    """The report of a process of its own, in which ``processes`` share the work."""
    program = (
        "import tooltrue_check.parallel as parallel\n"
        f"parallel.process_count = lambda: {processes}\n"
        "from tooltrue.cli.main import main\n"
        "main()"
    )
    line = [sys.executable, "-c", program, "check", str(file), "--fail-on", "never"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_several_processes_give_the_findings_of_one_process(tmp_path: Path):
    file = tmp_path / "many.json"
    file.write_text(json.dumps({"tools": definitions()}), "utf-8")
    alone, together = judged(file, 1), judged(file, 3)
    assert alone.count("\n") > COUNT
    assert together == alone


def run(body: str) -> subprocess.CompletedProcess[str]:
    """A process that has one thread, as the command has."""
    program = f"import os, signal\nfrom tooltrue_check.parallel import *\nfirst = os.getpid()\n{body}"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.needs("fork")
def test_the_results_come_in_the_order_of_the_shares():
    done = run("print(map_in_processes(lambda share: (share * 2, os.getpid() != first), [range(8), range(8, 20)], 3))")
    assert done.stdout.strip() == str([(number * 2, True) for number in range(20)]), done.stderr


@pytest.mark.needs("fork")
def test_each_process_begins_with_a_group_of_its_own():
    done = run(
        "from multiprocessing import get_context\n"
        "begun = get_context('fork').Event()\n"
        "def work(share):\n"
        "    begun.wait() if share == 0 else begun.set() if share == 2 else None\n"
        "    return begun.is_set()\n"
        "print(map_in_processes(work, [range(2), range(2, 4)], 2))"
    )
    assert done.stdout.strip() == str([True] * 4), done.stderr


@pytest.mark.needs("fork")
def test_this_process_finishes_the_work_of_a_killed_child_process():
    done = run(
        "def work(share):\n"
        "    if share == 5 and os.getpid() != first:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return share\n"
        "print(map_in_processes(work, [range(20)], 2))"
    )
    assert done.stdout.strip() == str(list(range(20))), done.stderr


@pytest.mark.needs("fork")
def test_this_process_does_the_work_where_no_pipe_can_be_opened():
    done = run(
        "import resource\n"
        "map_in_processes(str, [[1]], 1)\n"  # triggers the lazy imports
        "resource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))\n"
        "print(map_in_processes(lambda share: share, [range(5)], 2))"
    )
    assert done.stdout.strip() == str(list(range(5))), done.stderr


@pytest.mark.needs("fork")
def test_an_error_of_the_work_reaches_the_caller():
    done = run("print(map_in_processes(lambda share: 1 // share, [[1, 0, 1]], 2))")
    assert "ZeroDivisionError" in done.stderr


@pytest.mark.needs("fork")
def test_a_process_with_threads_is_not_copied():
    done = run(
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\nprint(process_count())"
    )
    assert done.stdout.strip() == "1", done.stderr
