"""Attacks on the files tools, one row of the attack list each, with a similar benign twin that must pass.

Each test also checks the text of the refusal: it has a code and a next step, and never the path of the root (d28).
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import stat
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tooltrue import Client, Server
from tooltrue.errors import ToolError
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue_toolbox.files import Edit, FileLimits, Files, toolset
from tooltrue_toolbox.files.values import Mode
from tooltrue_toolbox.rooted_paths import PathRules

SECRET = "outside-secret"

pytestmark = pytest.mark.usefixtures("way")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A served folder ``data``, surrounded by files that the tools must not reach."""
    (tmp_path / "data").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text(SECRET)
    return tmp_path


@pytest.fixture
def root(place: Path) -> Path:
    return place / "data"


@contextmanager
def refused(code: str, root: Path) -> Generator[None]:
    with pytest.raises(ToolError) as caught:
        yield
    assert caught.value.code == code
    said = caught.value.say("en") + caught.value.say("zh")
    assert str(root) not in said
    assert str(root.parent) not in said
    assert SECRET not in said


def untouched(root: Path) -> None:
    assert (root.parent / "outside" / "x").read_text() == SECRET
    assert sorted(os.listdir(root.parent / "outside")) == ["x"]


CONTEXT = RequestContext(LOCAL, SILENT, agreed=True)

# a call of each tool that takes a path, except read_file, write_file and list_directory, which have their own tests
OTHERS: dict[str, Callable[[Files, str], object]] = {
    "file_info": lambda files, path: files.file_info(path),
    "read_media": lambda files, path: files.read_media(path, CONTEXT),
    "search_files": lambda files, path: asyncio.run(files.search_files(CONTEXT, path=path, content=SECRET)),
    "edit_file": lambda files, path: files.edit_file(path, [Edit(SECRET, "evil")]),
    "create_directory": lambda files, path: files.create_directory(f"{path}/new"),
    "move_file from": lambda files, path: files.move_file(path, "stolen"),
    "move_file to": lambda files, path: files.move_file("mine", path),
    "delete_file": lambda files, path: files.delete_file(path, CONTEXT, recursive=True),
}

HOSTILE = {
    "../outside/x": "TT6011",
    "a/../../outside/x": "TT6011",
    "..": "TT6011",
    "out/x": "TT6026",
    "absolute/passwd": "TT6026",
    "/etc/passwd": "TT6014",
    "a\0b": "TT6012",
    "a\nb": "TT6012",
    "..\\outside\\x": "TT6013",
    "a.txt:hid": "TT6013",
    "sub/CON": "TT6013",
    ".env": "TT6030",
    "sub/.ENV": "TT6030",
    "loop/x": "TT6027",
}


@pytest.mark.attack("D01", "D02", "D03", "D08", "D09", "D10", "D15", "D17", "D27", "D28")
@pytest.mark.parametrize("tool", OTHERS)
@pytest.mark.parametrize("path", HOSTILE)
def test_d01_no_tool_takes_a_path_that_read_file_refuses(files: Files, root: Path, tool: str, path: str) -> None:
    (root / "out").symlink_to("../outside")
    (root / "absolute").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    (root / "mine").write_text("mine")
    (root / ".env").write_text(SECRET)
    before = sorted(os.listdir(root))
    with refused(HOSTILE[path], root):
        OTHERS[tool](files, path)
    assert sorted(os.listdir(root)) == before
    assert (root / ".env").read_text() == SECRET
    untouched(root)


@pytest.mark.attack("D06", "D11", "D12")
@pytest.mark.parametrize("tool", ["read_media", "edit_file", "move_file from"])
def test_d06_no_tool_accepts_a_special_file_or_a_hard_link(files: Files, root: Path, tool: str) -> None:
    os.link(root.parent / "outside" / "x", root / "second")
    os.mkfifo(root / "pipe")
    (root / "link").symlink_to("second")
    for path, code in (("second", "TT6025"), ("pipe", "TT6024")):
        with refused(code, root):
            OTHERS[tool](files, path)
    untouched(root)


# D01: traversal

UPWARD = ["../outside/x", "../../etc/passwd", "a/../../outside/x", "./../outside/x", "a/..", "..", "a/b/../../../x"]


@pytest.mark.parametrize("path", UPWARD)
def test_d01_traversal(files: Files, root: Path, path: str) -> None:
    (root / "a" / "b").mkdir(parents=True)
    for call in (files.read_file, files.list_directory):
        with refused("TT6011", root):
            call(path)
    with refused("TT6011", root):
        files.write_file(path, "x", mode="overwrite", create_parents=True)
    untouched(root)


@pytest.mark.parametrize("path", ["..x", "a..b", "...", "x..", "..../y"])
def test_d01_twin_names_with_dots_are_names(files: Files, path: str) -> None:
    files.write_file(path, "fine", create_parents=True)
    assert files.read_file(path)["content"] == "fine"


# D02: a sibling whose name begins like the folder's


def test_d02_prefix_sibling(files: Files, root: Path) -> None:
    evil = root.parent / "data-evil"
    evil.mkdir()
    (evil / "x").write_text(SECRET)
    for path in (f"{evil}/x", f"{root}-evil/x", f"{root}x", f"{root.parent}", "/"):
        with refused("TT6014", root):
            files.read_file(path)
        with refused("TT6014", root):
            files.list_directory(path)


def test_d02_twin_an_absolute_path_inside(files: Files, root: Path) -> None:
    (root / "data-evil").mkdir()
    (root / "data-evil" / "x").write_text("fine")
    result = files.read_file(f"{root}/data-evil/x")
    assert (result["path"], result["content"]) == ("data-evil/x", "fine")


# D03: a link outward


@pytest.mark.parametrize("points_to", ["../outside", "/etc", "//etc", "in/../../outside", "../data/../outside"])
def test_d03_symlink_to_outside(files: Files, root: Path, points_to: str) -> None:
    (root / "in").mkdir()
    (root / "link").symlink_to(points_to)
    for path in ("link/x", "link/passwd"):
        with refused("TT6026", root):
            files.read_file(path)
        with refused("TT6026", root):
            files.write_file(path, "evil", mode="overwrite", create_parents=True)
    with refused("TT6026", root):
        files.list_directory("link")
    untouched(root)


def test_d03_twin_a_link_inside(files: Files, root: Path) -> None:
    (root / "in").mkdir()
    (root / "in" / "x").write_text("fine")
    (root / "link").symlink_to("in/../in")
    assert files.read_file("link/x")["content"] == "fine"
    assert files.list_directory("link")["entries"] == [{"path": "link/x", "type": "file", "size": 4}]
    files.write_file("link/y", "new")
    assert (root / "in" / "y").read_text() == "new"


# D04: writing through a dangling symbolic link


@pytest.mark.parametrize("mode", ["create", "overwrite", "append"])
@pytest.mark.parametrize("points_to", ["../outside/new", "../outside/x", "inside"])
def test_d04_dangling_symlink_write(files: Files, root: Path, mode: Mode, points_to: str) -> None:
    (root / "link").symlink_to(points_to)
    with refused("TT6032", root):
        files.write_file("link", "evil", mode=mode)
    assert os.listdir(root) == ["link"]
    untouched(root)


def test_d04_twin_a_file_of_that_name(files: Files, root: Path) -> None:
    files.write_file("link", "fine")
    assert (root / "link").read_text() == "fine"


# D05: a parent swapped between check and use


def test_d05_parent_swapped_during_a_write(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the last moment, before the draft gets its name, its directory becomes a link outward."""
    (root / "dir").mkdir()
    real = os.fsync

    def swap(fd: int) -> None:
        if not (root / "old").exists():
            (root / "dir").rename(root / "old")
            (root / "dir").symlink_to("../outside")
        real(fd)

    monkeypatch.setattr(os, "fsync", swap)
    files.write_file("dir/new", "text")
    assert (root / "old" / "new").read_text() == "text"
    untouched(root)


def test_d05_directory_swapped_during_a_listing(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "dir").mkdir()
    (root / "dir" / "mine").touch()
    real = os.stat

    def swap(name: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        found = real(name, dir_fd=dir_fd, follow_symlinks=follow_symlinks)
        if name == "dir" and stat.S_ISDIR(found.st_mode):
            (root / "dir").rename(root / "old")
            (root / "dir").symlink_to("../outside")
        return found

    monkeypatch.setattr(os, "stat", swap)
    listed = [entry["path"] for entry in files.list_directory(depth=3)["entries"]]
    assert listed == ["dir"]


def test_d05_racing_swaps_during_writes(files: Files, root: Path) -> None:
    """Bounded: 60 writes against a thread that swaps the directory for a link outward and back."""
    (root / "dir").mkdir()
    (root / "bait").symlink_to("../outside")
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for name, other in (("dir", "aside"), ("bait", "dir"), ("dir", "bait"), ("aside", "dir")):
                (root / name).rename(root / other)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for n in range(60):
            try:
                files.write_file(f"dir/{n}", "text")
            except ToolError as error:
                allowed = {"TT6020", "TT6022", "TT6026", "TT6029", "TT6056"}
                if error.code not in allowed:
                    raise
    finally:
        over.set()
        swapper.join()
    untouched(root)


def test_d05_twin_a_directory_renamed_before_the_call(files: Files, root: Path) -> None:
    (root / "dir").mkdir()
    (root / "dir").rename(root / "old")
    files.write_file("old/new", "fine")
    assert (root / "old" / "new").read_text() == "fine"


# D06: hard links


def test_d06_hard_link_out_of_root(files: Files, root: Path) -> None:
    os.link(root.parent / "outside" / "x", root / "x")
    with refused("TT6025", root):
        files.read_file("x")
    for mode in ("overwrite", "append", "create"):
        with refused("TT6025", root):
            files.write_file("x", "evil", mode=mode)
    untouched(root)


def test_d06_twin_a_copy(files: Files, root: Path) -> None:
    (root / "x").write_bytes((root.parent / "outside" / "x").read_bytes())
    assert files.read_file("x")["content"] == SECRET


def test_d06_twin_links_where_the_operator_allows_them(root: Path) -> None:
    (root / "x").write_text("fine")
    os.link(root / "x", root / "y")
    files = Files([root], rules=PathRules(allow_hard_links=True))
    files.write_file("y", "new", mode="overwrite")
    # The write replaces the directory entry; the file under the other name stays unchanged.
    assert ((root / "x").read_text(), (root / "y").read_text()) == ("fine", "new")


# D07: trailing spaces and dots


@pytest.mark.parametrize("tail", [" ", ".", "  ", "\u00a0", "%20"])
def test_d07_trailing_space_or_dot(files: Files, root: Path, tail: str) -> None:
    sibling = Path(f"{root}{tail}")
    sibling.mkdir()
    (sibling / "x").write_text(SECRET)
    with refused("TT6014", root):
        files.list_directory(f"{root}{tail}")
    with refused("TT6014", root):
        files.read_file(f"{root}{tail}/x")


@pytest.mark.parametrize("name", ["a ", " a", "a.", "a . "])
def test_d07_twin_a_name_is_kept_to_the_byte(files: Files, root: Path, name: str) -> None:
    (root / "a").write_text("other")
    files.write_file(name, "fine")
    assert files.read_file(name)["content"] == "fine"
    assert (root / "a").read_text() == "other"
    assert name in os.listdir(root)


# D08: control characters


@pytest.mark.attack("B14")
@pytest.mark.parametrize("char", ["\0", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\u2028", "\ud800"])
def test_d08_control_in_name(files: Files, root: Path, char: str) -> None:
    with refused("TT6012", root):
        files.write_file(f"a{char}.txt", "x")
    with refused("TT6012", root):
        files.read_file(f"a{char}.txt")
    assert os.listdir(root) == []


def test_d08_control_in_a_name_on_disk_is_counted_and_not_shown(files: Files, root: Path) -> None:
    for name in (b"a\nb", b"\xff", b"\x1b[2J", b"fine"):
        Path(os.fsdecode(os.path.join(os.fsencode(root), name))).touch()
    assert files.list_directory() == {
        "path": ".",
        "entries": [{"path": "fine", "type": "file", "size": 0}],
        "unshown": 3,
    }


@pytest.mark.twin("B14")
@pytest.mark.parametrize("name", ["文件.txt", "naïve.txt", "a b", "emoji 👩\u200d💻", "نمونه"])
def test_d08_twin_names_in_any_script(files: Files, name: str) -> None:
    files.write_file(name, "fine")
    assert [entry["path"] for entry in files.list_directory()["entries"]] == [name]


# D09: paths are not expanded or decoded


@pytest.mark.parametrize("path", ["~/x", "~root/x", "$HOME/x", "${HOME}/x", "%2e%2e%2fx", "..%2fx", "%7e/x"])
def test_d09_expansion(files: Files, root: Path, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(root.parent / "outside"))
    with refused("TT6021", root):
        files.read_file(path)


@pytest.mark.parametrize("path", ["..\\outside\\x", "..\\..\\etc", "a\\b"])
def test_d09_backslash(files: Files, root: Path, path: str) -> None:
    with refused("TT6013", root):
        files.read_file(path)


@pytest.mark.parametrize("path", ["~", "~x", "$HOME", "100%", "%2e%2e", "cost $5"])
def test_d09_twin_such_names_are_names(files: Files, root: Path, path: str) -> None:
    files.write_file(path, "fine")
    assert os.listdir(root) == [path]
    assert files.read_file(path)["content"] == "fine"


# D10: names that mean something on Windows


@pytest.mark.parametrize(
    "path",
    [
        "\\\\evil\\s",
        "\\\\?\\C:\\x",
        "C:/x",
        "C:",
        "a.txt:hid",
        "a.txt::$DATA",
        "CON",
        "con.txt",
        "sub/NUL",
        "aux.tar.gz",
        "LPT1",
        "com9 .log",
    ],
)
def test_d10_windows_names(files: Files, root: Path, path: str) -> None:
    with refused("TT6013", root):
        files.write_file(path, "x", create_parents=True)
    with refused("TT6013", root):
        files.read_file(path)
    assert os.listdir(root) == []


def test_d10_unc_with_slashes(files: Files, root: Path) -> None:
    with refused("TT6014", root):
        files.read_file("//evil/share/x")


@pytest.mark.parametrize("path", ["console.txt", "con-1.txt", "nullable.py", "com10", "auxiliary", "lpt", "C"])
def test_d10_twin_names_that_begin_alike(files: Files, path: str) -> None:
    files.write_file(path, "fine")
    assert files.read_file(path)["content"] == "fine"


# D11: pipes that never answer


def test_d11_fifo(files: Files, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with refused("TT6024", root):
        files.read_file("pipe")
    for mode in ("create", "overwrite", "append"):
        with refused("TT6024", root):
            files.write_file("pipe", "x", mode=mode)
    with refused("TT6022", root):
        files.read_file("pipe/x")


def test_d11_twin_an_empty_file(files: Files, root: Path) -> None:
    (root / "pipe").touch()
    assert files.read_file("pipe")["content"] == ""


# D12: devices, sockets, and pseudo-files of the kernel


def test_d12_socket(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)  # the name of a socket is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        with refused("TT6024", root):
            files.read_file("socket")


@pytest.mark.parametrize("path", ["zero", "null", "random"])
def test_d12_device(path: str) -> None:
    with Files([Path("/dev")]) as files, refused("TT6024", Path("/dev/none")):
        files.read_file(path)


@pytest.mark.parametrize("path", ["proc/self/environ", "proc/1/environ", "sys/kernel/mm", "proc"])
def test_d12_another_file_system(path: str) -> None:
    with Files([Path("/")]) as files:
        for call in (files.read_file, files.list_directory):
            with pytest.raises(ToolError) as caught:
                call(path)
            assert caught.value.code in {"TT6028", "TT6026"}  # /proc/self is a link; /sys/… may lead out as well


@pytest.mark.parametrize("path", ["fd/0", "cwd/x", "root/etc/passwd", "exe"])
def test_d12_magic_links_are_only_words(path: str) -> None:
    """Even where the operator serves a process's folder, its links are read as text and lead nowhere."""
    read, write = os.pipe()
    try:
        path = path.replace("fd/0", f"fd/{read}")
        with Files([Path(f"/proc/{os.getpid()}")]) as files, pytest.raises(ToolError) as caught:
            files.read_file(path)
        assert caught.value.code in {"TT6026", "TT6013", "TT6020"}
    finally:
        os.close(read)
        os.close(write)


def test_d12_a_mount_is_listed_and_not_entered() -> None:
    with Files([Path("/")], limits=FileLimits(entries=2)) as files:
        entries = files.list_directory(".", 2, "pro")["entries"]
    assert entries[0] == {"path": "proc", "type": "directory", "closed": "file system"}
    assert not entries[1]["path"].startswith("proc/")


def test_d12_twin_a_mount_where_the_operator_allows_it() -> None:
    with Files([Path("/")], rules=PathRules(allow_other_filesystems=True)) as files:
        assert files.read_file("proc/version")["content"].startswith("Linux")


# D13: huge files


def test_d13_huge_sparse_file(files: Files, root: Path) -> None:
    with (root / "huge").open("wb") as file:
        file.truncate(50 << 30)
    part = files.read_file("huge", "base64")
    assert (part["size"], len(part["content"]), part.get("next_offset")) == (50 << 30, 64 << 10, 49_152)
    part = files.read_file("huge", "base64", limit=1 << 19)
    assert (len(part["content"]), part.get("next_offset")) == (1 << 19, 393_216)
    with refused("TT6036", root):
        files.read_file("huge")
    with refused("TT6045", root):
        files.read_file("huge", "utf-8", start_line=2)
    with refused("TT6054", root):
        files.write_file("huge", "x", mode="append")


def test_d13_twin_a_file_at_the_limit(files: Files, root: Path) -> None:
    (root / "full").write_text("x" * (1 << 19))
    part = files.read_file("full", limit=1 << 19)
    assert len(part["content"]) == 1 << 19
    assert "next_offset" not in part


# D14: deep and wide trees


def test_d14_wide_directory(files: Files, root: Path) -> None:
    for n in range(2500):
        (root / f"{n:05}").touch()
    short = files.list_directory(depth=10)
    assert (len(short["entries"]), short.get("next_cursor")) == (200, "00199")
    first = files.list_directory(depth=10, limit=1000)
    assert len(first["entries"]) == 1000
    assert first.get("next_cursor") == "00999"
    second = files.list_directory(".", 10, "00999", limit=1000)
    assert (second["entries"][0]["path"], second.get("next_cursor")) == ("01000", "01999")


def test_d14_deep_directory(files: Files, root: Path) -> None:
    (root / "/".join("d" * 90)).mkdir(parents=True)
    assert len(files.list_directory(depth=10)["entries"]) == 10
    with refused("TT6016", root):
        files.write_file("d/" * 200 + "x", "x", create_parents=True)


def test_d14_twin_a_tree_of_ordinary_size(files: Files, root: Path) -> None:
    for n in range(30):
        (root / f"{n:02}" / "src").mkdir(parents=True)
    listing = files.list_directory(depth=3)
    assert len(listing["entries"]) == 60
    assert "next_cursor" not in listing


# D15: loops


def test_d15_symlink_loop(files: Files, root: Path) -> None:
    (root / "a").symlink_to(".")
    (root / "b").symlink_to("c")
    (root / "c").symlink_to("b")
    assert [(entry["path"], entry["type"]) for entry in files.list_directory(depth=10)["entries"]] == [
        ("a", "symlink"),
        ("b", "symlink"),
        ("c", "symlink"),
    ]
    with refused("TT6027", root):
        files.read_file("b")
    with refused("TT6027", root):
        files.read_file("a/" * 41 + "x")


def test_d15_twin_a_link_used_more_than_once(files: Files, root: Path) -> None:
    (root / "a").symlink_to(".")
    (root / "x").write_text("fine")
    assert files.read_file("a/a/a/x")["content"] == "fine"


# D17: protected files and secrets

PROTECTED = [".git/hooks/post-checkout", "sub/.git/config", ".mcp.json", ".vscode/tasks.json", ".bashrc"]
SECRETS = [
    "credentials.json",
    ".env",
    "sub/.env.production",
    ".ssh/id_rsa",
    ".ssh/config",
    "id_ed25519",
    "tls/server.key",
    ".aws/credentials",
]


@pytest.mark.parametrize("path", PROTECTED)
def test_d17_protected_files_are_not_written(files: Files, root: Path, path: str) -> None:
    for mode in ("create", "overwrite", "append"):
        with refused("TT6031", root):
            files.write_file(path, "evil", mode=mode, create_parents=True)
    assert os.listdir(root) == []


@pytest.mark.parametrize("path", SECRETS)
def test_d17_secrets_are_neither_read_nor_written(files: Files, root: Path, path: str) -> None:
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text(SECRET)
    with refused("TT6030", root):
        files.read_file(path)
    with refused("TT6030", root):
        files.write_file(path, "evil", mode="append")
    assert (root / path).read_text() == SECRET


def test_d17_a_link_does_not_open_them(files: Files, root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".env").write_text(SECRET)
    (root / "repo").symlink_to(".git")
    (root / "settings.txt").symlink_to(".env")
    with refused("TT6031", root):
        files.write_file("repo/config", "evil")
    with refused("TT6030", root):
        files.read_file("settings.txt")


@pytest.mark.parametrize("there", [True, False], ids=["there", "to be made"])
@pytest.mark.parametrize("name", ["tooltrue/audit/files.db", "tooltrue/audit/files.db.seal", "Tooltrue/new"])
def test_d17_the_recorded_state_of_servers_is_neither_read_nor_written(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, there: bool
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    record = root / "state" / name
    if there:
        record.parent.mkdir(parents=True)
        record.write_text(SECRET)
        (root / "state" / "way").symlink_to("tooltrue")
    with Files([root]) as files:
        for path in (f"state/{name}", f"state/way/{name.partition('/')[2]}") if there else (f"state/{name}",):
            with refused("TT6030", root):
                files.read_file(path)
            with refused("TT6030", root):
                files.write_file(path, "evil", mode="overwrite", create_parents=True)
    assert (record.read_text() if there else record.exists()) == (SECRET if there else False)


def test_d17_a_root_within_the_recorded_state_of_servers_is_closed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(root))
    (root / "tooltrue" / "audit").mkdir(parents=True)
    with Files([root / "tooltrue" / "audit"]) as files, refused("TT6030", root):
        files.write_file("files.db", "evil", mode="overwrite")


def test_d17_the_recorded_state_of_servers_is_not_listed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    (root / "state" / "tooltrue" / "audit").mkdir(parents=True)
    with Files([root]) as files:
        listed = files.list_directory(".", depth=5)["entries"]
    assert [(entry["path"], entry.get("closed")) for entry in listed] == [
        ("state", None),
        ("state/tooltrue", "secret"),
    ]


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("path", [".", "keys", "way"])
def test_d17_a_file_of_ours_is_not_searched(root: Path, path: str, several: bool) -> None:
    (root / "keys").mkdir()
    (root / "keys" / "callers.txt").write_text(SECRET)
    (root / "keys" / "near.txt").write_text(SECRET)
    (root / "way").symlink_to("keys")
    (root.parent / "other").mkdir()
    rules = PathRules(places=(root / "keys" / "callers.txt",))
    with Files([root, root.parent / "other"] if several else [root], rules=rules) as files:
        begin = f"{root.name}/{path}" if several else path
        found = asyncio.run(files.search_files(RequestContext(LOCAL, SILENT), begin, content=SECRET))
    assert [match["path"].rpartition("/")[2] for match in found["matches"]] == ["near.txt"]
    assert found.get("closed") == 1


def test_d17_twin_a_path_beside_the_recorded_state_is_open(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "state"))
    with Files([root]) as files:
        files.write_file("state/tooltrue-notes/audit", "fine", create_parents=True)
        assert files.read_file("state/tooltrue-notes/audit")["content"] == "fine"


@pytest.mark.parametrize(
    "path", [".gitignore", "github/x.yml", ".env.example", "id_rsa.pub", "git/hooks/x", "package.json"]
)
def test_d17_twin_names_that_look_alike(files: Files, path: str) -> None:
    files.write_file(path, "fine", create_parents=True)
    assert files.read_file(path)["content"] == "fine"


def test_d17_twin_a_protected_file_is_read(files: Files, root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert files.read_file(".git/HEAD")["content"] == "ref: refs/heads/main\n"


# D21: overwriting unseen content


def test_d21_stale_overwrite(files: Files, root: Path) -> None:
    (root / "a").write_text("old")
    version = files.read_file("a")["version"]
    (root / "a").write_text("theirs, meanwhile")
    with refused("TT6055", root):
        files.write_file("a", "mine", mode="overwrite", if_version=version)
    assert (root / "a").read_text() == "theirs, meanwhile"


def test_d21_twin_an_overwrite_with_the_version_that_was_read_succeeds(files: Files, root: Path) -> None:
    (root / "a").write_text("old")
    version = files.read_file("a")["version"]
    files.write_file("a", "mine", mode="overwrite", if_version=version)
    assert (root / "a").read_text() == "mine"


# D18, D19: edits that match several places, or no place


def test_d18_an_edit_that_fits_twice(files: Files, root: Path) -> None:
    (root / "a").write_text("x = 1\ny = 2\nx = 1\n")
    with pytest.raises(ToolError, match=r"is 2 times in 'a', on line 1, 3, and count is 1") as caught:
        files.edit_file("a", [Edit("x = 1", "x = 2")])
    assert caught.value.code == "TT6058"
    with refused("TT6058", root):
        files.edit_file("a", [Edit("x = 1", "x = 2", count=3)])
    assert (root / "a").read_text() == "x = 1\ny = 2\nx = 1\n"


@pytest.mark.parametrize(("text", "old"), [("}\n}\n}\n", "}\n}\n"), ("aaa", "aa"), ("x\r\n\r\n\r\n", "\n\n")])
def test_d18_an_edit_that_fits_at_places_that_overlap(files: Files, root: Path, text: str, old: str) -> None:
    (root / "a").write_bytes(text.encode())
    for count in (1, 2):
        with refused("TT6082", root):
            files.edit_file("a", [Edit(old, "new", count)])
    assert (root / "a").read_bytes() == text.encode()


def test_d18_twin_pieces_side_by_side_are_all_replaced(files: Files, root: Path) -> None:
    (root / "a").write_text("xyxy")
    assert files.edit_file("a", [Edit("xy", "z", 2)])["replaced"] == 2
    assert (root / "a").read_text() == "zz"


def test_d18_twin_an_edit_with_its_surrounding_lines_is_unambiguous(files: Files, root: Path) -> None:
    (root / "a").write_text("x = 1\ny = 2\nx = 1\n")
    files.edit_file("a", [Edit("y = 2\nx = 1", "y = 2\nx = 3")])
    assert (root / "a").read_text() == "x = 1\ny = 2\nx = 3\n"


def test_d19_an_edit_of_nothing(files: Files, root: Path) -> None:
    (root / "a").write_text("text")

    async def edit(edits: object) -> str:
        async with Client(Server("files", toolsets=[toolset([root])])) as client:
            return (await client.call_tool("edit_file", {"path": "a", "edits": edits})).text

    for edits in ([], [{"old_text": "", "new_text": "evil"}]):
        assert "TT2001" in asyncio.run(edit(edits))
    assert "TT6057" in asyncio.run(edit([{"old_text": "text", "new_text": "text"}]))
    assert (root / "a").read_text() == "text"


def test_d19_twin_an_edit_that_removes(files: Files, root: Path) -> None:
    (root / "a").write_text("some text")
    files.edit_file("a", [Edit("some ", "")])
    assert (root / "a").read_text() == "text"


# D20, D22, D23: data that a careless tool loses


def test_d20_an_edit_touches_no_other_byte_and_its_diff_is_true(files: Files, root: Path) -> None:
    data = b"\xef\xbb\xbfone\r\ntwo\nthree\rthree\r\n\x0bend"
    (root / "a").write_bytes(data)
    result = files.edit_file("a", [Edit("two\n", "2\n")])
    assert (root / "a").read_bytes() == data.replace(b"two", b"2")
    assert (
        "\n one\r\n-two\n+2\n three\rthree\r\n \x0bend\n\\ No newline".replace(" one", " \ufeffone") in result["diff"]
    )
    # An edit of line endings alone is seen.
    assert "-2\n+2\r\n" in files.edit_file("a", [Edit("2\n", "2\r\n")])["diff"]


@pytest.mark.parametrize(
    ("text", "encoding", "old"),
    [("表A 1", "shift_jis", "\\A 1"), ("一=1", "big5", "@=1"), ("ß x", "gb18030", "8 x"), ("é= 1", "latin-1", "= 1")],
)
def test_d20_no_edit_begins_within_a_character_of_an_unknown_encoding(
    files: Files, root: Path, text: str, encoding: str, old: str
) -> None:
    (root / "a").write_bytes(text.encode(encoding))
    with refused("TT6083", root):
        files.edit_file("a", [Edit(old, "new")])
    assert (root / "a").read_bytes() == text.encode(encoding)


@pytest.mark.parametrize(
    ("text", "encoding"), [("表 A=1\n", "shift_jis"), ("中文 A=1\n", "gbk"), ("é A=1\n", "latin-1")]
)
def test_d20_twin_ascii_behind_a_space_is_edited_in_any_encoding(
    files: Files, root: Path, text: str, encoding: str
) -> None:
    (root / "a").write_bytes(text.encode(encoding))
    files.edit_file("a", [Edit("A=1", "A=2")])
    assert (root / "a").read_bytes() == text.replace("1", "2").encode(encoding)


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-le", "utf-32-be"])
def test_d23_a_file_in_a_four_byte_encoding_is_not_editable_as_text(files: Files, root: Path, encoding: str) -> None:
    data = "hi\n".encode(encoding)
    (root / "a").write_bytes(data)
    with refused("TT6046", root):
        files.edit_file("a", [Edit("h", "longer")])
    assert (root / "a").read_bytes() == data


def test_d20_twin_line_breaks_of_a_model_are_those_of_the_file(files: Files, root: Path) -> None:
    (root / "a").write_bytes(b"1\r\n2\r\n3\r\n")
    files.edit_file("a", [Edit("1\n2\n", "1\nand\n2\n")])
    assert (root / "a").read_bytes() == b"1\r\nand\r\n2\r\n3\r\n"


@pytest.mark.parametrize("data", [b"a\r\nb\nc\rd", b"\xef\xbb\xbfa\r\n", b"no newline", b"\n\n\n"])
def test_d20_line_endings_survive_reading_and_appending(files: Files, root: Path, data: bytes) -> None:
    (root / "a").write_bytes(data)
    files.write_file("b", files.read_file("a")["content"])
    files.write_file("a", "more", mode="append")
    assert (root / "b").read_bytes() == data
    assert (root / "a").read_bytes() == data + b"more"


def test_d20_twin_line_endings_that_were_asked_for_are_written(files: Files, root: Path) -> None:
    (root / "a").write_bytes(b"1\r\n2\r\n")
    files.write_file("a", "1\n2\n", mode="overwrite")
    assert (root / "a").read_bytes() == b"1\n2\n"


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_d22_a_script_stays_executable(files: Files, root: Path, mode: Mode) -> None:
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    files.write_file("run", "#!/bin/sh\nexit 0\n", mode=mode)
    assert stat.S_IMODE((root / "run").stat().st_mode) == 0o755


def test_d22_twin_a_private_file_stays_private(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_text("old")
    (root / "a").chmod(0o600)
    seen: list[int] = []
    real = os.write

    def watched(fd: int, data: memoryview) -> int:
        seen.append(stat.S_IMODE(os.fstat(fd).st_mode) & 0o077)
        return real(fd, data)

    monkeypatch.setattr(os, "write", watched)
    files.write_file("a", "new", mode="overwrite")
    assert seen == [0]
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o600


def test_d23_binary_read_as_text(files: Files, root: Path) -> None:
    (root / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    with refused("TT6036", root):
        files.read_file("a.png")


def test_d23_twin_the_same_as_base64(files: Files, root: Path) -> None:
    (root / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    result = files.read_file("a.png", "base64")
    files.write_file("b.png", result["content"], "base64")
    assert (root / "b.png").read_bytes() == (root / "a.png").read_bytes()


# D25: quota


def test_d25_a_write_over_the_limit(files: Files, root: Path) -> None:
    with refused("TT6051", root):
        files.write_file("a", "x" * ((10 << 20) + 1))
    assert os.listdir(root) == []


def test_d25_twin_a_write_at_the_limit(files: Files, root: Path) -> None:
    assert files.write_file("a", "x" * (10 << 20))["size"] == 10 << 20


# D26, D27: the same name in another spelling


@pytest.mark.parametrize("path", [".ｇit/config", ".g\u200cit/config", ".mcp.json\u200b", ".mcp.j\u017fon"])
def test_d26_unicode_spellings(files: Files, root: Path, path: str) -> None:
    with refused("TT6031", root):
        files.write_file(path, "evil", create_parents=True)


def test_d26_normal_forms_of_a_name_of_the_operators(root: Path) -> None:
    files = Files([root], rules=PathRules(secrets=("caf\u00e9",)))
    for name in ("caf\u00e9", "cafe\u0301", "CAFE\u0301"):
        with refused("TT6030", root):
            files.read_file(name)


def test_d26_twin_two_normal_forms_are_two_files(files: Files, root: Path) -> None:
    files.write_file("caf\u00e9", "one")
    files.write_file("cafe\u0301", "two")
    assert files.read_file("caf\u00e9")["content"] == "one"
    assert len(os.listdir(root)) == 2


@pytest.mark.parametrize("path", [".GIT/config", ".Git/config", ".MCP.json", ".git /config", ".git./config", "GIT~1/x"])
def test_d27_case_and_tails(files: Files, root: Path, path: str) -> None:
    with refused("TT6031", root):
        files.write_file(path, "evil", create_parents=True)
    assert os.listdir(root) == []


def test_d27_twin_case_is_kept(files: Files, root: Path) -> None:
    files.write_file("README", "one")
    files.write_file("readme", "two")
    assert sorted(os.listdir(root)) == ["README", "readme"]


# D28: errors that tell where things are


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_d28_no_error_of_the_system_leaks_a_path(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, "injected", str(root / "a"))

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(ToolError) as caught:
        files.read_file("a")
    said = caught.value.say("en") + caught.value.say("zh")
    assert str(root.parent) not in said
    assert re.search(r"\[TT60\d\d\]", said)


def test_d28_an_absolute_path_is_not_repeated(files: Files, root: Path) -> None:
    for path, code in ((f"{root}/none", "TT6020"), (f"{root}/../x", "TT6011"), (f"{root}/a\n", "TT6012")):
        with refused(code, root):
            files.read_file(path)


def test_d28_twin_the_error_names_the_relative_path(files: Files) -> None:
    with pytest.raises(ToolError, match=r"'src/none' does not exist\. In '\.', nearest first: "):
        files.read_file("src/none")
