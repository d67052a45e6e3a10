"""``tooltrue lock`` and ``tooltrue diff``: the sources of contracts, and the meaning of the exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tooltrue.cli.main import cli
from tooltrue.contract import lock as locks
from tooltrue.contract.diff import Bump, Class, ContractChange, Diff
from tooltrue.contract.diff_phrases import class_counts, grows
from tooltrue_check.cli.contracts import lock_of

SERVER = '''
from tooltrue import Server

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
    assert run("lock", "sums_v1.py").output.startswith("tooltrue.lock: 1 tools, sha256 ")
    assert locks.read(folder / "tooltrue.lock").name == "sums"
    same = run("diff", "tooltrue.lock", "sums_v1.py")
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
    done = run("diff", "tooltrue.lock", "sums_v2.py")
    assert done.exit_code == code, done.output
    assert f"\n{kind}" in f"\n{done.output}"
    assert run("diff", "tooltrue.lock", "sums_v2.py", "--fail-on", "text").exit_code == 1
    assert json.loads(run("diff", "tooltrue.lock", "sums_v2.py", "--json").output)["counts"][kind]


def test_a_weakened_effect_hint_fails_under_a_more_tolerant_setting(folder: Path):
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


def test_duplicate_and_unnamed_tools_are_compared_by_position(folder: Path):
    old = [{"name": "a"}, {"name": "a", "description": "Adds."}, {"description": "Is not called."}]
    new = [{"name": "a"}, {"name": "a", "description": "Subtracts."}, {"description": "Has no name."}]
    for name, tools in (("old", old), ("new", new)):
        (folder / f"{name}.json").write_text(json.dumps(tools))
    changes = json.loads(run("diff", "old.json", "new.json", "--json").output)["changes"]
    assert [one["path"] for one in changes] == ['$.tools["#3"].description', '$.tools["a#2"].description']
    assert run("diff", "old.json", "old.json").output == "Nothing has changed.\n"


@pytest.mark.parametrize(
    ("tools", "which"),
    [
        ([{"name": "a"}, {"name": "b"}, {"name": "a"}], "dump.json: Definitions 1 and 3 of"),
        ([{"name": "a"}, {"description": "b"}], "dump.json: Definition 2 of"),
        ([{"name": "a"}, {"name": 5}], "dump.json: Definition 2 of"),
    ],
)
def test_lock_refuses_a_tool_that_cannot_be_called_and_names_it(folder: Path, tools: list[Any], which: str):
    (folder / "dump.json").write_text(json.dumps({"tools": tools}))
    done = run("lock", "dump.json")
    assert (done.exit_code, which in done.output) == (2, True)
    assert not (folder / "tooltrue.lock").exists()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{}", "TT9007"),
        ("no", "TT9006"),
        ('{"tools": [], "tools": []}', "TT9006"),
        ("[1]", "TT9007"),
        ('{"tools": [{"name": "a"}], "nextCursor": "2"}', "TT9033"),
    ],
)
def test_a_file_with_missing_or_incomplete_definitions_is_refused(folder: Path, text: str, code: str):
    (folder / "dump.json").write_text(text)
    done = run("diff", "dump.json", "dump.json")
    assert done.exit_code == 2
    assert code in done.output


def test_an_edited_lock_is_written_again_and_another_file_is_not_written_over(folder: Path):
    run("lock", "sums_v1.py")
    lock = folder / "tooltrue.lock"
    lock.write_text(lock.read_text().replace("Add two", "Add all"))
    assert "TT9005" in run("diff", "tooltrue.lock", "sums_v1.py").output
    assert run("lock", "sums_v1.py").exit_code == 0
    assert run("diff", "tooltrue.lock", "sums_v1.py").exit_code == 0
    done = run("lock", "sums_v1.py", "--file", "sums_v1.py")
    assert (done.exit_code, "TT9003" in done.output) == (2, True)
    assert (folder / "sums_v1.py").read_text() == SERVER


def test_chinese_is_spoken(folder: Path):
    (folder / "sums_v2.py").write_text(SERVER.replace("def add", "def plus"))
    said = run("--lang", "zh", "diff", "sums_v1.py", "sums_v2.py").output
    assert "add 已不存在。" in said
    assert said.splitlines()[-1] == "新增（added）：1，移除（removed）：1；版本号须提升：主版本号（major）"
    assert run("lock", "sums_v1.py", "--lang", "zh").output.startswith("tooltrue.lock：1 个工具，sha256 ")
    assert run("lock", "sums_v1.py", "--lang", "zh").output.splitlines()[-1] == "没有变化。"
    assert run("lock", "sums_v2.py", "--lang", "zh").output.splitlines()[-1] == "新增（added）：1，移除（removed）：1"
    assert run("diff", "sums_v1.py", "sums_v1.py", "--lang", "zh").output == "没有变化。\n"


def test_a_class_has_a_word_and_a_part_of_a_version_too_in_both_languages():
    for kind in Class:
        found = Diff((ContractChange(("instructions",), kind, "TT9012"),))
        assert class_counts(found, "en") == f"1 {kind.value}"
        assert class_counts(found, "zh").endswith(f"（{kind.value}）：1")
    assert [grows(bump, "en") for bump in Bump] == [bump.value for bump in Bump]
    assert len({grows(bump, "zh") for bump in Bump}) == len(Bump)
