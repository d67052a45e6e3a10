"""Databases of tasks, each new: SQLite and PostgreSQL."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from support.postgres import database
from tooltrue.state.places import sqlite_url


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[str]:
    if request.param == "sqlite":
        yield sqlite_url(tmp_path / "tasks.db")
        return
    with database() as url:
        yield url
