"""An audit log written under the product's former name, in the folder that the changelog names."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from support.warm_command import warm_command

TABLE = """
CREATE TABLE log (
    position INTEGER PRIMARY KEY, writer TEXT NOT NULL, record TEXT NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL
) STRICT
"""
FIRST = "160076186521eb819d4c712077d67da40ff1935a277c2908608093d565c4731f"
SECOND = "0a0f5592e57f27ba931e745dc876b6da23963a12ed989ed1fe800adb7e258c3f"
CALL = (
    '{{"arguments":{{"word":"{word}"}},"at":"{at}","bytes_in":{bytes_in},"bytes_out":{bytes_out},"decision":"allow",'
    '"effect":"read","instance":"notes (/srv/notes/notes.py #cc1d90ce9483)","kind":"call","ms":{ms},"outcome":"ok",'
    '"subject":"find_note","who":"local"}}'
)
MILK = CALL.format(word="milk", at="2026-11-24T00:19:52.244251Z", bytes_in=15, bytes_out=16, ms=1.823)
TEA = CALL.format(word="tea", at="2026-11-24T00:19:53.354990Z", bytes_in=14, bytes_out=15, ms=0.931)
ROWS = [(1, "732efd2c9758", MILK, "0" * 64, FIRST), (2, "c3ac0823f1f0", TEA, FIRST, SECOND)]


@pytest.fixture
def moved(tmp_path: Path) -> Path:
    """The log of the server ``notes`` in the state folder below ``tmp_path``, as the release before the rename wrote
    it."""
    path = tmp_path / "tooltrue" / "audit" / "notes.db"
    path.parent.mkdir(parents=True)
    log = sqlite3.connect(path)
    with log:
        log.execute(TABLE)
        log.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", ROWS)
    log.close()
    path.with_name("notes.db.seal").write_text(f"1 {FIRST}\n2 {SECOND}\n")
    return path


def audit(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        warm_command("audit", *arguments, "--server", "notes"),
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )


@pytest.mark.usefixtures("moved")
def test_a_moved_log_is_read_and_verified(tmp_path: Path):
    verified = audit(tmp_path, "verify")
    assert (verified.returncode, "OK: no record was changed" in verified.stdout) == (0, True), verified
    assert "find_note" in audit(tmp_path, "tail").stdout


def test_a_change_of_a_moved_log_is_found(moved: Path, tmp_path: Path):
    log = sqlite3.connect(moved)
    with log:
        log.execute("UPDATE log SET record = replace(record, 'tea', 'ale')")
    log.close()
    assert audit(tmp_path, "verify").returncode == 1


def test_a_record_cut_off_a_moved_log_is_missed(moved: Path, tmp_path: Path):
    log = sqlite3.connect(moved)
    with log:
        log.execute("DELETE FROM log WHERE position = 2")
    log.close()
    assert audit(tmp_path, "verify").returncode == 1
