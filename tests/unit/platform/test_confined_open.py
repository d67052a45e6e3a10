"""Files beneath a folder, by the way of this system."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue import File
from tooltrue._internal.platform.confined_open import open_beneath, parts_beneath
from tooltrue._internal.platform.nonblocking_open import open_without_waiting
from tooltrue._internal.platform.windows_names import is_device_name, is_plain_name
from tooltrue.errors import InvalidResult


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "inner").mkdir(parents=True)
    (tmp_path / "root" / "inner" / "file").write_bytes(b"in\r\nside")
    (tmp_path / "secret").write_text("outside")
    (tmp_path / "root" / "up").symlink_to(tmp_path)
    (tmp_path / "root" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "root" / "same").symlink_to("inner")
    return tmp_path / "root"


def test_a_file_is_read_as_it_is(root: Path) -> None:
    for read in (lambda: open_beneath(str(root), ("inner", "file")), lambda: open_without_waiting(root / "inner/file")):
        fd = read()
        assert os.read(fd, 100) == b"in\r\nside"
        os.close(fd)


@pytest.mark.parametrize("parts", [("link",), ("up", "secret"), ("same", "file")])
def test_a_link_is_not_followed(parts: tuple[str, ...], root: Path) -> None:
    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        open_beneath(str(root), parts)


def test_what_is_no_file_is_opened_and_not_waited_for(root: Path) -> None:
    fd = open_beneath(str(root), ("inner",))
    assert stat.S_ISDIR(os.fstat(fd).st_mode)
    os.close(fd)
    for parts in (("missing",), ("inner", "file", "below")):
        with pytest.raises((FileNotFoundError, NotADirectoryError)):
            open_beneath(str(root), parts)


@pytest.mark.parametrize("path", ["", ".", "..", "../secret", "inner/../../secret", "/etc/passwd", "inner/.."])
def test_a_path_that_leads_out_has_no_parts(path: str, root: Path) -> None:
    assert parts_beneath(path) is None
    with pytest.raises(InvalidResult) as caught:
        File(path or ".", root=root).to_resource_content()
    assert caught.value.code == "TT3462"


def test_a_descriptor_is_left_behind_by_no_refusal(root: Path) -> None:
    before = os.dup(0)
    os.close(before)
    for parts in (("link",), ("up", "secret"), ("missing", "file")):
        with pytest.raises(OSError, match=r"\w"):
            open_beneath(str(root), parts)
    after = os.dup(0)
    os.close(after)
    assert before == after


@given(st.lists(st.sampled_from(["inner", "file", "up", "link", "same", "secret", "..", ".", ""]), max_size=6))
def test_no_path_of_links_and_dots_leads_out(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    folder = tmp_path_factory.getbasetemp() / "beneath"
    if not folder.exists():
        (folder / "root" / "inner").mkdir(parents=True)
        (folder / "root" / "inner" / "file").write_text("inside")
        (folder / "secret").write_text("outside")
        (folder / "root" / "up").symlink_to(folder)
        (folder / "root" / "link").symlink_to(folder / "secret")
        (folder / "root" / "same").symlink_to("inner")
    parts = parts_beneath("/".join(words))
    if parts is None:
        return
    try:
        fd = open_beneath(str(folder / "root"), parts)
    except OSError:
        return
    try:
        assert stat.S_ISDIR(os.fstat(fd).st_mode) or os.read(fd, 100) == b"inside"
    finally:
        os.close(fd)


@pytest.mark.parametrize(
    "name",
    ["NUL", "con", "Aux.txt", "COM1", "lpt9.log", "CONIN$", "nul .txt", "COM¹", "PRN:", "NUL:stream"],
)
def test_a_device_of_windows_is_recognized(name: str) -> None:
    assert is_device_name(name)
    assert not is_plain_name(name)


@pytest.mark.parametrize(
    ("name", "is_plain"),
    [
        ("notes", True),
        ("console", True),
        ("COM10", True),
        ("nully.txt", True),
        ("a.b", True),
        (".hidden", True),
        ("PROGRA~1", True),
        ("", False),
        (".", False),
        ("..", False),
        ("a.", False),
        ("a ", False),
        ("file:stream", False),
        ("C:", False),
        ("a/b", False),
        ("a\\b", False),
        ("a?", False),
        ("a\0", False),
        ("a\n", False),
    ],
)
def test_a_plain_name_is_one_entry_of_a_folder(name: str, is_plain: bool) -> None:
    assert not is_device_name(name)
    assert is_plain_name(name) is is_plain
