"""``tooltrue doctor`` and ``eval``: invalid input is refused in one sentence, before any file or model is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tooltrue.cli.main import cli


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    Path("tools.json").write_text('{"tools": [\n {"name": "a"}\n]}\n')
    Path("empty.jsonl").write_text("")
    Path("bytes.jsonl").write_bytes(b"\xff\x00\n")
    Path("half.jsonl").write_text('{"kind": "call", "outcome": "ok", "at": "2026-11-20T09:00:00Z"}\n{"kind"')


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["nowhere"], "TT9825"),
        ([], "TT9825"),
        (["tools.json"], "TT9826"),
        (["bytes.jsonl"], "TT9826"),
        (["nowhere.jsonl"], "TT9006"),
        (["half.jsonl", "--since", "nonsense"], "TT9896"),
        (["half.jsonl", "--since", "999999d"], "TT9896"),
        (["half.jsonl", "--since", "9999-12-31T23:59-01:00"], "TT9896"),
        (["half.jsonl", "--target", "nowhere.json"], "TT9006"),
    ],
)
def test_an_invalid_log_is_named(words: list[str], code: str):
    done = CliRunner().invoke(cli, ["doctor", *words])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.endswith(f" [{code}]\n")


@pytest.mark.parametrize("file", ["empty.jsonl", "half.jsonl"])
def test_an_empty_log_and_one_that_was_cut_are_read(file: str):
    assert CliRunner().invoke(cli, ["doctor", file]).exit_code == 0


@pytest.mark.parametrize(
    ("since", "count"),
    [
        ("2026-11-20", 1),
        ("2026-11-20T09:00", 1),
        ("2026-11-20T09:00:00Z", 1),
        ("2026-11-20T10:30+02:00", 1),
        ("2026-11-20T09:00:01", 0),
        ("2026-11-20T10:00-01:00", 0),
        ("2026-11-21", 0),
    ],
)
def test_a_log_is_read_from_a_time_of_the_day_on(since: str, count: int):
    done = CliRunner().invoke(cli, ["doctor", "half.jsonl", "--since", since, "--format", "json"])
    assert json.loads(done.stdout)["calls"] == count


@pytest.mark.parametrize("words", [["doctor", "half.jsonl", "--patience"], ["eval", "tools.json", "--temperature"]])
@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
def test_an_unusable_number_is_refused(words: list[str], number: str):
    done = CliRunner().invoke(cli, [*words, number], standalone_mode=False)
    assert type(done.exception).__name__ == "BadParameter"
    assert number in str(done.exception)
