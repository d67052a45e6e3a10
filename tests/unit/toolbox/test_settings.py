"""The settings tools: an upsert is one, a log only grows, and neither is ever seen half written."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from support.toolbox.refusals import refused
from tooltrue import Client, Server
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.settings import SettingLimits, Settings, toolset

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "settings.db"


@pytest.fixture
def settings(place: Path) -> Generator[Settings]:
    with closing(Settings(place, now=lambda: NOON)) as opened:
        yield opened


# Settings


def test_a_setting_is_made_replaced_and_deleted_and_each_can_be_undone(settings: Settings) -> None:
    assert settings.set_config("theme", "dark") == {
        "key": "theme",
        "value": "dark",
        "version": 1,
        "changed": "2026-05-01T12:00:00.000Z",
        "created": True,
    }
    replaced = settings.set_config("theme", "light")
    assert (replaced["version"], replaced["created"], replaced.get("previous")) == (2, False, "dark")
    assert settings.get_config("theme")["value"] == "light"
    assert settings.delete_config("theme") == {"key": "theme", "deleted": True, "previous": "light"}
    assert settings.delete_config("theme") == {"key": "theme", "deleted": False}


def test_setting_it_again_adds_nothing(settings: Settings) -> None:
    settings.set_config("a", "1", if_version=0)
    assert settings.set_config("a", "1", if_version=0)["version"] == 1


def test_a_setting_that_somebody_else_has_changed_is_not_replaced(settings: Settings) -> None:
    version = settings.set_config("a", "1")["version"]
    settings.set_config("a", "2")
    with refused("TT6631", version=2, wanted=1):
        settings.set_config("a", "3", if_version=version)
    with refused("TT6631", version=2, wanted=0):
        settings.set_config("a", "3", if_version=0)
    assert settings.get_config("a")["value"] == "2"


def test_a_setting_that_was_deleted_and_made_again_is_not_the_one_that_was_read(settings: Settings) -> None:
    version = settings.set_config("a", "1")["version"]
    settings.set_config("b", "1")
    settings.delete_config("a")
    assert settings.set_config("a", "2")["version"] > version
    with refused("TT6631", wanted=version):
        settings.set_config("a", "3", if_version=version)
    assert settings.get_config("a")["value"] == "2"
    assert settings.set_config("b", "2", if_version=1)["version"] == 2


@pytest.mark.parametrize(
    ("tool", "arguments"), [("read_log", {"before": 1 << 63}), ("set_config", {"if_version": 1 << 63})]
)
def test_a_number_that_no_store_holds_is_refused_as_an_argument(
    place: Path, tool: str, arguments: dict[str, Any]
) -> None:
    more = {"key": "a", "value": "b"} if tool == "set_config" else {}

    async def call() -> str:
        async with Client(Server("settings", toolsets=[toolset(place)])) as client:
            return (await client.call_tool(tool, {**more, **arguments})).text

    assert "[TT2001]" in asyncio.run(call())


def test_a_file_that_is_damaged_is_told_as_such(place: Path) -> None:
    with closing(Settings(place)) as settings:
        for number in range(50):
            settings.set_config(f"key-{number}", "x" * 1000)
    with place.open("r+b") as file:
        file.seek(4096)  # all but the first page, which has the tables
        file.write(b"\xff" * (place.stat().st_size - 4096))
    with closing(Settings(place)) as settings:
        with refused("TT6604"):
            settings.list_config()
        with refused("TT6604"):
            settings.set_config("key-1", "y")


def test_a_missing_setting_is_told_with_those_that_are_near(settings: Settings) -> None:
    settings.set_config("mail.footer", "x")
    with refused("TT6630", nearest="mail.footer"):
        settings.get_config("mail.foter")


def test_a_list_goes_on_where_it_ended_by_number_and_by_size(place: Path) -> None:
    with closing(Settings(place, limits=SettingLimits(page_bytes=100))) as settings:
        for number in range(7):
            settings.set_config(f"a{number}", "x")
        settings.set_config("b.1", "y" * 90)
        settings.set_config("b.2", "y" * 90)
        settings.set_config("b_1", "not below b.")
        first = settings.list_config("a", limit=5)
        rest = settings.list_config("a", limit=5, cursor=first.get("next_cursor"))
        assert [one["key"] for one in (*first["settings"], *rest["settings"])] == [f"a{n}" for n in range(7)]
        assert "next_cursor" not in rest
        large = settings.list_config("b.")
        assert [one["key"] for one in large["settings"]] == ["b.1"]
        assert [one["key"] for one in settings.list_config("b.", cursor=large.get("next_cursor"))["settings"]] == [
            "b.2"
        ]


def test_there_are_no_more_settings_than_the_limit(place: Path) -> None:
    with closing(Settings(place, limits=SettingLimits(settings=1))) as settings:
        settings.set_config("a", "1")
        settings.set_config("a", "2")
        with refused("TT6632", limit=1):
            settings.set_config("b", "1")


# The log


def test_each_entry_is_added_and_the_newest_is_read_first(settings: Settings) -> None:
    assert [settings.add_log("same")["number"] for _ in range(3)] == [1, 2, 3]
    settings.add_log("bad", "error")
    first = settings.read_log(limit=2)
    assert [entry["number"] for entry in first["entries"]] == [4, 3]
    rest = settings.read_log(limit=2, before=first.get("next_before"))
    assert [entry["number"] for entry in rest["entries"]] == [2, 1]
    assert "next_before" not in rest
    assert [entry["message"] for entry in settings.read_log("error")["entries"]] == ["bad"]


def test_an_entry_with_a_key_is_added_once(settings: Settings) -> None:
    first = settings.add_log("paid", idempotency_key="order-17")
    assert settings.add_log("paid", idempotency_key="order-17") == {**first, "added": False}
    with refused("TT6633", number=1):
        settings.add_log("not paid", idempotency_key="order-17")
    assert len(settings.read_log()["entries"]) == 1


def test_the_log_has_an_end(place: Path) -> None:
    with closing(Settings(place, limits=SettingLimits(entries=1))) as settings:
        settings.add_log("one")
        with refused("TT6634"):
            settings.add_log("two")


# The file


def test_a_file_of_something_else_is_refused_and_left_alone(place: Path) -> None:
    with closing(sqlite3.connect(place)) as other:
        other.execute("CREATE TABLE mine (a)")
    before = place.read_bytes()
    with pytest.raises(ConfigurationError) as caught:
        Settings(place)
    assert caught.value.code == "TT6605"
    assert place.read_bytes() == before
    place.write_text("no database, but long enough to be looked at as if it were one" * 20)
    with pytest.raises(ConfigurationError):
        Settings(place)


def test_the_file_is_for_its_owner_alone(settings: Settings, place: Path) -> None:
    settings.set_config("a", "1")
    assert place.stat().st_mode & 0o077 == 0


@pytest.mark.needs("replacement")
def test_a_file_that_is_put_back_from_a_backup_counts_at_once(settings: Settings, place: Path, tmp_path: Path) -> None:
    settings.set_config("limit", "10")
    shutil.copy(place, tmp_path / "backup")
    settings.set_config("limit", "99")
    os.replace(tmp_path / "backup", place)
    assert settings.get_config("limit")["value"] == "10"
    settings.set_config("limit", "5")
    assert Settings(place).get_config("limit")["value"] == "5"
    place.unlink()
    settings.set_config("other", "1")
    assert Settings(place).get_config("other")["value"] == "1"


def test_writers_in_threads_lose_nothing(settings: Settings) -> None:
    def add(number: int) -> None:
        settings.add_log(f"entry {number}")
        settings.set_config(f"key{number % 5}", str(number))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(100)))
    assert {entry["message"] for entry in settings.read_log(limit=1000)["entries"]} == {
        f"entry {n}" for n in range(100)
    }
    assert sum(one["version"] for one in settings.list_config()["settings"]) == 100


WRITER = """
import sys
from pathlib import Path
from tooltrue_toolbox import database
from tooltrue_toolbox.settings import Settings
database._PATIENCE = database._SECONDS = 120.0  # the file is not handed on in turn, and one writer may wait for long
settings = Settings(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    settings.set_config(f"key{number % 7}", f"{number} " * 3000)
    settings.delete_config(f"key{(number + 3) % 7}")
    settings.add_log(f"{sys.argv[2]} {number}")
    print(number, flush=True)
"""


def writer(place: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(place), name, str(count)], stdout=subprocess.PIPE, text=True
    )


@pytest.mark.process
def test_writers_in_processes_lose_nothing(settings: Settings, place: Path) -> None:
    writers = [writer(place, name, 20) for name in "abc"]
    for process in writers:
        process.communicate(timeout=120)
    assert [process.returncode for process in writers] == [0, 0, 0]
    added = [entry["message"] for entry in settings.read_log(limit=1000)["entries"]]
    assert sorted(added) == sorted(f"{name} {number}" for name in "abc" for number in range(20))


@pytest.mark.process
def test_a_writer_that_is_killed_leaves_the_old_or_the_new_and_nothing_that_it_said_is_lost(place: Path) -> None:
    for after in (0, 3, 11):
        process = writer(place, f"until {after}", 300)  # of three, no more than one page of the log
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(after + 1)]
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read()  # not by `communicate`, which would miss what `readline` has read ahead
        process.wait(timeout=120)
        process.stdout.close()
        told = int((said + rest.splitlines())[-1])
        with closing(Settings(place)) as settings:
            entries = settings.read_log(limit=1000)["entries"]
            own = [entry["message"] for entry in reversed(entries) if entry["message"].startswith(f"until {after} ")]
            assert own == [f"until {after} {number}" for number in range(len(own))]
            assert told < len(own)
            values = {one["key"]: one["value"] for one in settings.list_config()["settings"]}
            for value in values.values():
                assert len(set(value.split())) == 1
                assert value.count(" ") == 3000
            assert values[f"key{told % 7}"].startswith(f"{told} ")
            assert f"key{(told + 3) % 7}" not in values
    with closing(sqlite3.connect(place)) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# As tools


def called(server: Server, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    async def conversation() -> list[Any]:
        async with Client(server, elicit=lambda question: None) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(conversation())


def test_the_results_of_the_settings_tools_tell_a_model_the_next_step(place: Path) -> None:
    server = Server("settings", toolsets=[toolset(place)])
    made, missing, wrong, added, deleted = called(
        server,
        ("set_config", {"key": "theme", "value": "dark"}),
        ("get_config", {"key": "them"}),
        ("set_config", {"key": "../theme", "value": "dark"}),
        ("add_log", {"message": "m", "level": "fatal"}),
        ("delete_config", {"key": "theme"}),
    )
    assert made.value["created"] is True
    assert "nearest: theme" in missing.text
    assert missing.text.endswith("[TT6630]")
    assert "$.key" in wrong.text
    assert 'must be one of "debug"' in added.text
    assert deleted.is_error  # no approver was available


def test_k07_a_value_that_is_sql_stays_a_value(settings: Settings) -> None:
    text = "'; DROP TABLE settings; --"
    settings.set_config("a", text)
    settings.add_log(text, idempotency_key=text)
    assert settings.get_config("a")["value"] == text
    assert settings.list_config(prefix=text)["settings"] == []
    assert settings.list_config(cursor=text)["settings"][0]["value"] == text


def test_k07_twin_quotes_and_other_scripts_come_back_as_they_were(settings: Settings) -> None:
    text = 'it\'s "so"; 备注 -- 100%_\x00\n'
    settings.set_config("a", text)
    assert settings.get_config("a")["value"] == text
