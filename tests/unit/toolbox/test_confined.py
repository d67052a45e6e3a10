"""Paths become descriptors that stay inside: splitting, labels, links, and swaps during a call."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.descriptors import open_descriptors
from support.toolbox.refusals import refused
from tooltrue.errors import ConfigurationError, ToolError
from tooltrue_toolbox import rooted_paths as confined
from tooltrue_toolbox.platform import handles, path_syntax
from tooltrue_toolbox.rooted_paths import Folders, PathRules, Target

pytestmark = pytest.mark.usefixtures("way")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("inside")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "main.py").write_text("outside")
    return folder


@pytest.fixture
def folders(root: Path) -> Generator[Folders]:
    with Folders([root]) as opened:
        yield opened


def target(folders: Folders, path: str) -> Target:
    found = folders.target(path)
    assert found is not None
    return found


def read(folders: Folders, path: str) -> bytes:
    there = target(folders, path)
    with there.folder.find(there.names, there.display_path, "read") as spot, spot.file() as fd:
        return os.read(fd, 100)


# Splitting


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (".", ()),
        ("./src//main.py", ("src", "main.py")),
        ("src/", ("src",)),
        (" src", (" src",)),
        ("~/x", ("~", "x")),
        ("%2e%2e/x", ("%2e%2e", "x")),
        ("文件/e\u0301", ("文件", "e\u0301")),
    ],
)
def test_names_are_taken_to_the_byte(folders: Folders, path: str, names: tuple[str, ...]) -> None:
    assert target(folders, path).names == names


@pytest.mark.parametrize("name", ["src ", "src.", "...", "a?"])
def test_a_name_that_windows_changes_is_refused_there_and_taken_to_the_byte_elsewhere(
    folders: Folders, name: str
) -> None:
    if path_syntax.TAKES_ANY_NAME:
        assert target(folders, name).names == (name,)
    else:
        with refused("TT4730"):
            folders.target(name)


def test_a_backslash_separates_names_on_windows_and_is_refused_elsewhere(folders: Folders) -> None:
    if path_syntax.TAKES_ANY_NAME:
        with refused("TT6013"):
            folders.target("a\\b")
    else:
        assert target(folders, "a\\b").names == ("a", "b")


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("", "TT6010"),
        ("..", "TT6011"),
        ("src/../src", "TT6011"),
        ("a\0", "TT6012"),
        ("a\nb", "TT6012"),
        ("a\u2028b", "TT6012"),
        ("a\udc80", "TT6012"),
        ("C:", "TT6013"),
        ("src/NUL .txt", "TT6013"),
        ("/etc/passwd", "TT6014"),
    ],
)
def test_a_path_that_is_no_way_down_is_refused(folders: Folders, path: str, code: str) -> None:
    with refused(code):
        folders.target(path)


@given(st.text())
def test_every_path_is_refused_or_becomes_names_without_a_way_up(path: str) -> None:
    with Folders([Path(sys.prefix)]) as folders:
        try:
            names = target(folders, path).names
        except ToolError:
            return
        assert not {"", ".", ".."} & set(names)
        assert not any("/" in name or "\0" in name for name in names)


def test_an_absolute_path_inside_becomes_relative(folders: Folders, root: Path) -> None:
    found = target(folders, f"{root}/src/main.py")
    assert (found.names, found.display_path) == (("src", "main.py"), "src/main.py")
    assert target(folders, str(root)).display_path == "."


def test_an_absolute_path_may_be_spelt_with_or_without_the_links_above_the_folder(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    with Folders([link]) as folders:
        assert target(folders, f"{root}/src").names == ("src",)
        assert target(folders, f"{link}/src").names == ("src",)


def make(name: str, parent: int) -> None:
    handles.make_directory(parent, name)


def test_a_path_deeper_than_the_limit_is_refused(folders: Folders) -> None:
    there = target(folders, "a/" * confined.DEPTH + "b")
    with refused("TT6016"):
        there.folder.find(there.names, there.display_path, "write", make=make)


@pytest.mark.needs("names")
def test_the_name_of_the_root_folder_is_not_checked(tmp_path: Path) -> None:
    (tmp_path / "10:00").mkdir()
    with Folders([tmp_path / "10:00"]) as folders:
        assert target(folders, f"{tmp_path}/10:00/a").display_path == "a"
        assert folders.labels == ("folder",)
        with refused("TT6013"):
            folders.target(f"{tmp_path}/10:00/a:b")


# Several folders


def test_several_folders_are_addressed_by_unique_labels(tmp_path: Path) -> None:
    for way in ("x/data", "y/data", "logs"):
        (tmp_path / way).mkdir(parents=True)
    with Folders([tmp_path / "x/data", tmp_path / "y/data", tmp_path / "logs"]) as folders:
        assert folders.labels == ("data", "data-2", "logs")
        assert folders.target(".") is None
        assert target(folders, "data-2/a").display_path == "data-2/a"
        assert target(folders, f"{tmp_path}/y/data/a").display_path == "data-2/a"
        with refused("TT6015"):
            folders.target("other/a")


def test_of_nested_folders_the_inner_one_owns_an_absolute_path(root: Path) -> None:
    with Folders([root, root / "src"]) as folders:
        assert target(folders, f"{root}/src/main.py").display_path == "src/main.py"


def test_a_folder_that_is_none_is_an_error_at_the_start(root: Path) -> None:
    before = open_descriptors()
    with pytest.raises(ConfigurationError) as none:
        Folders([])
    with pytest.raises(ConfigurationError) as missing:
        Folders([root, root / "missing"])
    with pytest.raises(ConfigurationError) as file:
        Folders([root / "src" / "main.py"])
    assert [none.value.code, missing.value.code, file.value.code] == ["TT6002", "TT6001", "TT6001"]
    assert open_descriptors() == before


def test_a_closed_folder_refuses_even_when_its_number_is_used_again(root: Path) -> None:
    folders = Folders([root])
    folders.close()
    folders.close()
    other = handles.open_root(root.parent / "outside")
    try:
        with pytest.raises(OSError, match="Bad file descriptor"):
            read(folders, "main.py")
    finally:
        handles.close(other)


def test_a_root_folder_stays_the_opened_one_after_a_rename(folders: Folders, root: Path) -> None:
    root.rename(root.parent / "moved")
    root.symlink_to(root.parent / "outside")
    assert read(folders, "src/main.py") == b"inside"


# Links


@pytest.mark.parametrize(
    ("link", "points_to", "path"),
    [
        ("a", "src/main.py", "a"),
        ("a", "./src//main.py", "a"),
        ("a", "src", "a/main.py"),
        ("src/deep/up", "../main.py", "src/deep/up"),
        ("src/deep/up", "../..", "src/deep/up/src/main.py"),
        ("a", "src/deep/../main.py", "a"),
        ("a", "src/deep/..", "a/main.py"),
        ("a", ".", "a/a/a/src/main.py"),
    ],
)
def test_a_link_that_stays_inside_is_followed(
    folders: Folders, root: Path, link: str, points_to: str, path: str
) -> None:
    (root / link).symlink_to(points_to)
    assert read(folders, path) == b"inside"


def test_the_way_up_in_a_link_is_taken_from_where_the_link_before_it_led(folders: Folders, root: Path) -> None:
    (root / "jump").symlink_to("src/deep")
    (root / "a").symlink_to("jump/../main.py")  # src/main.py, and not main.py
    assert read(folders, "a") == b"inside"


@pytest.mark.parametrize(
    "points_to",
    ["..", "../outside/main.py", "src/../../outside/main.py", "src/deep/../../..", "/etc/passwd", "/", "//x"],
)
@pytest.mark.parametrize("path", ["a", "a/main.py"])
def test_a_link_that_leads_out_is_refused(folders: Folders, root: Path, points_to: str, path: str) -> None:
    (root / "a").symlink_to(points_to)
    with refused("TT6026"):
        read(folders, path)


def test_an_absolute_link_is_refused_even_when_it_points_inside(folders: Folders, root: Path) -> None:
    (root / "a").symlink_to(root / "src")
    with refused("TT6026"):
        read(folders, "a/main.py")


def test_as_many_links_as_the_system_follows_and_no_more(folders: Folders, root: Path) -> None:
    (root / "0").symlink_to("src/main.py")
    for n in range(1, confined.LINKS + 1):
        (root / str(n)).symlink_to(str(n - 1))
    assert read(folders, str(confined.LINKS - 1)) == b"inside"
    with refused("TT6027"):
        read(folders, str(confined.LINKS))


def test_links_that_make_a_path_ever_longer_end(folders: Folders, root: Path) -> None:
    (root / "a").symlink_to("a/" * 200)
    with refused("TT6016"):
        read(folders, "a")


def test_a_link_cannot_lend_a_closed_name_another_one(folders: Folders, root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".ssh").mkdir()
    (root / "git").symlink_to(".git")
    (root / "keys").symlink_to("src/../.ssh")
    there = target(folders, "git/config")
    with refused("TT6031"):
        there.folder.find(there.names, there.display_path, "write")
    with refused("TT6030"):
        read(folders, "keys/known_hosts")


def test_missing_directories_are_made_only_behind_links_that_stay_inside(folders: Folders, root: Path) -> None:
    (root / "in").symlink_to("made")
    (root / "out").symlink_to("../made")
    inside, outside = target(folders, "in/b/c"), target(folders, "out/b/c")
    with inside.folder.find(inside.names, inside.display_path, "write", make=make) as spot:
        assert spot.names == ("made", "b", "c")
    with refused("TT6026"):
        outside.folder.find(outside.names, outside.display_path, "write", make=make)
    assert (root / "made" / "b").is_dir()
    assert not (root.parent / "made").exists()


def test_no_descriptor_is_left_after_success_or_refusal(folders: Folders, root: Path) -> None:
    (root / "out").symlink_to("..")
    before = open_descriptors()
    read(folders, "src/main.py")
    for path, kind in (("out/x", ToolError), ("src", OSError), ("src/main.py/x", ToolError), ("none", OSError)):
        with pytest.raises(kind):
            read(folders, path)
    assert open_descriptors() == before


def test_no_descriptor_is_passed_on_to_another_program(folders: Folders) -> None:
    there = target(folders, "src/main.py")
    with there.folder.find(there.names, there.display_path, "read") as spot, spot.file() as fd:
        of_handle = getattr(os, "get_handle_inheritable", os.get_inheritable)
        assert (of_handle(spot.parent), os.get_inheritable(fd)) == (False, False)


# Names


@pytest.mark.parametrize(
    "name",
    [
        *(".git", ".GIT", ".Git ", ".git.", ".g\u200cit", ".git::$INDEX_ALLOCATION", ".mcp.json"),
        *(".husky", ".pre-commit-config.yaml", ".gemini", ".codex", ".windsurf", "claude_desktop_config.json", ".zed"),
        *(".vimrc", ".gdbinit", ".exrc", ".tcshrc", ".xprofile", ".xsessionrc", "config.fish", ".cargo", ".yarnrc.yml"),
    ],
)
def test_a_protected_name_is_known_in_every_spelling(name: str) -> None:
    assert PathRules().denial(("a", name, "b"), "write") == "TT6031"
    assert PathRules().denial(("a", name, "b"), "read") is None


@pytest.mark.parametrize(
    "name", [".env", ".ENV", ".env.local", "id_rsa", "ID_RSA", "server.PEM", ".\u017fsh", ".my.cnf", ".s3cfg"]
)
@pytest.mark.parametrize("use", ["read", "write"])
def test_a_secret_name_is_closed_for_both_uses(name: str, use: confined.Use) -> None:
    assert PathRules().denial((name,), use) == "TT6030"


@pytest.mark.parametrize(
    "name", [".gitignore", ".env.example", "id_rsa.pub", "environment", "git", "env", "key.py", "husky", ".config"]
)
def test_a_name_that_looks_alike_is_open(name: str) -> None:
    assert PathRules().denial((name,), "write") is None


def test_the_tables_are_the_operators_to_change() -> None:
    rules = PathRules(secrets=("Caf\u00e9*", "Stra\u00dfe"), protected=())
    assert rules.denial(("STRASSE",), "read") == "TT6030"
    assert rules.denial(("CAFE\u0301.txt",), "read") == "TT6030"
    assert rules.denial((".git",), "write") is None


# Swaps during a call; those at one moment on Windows are in test_windows_handles.py


def swapping(monkeypatch: pytest.MonkeyPatch, before: str, flags: int, swap: Callable[[], object]) -> None:
    """Runs ``swap`` once, just before the first ``os.open`` of the name ``before`` with any of ``flags``."""
    real, done = os.open, threading.Event()

    def opened(name: str, how: int, *rest: int, dir_fd: int | None = None) -> int:
        if name == before and how & flags and not done.is_set():
            done.set()
            swap()
        return real(name, how, *rest, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opened)


@pytest.mark.needs("descriptors")
def test_a_directory_swapped_for_a_link_before_it_is_entered_is_refused(
    folders: Folders, root: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / "src").rename(root / "old")
        (root / "src").symlink_to("../outside")

    if way == "in one call":
        pytest.skip("there is no moment in between")
    swapping(monkeypatch, "src", os.O_NOFOLLOW, swap)
    with refused("TT6026"):
        read(folders, "src/main.py")


@pytest.mark.needs("descriptors")
def test_a_directory_swapped_after_it_was_entered_stays_the_old_one(
    folders: Folders, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / "src").rename(root / "old")
        (root / "src").symlink_to("../outside")

    swapping(monkeypatch, "main.py", os.O_NOFOLLOW, swap)
    assert read(folders, "src/main.py") == b"inside"


@pytest.mark.needs("descriptors")
def test_a_file_swapped_for_a_link_between_look_and_open_is_refused(
    folders: Folders, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / "src" / "main.py").unlink()
        (root / "src" / "main.py").symlink_to("../../outside/main.py")

    swapping(monkeypatch, "main.py", os.O_NONBLOCK, swap)
    with refused("TT6029"), confined.path_errors("src/main.py"):
        read(folders, "src/main.py")


@pytest.mark.needs("fifos")
def test_a_file_swapped_for_a_pipe_between_look_and_open_neither_hangs_nor_reads(
    folders: Folders, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (root / "src" / "main.py").unlink()
        os.mkfifo(root / "src" / "main.py")

    swapping(monkeypatch, "main.py", os.O_NONBLOCK, swap)
    with refused("TT6024"):
        read(folders, "src/main.py")


def test_a_racing_swap_never_shows_files_outside_the_root(folders: Folders, root: Path) -> None:
    """Bounded: 300 reads against a thread that swaps the directory for a link outward and back."""
    (root / "bait").symlink_to("../outside")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for name, other in (("src", "aside"), ("bait", "src"), ("src", "bait"), ("aside", "src")):
                (root / name).rename(root / other)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen = {_outcome(folders) for _ in range(300)}
    finally:
        over.set()
        swapper.join()
    assert b"outside" not in seen
    assert seen <= {b"inside", "TT6026", "TT6020", "TT6022", "TT6029"}


def _outcome(folders: Folders) -> bytes | str:
    try:
        with confined.path_errors("src/main.py"):
            return read(folders, "src/main.py")
    except ToolError as error:
        return error.code


def test_the_systems_own_words_stay_here() -> None:
    with pytest.raises(ToolError) as caught, confined.path_errors("a"):
        raise OSError(5, "Input/output error", "/very/secret/place")
    assert caught.value.code == "TT6034"
    assert "secret" not in caught.value.say("en") + caught.value.say("zh")
    assert "EIO" in caught.value.say()
