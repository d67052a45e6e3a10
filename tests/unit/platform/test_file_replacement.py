"""A file in the place of another that is open elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tooltrue._internal.platform import file_replacement
from tooltrue._internal.platform.file_replacement import FileInUse, read_file, remove_file, replace_file
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue.contract.files import write_whole
from tooltrue.errors import ConfigurationError


class Busy:
    """``os.replace`` of a system that refuses while another program has the file open, ``times`` times."""

    def __init__(self, times: float, code: int = 32) -> None:
        self._replace = os.replace
        self._times = times
        self._code = code

    def __call__(self, source: Any, target: Any) -> None:
        self._times -= 1
        if self._times >= 0:
            error = PermissionError(13, "Permission denied")
            error.winerror = self._code  # pyright: ignore[reportAttributeAccessIssue] - an attribute of Windows
            raise error
        self._replace(source, target)


def test_a_file_is_replaced_and_removed(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new")
    (tmp_path / "old").write_text("old")
    replace_file(tmp_path / "new", tmp_path / "old")
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    for _ in range(2):
        remove_file(tmp_path / "old")
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a\r\nb")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert read_file(tmp_path / "file") == read_file(str(tmp_path / "link")) == b"a\r\nb"
    assert read_file(tmp_path / "file", 3) == b"a\r\n"
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "missing")


@pytest.mark.skipif(HAS_POSIX, reason="POSIX replaces open files")
@pytest.mark.parametrize("code", [5, 32])
def test_a_file_that_is_closed_soon_is_replaced(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "replace", Busy(3, code))
    write_whole(tmp_path / "file", "text")
    assert (tmp_path / "file").read_text() == "text"


@pytest.mark.skipif(HAS_POSIX, reason="POSIX replaces open files")
def test_a_file_that_stays_open_is_left_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_replacement, "_SECONDS", 0.05)
    monkeypatch.setattr(os, "replace", Busy(float("inf")))
    (tmp_path / "file").write_text("before")
    with pytest.raises(FileInUse):
        replace_file(tmp_path / "file", tmp_path / "other")
    with pytest.raises(ConfigurationError, match="another program has it open"):
        write_whole(tmp_path / "file", "text")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("file", "before")]


@pytest.mark.skipif(HAS_POSIX, reason="POSIX has no file that one program alone can open")
def test_a_file_that_another_program_has_for_itself_is_read_once_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tooltrue._internal.platform import windows_handles  # noqa: PLC0415 - of one system

    (tmp_path / "file").write_text("text")

    def open_alone() -> int:
        path, access = str(tmp_path / "file"), windows_handles.READ | windows_handles.DELETE
        return windows_handles.open_file(path, access, windows_handles.EXCLUSIVE, windows_handles.OPEN_EXISTING)

    other = open_alone()
    monkeypatch.setattr(file_replacement.time, "sleep", lambda seconds: windows_handles.close(other))
    assert read_file(tmp_path / "file") == b"text"

    other = open_alone()
    monkeypatch.setattr(file_replacement, "_SECONDS", 0)
    with pytest.raises(FileInUse):
        read_file(tmp_path / "file")
    windows_handles.close(other)
