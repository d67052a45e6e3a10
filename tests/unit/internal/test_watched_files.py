"""Changes of files, found by looking twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tooltrue._internal.watched_files import WatchedFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    for name in ("a.py", "b.py", "notes.txt", "below/c.py"):
        (tmp_path / name).write_text("1")
    return tmp_path


def names(changed: list[Path]) -> list[str]:
    return [path.name for path in changed]


def settled(files: WatchedFiles) -> list[str]:
    """The changes of two looks, the first of which reports none."""
    assert files.changes() == []
    return names(files.changes())


def test_a_file_that_was_changed_made_or_deleted_is_reported_once(folder: Path):
    files = WatchedFiles(folder)
    assert files.changes() == []
    (folder / "a.py").write_text("22")
    (folder / "b.py").unlink()
    (folder / "new.py").touch()
    assert settled(files) == ["a.py", "b.py", "new.py"]
    assert settled(files) == []


def test_a_file_that_is_being_written_is_reported_when_it_is_whole(folder: Path):
    files = WatchedFiles(folder)
    for text in ("22", "333", "4444"):
        (folder / "a.py").write_text(text)
        assert files.changes() == []
    assert names(files.changes()) == ["a.py"]


def test_a_change_that_was_taken_back_at_once_is_none(folder: Path):
    files, file = WatchedFiles(folder), folder / "a.py"
    before = file.stat()
    file.write_text("2")
    assert files.changes() == []
    file.write_text("1")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert settled(files) == []


def test_a_file_that_takes_the_place_of_another_is_a_change_even_with_its_times(folder: Path):
    files, file = WatchedFiles(folder), folder / "a.py"
    before = file.stat()
    (folder / "draft").write_text("2")
    os.utime(folder / "draft", ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(folder / "draft", file)
    assert settled(files) == ["a.py"]


def test_other_files_are_watched_once_they_are_added(folder: Path):
    files, below = WatchedFiles(folder), folder / "below" / "c.py"
    below.write_text("22")
    (folder / "notes.txt").write_text("22")
    assert settled(files) == []
    files.add([below, folder / "missing.py"])
    assert settled(files) == []
    below.write_text("333")
    assert settled(files) == ["c.py"]


def test_a_change_from_before_an_addition_is_not_lost(folder: Path):
    files = WatchedFiles(folder)
    (folder / "a.py").write_text("22")
    files.add([folder / "a.py", folder / "below" / "c.py"])
    assert settled(files) == ["a.py"]
