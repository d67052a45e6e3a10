"""The toolbox keeps the rules that we would have others keep: ``toolwright check`` finds nothing in it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from toolwright.check.report import judge
from toolwright.cli.check_sources import sources_of
from toolwright.cli.families import Family
from toolwright.cli.targets import TOOLBOX

SETTINGS = {
    "command": {"--allow": "git status"},
    "github": {"--repo": "example/tea"},
    "language": {"--translate-url": "http://127.0.0.1:9"},
    "mail": {"--smtp": "smtp://127.0.0.1:9", "--mail-from": "ann@example.com", "--mail-to": "@example.com"},
    "settings": {"--store": "store.db"},
    "sql": {"--database": "sqlite:///shop.db", "--access": "write"},
}


@pytest.mark.parametrize("family", sorted(TOOLBOX))
def test_check_finds_nothing(family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    with sqlite3.connect("shop.db") as database:
        database.execute("CREATE TABLE tea (name TEXT)")
    rooted = {"--root": "."} if "--root" in TOOLBOX[family].options else {}
    said = {option: (value,) for option, value in {**rooted, **SETTINGS.get(family, {})}.items()}
    sources, unjudged = sources_of([family], Family(said), timeout=30.0)
    assert not unjudged
    report = judge(sources)
    assert [(one.tool, one.code, one.say()) for one in report.findings] == []
    assert not report.notes
