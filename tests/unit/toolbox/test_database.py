"""The store in an SQLite file that the families of the toolbox share."""

from __future__ import annotations

import gc
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tooltrue_toolbox.database import SqliteStore

TABLES = ("CREATE TABLE IF NOT EXISTS notes (text TEXT)",)


@pytest.mark.parametrize("is_in_memory", [True, False])
@pytest.mark.parametrize("is_in_a_cycle", [True, False])
def test_a_store_that_is_no_longer_used_closes_its_connection(
    is_in_memory: bool, is_in_a_cycle: bool, tmp_path: Path
) -> None:
    store = SqliteStore(None if is_in_memory else tmp_path / "notes.db", 7, TABLES)
    with store.writing() as connection:
        connection.execute("INSERT INTO notes VALUES ('milk')")
    if is_in_a_cycle:
        cycle: list[Any] = [store]
        cycle.append(cycle)
        del cycle
    del store
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_store_that_was_closed_opens_its_file_again(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "notes.db", 7, TABLES)
    for text in ("milk", "bread"):
        with store.writing() as connection:
            connection.execute("INSERT INTO notes VALUES (?)", (text,))
        store.close()
        store.close()
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")
    with store.reading() as connection:
        assert connection.execute("SELECT text FROM notes").fetchall() == [("milk",), ("bread",)]
    store.close()
