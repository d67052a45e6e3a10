"""The file of a file database: its URL, and the URI by which SQLite opens it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path, PurePath, PureWindowsPath
from urllib.parse import unquote

import pytest

from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.errors import ConfigurationError
from tooltrue_toolbox.sql.engine import file_of
from tooltrue_toolbox.sql.sqlite import uri_of

OF_WINDOWS = (
    r"C:\shop.db",
    r"C:\Program Files\50%\shop#1.db",
    r"C:\用户\shop.db",
    r"\\host\share\shop.db",
    r"\\?\C:\shop.db",
)


@pytest.mark.parametrize("path", OF_WINDOWS)
def test_the_uri_of_a_file_of_windows_names_no_host_and_keeps_its_path(path: str) -> None:
    scheme, _, rest = uri_of(PureWindowsPath(path), "ro").partition(":")
    name, question, options = rest.partition("?")
    assert (scheme, unquote(name), question, options) == ("file", path, "?", "mode=ro")
    assert not rest.startswith("/")
    assert "#" not in name


@pytest.mark.skipif(not HAS_POSIX, reason="elsewhere these are no names of files")
@pytest.mark.parametrize("path", OF_WINDOWS)
def test_sqlite_reads_the_name_that_was_meant(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(sqlite3.connect(uri_of(PureWindowsPath(path), "rwc"), uri=True)) as db:
        db.execute("PRAGMA user_version = 1")
    assert [made.name for made in tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("name", ["shop.db", "a b.db", "50%.db", "a#b.db", "用户.db"])
@pytest.mark.parametrize("slashes", ["", "/"])
def test_sqlite_opens_the_file_itself(name: str, slashes: str, tmp_path: Path) -> None:
    path = PurePath(f"{slashes}{tmp_path / name}") if HAS_POSIX else tmp_path / name
    with closing(sqlite3.connect(uri_of(path, "rwc"), uri=True)) as db:
        db.execute("PRAGMA user_version = 1")
    assert [made.name for made in tmp_path.iterdir()] == [name]


def test_the_url_of_an_absolute_file_leads_to_it(tmp_path: Path) -> None:
    file = tmp_path / "a b.db"
    file.touch()
    text = str(file).replace(" ", "%20")
    # A path of POSIX begins with a slash of its own; before a drive there may be one more.
    urls = [f"sqlite:///{text}", *([f"sqlite:////{file.as_posix()}"] if file.drive else [])]
    assert [file_of(url) for url in urls] == [file] * len(urls)


def test_the_url_of_a_relative_file_leads_below_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("shop.db").touch()
    Path("~").mkdir()
    Path("~", "shop.db").touch()
    assert file_of("sqlite:///shop.db") == Path("shop.db")
    assert file_of("sqlite:///~/shop.db") == Path("~/shop.db")


@pytest.mark.parametrize("url", ["sqlite://C:/shop.db", "sqlite:///", "sqlite:///shop.db?mode=rw", "sqlite:///no.db"])
def test_an_url_that_names_no_file_is_refused(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError):
        file_of(url)
