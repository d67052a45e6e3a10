"""The lock file: deterministic for a contract, readable, and refused after a modification."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tooltrue.contract import lock as locks
from tooltrue.contract.contract import Contract
from tooltrue.contract.lock import Lock
from tooltrue.errors import ConfigurationError

ADD: dict[str, Any] = {
    "name": "add",
    "description": "Adds two numbers. 求和\u202e.\x7f",
    "inputSchema": {
        "type": "object",
        "properties": {"b": {"type": "integer"}, "a": {"type": "number", "minimum": 1.5}},
    },
}
LOCK = Lock(
    Contract.of(
        [ADD, {"name": "b", "inputSchema": {"type": "object"}}],
        "Add before you ask.",
        prompts=[{"name": "p"}],
        resources=[{"uri": "notes:a", "name": "a"}],
    ),
    "sums",
    "1.0",
)


def test_a_written_lock_file_reads_back_equal(tmp_path: Path):
    file = tmp_path / "tooltrue.lock"
    locks.write(file, LOCK)
    assert locks.read(file) == LOCK
    assert os.listdir(tmp_path) == ["tooltrue.lock"]


def test_one_contract_has_one_lock_file_text_in_any_input_order():
    turned = Contract.of(
        [{"inputSchema": {"type": "object"}, "name": "b"}, dict(reversed(ADD.items()))],
        "Add before you ask.",
        prompts=[{"name": "p"}],
        resources=[{"name": "a", "uri": "notes:a"}],
    )
    assert locks.text(Lock(turned, "sums", "1.0")) == locks.text(LOCK)


def test_a_lock_file_escapes_invisible_characters():
    said = locks.text(LOCK)
    assert "求和\\u202e.\\u007f" in said
    assert "\u202e" not in said


def test_the_mode_of_a_file_that_is_there_stays(tmp_path: Path):
    file = tmp_path / "tooltrue.lock"
    locks.write(file, LOCK, 0o600)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o640)
    locks.write(file, LOCK)
    assert file.stat().st_mode & 0o777 == 0o640


def changed(change: str) -> bytes:
    said = json.loads(locks.text(LOCK))
    match change:
        case "description":
            said["tools"]["add"]["definition"]["description"] = "Adds two numbers and sends them on."
        case "digest":
            said["tools"]["add"]["sha256"]["description"] = "0" * 64
        case "field added":
            said["tools"]["add"]["definition"]["title"] = "Add"
        case "field gone":
            del said["tools"]["add"]["definition"]["description"]
        case "tool gone":
            del said["tools"]["b"]
        case "instructions":
            said["instructions"]["text"] += " And send it."
        case "name":
            said["tools"]["c"] = said["tools"].pop("b")
        case _:
            raise AssertionError(change)
    return json.dumps(said).encode()


@pytest.mark.parametrize(
    "change", ["description", "digest", "field added", "field gone", "tool gone", "instructions", "name"]
)
def test_a_file_that_was_edited_is_refused_and_says_where(change: str):
    with pytest.raises(ConfigurationError) as caught:
        locks.parse(changed(change), "tooltrue.lock")
    assert caught.value.code == ("TT9003" if change == "name" else "TT9005")
    if change in ("description", "digest", "field added"):
        assert "$.tools.add." in str(caught.value)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "TT9003"),
        (b"[]", "TT9003"),
        (b'{"tooltrue.lock":', "TT9003"),
        (b'{"tooltrue.lock": 1}', "TT9003"),
        (b'{"tooltrue.lock": true}', "TT9004"),
        (b'{"tooltrue.lock": 2}', "TT9004"),
        (b'{"tooltrue.lock": {"a": 1}}', "TT9004"),
        (b'{"tooltrue.lock": 1, "server": [], "tools": {}}', "TT9003"),
        (b'{"tooltrue.lock": 1, "server": {}, "tools": []}', "TT9003"),
        (b'{"tooltrue.lock": 1, "server": {}, "tools": {"a": 1}}', "TT9003"),
        (b'{"tooltrue.lock": 1, "server": {}, "tools": {"a": {"definition": {}, "sha256": {}}}}', "TT9003"),
        (b'{"tooltrue.lock": 1, "tooltrue.lock": 1}', "TT9003"),
        (b'{"tooltrue.lock": 1, "server": {}, "more": {}}', "TT9003"),
        (b"\xff\xfe", "TT9003"),
        (b"[" * 100_000, "TT9003"),
    ],
)
def test_garbage_is_refused_with_a_sentence(data: bytes, code: str):
    with pytest.raises(ConfigurationError) as caught:
        locks.parse(data, "x.lock")
    assert caught.value.code == code
    assert "x.lock" in caught.value.say("zh")


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path: Path):
    with pytest.raises(ConfigurationError, match="nothing"):
        locks.read(tmp_path / "nothing")
    with pytest.raises(ConfigurationError) as caught:
        locks.write(tmp_path / "no" / "folder", LOCK)
    assert caught.value.code == "TT9009"
