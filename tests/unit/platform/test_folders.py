"""Folders, URLs and names of files, by the convention of each system."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue._internal.platform import folders
from tooltrue._internal.platform.environment import PASSED_ON
from tooltrue._internal.platform.file_urls import (
    exact_path_from_url,
    path_from_url,
    path_in_url,
    without_slash_before_drive,
)
from tooltrue._internal.platform.folders import configuration_folder_of, state_folder_of
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.state.places import audit_file, beside, sqlite_url
from tooltrue.state.urls import open_log


def test_the_variable_counts_on_every_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert state_folder_of("program") == tmp_path / "program"


@pytest.mark.parametrize("value", [None, "", "relative/folder"])
def test_the_folder_is_that_of_the_system(value: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    if value is not None:
        monkeypatch.setenv("XDG_STATE_HOME", value)
    by_convention = "Library/Application Support" if sys.platform == "darwin" else ".local/state"
    assert state_folder_of("program") == tmp_path / (by_convention if HAS_POSIX else "AppData/Local") / "program"


def test_settings_of_a_user_have_a_folder_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("APPDATA", raising=False)
    by_convention = "Library/Application Support" if sys.platform == "darwin" else ".config"
    folder = tmp_path / (by_convention if HAS_POSIX else "AppData/Roaming") / "program"
    for value in ("", "relative/folder"):
        monkeypatch.setenv("XDG_CONFIG_HOME", value)
        assert configuration_folder_of("program") == folder
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "elsewhere"))
    assert configuration_folder_of("program") == tmp_path / "elsewhere" / "program"


@pytest.mark.skipif(HAS_POSIX, reason="only Windows sets the variable")
def test_the_variable_of_windows_names_the_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    assert state_folder_of("program") == tmp_path / "program"


def test_files_of_an_earlier_release_on_macos_are_not_lost(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    of_macos = folders._of_macos  # pyright: ignore[reportPrivateUsage] - this is the way of another system
    earlier, folder = tmp_path / "earlier", tmp_path / "folder"
    assert of_macos(earlier, folder) == folder
    earlier.mkdir()
    assert of_macos(earlier, folder) == earlier
    folder.mkdir()  # the user has moved them, or another release has made it first
    assert of_macos(earlier, folder) == folder


names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=20)


@given(st.lists(names.filter(lambda name: name not in (".", "..")), min_size=1, max_size=4))
def test_an_url_leads_to_its_file(words: list[str]) -> None:
    path = Path("/", *words)
    assert path_from_url(path_in_url(path)) == path
    assert beside(sqlite_url(path), ".seal") == f"{path}.seal"


@pytest.mark.parametrize("name", ["a b.db", "50%.db", "a%20b.db", "a#b.db", "what?.db", "用户.db"])
def test_the_url_of_a_file_opens_it(name: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with open_log(sqlite_url(tmp_path / name)) as log:
            assert await log.append({}) == 1

    asyncio.run(scenario())
    assert name in {path.name for path in tmp_path.iterdir()}


@pytest.mark.skipif(HAS_POSIX, reason="a drive is a folder of that name elsewhere")
@pytest.mark.parametrize("text", ["/C:/a%20b.db", "C:/a b.db", "///C:/a b.db"])
def test_the_slash_before_a_drive_is_no_part_of_the_path(text: str) -> None:
    assert str(path_from_url(text)) == "C:/a b.db"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("C:/a b.db", r"C:\a b.db"),
        ("/C:/a.db", r"C:\a.db"),
        ("//C:/a.db", r"C:\a.db"),
        (r"/C:\a.db", r"C:\a.db"),
        ("//host/share/a.db", r"\\host\share\a.db"),
        ("shop.db", "shop.db"),
        ("/C:a.db", r"\C:a.db"),
    ],
)
def test_the_path_of_an_url_means_a_path_of_windows(text: str, meant: str) -> None:
    assert PureWindowsPath(without_slash_before_drive(text)) == PureWindowsPath(meant)


def test_the_home_is_meant_only_where_it_is_expanded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "USERPROFILE"):  # of POSIX, and of Windows
        monkeypatch.setenv(name, str(tmp_path))
    assert (path_from_url("~/a%20b.db"), exact_path_from_url("~/a%20b.db")) == (tmp_path / "a b.db", Path("~/a b.db"))


def test_the_log_of_a_server_is_a_file_on_every_system() -> None:
    plain, device = audit_file("notes").name, audit_file("aux").name
    assert plain == "notes.db"
    assert (device == "aux.db") is HAS_POSIX
    assert device.startswith("aux")


def test_a_server_that_a_client_starts_keeps_its_state_in_the_same_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    assert passed_on["XDG_STATE_HOME"] == str(tmp_path)
