"""The three tools: their results, the parts of a long result, and atomic writes."""

from __future__ import annotations

import base64
import errno
import importlib
import os
import stat
import subprocess
import sys
import threading
import types
import typing
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.descriptors import open_descriptors
from support.toolbox.refusals import refused
from tooltrue._internal.platform.file_locks import lock_within
from tooltrue.errors import ToolError
from tooltrue.tools.local import LocalToolset
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue.wording import SENTENCES, load_catalogues
from tooltrue_toolbox.files import (
    DirectoryListing,
    Edit,
    FileContent,
    FileLimits,
    Files,
)
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.registration import add_tools
from tooltrue_toolbox.rooted_paths import PathRules

load_catalogues()


def small(root: Path, **limits: int) -> Files:
    return Files([root], limits=FileLimits(**limits))


def patient(root: Path) -> Files:
    """The files tools for writers that meet: locks are not handed on in turn, and one of them may wait for long."""
    return small(root, lock_seconds=120)


def names_in(root: Path) -> list[str]:
    return sorted(os.listdir(root))


# Reading


def test_a_file_is_read_whole(files: Files, root: Path) -> None:
    (root / "a.txt").write_bytes("\ufeffone\r\ntwo 二".encode())
    assert files.read_file("a.txt") == {
        "path": "a.txt",
        "encoding": "utf-8",
        "content": "\ufeffone\r\ntwo 二",
        "size": 15,
        "version": files.read_file("a.txt")["version"],
        "start_line": 1,
        "end_line": 2,
    }


def test_an_empty_file_has_no_lines_and_no_rest(files: Files, root: Path) -> None:
    (root / "a").touch()
    text, data = files.read_file("a"), files.read_file("a", "base64")
    assert (text["content"], text.get("start_line"), text.get("end_line")) == ("", 1, 0)
    assert data["content"] == ""
    assert "next_offset" not in text
    assert "next_offset" not in data


@pytest.mark.parametrize(
    ("start", "end", "content", "next_line"),
    [
        (1, 1, "1\n", 2),
        (2, 3, "2\n3\n", 4),
        (4, 0, "4", None),
        (4, 99, "4", None),
        (1, 2, "1\n2\n", 3),
        (1, 4, "1\n2\n3\n4", None),
    ],
)
def test_lines_are_read_by_number(
    files: Files, root: Path, start: int, end: int, content: str, next_line: int | None
) -> None:
    (root / "a").write_text("1\n2\n3\n4")
    result = files.read_file("a", start_line=start, end_line=end)
    assert (result["content"], result.get("next_start_line")) == (content, next_line)


@pytest.mark.parametrize(("text", "lines"), [("1\n2\n", 2), ("1\n2", 2), ("", 0)])
def test_a_line_past_the_end_is_refused_with_the_number_of_lines(
    files: Files, root: Path, text: str, lines: int
) -> None:
    (root / "a").write_text(text)
    with pytest.raises(ToolError) as caught:
        files.read_file("a", start_line=max(lines, 1) + 1)
    assert (caught.value.code, caught.value.facts["lines"]) == ("TT6041", lines)


def test_ranges_that_contradict_are_refused(files: Files, root: Path) -> None:
    (root / "a").write_text("1\n2\n")
    with refused("TT6042"):
        files.read_file("a", start_line=2, end_line=1)
    with refused("TT6043"):
        files.read_file("a", start_line=2, offset=1)
    with refused("TT6043"):
        files.read_file("a", end_line=2, offset=1)
    with refused("TT6043"):
        files.read_file("a", "base64", end_line=1)
    with refused("TT6044"):
        files.read_file("a", offset=5)


def rest(files: Files, result: FileContent) -> Generator[FileContent]:
    """``result`` and all that follows it, by line where the result offers that and by offset otherwise."""
    while True:
        yield result
        if line := result.get("next_start_line"):
            result = files.read_file("a", result["encoding"], start_line=line)
        elif offset := result.get("next_offset"):
            result = files.read_file("a", result["encoding"], offset=offset)
        else:
            return


def test_a_long_file_comes_in_whole_lines(root: Path) -> None:
    (root / "a").write_text("12345\n123\n12\n1\n")
    files = small(root, read_bytes=8)
    assert [part["content"] for part in rest(files, files.read_file("a"))] == ["12345\n", "123\n12\n", "1\n"]


def test_a_long_line_comes_in_whole_characters(root: Path) -> None:
    (root / "a").write_text("二二二二\n")
    files = small(root, read_bytes=7)
    assert [part["content"] for part in rest(files, files.read_file("a"))] == ["二二", "二二\n"]


@given(st.text(st.sampled_from("a\n二\r é"), max_size=60), st.integers(4, 20))
def test_the_parts_of_a_text_make_the_text(tmp_path_factory: pytest.TempPathFactory, text: str, cap: int) -> None:
    root = tmp_path_factory.mktemp("parts")
    (root / "a").write_bytes(text.encode())
    with small(root, read_bytes=cap) as files:
        parts = [part["content"] for part in rest(files, files.read_file("a"))]
    assert "".join(parts) == text
    assert all(len(part.encode()) <= cap for part in parts)


@given(st.binary(max_size=60), st.integers(4, 20))
def test_the_parts_of_any_bytes_make_the_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, cap: int) -> None:
    root = tmp_path_factory.mktemp("parts")
    (root / "a").write_bytes(data)
    with small(root, read_bytes=cap) as files:
        parts = [part["content"] for part in rest(files, files.read_file("a", "base64"))]
    assert b"".join(map(base64.b64decode, parts)) == data
    assert all(len(part) <= cap for part in parts)


@pytest.mark.parametrize(
    ("data", "encoding"),
    [(b"\x89PNG\r\n", "utf-8"), (b"a\0b", "utf-8"), (b"caf\xe9", "utf-8"), ("é".encode(), "ascii")],
)
def test_bytes_that_are_not_the_text_asked_for_are_refused(
    files: Files, root: Path, data: bytes, encoding: typing.Literal["utf-8", "ascii"]
) -> None:
    (root / "a").write_bytes(data)
    with refused("TT6040"):
        files.read_file("a", encoding)
    assert base64.b64decode(files.read_file("a", "base64")["content"]) == data


def test_lines_are_counted_only_so_far(root: Path) -> None:
    (root / "a").write_text("1\n" * (1 << 20))
    files = small(root, scan_bytes=1 << 20)
    with refused("TT6045"):
        files.read_file("a", start_line=1 << 20)
    assert files.read_file("a", offset=(1 << 21) - 2)["content"] == "1\n"


def test_a_line_beyond_the_first_chunk_is_found(files: Files, root: Path) -> None:
    (root / "a").write_text("1\n" * (1 << 20) + "end")
    assert files.read_file("a", start_line=(1 << 20) + 1)["content"] == "end"


@pytest.mark.parametrize(
    ("path", "code"),
    [("none", "TT6020"), ("~/x", "TT6021"), (".", "TT6023"), ("d", "TT6023"), ("f/", "TT6023"), ("f/x", "TT6022")],
)
def test_a_path_that_is_not_a_file_is_refused_with_the_next_step(
    files: Files, root: Path, path: str, code: str
) -> None:
    (root / "d").mkdir()
    (root / "f").touch()
    with refused(code):
        files.read_file(path)


# Writing


def test_a_new_file_is_created_with_the_permissions_of_any_new_file(files: Files, root: Path) -> None:
    (root / "usual").touch()
    result = files.write_file("a.txt", "二\r\n")
    assert (root / "a.txt").read_bytes() == "二\r\n".encode()
    assert (root / "a.txt").stat().st_mode == (root / "usual").stat().st_mode
    assert (root / "a.txt").stat().st_nlink == 1
    assert result == {
        "path": "a.txt",
        "created": True,
        "bytes_written": 5,
        "size": 5,
        "version": files.read_file("a.txt")["version"],
    }


def test_create_leaves_an_existing_file_alone(files: Files, root: Path) -> None:
    (root / "a").write_text("old")
    with refused("TT6050"):
        files.write_file("a", "new")
    assert (root / "a").read_text() == "old"


def without_rename(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system that cannot rename without replacing."""

    def missing(*_: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr("tooltrue_toolbox.platform.posix_calls.rename_without_replacing", missing)


@pytest.mark.needs("descriptors")
@pytest.mark.parametrize("way", ["rename", "link"])
def test_of_two_creations_at_once_one_is_refused(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    calls = importlib.import_module("tooltrue_toolbox.platform.posix_calls")
    place = (calls, "rename_without_replacing") if way == "rename" else (os, "link")
    if way == "link":
        without_rename(monkeypatch)
    real = getattr(*place)

    def late(*names: typing.Any, **settings: typing.Any) -> None:
        (root / "a").write_text("theirs")
        real(*names, **settings)

    monkeypatch.setattr(*place, late)
    with refused("TT6050"):
        files.write_file("a", "ours")
    assert (root / "a").read_text() == "theirs"
    assert names_in(root) == ["a"]


@pytest.mark.needs("attributes")
def test_overwrite_keeps_permissions_and_attributes(files: Files, root: Path) -> None:
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o4751)
    os.setxattr(root / "run.sh", "user.origin", b"here")
    result = files.write_file("run.sh", "new", mode="overwrite")
    assert (root / "run.sh").read_text() == "new"
    # All but setuid: the content is another, and did not earn it.
    assert stat.S_IMODE((root / "run.sh").stat().st_mode) == 0o751
    assert os.getxattr(root / "run.sh", "user.origin") == b"here"
    assert result["created"] is False


@pytest.mark.needs("modes")
def test_group_rights_are_not_given_to_another_group(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_text("old")
    (root / "a").chmod(0o664)
    real = os.fstat

    def elsewhere(fd: int) -> os.stat_result:
        found = real(fd)
        if stat.S_IMODE(found.st_mode) != 0o664:
            return found
        fields = list(found)
        fields[stat.ST_GID] += 1
        return os.stat_result(fields, {"st_mtime_ns": found.st_mtime_ns, "st_ctime_ns": found.st_ctime_ns})

    def refuse(*_: int) -> None:
        raise PermissionError(errno.EPERM, "not yours")

    monkeypatch.setattr(os, "fstat", elsewhere)
    monkeypatch.setattr(os, "fchown", refuse)
    files.write_file("a", "new", mode="overwrite")
    monkeypatch.undo()
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o604


@pytest.mark.needs("attributes")
@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, "TT6035"), (errno.EIO, "TT6034")])
def test_a_write_fails_if_the_access_attributes_of_the_file_cannot_be_stored(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: str
) -> None:
    (root / "a").write_text("old")
    os.setxattr(root / "a", "user.origin", b"here")

    def fail(*_: object) -> None:
        raise OSError(number, "injected")

    monkeypatch.setattr(os, "setxattr", fail)
    with refused(code):
        files.write_file("a", "new", mode="overwrite")
    monkeypatch.undo()
    assert (root / "a").read_text() == "old"
    assert os.getxattr(root / "a", "user.origin") == b"here"
    assert names_in(root) == ["a"]


@pytest.mark.needs("attributes")
def test_a_file_system_without_attributes_will_do(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_text("old")

    def missing(*_: object) -> list[str]:
        raise OSError(errno.EOPNOTSUPP, "injected")

    monkeypatch.setattr(os, "listxattr", missing)
    files.write_file("a", "new", mode="overwrite")
    assert (root / "a").read_text() == "new"


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_a_missing_file_is_created_by_the_other_modes_too(
    files: Files, root: Path, mode: typing.Literal["overwrite", "append"]
) -> None:
    assert files.write_file("a", "new", mode=mode)["created"] is True
    assert (root / "a").read_text() == "new"


def test_append_adds_at_the_end(files: Files, root: Path) -> None:
    (root / "a").write_bytes(b"one\r\n")
    result = files.write_file("a", "two", mode="append")
    assert (root / "a").read_bytes() == b"one\r\ntwo"
    assert (result["bytes_written"], result["size"]) == (3, 8)


def test_appends_from_many_threads_are_all_there(root: Path) -> None:
    files = patient(root)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: files.write_file("a", f"{n}\n", mode="append"), range(40)))
    assert sorted((root / "a").read_text().split(), key=int) == [str(n) for n in range(40)]
    assert names_in(root) == ["a"]


def test_appends_of_several_servers_are_all_there(root: Path) -> None:
    servers = [patient(root) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: servers[n % 4].write_file("a", f"{n}\n", mode="append"), range(60)))
    assert sorted((root / "a").read_text().split(), key=int) == [str(n) for n in range(60)]


def test_of_several_servers_that_have_read_one_version_one_may_write(root: Path) -> None:
    (root / "docs").mkdir()
    servers = [patient(root), patient(root / "docs")]
    for number in range(10):
        (root / "docs" / "a").write_text(str(number))
        version = servers[0].read_file("docs/a")["version"]

        def write(which: int, version: str = version) -> str:
            try:
                servers[which].write_file(("docs/a", "a")[which], f"by {which}", mode="overwrite", if_version=version)
            except ToolError as error:
                return error.code
            return "written"

        with ThreadPoolExecutor(2) as pool:
            assert sorted(pool.map(write, range(2))) == ["TT6055", "written"]


@pytest.mark.parametrize("tool", ["write_file", "edit_file", "move_file", "delete_file"])
def test_a_directory_that_somebody_else_keeps_to_himself_is_refused_after_a_while(root: Path, tool: str) -> None:
    (root / "a").write_text("old")
    files = small(root, lock_seconds=0)
    calls: dict[str, Callable[[], object]] = {
        "write_file": lambda: files.write_file("a", "new", mode="append"),
        "edit_file": lambda: files.edit_file("a", [Edit("old", "new")]),
        "move_file": lambda: files.move_file("a", "b"),
        "delete_file": lambda: files.delete_file("a", RequestContext(LOCAL, SILENT, agreed=True)),
    }
    folder = handles.open_root(root)
    held = handles.lock_file(folder)
    handles.close(folder)
    try:
        assert lock_within(held, 0)
        with refused("TT6084"):
            calls[tool]()
        assert (root / "a").read_text() == "old"
    finally:
        os.close(held)
    calls[tool]()
    assert names_in(root) == {"move_file": ["b"], "delete_file": []}.get(tool, ["a"])


def test_base64_is_written_as_bytes(files: Files, root: Path) -> None:
    files.write_file("a", base64.b64encode(bytes(range(256))).decode(), "base64")
    assert (root / "a").read_bytes() == bytes(range(256))


@pytest.mark.parametrize(
    ("content", "encoding", "code"),
    [
        ("é", "ascii", "TT6053"),
        ("\ud800", "utf-8", "TT6053"),
        ("abc", "base64", "TT6052"),
        ("YW Jj", "base64", "TT6052"),
        ("é", "base64", "TT6052"),
    ],
)
def test_invalid_content_for_its_encoding_is_refused_before_a_file_is_created(
    files: Files, root: Path, content: str, encoding: typing.Literal["utf-8", "ascii", "base64"], code: str
) -> None:
    with refused(code):
        files.write_file("d/a", content, encoding, create_parents=True)
    assert names_in(root) == []


@pytest.mark.parametrize(
    ("content", "encoding"), [("x" * 9, "utf-8"), ("二二二", "utf-8"), (base64.b64encode(b"x" * 9).decode(), "base64")]
)
def test_content_over_the_limit_is_refused(
    root: Path, content: str, encoding: typing.Literal["utf-8", "base64"]
) -> None:
    with refused("TT6051"):
        small(root, write_bytes=8).write_file("a", content, encoding)
    assert names_in(root) == []


@pytest.mark.parametrize(("content", "encoding"), [("x" * 8, "utf-8"), (base64.b64encode(b"x" * 8).decode(), "base64")])
def test_content_at_the_limit_is_written(root: Path, content: str, encoding: typing.Literal["utf-8", "base64"]) -> None:
    assert small(root, write_bytes=8).write_file("a", content, encoding)["size"] == 8


def test_a_file_does_not_grow_over_its_limit(root: Path) -> None:
    files = small(root, file_bytes=8)
    files.write_file("a", "12345")
    with refused("TT6054"):
        files.write_file("a", "6789", mode="append")
    assert files.write_file("a", "678", mode="append")["size"] == 8


def test_missing_directories_are_made_only_when_asked(files: Files, root: Path) -> None:
    with refused("TT6056"):
        files.write_file("a/b/c", "x")
    assert names_in(root) == []
    files.write_file("a/b/c", "x", create_parents=True)
    assert (root / "a/b/c").read_text() == "x"


def test_a_stale_version_is_refused_and_the_fresh_one_accepted(files: Files, root: Path) -> None:
    first = files.write_file("a", "one")["version"]
    second = files.write_file("a", "two", mode="overwrite", if_version=first)["version"]
    with refused("TT6055"):
        files.write_file("a", "three", mode="overwrite", if_version=first)
    with refused("TT6055"):
        files.write_file("b", "new", mode="overwrite", if_version=first)
    assert (root / "a").read_text() == "two"
    assert files.read_file("a")["version"] == second


def test_a_change_by_somebody_else_during_the_call_is_not_overwritten(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("old")
    real = handles.keep_attributes

    def late(old: int, before: os.stat_result, new: int) -> None:
        (root / "a").write_text("their longer text")
        real(old, before, new)

    monkeypatch.setattr(handles, "keep_attributes", late)
    with refused("TT6055"):
        files.write_file("a", "ours", mode="overwrite")
    assert (root / "a").read_text() == "their longer text"
    assert names_in(root) == ["a"]


@pytest.mark.parametrize("with_version", [False, True])
def test_a_concurrent_addition_to_a_file_is_not_lost_by_an_edit(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, with_version: bool
) -> None:
    (root / "a").write_text("old\n")
    version = files.file_info("a")["version"] if with_version else ""
    real = handles.read_at

    def late(fd: int, size: int, offset: int) -> bytes:
        data = real(fd, size, offset)
        with (root / "a").open("a") as theirs:
            theirs.write("theirs\n")
        return data

    monkeypatch.setattr(handles, "read_at", late)
    with refused("TT6055"):
        files.edit_file("a", [Edit("old", "new")], if_version=version)
    assert (root / "a").read_text().startswith("old\ntheirs\n")
    assert names_in(root) == ["a"]


@pytest.mark.parametrize("mode", ["overwrite", "append"])
def test_a_version_is_that_of_the_file_that_is_opened(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, mode: typing.Literal["overwrite", "append"]
) -> None:
    (root / "a").write_text("old")
    version = files.file_info("a")["version"]
    real = handles.open_file

    def late(parent: int, name: str, *, writable: bool = False) -> int:
        (root / "a").write_text("their longer text")
        return real(parent, name, writable=writable)

    monkeypatch.setattr(handles, "open_file", late)
    with refused("TT6055"):
        files.write_file("a", "ours", mode=mode, if_version=version)
    assert (root / "a").read_text() == "their longer text"


@pytest.mark.parametrize("mode", ["overwrite", "append"])
@pytest.mark.parametrize(
    ("module", "call", "number", "code"),
    [
        (os, "write", errno.ENOSPC, "TT6035"),
        (os, "fsync", errno.EIO, "TT6034"),
        (handles, "rename_over", errno.EROFS, "TT6033"),
    ],
    ids=["write", "fsync", "rename"],
)
def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    files: Files,
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    mode: typing.Literal["overwrite", "append"],
    module: types.ModuleType,
    call: str,
    number: int,
    code: str,
) -> None:
    (root / "a").write_text("old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(number, "injected")

    monkeypatch.setattr(module, call, fail)
    with refused(code):
        files.write_file("a", "new", mode=mode)
    monkeypatch.undo()
    assert (root / "a").read_text() == "old"
    assert names_in(root) == ["a"]


@pytest.mark.needs("descriptors")
@pytest.mark.parametrize("call", ["write", "fsync", "link"])
def test_a_failed_creation_leaves_nothing(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "injected")

    if call == "link":
        without_rename(monkeypatch)
    monkeypatch.setattr(os, call, fail)
    with refused("TT6035"):
        files.write_file("a", "new")
    monkeypatch.undo()
    assert names_in(root) == []


@pytest.mark.needs("descriptors")
def test_a_file_system_without_hard_links_will_do(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    without_rename(monkeypatch)
    monkeypatch.setattr(os, "link", refuse)
    files.write_file("a", "new")
    assert (root / "a").read_text() == "new"
    with refused("TT6050"):
        files.write_file("a", "newer")
    monkeypatch.setattr(os, "rename", refuse)
    with refused("TT6033"):
        files.write_file("b", "new")
    assert names_in(root) == ["a"]


def test_short_writes_are_continued(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:2]))
    files.write_file("a", "12345")
    monkeypatch.undo()
    assert (root / "a").read_text() == "12345"


def test_a_directory_that_cannot_be_synced_is_no_failure_of_the_write(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def only_files(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "injected")
        real(fd)

    monkeypatch.setattr(os, "fsync", only_files)
    assert files.write_file("a", "new")["created"] is True


LIMITED = """
import resource, sys
from pathlib import Path
from tooltrue.errors import ToolError
from tooltrue_toolbox.files import Files
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    Files([Path(sys.argv[1])]).write_file("a", "x" * 10000, mode="overwrite")
except ToolError as error:
    print(error.code)
"""


@pytest.mark.needs("limits")
@pytest.mark.process
def test_a_disk_that_is_really_full_leaves_the_old_file(root: Path) -> None:
    (root / "a").write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(root)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "TT6035"
    assert (root / "a").read_text() == "old"
    assert names_in(root) == ["a"]


# Listing


HAS_FIFOS = hasattr(os, "mkfifo")


def tree(root: Path) -> None:
    """A folder with an entry of each kind that the system has."""
    (root / "b" / "sub").mkdir(parents=True)
    (root / "b" / "sub" / "deep.txt").write_text("12345")
    (root / "b" / "x").write_text("1")
    (root / "a").write_text("12")
    (root / "b.txt").touch()
    (root / "c").symlink_to("b")
    if HAS_FIFOS:
        os.mkfifo(root / "d")


def test_a_directory_is_listed_in_order_with_type_and_size(files: Files, root: Path) -> None:
    tree(root)
    assert files.list_directory() == {
        "path": ".",
        "entries": [
            {"path": "a", "type": "file", "size": 2},
            {"path": "b", "type": "directory"},
            {"path": "b.txt", "type": "file", "size": 0},
            {"path": "c", "type": "symlink"},
            *([{"path": "d", "type": "other"}] if HAS_FIFOS else []),
        ],
    }


def paths(listing: DirectoryListing) -> list[str]:
    return [entry["path"] for entry in listing["entries"]]


def test_depth_reaches_into_directories_and_not_into_links(files: Files, root: Path) -> None:
    tree(root)
    fifos = ["d"] if HAS_FIFOS else []
    assert paths(files.list_directory(depth=2)) == ["a", "b", "b/sub", "b/x", "b.txt", "c", *fifos]
    assert paths(files.list_directory(depth=3)) == ["a", "b", "b/sub", "b/sub/deep.txt", "b/x", "b.txt", "c", *fifos]
    assert paths(files.list_directory("b", depth=2)) == ["b/sub", "b/sub/deep.txt", "b/x"]


def test_a_link_to_a_directory_is_listed_when_it_is_named(files: Files, root: Path) -> None:
    tree(root)
    assert paths(files.list_directory("c/")) == ["c/sub", "c/x"]


def pages(files: Files, path: str, depth: int) -> Generator[list[str]]:
    listing = files.list_directory(path, depth)
    yield paths(listing)
    while cursor := listing.get("next_cursor"):
        listing = files.list_directory(path, depth, cursor)
        yield paths(listing)


@pytest.mark.parametrize("entries", [1, 2, 3, 7, 8, 100])
@pytest.mark.parametrize("path", [".", "b"])
def test_the_pages_of_a_listing_make_the_listing(root: Path, entries: int, path: str) -> None:
    tree(root)
    whole = paths(small(root).list_directory(path, depth=5))
    parts = list(pages(small(root, entries=entries), path, 5))
    assert [each for part in parts for each in part] == whole
    assert all(len(part) == entries for part in parts[:-1])


def test_a_page_also_ends_when_its_paths_are_long(root: Path) -> None:
    for n in range(4):
        (root / (str(n) * 100)).touch()
    assert list(map(len, pages(small(root, entry_bytes=250), ".", 1))) == [2, 2]
    assert list(map(len, pages(small(root, entry_bytes=1), ".", 1))) == [1, 1, 1, 1]


def test_a_cursor_survives_that_its_entry_is_gone(root: Path) -> None:
    tree(root)
    files = small(root, entries=3)
    cursor = files.list_directory(depth=3).get("next_cursor")
    assert cursor == "b/sub"
    (root / "b" / "sub" / "deep.txt").unlink()
    (root / "b" / "sub").rmdir()
    assert paths(files.list_directory(".", 3, cursor)) == ["b/x", "b.txt", "c"]


@pytest.mark.parametrize("cursor", ["other/x", "b", "bx/y", "/b/x"])
def test_a_cursor_of_another_listing_is_refused(files: Files, root: Path, cursor: str) -> None:
    tree(root)
    with refused("TT6060"):
        files.list_directory("b", 1, cursor)


def test_several_folders_are_listed_by_label(tmp_path: Path) -> None:
    for name in ("two", "one"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a").touch()
        (tmp_path / name / "b").touch()
    files = Files([tmp_path / "two", tmp_path / "one"], limits=FileLimits(entries=2))
    assert list(pages(files, ".", 1)) == [["one", "two"]]
    assert list(pages(files, ".", 2)) == [["one", "one/a"], ["one/b", "two"], ["two/a", "two/b"]]
    assert list(pages(files, "two", 1)) == [["two/a", "two/b"]]
    assert files.write_file("two/c", "x")["path"] == "two/c"
    with refused("TT6023"):
        files.write_file(".", "x")


def test_a_directory_that_may_not_be_entered_says_why(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / ".ssh").mkdir()
    (root / ".ssh" / "config").touch()
    (root / "locked").mkdir()
    real = handles.open_directory

    def opened(parent: int, name: str) -> int:
        if name == "locked":
            raise PermissionError(errno.EACCES, "injected")
        return real(parent, name)

    monkeypatch.setattr(handles, "open_directory", opened)
    assert files.list_directory(depth=2)["entries"] == [
        {"path": ".ssh", "type": "directory", "closed": "secret"},
        {"path": "locked", "type": "directory", "closed": "permission"},
    ]


def test_a_path_that_is_not_a_listable_directory_is_refused(files: Files, root: Path) -> None:
    (root / "f").touch()
    with refused("TT6022"):
        files.list_directory("f")
    with refused("TT6020"):
        files.list_directory("none")
    with refused("TT6030"):
        files.list_directory(".ssh")


# The tools as such


def test_every_tool_can_be_registered_as_its_settings_say(files: Files) -> None:
    tools, reading = LocalToolset(), LocalToolset()
    add_tools(tools, files)
    add_tools(reading, files, read_only=True)
    assert len(tools.names) == 11
    assert set(tools.names) - set(reading.names) == {
        "create_directory",
        "delete_file",
        "edit_file",
        "move_file",
        "write_file",
    }


def test_no_descriptor_is_left_after_any_call(files: Files, root: Path) -> None:
    tree(root)
    before = open_descriptors()
    for path in ("a", "d", "b", "none", "c/x", "c/none/x"):
        for call in (files.read_file, files.list_directory):
            try:
                call(path)
            except ToolError:
                continue
    for mode in ("create", "overwrite", "append", "create"):
        try:
            files.write_file("new", "x", mode=typing.cast("typing.Any", mode))
        except ToolError:
            continue
    small(root, entries=2).list_directory(depth=3)
    assert open_descriptors() <= before + 1  # the folder of `small`, kept open


def test_a_closed_toolbox_refuses(root: Path) -> None:
    files = Files([root])
    files.close()
    with refused("TT6034"):
        files.list_directory()


def test_calls_from_many_threads_do_not_disturb_each_other(root: Path) -> None:
    (root / "a").write_text("0" * 1000)
    files, seen = patient(root), set[str]()
    together = threading.Barrier(4)

    def work(digit: str) -> None:
        together.wait(60)
        for _ in range(20):
            files.write_file("a", digit * 1000, mode="overwrite")
            seen.add(files.read_file("a")["content"])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "1234"))
    assert seen <= {digit * 1000 for digit in "01234"}


@pytest.mark.needs("names")
def test_the_rules_can_be_opened_by_the_operator(root: Path) -> None:
    (root / "a:b").write_text("1")
    os.link(root / "a:b", root / "c")
    files = Files([root], rules=PathRules(allow_hard_links=True, allow_windows_names=True))
    assert files.read_file("a:b")["content"] == files.read_file("c")["content"] == "1"


def test_every_sentence_of_these_tools_names_a_next_step_in_both_languages() -> None:
    for code in (code for code in SENTENCES if code.startswith("TT60")):
        english, chinese = SENTENCES[code]
        assert english.endswith(".")
        assert chinese.endswith("。")
