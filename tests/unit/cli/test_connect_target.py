"""The command line of a server in a client's file holds in any folder."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tooltrue.cli.connect_target import served_words
from tooltrue.errors import ConfigurationError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "notes.py").touch()
    (tmp_path / "of_this_folder.py").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("target", "options", "expected"),
    [
        ("notes.py", (), ("{0}/notes.py",)),
        ("./notes.py:server", (), ("{0}/notes.py:server",)),
        ("notes.py", ("--config", "a.toml"), ("{0}/notes.py", "--config", "{0}/a.toml")),
        ("notes.py", ("--config=a.toml",), ("{0}/notes.py", "--config={0}/a.toml")),
        ("notes.py", ("--log-format", "json"), ("{0}/notes.py", "--log-format", "json")),
        ("notes.py", ("--root", "./x"), ("{0}/notes.py", "--", "--root", "{0}/x")),  # of the author's program
        ("notes.py", ("--", "--root", "x"), ("{0}/notes.py", "--", "--root", "x")),
        ("files", ("--root", "x", "--root", "/y"), ("files", "--root", "{0}/x", "--root", "/y")),
        ("files,settings", ("--store", "s.db"), ("files,settings", "--store", "{0}/s.db")),
        ("sql", ("--database", "sqlite:///a.db"), ("sql", "--database", "sqlite:////{1}/a.db")),
        ("sql", ("--database", "sqlite:////a.db"), ("sql", "--database", "sqlite:////a.db")),
        ("sql", ("--database", "postgresql://h/d"), ("sql", "--database", "postgresql://h/d")),
        ("tooltrue.testing:server", (), ("tooltrue.testing:server",)),
    ],
)
def test_paths_are_absolute(folder: Path, target: str, options: tuple[str, ...], expected: tuple[str, ...]) -> None:
    filled = tuple(word.format(folder, str(folder).lstrip("/")) for word in expected)
    assert served_words(target, options) == ("serve", *filled)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("gone.py", "TT4002"),
        ("notes:server", "TT4663"),
        ("no.such.module:server", "TT4663"),
        ("python notes.py", "TT4002"),
        ("http://127.0.0.1/mcp", "TT4663"),
        ("notes", "TT4663"),
    ],
)
def test_a_target_of_one_folder_alone_is_refused(target: str, code: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        served_words(target, ())
    assert raised.value.code == code


def test_a_module_that_is_loaded_from_the_current_folder_is_no_installed_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(folder))  # as `python -m tooltrue` does
    __import__("of_this_folder")
    assert sys.modules["of_this_folder"].__file__ == str(folder / "of_this_folder.py")
    with pytest.raises(ConfigurationError) as raised:
        served_words("of_this_folder:server", ())
    assert raised.value.code == "TT4663"
