"""``toolwright lock`` and ``toolwright diff``: where contracts come from, and which exit codes say what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from toolwright.cli.contracts import lock_of
from toolwright.cli.main import cli
from toolwright.contract import lock as locks

SERVER = '''
from toolwright import Server

server = Server("sums", version="1.0")


@server.tool(effect="read")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sums_v1.py").write_text(SERVER)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, words)


def test_a_lock_is_written_and_nothing_has_changed_since(folder: Path):
    assert run("lock", "sums_v1.py").output.startswith("toolwright.lock: 1 tools, sha256 ")
    assert locks.read(folder / "toolwright.lock").name == "sums"
    same = run("diff", "toolwright.lock", "sums_v1.py")
    assert (same.exit_code, same.output) == (0, "Nothing has changed.\n")
    assert run("lock", "sums_v1.py").output.endswith("Nothing has changed.\n")


@pytest.mark.parametrize(
    ("old", "new", "kind", "code"),
    [
        ("Add two numbers.", "Add two integers.", "text", 0),
        ("a: int, b: int", "a: int, b: int, c: int = 0", "widened", 0),
        ("a: int, b: int", "a: int, b: int, c: int", "narrowed", 1),
        ("def add", "def plus", "removed", 1),
        ('effect="read"', 'effect="write"', "narrowed", 1),
    ],
)
def test_a_change_is_shown_and_fails_when_it_breaks(folder: Path, old: str, new: str, kind: str, code: int):
    run("lock", "sums_v1.py")
    (folder / "sums_v2.py").write_text(SERVER.replace(old, new))
    done = run("diff", "toolwright.lock", "sums_v2.py")
    assert done.exit_code == code, done.output
    assert f"\n{kind}" in f"\n{done.output}"
    assert run("diff", "toolwright.lock", "sums_v2.py", "--fail-on", "text").exit_code == 1
    assert json.loads(run("diff", "toolwright.lock", "sums_v2.py", "--json").output)["counts"][kind]


def test_what_needs_less_care_than_before_fails_whatever_else_may_pass(folder: Path):
    (folder / "sums_v2.py").write_text(SERVER.replace('effect="read"', 'effect="write"'))
    done = run("diff", "sums_v2.py", "sums_v1.py", "--fail-on", "loosened")
    assert done.exit_code == 1
    assert "readOnlyHint is true now" in done.output


@pytest.mark.parametrize("members", [[], ["tools"], ["result", "tools"]])
def test_a_dump_of_tools_is_read_however_it_was_cut_out(folder: Path, members: list[str]):
    dump: Any = [dict(one) for one in lock_of("sums_v1.py").contract.tools.values()]
    for member in reversed(members):
        dump = {member: dump}
    (folder / "dump.json").write_text(json.dumps(dump))
    assert lock_of("dump.json").contract.tools == lock_of("sums_v1.py").contract.tools


@pytest.mark.parametrize(
    ("text", "code"), [("{}", "TW9007"), ("no", "TW9007"), ("[1]", "TW9007"), ('[{"name":"a"},{"name":"a"}]', "TW9033")]
)
def test_what_holds_no_definitions_is_refused(folder: Path, text: str, code: str):
    (folder / "dump.json").write_text(text)
    done = run("diff", "dump.json", "dump.json")
    assert done.exit_code == 2
    assert code in done.output


def test_an_edited_lock_is_written_again_and_another_file_is_not_written_over(folder: Path):
    run("lock", "sums_v1.py")
    lock = folder / "toolwright.lock"
    lock.write_text(lock.read_text().replace("Add two", "Add all"))
    assert "TW9005" in run("diff", "toolwright.lock", "sums_v1.py").output
    assert run("lock", "sums_v1.py").exit_code == 0
    assert run("diff", "toolwright.lock", "sums_v1.py").exit_code == 0
    done = run("lock", "sums_v1.py", "--file", "sums_v1.py")
    assert (done.exit_code, "TW9003" in done.output) == (2, True)
    assert (folder / "sums_v1.py").read_text() == SERVER


def test_chinese_is_spoken(folder: Path):
    (folder / "sums_v2.py").write_text(SERVER.replace("def add", "def plus"))
    assert "add 已不存在。" in run("--lang", "zh", "diff", "sums_v1.py", "sums_v2.py").output
