"""The files tools on Windows, over a fake of the system calls that behaves as NTFS does."""

from __future__ import annotations

import errno
import os
import re
import threading
from collections.abc import Generator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.descriptors import open_descriptors
from support.toolbox import modules_of_systems
from support.toolbox.refusals import refused
from support.windows.handles import FILES
from tooltrue.errors import ToolError
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext

AGREED = RequestContext(LOCAL, SILENT, agreed=True)


@pytest.fixture(scope="module")
def windows() -> SimpleNamespace:
    return modules_of_systems.namespace()


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("inside\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "main.py").write_text("outside\n")
    return folder


@pytest.fixture
def files(windows: SimpleNamespace, root: Path) -> Generator[Any]:
    with windows.files.Files([root]) as opened:
        yield opened


def content(files: Any, path: str) -> str:
    return files.read_file(path)["content"]


# Reading


@pytest.mark.parametrize(
    "path", ["src/main.py", "src\\main.py", "SRC\\MAIN.PY", ".\\src\\.\\main.py", "src//main.py", "\\src\\main.py"]
)
def test_a_path_is_read_in_the_spellings_of_windows(files: Any, root: Path, path: str) -> None:
    path = str(root) + path if path.startswith("\\") else path
    assert content(files, path) == "inside\n"


def test_an_entry_is_known_by_its_stored_name_whatever_it_was_asked_by(windows: SimpleNamespace, root: Path) -> None:
    (root / "A longer name.txt").write_text("long\n")
    with windows.rooted_paths.Folders([root]) as folders:
        for path, names in (
            ("ALONGE~1.TXT", ("A longer name.txt",)),
            ("SRC/Main.PY", ("src", "main.py")),
            ("src/MAIN.PY", ("src", "main.py")),
        ):
            for use in ("read", "write"):
                target = folders.target(path)
                with target.folder.find(target.names, path, use) as spot:
                    assert spot.names == names, use


@pytest.mark.parametrize(
    ("link", "points_to", "path", "seen"),
    [
        ("a", "src/main.py", "a", "inside\n"),
        ("a", "src", "A\\main.py", "inside\n"),
        ("src/deep/up", "../main.py", "src/deep/up", "inside\n"),
        ("a", "../outside/main.py", "a", "TT6026"),
        ("a", "../outside", "a/main.py", "TT6026"),
        ("a", "/etc", "a/passwd", "TT6026"),
        ("a", "/etc/passwd", "a", "TT6026"),
        ("a", "a", "a", "TT6027"),
    ],
)
def test_links_and_junctions_are_followed_by_hand_and_stay_inside(
    files: Any, root: Path, link: str, points_to: str, path: str, seen: str
) -> None:
    (root / link).symlink_to(points_to)
    if seen.startswith("TT"):
        with refused(seen):
            files.read_file(path)
    else:
        assert content(files, path) == seen


def test_a_junction_is_refused_even_when_it_points_inside(files: Any, root: Path) -> None:
    (root / "a").symlink_to(root / "src")
    with refused("TT6026"):
        files.read_file("a/main.py")


@pytest.mark.needs("fifos")
def test_a_reparse_point_of_unknown_meaning_is_no_file(files: Any, root: Path) -> None:
    os.mkfifo(root / "socket")
    with refused("TT6024"):
        files.read_file("socket")


def test_a_listing_has_the_entries_and_enters_no_link(files: Any, root: Path) -> None:
    (root / "out").symlink_to(root.parent / "outside")
    for number in range(300):
        (root / "src" / "deep" / f"{number:03}").touch()
    entries = {entry["path"]: entry["type"] for entry in files.list_directory(".", depth=3, limit=1000)["entries"]}
    assert len(entries) == 304
    assert entries["out"] == "symlink"
    assert entries["src/deep"] == "directory"
    assert not any(path.startswith("out/") for path in entries)


def test_a_name_that_windows_changes_is_not_listed(files: Any, root: Path) -> None:
    for name in ("a.", "b ", "con", "c:d", "plain"):
        (root / name).touch()
    listing = files.list_directory(".")
    assert [entry["path"] for entry in listing["entries"]] == ["plain", "src"]
    assert listing["unshown"] == 4


def test_a_file_system_without_normalized_names_has_no_short_ones(
    windows: SimpleNamespace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "A longer name.txt").write_text("long\n")
    monkeypatch.setattr(FILES, "normalizes", False)
    monkeypatch.setattr(FILES, "has_wide_numbers", False)
    with windows.files.Files([root]) as files:
        assert content(files, "src/main.py") == "inside\n"
        with refused("TT6034"):
            files.read_file("ALONGE~1.TXT")


# Swaps during a call


def swapping(monkeypatch: pytest.MonkeyPatch, name: str, swap: Any, *, times: int = 1) -> None:
    """Run ``swap`` once, just before the call number ``times`` that opens ``name``."""
    numbers = count(1)

    def before(opened: str) -> None:
        if opened == name and next(numbers) == times:
            swap()

    monkeypatch.setattr(FILES, "before", before)


def test_a_folder_swapped_for_a_junction_stays_the_one_that_was_opened(
    files: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / "src").rename(root / "old")
        (root / "src").symlink_to(root.parent / "outside")

    swapping(monkeypatch, "main.py", swap)
    assert content(files, "src/main.py") == "inside\n"


@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_file_swapped_for_a_link_is_refused_or_is_still_the_old_one(
    files: Any, root: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    def swap() -> None:
        (root / "src" / "main.py").unlink()
        (root / "src" / "main.py").symlink_to(root.parent / "outside" / "main.py")

    swapping(monkeypatch, "main.py", swap, times=times)
    with refused("TT6026" if times == 1 else "TT6032" if times == 2 else "TT6029"):
        files.read_file("src/main.py")


def changing(monkeypatch: pytest.MonkeyPatch, name: str, change: Any, *, at: range = range(1)) -> None:
    """Run ``change`` after the calls of these numbers that open ``name``, before anything is asked of the handle."""
    numbers = count()

    def after(opened: str) -> None:
        if opened == name and next(numbers) in at:
            change()

    monkeypatch.setattr(FILES, "after", after)


def replace(place: Path) -> None:
    draft = place.with_name("draft")
    draft.write_text("newer\n")
    draft.replace(place)


def found(windows: SimpleNamespace, root: Path, path: str, use: str) -> tuple[str, ...]:
    """The names under which ``path`` is found."""
    with windows.rooted_paths.Folders([root]) as folders:
        target = folders.target(path)
        with target.folder.find(target.names, path, use) as spot:
            return spot.names


@pytest.mark.parametrize("use", ["read", "write"])
@pytest.mark.parametrize("name", ["A longer name.txt", "a longer NAME.txt", "ALONGE~1.TXT"])
def test_an_entry_replaced_while_it_is_looked_up_has_the_name_of_the_new_one(
    windows: SimpleNamespace, root: Path, monkeypatch: pytest.MonkeyPatch, name: str, use: str
) -> None:
    place = root / "A longer name.txt"
    place.touch()
    changing(monkeypatch, name, lambda: replace(place))
    assert found(windows, root, name, use) == ("A longer name.txt",)


@pytest.mark.parametrize("change", [Path.unlink, lambda place: place.rename(place.with_name("other.py"))])
@pytest.mark.parametrize("name", ["main.py", "MAIN.PY"])
def test_an_entry_gone_while_it_is_looked_up_has_no_name(
    windows: SimpleNamespace, root: Path, monkeypatch: pytest.MonkeyPatch, name: str, change: Any
) -> None:
    place = root / "src" / "main.py"
    changing(monkeypatch, name, lambda: change(place))
    assert found(windows, root, f"src/{name}", "write") == ("src", name)
    place.touch()
    changing(monkeypatch, name, lambda: change(place))
    with pytest.raises(FileNotFoundError):
        found(windows, root, f"src/{name}", "read")


@pytest.mark.parametrize("use", ["read", "write"])
def test_an_entry_replaced_again_and_again_is_refused(
    windows: SimpleNamespace, root: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    before = open_descriptors()
    changing(monkeypatch, "main.py", lambda: replace(root / "src" / "main.py"), at=range(1000))
    with pytest.raises(OSError, match=re.escape(os.strerror(errno.ELOOP))):
        found(windows, root, "src/main.py", use)
    assert open_descriptors() == before


@pytest.mark.parametrize("number", range(8))
def test_an_append_is_at_the_end_of_the_file_whenever_that_is_replaced(
    files: Any, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    place = root / "src" / "main.py"
    changing(monkeypatch, "main.py", lambda: replace(place), at=range(number, number + 1))
    try:
        files.write_file("src/main.py", "mine\n", mode="append")
        outcome = "written"
    except ToolError as error:
        outcome = error.code
    assert outcome in ("written", "TT6055")
    assert place.read_text().endswith("\nmine\n" if outcome == "written" else "newer\n")
    assert sorted(os.listdir(root / "src")) == ["deep", "main.py"]


def test_a_racing_swap_never_opens_anything_outside(files: Any, root: Path) -> None:
    (root / "bait").symlink_to(root.parent / "outside")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for name, other in (("src", "aside"), ("bait", "src"), ("src", "bait"), ("aside", "src")):
                (root / name).rename(root / other)

    swapper = threading.Thread(target=swap)
    FILES.opened.clear()
    swapper.start()
    try:
        for _ in range(100):
            try:
                assert content(files, "src/main.py") == "inside\n"
            except ToolError:
                continue
    finally:
        over.set()
        swapper.join()
    assert not [path for path in FILES.opened if not path.startswith(f"{root}/")]


# Changing


def test_a_file_is_created_replaced_and_extended(files: Any, root: Path) -> None:
    assert files.write_file("src\\new.txt", "one\n")["created"]
    with refused("TT6050"):
        files.write_file("src/NEW.TXT", "two\n")
    assert not files.write_file("src/NEW.TXT", "two\n", mode="overwrite")["created"]
    files.write_file("src/new.txt", "three\n", mode="append")
    assert (root / "src" / "new.txt").read_text() == "two\nthree\n"
    assert sorted(os.listdir(root / "src")) == ["deep", "main.py", "new.txt"]


def test_a_replaced_file_keeps_its_access_list_and_attributes(files: Any, root: Path) -> None:
    place = root / "src" / "main.py"
    status = place.stat()
    FILES.access[status.st_dev, status.st_ino] = b"team"
    FILES.attributes[status.st_dev, status.st_ino] = 0x2
    files.write_file("src/main.py", "new\n", mode="overwrite")
    now = place.stat()
    assert now.st_ino != status.st_ino
    assert FILES.access[now.st_dev, now.st_ino] == b"team"
    assert FILES.attributes[now.st_dev, now.st_ino] & 0x2


def test_a_file_that_is_read_only_is_neither_replaced_nor_deleted(files: Any, root: Path) -> None:
    (root / "src" / "main.py").chmod(0o444)
    with refused("TT6033"):
        files.write_file("src/main.py", "new\n", mode="overwrite")
    with refused("TT6033"):
        files.delete_file("src/main.py", AGREED)
    assert content(files, "src/main.py") == "inside\n"


def test_entries_are_moved_and_deleted(files: Any, root: Path) -> None:
    files.create_directory("made\\in\\depth")
    assert files.move_file("src\\main.py", "made/moved.py")["path"] == "made/moved.py"
    with refused("TT6068"):
        files.move_file("made", "made/in/itself")
    with refused("TT6067"):
        files.move_file("made/moved.py", "SRC")
    (root / "made" / "out").symlink_to(root.parent / "outside")
    assert files.delete_file("MADE", AGREED, recursive=True)["entries"] == 5
    assert sorted(os.listdir(root)) == ["src"]
    assert (root.parent / "outside" / "main.py").read_text() == "outside\n"


def test_a_move_to_a_short_name_replaces_nothing(files: Any, root: Path) -> None:
    (root / "A longer name.txt").write_text("long\n")
    with refused("TT6067"):
        files.move_file("src/main.py", "ALONGE~1.TXT")
    with refused("TT6050"):
        files.write_file("ALONGE~1.TXT", "new")
    assert (root / "A longer name.txt").read_text() == "long\n"


def test_a_failed_change_leaves_no_draft_and_no_open_handle(
    windows: SimpleNamespace, files: Any, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "injected")

    before = open_descriptors()
    monkeypatch.setattr(os, "write", fail)
    with refused("TT6035"):
        files.write_file("src/main.py", "new\n", mode="overwrite")
    monkeypatch.undo()
    assert sorted(os.listdir(root / "src")) == ["deep", "main.py"]
    assert open_descriptors() == before


def test_a_closed_folder_has_no_root_to_start_from(windows: SimpleNamespace, root: Path) -> None:
    """On Windows -1 is a handle, too: that of the process itself."""
    files = windows.files.Files([root])
    files.close()
    with pytest.raises(ToolError) as caught:
        files.read_file("src/main.py")
    assert caught.value.facts["problem"] == "EBADF"


def test_the_lock_of_a_folder_is_one_for_all_its_spellings(windows: SimpleNamespace, root: Path) -> None:
    handles = windows.handles
    here = handles.open_root(root)
    one, other = handles.open_directory(here, "src"), handles.open_directory(here, "SRC")
    locks = [handles.lock_file(one), handles.lock_file(other)]
    try:
        assert os.path.sameopenfile(*locks)
    finally:
        for fd in locks:
            os.close(fd)
        for directory in (here, one, other):
            handles.close(directory)


# The wall itself


@pytest.mark.parametrize(
    "name",
    ["..", "", "src\\main.py", "src/main.py", "a:b", "main.py::$DATA", "NUL", "a.", "a ", "*", "\ud800", "x" * 256],
)
def test_no_function_of_the_wall_takes_more_than_one_plain_name(
    windows: SimpleNamespace, root: Path, name: str
) -> None:
    handles = windows.handles
    here = handles.open_root(root)
    FILES.opened.clear()
    try:
        for call in (
            lambda: handles.open_directory(here, name),
            lambda: handles.open_file(here, name),
            lambda: handles.create_file(here, name, 0o666),
            lambda: handles.make_directory(here, name),
            lambda: handles.peek(here, name),
            lambda: handles.look(here, name),
            lambda: handles.remove_file(here, name),
            lambda: handles.remove_directory(here, name),
            lambda: handles.rename_new(here, name, here, "b"),
            lambda: handles.rename_over(here, name, here, "b"),
        ):
            with pytest.raises(OSError, match=r"."):
                call()
        for rename in (handles.rename_new, handles.rename_over):
            with pytest.raises(OSError, match=r"."):
                rename(here, "src", here, name)
    finally:
        handles.close(here)
    assert {Path(path).name for path in FILES.opened} <= {"src"}  # the source of the last two
