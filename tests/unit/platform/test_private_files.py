"""Files and folders for one user alone, by the way of this system."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from support.private import is_private_at
from tooltrue._internal.platform.private_files import (
    create_beside,
    create_private_file,
    ensure_private_file,
    is_private,
    make_private_folder,
    move_new,
    open_private_file,
    open_private_log,
    read_private_file,
    restrict_folder,
)
from tooltrue.contract.files import write_whole


@pytest.fixture(autouse=True)
def generous_umask() -> Generator[None]:
    """New files are open to all, unless their maker takes care."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("create", [create_private_file, open_private_file, open_private_log])
def test_a_new_file_is_private(create: Callable[[Path], int], tmp_path: Path) -> None:
    fd = create(tmp_path / "file")
    assert is_private(fd)
    assert os.write(fd, b"line\n") == 5
    os.close(fd)
    assert (mode_of(tmp_path / "file"), (tmp_path / "file").read_bytes()) == (0o600, b"line\n")


def test_a_file_of_others_is_not_private(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for mode, expected in ((0o600, True), (0o400, True), (0o640, False), (0o604, False), (0o620, False)):
        (tmp_path / "file").chmod(mode)
        assert is_private_at(tmp_path / "file") is expected, oct(mode)


def test_an_existing_file_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")
    (tmp_path / "file").chmod(0o644)
    with pytest.raises(FileExistsError):
        create_private_file(tmp_path / "file")
    ensure_private_file(tmp_path / "file")
    for opened in (open_private_file, open_private_log):
        os.close(opened(tmp_path / "file"))
    assert (mode_of(tmp_path / "file"), (tmp_path / "file").read_text()) == (0o644, "text")


def test_a_link_is_not_followed_where_a_secret_is_expected(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("other")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    for opened in (read_private_file, open_private_file):
        with pytest.raises(OSError, match="symbolic links"):
            opened(tmp_path / "link")
    with pytest.raises(FileExistsError):
        create_private_file(tmp_path / "link")
    fd = open_private_log(tmp_path / "link")
    os.write(fd, b" line")
    os.close(fd)
    assert (tmp_path / "target").read_text() == "other line"


def test_a_missing_target_of_a_link_is_created_privately(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    ensure_private_file(tmp_path / "link")
    assert is_private_at(tmp_path / "target")
    assert (tmp_path / "link").is_symlink()


def test_lines_of_several_writers_are_appended(tmp_path: Path) -> None:
    one, two = (open_private_log(tmp_path / "log") for _ in range(2))
    for fd, line in ((one, b"a\n"), (two, b"b\n"), (one, b"c\n")):
        os.write(fd, line)
    os.close(one)
    os.close(two)
    assert (tmp_path / "log").read_bytes() == b"a\nb\nc\n"


def test_a_folder_is_private_and_so_are_new_ones_above_it(tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    for _ in range(2):
        make_private_folder(tmp_path / "before" / "above" / "folder")
    modes = [mode_of(tmp_path / path) for path in ("before", "before/above", "before/above/folder")]
    assert modes == [0o777, 0o700, 0o700]
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        make_private_folder(tmp_path / "file")


def test_access_to_a_folder_is_taken_from_others(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(0o755)
    for _ in range(2):
        restrict_folder(tmp_path / "open")
        assert mode_of(tmp_path / "open") == 0o700


def test_a_file_gets_its_name_once(tmp_path: Path) -> None:
    for text in ("first", "second"):
        (tmp_path / text).write_text(text)
    move_new(tmp_path / "first", tmp_path / "name")
    with pytest.raises(FileExistsError):
        move_new(tmp_path / "second", tmp_path / "name")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["name", "second"]
    assert (tmp_path / "name").read_text() == "first"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o777])
def test_what_takes_the_place_of_a_file_has_its_rights(mode: int, tmp_path: Path) -> None:
    (tmp_path / "before").write_text("")
    (tmp_path / "before").chmod(mode)
    os.close(create_beside(tmp_path / "after", tmp_path / "before", 0o666))
    assert mode_of(tmp_path / "after") == mode


@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_a_new_file_has_the_rights_that_it_is_given(mode: int, tmp_path: Path) -> None:
    write_whole(tmp_path / "file", "one\r\ntwo\n", mode)
    assert (mode_of(tmp_path / "file"), (tmp_path / "file").read_bytes()) == (mode, b"one\r\ntwo\n")
