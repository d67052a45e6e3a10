"""The files of the SQLite stores, and the URLs that lead to them."""

from __future__ import annotations

import asyncio
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tooltrue.errors import ConfigurationError
from tooltrue.state.sqlite import SqliteFacts, SqliteLog
from tooltrue.state.store_thread import StoreThread, Work
from tooltrue.state.urls import open_facts, open_log
from tooltrue.testing.state import LIMIT

STORES: list[Callable[[Path], SqliteFacts | SqliteLog]] = [SqliteFacts, SqliteLog]


async def _open(store: SqliteFacts | SqliteLog) -> None:
    async with store:
        pass


@pytest.mark.parametrize("make", STORES)
def test_files_are_for_their_owner_alone(make: Callable[[Path], SqliteFacts | SqliteLog], tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "state.db"

    async def modes() -> dict[str, int]:
        async with make(path):
            return {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert asyncio.run(modes()) == {"state.db": 0o600, "state.db-wal": 0o600, "state.db-shm": 0o600}
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_facts_and_log_may_share_a_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with SqliteFacts(tmp_path / "s.db") as facts, SqliteLog(tmp_path / "s.db") as log:
            await facts.put("a", b"1", 60)
            assert await log.append({}) == 1
            assert await facts.get("a") == b"1"

    asyncio.run(scenario())


@pytest.mark.parametrize("make", STORES)
def test_a_file_that_is_not_a_database_is_refused(
    make: Callable[[Path], SqliteFacts | SqliteLog], tmp_path: Path
) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be looked at as one " * 20)
    (tmp_path / "folder").mkdir()
    threads = {*threading.enumerate()}
    for path in (tmp_path / "text", tmp_path / "folder", tmp_path / "text" / "below"):
        with pytest.raises(ConfigurationError) as caught:
            asyncio.run(_open(make(path)))
        assert (caught.value.code, caught.value.facts["path"]) == ("TT7002", path)
    assert {*threading.enumerate()} <= threads
    assert (tmp_path / "text").read_text().startswith("not a database")


@pytest.mark.parametrize("make", STORES)
@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_an_invalid_file_name_is_refused(
    make: Callable[[Path], SqliteFacts | SqliteLog], name: str, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(LIMIT):
            await _open(make(tmp_path / name))

    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(scenario())
    assert caught.value.code == "TT7002"


class Unforeseen:
    """A database that fails to open with an unexpected exception."""

    place = "nowhere"
    failures: tuple[type[Exception], ...] = ()

    def connect(self) -> None:
        raise ZeroDivisionError

    def close(self, connection: None) -> None: ...

    def transact(self, connection: None, jobs: Sequence[Work], *, writes: bool) -> list[Any]:
        return []

    def worded(self, error: Exception) -> None: ...


def test_an_exception_at_the_start_of_a_store_thread_reaches_the_caller() -> None:
    async def scenario() -> None:
        async with asyncio.timeout(LIMIT):
            await StoreThread(Unforeseen(), 10).start()

    threads = {*threading.enumerate()}
    with pytest.raises(ZeroDivisionError):
        asyncio.run(scenario())
    assert {*threading.enumerate()} <= threads


def test_a_file_of_a_newer_release_is_left_alone(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        db.execute("PRAGMA user_version=4")
    with pytest.raises(ConfigurationError) as caught:
        asyncio.run(_open(SqliteFacts(tmp_path / "s.db")))
    assert caught.value.code == "TT7006"
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_a_store_that_failed_to_open_can_be_opened_later(tmp_path: Path) -> None:
    (tmp_path / "s.db").mkdir()
    store = SqliteFacts(tmp_path / "s.db")
    with pytest.raises(ConfigurationError):
        asyncio.run(_open(store))
    (tmp_path / "s.db").rmdir()
    asyncio.run(_open(store))


def test_closing_ends_the_thread(tmp_path: Path) -> None:
    before = {*threading.enumerate()}
    asyncio.run(_open(SqliteFacts(tmp_path / "s.db")))
    assert {*threading.enumerate()} <= before


@pytest.mark.process
def test_an_unclosed_store_does_not_keep_the_process_alive(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys; from tooltrue.state.sqlite import SqliteFacts\n"
        "async def main(): await SqliteFacts(sys.argv[1]).__aenter__()\n"
        "asyncio.run(main())"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "s.db")], check=True, timeout=120)


@pytest.mark.process
def test_memory_does_not_pay_for_sqlite() -> None:
    program = (
        "import sys, tooltrue.state.facts, tooltrue.state.log\n"
        "sys.exit('sqlite3' in sys.modules or 'msgspec' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize("slashes", ["sqlite:", "sqlite://"])
def test_an_url_opens_a_file(slashes: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        url = f"{slashes}{tmp_path}/a%20b.db"
        async with open_facts(url) as facts, open_log(url) as log:
            await facts.put("a", b"1", 60)
            assert await log.append({}) == 1
        assert (tmp_path / "a b.db").exists()

    asyncio.run(scenario())


def test_a_path_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with open_facts("sqlite:sub/s.db"):
            assert (tmp_path / "sub" / "s.db").exists()

    monkeypatch.chdir(tmp_path)
    asyncio.run(scenario())


def test_memory_has_an_url() -> None:
    async def scenario() -> None:
        async with open_facts("memory:") as facts, open_log("memory:") as log:
            assert await facts.get("a") is None
            assert await log.append({}) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "url",
    [
        "",
        "state.db",
        "/var/state.db",
        "http://localhost",
        "redis:",
        "redis://localhost/name",
        "redis://localhost:port",
        "redis://localhost/0?db=1",
        "redis://localhost/0?ssl_ca_certs=x",
        "sqlite:",
        "sqlite://",
        "sqlite://state.db",
        "sqlite:///s.db?mode=ro",
        "sqlite:///s.db#x",
        "memory:x",
        "memory://x",
        "sqlite://[",
    ],
)
def test_an_unknown_store_url_is_refused_with_the_supported_urls(url: str) -> None:
    for opening in (open_facts, open_log):
        with pytest.raises(ConfigurationError) as caught:
            opening(url)
        assert (caught.value.code, caught.value.facts["url"]) == ("TT7001", url)
        assert caught.value.facts["supported"].startswith("memory:, sqlite:///path")


def test_a_password_in_an_url_is_not_repeated() -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_facts("redis://user:pa//ss@word@host:1/0")
    assert "pa//ss" not in str(caught.value)
    assert "word" not in str(caught.value)
