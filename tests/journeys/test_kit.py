"""Our own servers, checked by the kit that ships."""

from __future__ import annotations

import asyncio
import gc
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.serving import command, environment, http
from support.wire import servers
from tooltrue import Server
from tooltrue.cli.targets import Spec, load_server
from tooltrue.testing import Plan, check_server
from tooltrue_toolbox.files import toolset

ROOT = Path(__file__).parents[2]
NOTES = ROOT / "examples" / "notes.py"
# Enough for a busy machine: a call reaches this limit only if its answer will never come.
SECONDS = 60.0
QUICK = Plan(calls=5, in_flight=4, seconds=SECONDS)


@pytest.fixture(autouse=True, scope="module")
def objects_of_other_tests_are_frozen() -> None:
    """Exclude the objects of earlier tests from the repeated garbage collections of the kit."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """The folder that the demonstration serves."""
    shutil.copytree(ROOT / "demo" / "sample", tmp_path, dirs_exist_ok=True)
    return tmp_path


def test_the_example_keeps_its_promises():
    plan = Plan(calls=10, seconds=SECONDS, destructive=frozenset({"set_note"}))
    asyncio.run(check_server(load_server(Spec(str(NOTES))), plan))


def test_the_files_tools_keep_their_promises(sample: Path):
    server = Server("files", toolsets=[toolset([sample])])
    plan = Plan(calls=5, seed=3, seconds=SECONDS, destructive=frozenset({"write_file"}))
    report = asyncio.run(check_server(server, plan))
    assert {finding.tool for finding in report.findings} >= {"list_directory", "read_file", "write_file"}
    assert not any(path.name == "passwd" for path in sample.parent.rglob("*"))


@pytest.mark.parametrize("name", ["changing", "empty", "gallery", "letters", "slow"])
def test_the_servers_of_the_transcripts_keep_their_promises(name: str):
    asyncio.run(check_server(servers.make(name), QUICK))


@pytest.mark.process
def test_a_server_over_http_keeps_its_promises():
    with http(target=str(NOTES)) as (url, _):
        report = asyncio.run(check_server(url, QUICK))
    reasons = {finding.check: finding.code for finding in report.findings if finding.status == "not run"}
    assert (reasons["cancellation"], reasons["flat under calls"]) == ("TT8912", "TT8915")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), env=environment(), capture_output=True, text=True, timeout=120)


@pytest.mark.process
def test_the_verb_reports_as_json_over_a_command():
    done = run(
        "test",
        shlex.join(command("serve", str(NOTES))),
        "--calls",
        "3",
        "--in-flight",
        "2",
        "--format",
        "json",
    )
    assert (done.returncode, done.stderr) == (0, "")
    [report] = json.loads(done.stdout).values()
    assert report["ok"] is True
    [cleaning] = [found for found in report["sections"]["error handling"] if found["check"] == "cleaning up"]
    assert cleaning["status"] == "passed"


@pytest.mark.process
def test_the_verb_ends_with_1_where_something_does_not_hold(tmp_path: Path):
    file = tmp_path / "bad.py"
    file.write_text(
        "from tooltrue import Server\nserver = Server('bad')\n@server.tool(effect='read')\ndef crash() -> str:\n"
        "    'Crash.'\n    raise ValueError\n"
    )
    done = run("--lang", "zh", "test", str(file), "--calls", "1", "--in-flight", "1")
    assert done.returncode == 1
    assert "[TT8134]" in done.stdout
    assert "没有指定" not in done.stdout  # a server of ours is reached over stdio as well
    assert run("test", str(file), "--seconds", "0").returncode == 2
    assert run("test", f"{sys.executable} -c ''").returncode == 4
