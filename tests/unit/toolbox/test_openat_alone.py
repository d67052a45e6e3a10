"""The files tools on a system with ``openat`` and without ``O_PATH`` and ``openat2``, such as macOS."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.descriptors import open_descriptors
from support.toolbox import modules_of_systems
from support.toolbox.refusals import refused
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext

pytestmark = pytest.mark.needs("descriptors")

AGREED = RequestContext(LOCAL, SILENT, agreed=True)


@pytest.fixture(scope="module")
def anew() -> SimpleNamespace:
    return modules_of_systems.without_o_path()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("inside\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "main.py").write_text("outside\n")
    return folder


@pytest.fixture
def files(anew: SimpleNamespace, root: Path) -> Generator[Any]:
    before = open_descriptors()
    with anew.files.Files([root]) as opened:
        yield opened
    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("points_to", "path", "seen"),
    [
        ("src/main.py", "a", "inside\n"),
        ("src", "a/main.py", "inside\n"),
        ("src/deep/..", "a/main.py", "inside\n"),
        ("../outside", "a/main.py", "TT6026"),
        ("/etc", "a/passwd", "TT6026"),
        ("a", "a", "TT6027"),
    ],
)
def test_links_are_followed_by_hand_and_stay_inside(
    files: Any, root: Path, points_to: str, path: str, seen: str
) -> None:
    (root / "a").symlink_to(points_to)
    if seen.startswith("TT"):
        with refused(seen):
            files.read_file(path)
    else:
        assert files.read_file(path)["content"] == seen


def test_entries_are_listed_written_moved_and_deleted(files: Any, root: Path) -> None:
    files.write_file("src/new.txt", "one\n")
    files.write_file("src/new.txt", "two\n", mode="append")
    files.move_file("src/new.txt", "made/moved.txt", create_parents=True)
    assert (root / "made" / "moved.txt").read_text() == "one\ntwo\n"
    assert [entry["path"] for entry in files.list_directory("made")["entries"]] == ["made/moved.txt"]
    with refused("TT6068"):
        files.move_file("made", "made/in/itself", create_parents=True)
    files.delete_file("made", AGREED, recursive=True)
    assert os.listdir(root) == ["src"]


def test_special_files_and_missing_names_are_told_as_on_linux(files: Any, root: Path) -> None:
    os.mkfifo(root / "pipe")
    for path, code in (("pipe", "TT6024"), ("none", "TT6020"), ("src/main.py/x", "TT6022"), ("src", "TT6023")):
        with refused(code):
            files.read_file(path)


def test_a_folder_swapped_for_a_link_before_it_is_entered_is_refused(
    files: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, swapped = os.open, False

    def opened(name: Any, *rest: Any, **settings: Any) -> int:
        nonlocal swapped
        if name == "src" and not swapped:
            swapped = True
            (root / "src").rename(root / "old")
            (root / "src").symlink_to("../outside")
        return real(name, *rest, **settings)

    monkeypatch.setattr(os, "open", opened)
    with refused("TT6026"):
        files.read_file("src/main.py")
    assert swapped


def test_a_link_swapped_for_a_folder_before_it_is_read_is_refused(
    files: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").symlink_to("src")
    real = os.readlink

    def late(name: Any, **settings: Any) -> str:
        (root / "a").unlink()
        (root / "a").mkdir()
        return real(name, **settings)

    monkeypatch.setattr(os, "readlink", late)
    with refused("TT6029"):
        files.read_file("a/main.py")
