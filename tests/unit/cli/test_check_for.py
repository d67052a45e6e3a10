"""``tooltrue check --for``: the table, its forms, and the exit codes."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tooltrue.cli.main import cli
from tooltrue.contract.profile import profile_names

DUMP = """\
{"tools": [
  {"name": "read", "description": "Read one note.", "inputSchema": {"type": "object"}},
  {"name": "notes.read", "inputSchema": {"type": "object", "additionalProperties": false}}
]}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.json").write_text(DUMP)
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["check", *words])


def test_each_tool_has_a_mark_for_each_client(folder: Path):
    said = run("notes.json", "--for", "openai,claude-desktop,gemini").stdout
    assert "            abc\nread        ...\nnotes.read  ~x~\n" in said
    assert "  error rejected: claude-desktop\n    $.name: Claude Desktop does not take the name notes.read" in said


def test_a_summary_is_the_table_of_sums_alone(folder: Path):
    said = run("notes.json", "--for", "openai", "--summary").stdout
    assert "a  openai                   1        1    0         0       0  2/128" in said
    assert "$.name" not in said


def test_chinese_columns_stand_below_their_heads(folder: Path):
    done = CliRunner().invoke(cli, ["--lang", "zh", "check", "notes.json", "--for", "openai"])
    assert "   客户端、提供方  接受" in done.stdout
    assert "a  openai             1 " in done.stdout


def test_all_are_all_that_there_are(folder: Path):
    said = json.loads(run("notes.json", "--for", "all", "--format", "json").stdout)
    assert [one["profile"] for one in said["profiles"]] == [*profile_names()]


def test_json_has_each_name_with_its_length_and_each_change_with_its_path(folder: Path):
    [one] = json.loads(run("notes.json", "--for", "claude-code", "--format", "json").stdout)["profiles"]
    assert one["tools"][1]["name"] == {"name": "mcp__notes__notes_read", "length": 22, "limit": 128}
    assert [(change["code"], change["path"]) for change in one["tools"][1]["changes"]] == [("TT9060", "$.name")]
    assert all(fact["source"].startswith("https://") for fact in one["facts"])


def test_a_page_has_a_row_for_each_tool(folder: Path):
    rows: list[str] = []

    class Page(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            rows.extend([tag] * (tag == "tr"))

    Page().feed(run("notes.json", "--for", "all", "--format", "html").stdout)
    assert len(rows) == 1 + len(profile_names()) + 1 + 2


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--for", "claude-desktop"), 1),
        (("--for", "claude-desktop", "--fail-on", "never"), 0),
        (("--for", "openai"), 0),
        (("--for", "openai", "--fail-on", "warning"), 1),
        (("--for", "nobody"), 2),
        (("--for", "openai", "--select", "TT9710"), 2),
        (("--for", "openai", "--format", "sarif"), 2),
        (("nowhere.json", "--for", "openai"), 2),
    ],
)
def test_the_exit_code_depends_on_the_verdicts(folder: Path, words: tuple[str, ...], code: int):
    assert run("notes.json", *words).exit_code == code


def test_an_unknown_client_is_refused_with_the_known_ones(folder: Path):
    done = run("notes.json", "--for", "openai,opanai")
    assert "'opanai'" in str(done.exception) + done.output
