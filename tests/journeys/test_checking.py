"""The GitHub action and the pre-commit hook: the tests run their commands as GitHub and pre-commit would."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click import Context
from click.testing import CliRunner

from tooltrue.cli.main import cli

ROOT = Path(__file__).parents[2]
TOOLTRUE = Path(sys.executable).with_name("tooltrue")

pytestmark = pytest.mark.process


def read(name: str) -> Any:
    return yaml.safe_load((ROOT / name).read_text("utf-8"))


@pytest.fixture
def runner(tmp_path: Path) -> Path:
    """A runner on which the first step of the action is done."""
    (tmp_path / "tooltrue" / "bin").mkdir(parents=True)
    (tmp_path / "tooltrue" / "bin" / "tooltrue").symlink_to(TOOLTRUE)
    return tmp_path


def test_the_action_annotates_the_findings_and_fails(runner: Path):
    action = read("action.yml")
    install, check = action["runs"]["steps"]
    assert "$GITHUB_ACTION_PATH" in install["run"]
    assert "${{" not in install["run"] + check["run"]  # no workflow input is part of a script
    said = {"targets": "examples/tools.json\n\nexamples/notes.py\n", "arguments": "--level error", "sarif": "r.sarif"}
    given = {name: said[value[len("${{ inputs.") : -len(" }}")]] for name, value in check["env"].items()}
    assert action["inputs"].keys() == said.keys()
    (runner / "examples").symlink_to(ROOT / "examples")
    done = subprocess.run(
        ["bash", "-e", "-c", check["run"]],
        cwd=runner,
        env={**os.environ, **given, "RUNNER_TEMP": str(runner)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "::error file=examples/tools.json,line=14,title=TT9710 send_report::" in done.stdout
    assert "TT9710" in (runner / "r.sarif").read_text("utf-8")


def test_a_report_that_could_not_be_written_fails_the_action_and_the_findings_are_told(runner: Path):
    (runner / "examples").symlink_to(ROOT / "examples")
    given = {"TARGETS": "examples/notes.py", "ARGUMENTS": "--fail-on never", "SARIF": "nowhere/r.sarif"}
    done = subprocess.run(
        ["bash", "-e", "-c", read("action.yml")["runs"]["steps"][1]["run"]],
        cwd=runner,
        env={**os.environ, **given, "RUNNER_TEMP": str(runner)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, "TT9009" in done.stderr) == (2, True)
    assert "::notice file=examples/notes.py" in done.stdout


def test_every_server_of_a_hosts_file_is_judged_once_somebody_has_agreed_to_its_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    server = {"command": str(TOOLTRUE), "args": ["serve", "math"]}
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"sums": server}}))

    def checked() -> tuple[int, Any]:
        done = CliRunner().invoke(cli, ["check", "mcp.json", "--format", "json", "--fail-on", "never"])
        return done.exit_code, json.loads(done.stdout)

    code, said = checked()
    assert (code, said["servers"], [one["code"] for one in said["unjudged"]]) == (2, [], ["TT9240"])
    assert CliRunner().invoke(cli, ["trust", "mcp.json", "--yes"]).exit_code == 0
    code, said = checked()
    assert (code, said["unjudged"]) == (0, [])
    assert said["servers"] == [{"server": "sums", "target": "mcp.json#sums", "tools": 2}]


def test_the_hook_runs_a_command_that_there_is():
    [hook] = read(".pre-commit-hooks.yaml")
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
    program, verb = shlex.split(hook["entry"])
    assert program == TOOLTRUE.name
    assert verb in cli.list_commands(Context(cli))
