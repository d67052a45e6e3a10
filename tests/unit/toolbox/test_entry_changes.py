"""Creation of directories, moves and deletions of entries, and metadata of entries without their content."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.toolbox.refusals import refused
from tooltrue import Client, Server
from tooltrue.errors import ToolError
from tooltrue.policy.layers.confirm import Confirm
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue_toolbox.files import FileLimits, Files, toolset
from tooltrue_toolbox.platform import handles
from tooltrue_toolbox.rooted_paths import PathRules

AGREED = RequestContext(LOCAL, SILENT, agreed=True)


@pytest.fixture(params=["renameat2", pytest.param("without", marks=pytest.mark.needs("descriptors"))])
def rename(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both where the system renames without replacing, and where it cannot."""

    def missing(*_: object) -> None:
        raise NotImplementedError

    if request.param == "without":
        monkeypatch.setattr("tooltrue_toolbox.platform.posix_calls.rename_without_replacing", missing)
    return request.param


def tree(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


# Directories


def test_a_directory_is_made_with_those_above_it_and_once(files: Files, root: Path) -> None:
    assert files.create_directory("a/b/c") == {"path": "a/b/c", "created": True}
    assert files.create_directory("a/b/c/") == {"path": "a/b/c", "created": False}
    assert tree(root) == ["a", "a/b", "a/b/c"]
    (root / "f").touch()
    with refused("TT6067"):
        files.create_directory("f")
    with refused("TT6022"):
        files.create_directory("f/x")
    with refused("TT6031"):
        files.create_directory("a/.git/hooks")
    with refused("TT6070"):
        files.create_directory(".")


# Moving


@pytest.mark.usefixtures("rename")
def test_files_and_directories_are_moved(files: Files, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "a").write_text("1")
    assert files.move_file("d/a", "b") == {"source": "d/a", "path": "b", "type": "file"}
    assert files.move_file("d", "x/y", create_parents=True) == {"source": "d", "path": "x/y", "type": "directory"}
    assert (root / "b").stat().st_nlink == 1
    assert tree(root) == ["b", "x", "x/y"]


@pytest.mark.usefixtures("rename")
def test_d24_a_move_replaces_no_existing_entry(files: Files, root: Path) -> None:
    (root / "a").write_text("a")
    (root / "b").write_text("b")
    (root / "d").mkdir()
    (root / "full").mkdir()
    (root / "full" / "x").touch()
    (root / "empty").mkdir()
    (root / "link").symlink_to("nowhere")
    for source, destination in [
        ("a", "b"), ("a", "d"), ("a", "link"), ("d", "a"), ("d", "full"), ("d", "empty"), ("a", "a"),
    ]:  # fmt: skip
        with refused("TT6067"):
            files.move_file(source, destination)
    assert ((root / "a").read_text(), (root / "b").read_text()) == ("a", "b")
    assert tree(root) == ["a", "b", "d", "empty", "full", "full/x", "link"]


@pytest.mark.usefixtures("rename")
def test_d24_a_directory_is_not_moved_into_itself(files: Files, root: Path) -> None:
    (root / "d" / "in").mkdir(parents=True)
    for destination in ("d/x", "d/in/x"):
        with refused("TT6068"):
            files.move_file("d", destination)
    assert tree(root) == ["d", "d/in"]


@pytest.mark.usefixtures("rename")
def test_d24_twin_a_neighbour_whose_name_begins_alike(files: Files, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d-old").mkdir()
    files.move_file("d", "d-old/d")
    assert tree(root) == ["d-old", "d-old/d"]


@pytest.mark.needs("fifos")
@pytest.mark.needs("descriptors")
def test_a_move_that_is_impossible_gives_its_reason(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").touch()
    (root / "link").symlink_to("a")
    os.mkfifo(root / "pipe")
    for source, destination, code in [
        ("none", "x", "TT6020"), ("a", "no/x", "TT6056"), ("link", "x", "TT6032"), ("pipe", "x", "TT6024"),
        (".", "x", "TT6070"), ("a", ".", "TT6070"), ("a", "../x", "TT6011"),
    ]:  # fmt: skip
        with refused(code):
            files.move_file(source, destination)

    def elsewhere(*_: object) -> None:
        raise OSError(errno.EXDEV, "injected")

    monkeypatch.setattr("tooltrue_toolbox.platform.posix_calls.rename_without_replacing", elsewhere)
    with refused("TT6069"):
        files.move_file("a", "b")


@pytest.mark.parametrize("name", [".git", ".GIT", ".env", ".ｅnv", "credentials.json", "Credentials.JSON", ".mcp.json"])
@pytest.mark.attack("D17", "D26", "D27")
def test_d17_protected_names_are_neither_moved_nor_moved_to_nor_deleted(files: Files, root: Path, name: str) -> None:
    (root / name).write_text("theirs")
    (root / "mine").write_text("mine")
    for call in (
        lambda: files.move_file(name, "x"),
        lambda: files.move_file("mine", f"sub/{name}", create_parents=True),
        lambda: files.delete_file(name, AGREED),
    ):
        with pytest.raises(ToolError) as caught:
            call()
        assert caught.value.code in ("TT6030", "TT6031")
    assert (root / name).read_text() == "theirs"
    assert (root / "mine").exists()


@pytest.mark.parametrize("inside", [".git/config", "deep/er/.env", "credentials.json"])
def test_d17_a_directory_with_something_protected_in_it_is_not_deleted(files: Files, root: Path, inside: str) -> None:
    (root / "d" / inside).parent.mkdir(parents=True)
    (root / "d" / inside).touch()
    (root / "d" / "a").touch()
    before = tree(root)
    with refused("TT6072"):
        files.delete_file("d", AGREED, recursive=True)
    assert tree(root) == before


def test_d17_a_directory_that_contains_our_records_is_neither_moved_nor_deleted(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "home" / "state"))
    (root / "home" / "state" / "tooltrue").mkdir(parents=True)
    with Files([root]) as files:
        for name in ("home", "home/state"):
            with refused("TT6030"):
                files.move_file(name, "x")
            with refused("TT6030"):
                files.delete_file(name, AGREED, recursive=True)
    assert (root / "home" / "state" / "tooltrue").exists()


@pytest.mark.twin("D17", "D26", "D27")
@pytest.mark.parametrize("name", [".env.example", "credentials.md", "git", "github", "package.json"])
def test_d17_twin_names_that_look_alike_are_moved_and_deleted(files: Files, root: Path, name: str) -> None:
    (root / "a").touch()
    files.move_file("a", name)
    files.delete_file(name, AGREED)
    assert tree(root) == []


# Deleting


def test_files_links_and_directories_are_deleted(files: Files, root: Path) -> None:
    (root / "a").write_text("123")
    (root / "keep").mkdir()
    (root / "keep" / "x").touch()
    (root / "link").symlink_to("keep")
    (root / "d" / "e").mkdir(parents=True)
    (root / "d" / "e" / "f").write_text("12")
    (root / "d" / "out").symlink_to("../keep")
    assert files.delete_file("a", AGREED) == {"path": "a", "type": "file", "entries": 1, "bytes": 3}
    assert files.delete_file("link", AGREED) == {"path": "link", "type": "symlink", "entries": 1, "bytes": 0}
    with refused("TT6071"):
        files.delete_file("d", AGREED)
    assert files.delete_file("d", AGREED, recursive=True) == {
        "path": "d",
        "type": "directory",
        "entries": 4,
        "bytes": 2,
    }
    assert tree(root) == ["keep", "keep/x"]
    for path, code in (("a", "TT6020"), (".", "TT6070"), ("keep/../keep", "TT6011")):
        with refused(code):
            files.delete_file(path, AGREED, recursive=True)


def test_an_empty_directory_needs_no_word_more(files: Files, root: Path) -> None:
    (root / "d").mkdir()
    assert files.delete_file("d/", AGREED)["entries"] == 1
    assert tree(root) == []


def test_d21_a_file_that_has_changed_is_not_deleted(files: Files, root: Path) -> None:
    (root / "a").write_text("old")
    version = files.file_info("a")["version"]
    (root / "a").write_text("theirs, meanwhile")
    with refused("TT6055"):
        files.delete_file("a", AGREED, if_version=version)
    assert files.delete_file("a", AGREED, if_version=files.file_info("a")["version"])["bytes"] == 17


def test_a_directory_over_the_deletion_limit_is_not_deleted(root: Path) -> None:
    (root / "d").mkdir()
    for n in range(4):
        (root / "d" / str(n)).touch()
    files = Files([root], limits=FileLimits(delete_entries=3))
    with refused("TT6073"):
        files.delete_file("d", AGREED, recursive=True)
    deep = root / "/".join("d" * 120)
    deep.mkdir(parents=True)
    (root / "d" / "0").unlink()
    with refused("TT6073"):
        Files([root]).delete_file("d", AGREED, recursive=True)


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(errno.EACCES, "injected")


@pytest.mark.usefixtures("rename")
def test_a_directory_of_which_nothing_can_be_deleted_is_there_as_before(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "d" / "kept").mkdir(parents=True)
    (root / "d" / "kept" / "a").touch()
    monkeypatch.setattr(handles, "remove_file", refuse)
    with refused("TT6033"):
        files.delete_file("d", AGREED, recursive=True)
    assert tree(root) == ["d", "d/kept", "d/kept/a"]
    monkeypatch.undo()
    files.delete_file("d", AGREED, recursive=True)
    assert tree(root) == []


@pytest.mark.usefixtures("rename")
@pytest.mark.parametrize("taken", [False, True])
def test_the_rest_of_a_partially_deleted_directory_is_restored_and_reported(
    files: Files, root: Path, monkeypatch: pytest.MonkeyPatch, taken: bool
) -> None:
    (root / "b" / "d" / "in").mkdir(parents=True)
    (root / "b" / "d" / "in" / "old").touch()
    real = handles.remove_directory

    def late(parent: int, name: str) -> None:
        """Somebody else adds something, and perhaps takes the name as well."""
        (deleted,) = (root / "b").glob("*.deleted")
        (deleted / "in" / "theirs").touch()
        if taken:
            (root / "b" / "d").touch()
        real(parent, name)

    monkeypatch.setattr(handles, "remove_directory", late)
    with pytest.raises(ToolError) as caught:
        files.delete_file("b/d", AGREED, recursive=True)
    monkeypatch.undo()
    told = caught.value.facts
    assert (caught.value.code, told["path"], told["removed"], told["problem"]) == ("TT6085", "b/d", 1, "ENOTEMPTY")
    left = str(told["left"])
    assert (left == "b/d") is not taken
    assert tree(root) == sorted({"b", "b/d", left, f"{left}/in", f"{left}/in/theirs"})
    assert files.delete_file(left, AGREED, recursive=True)["entries"] == 3


@pytest.mark.needs("fifos")
def test_a_pipe_is_not_deleted(files: Files, root: Path) -> None:
    os.mkfifo(root / "pipe")
    with refused("TT6024"):
        files.delete_file("pipe", AGREED)


# Approval


def asked_of(
    root: Path, answer: Callable[[Any], Any] | None, arguments: dict[str, Any], **settings: Any
) -> tuple[list[str], str]:
    """The questions to the person during a tool call, and the result text for the model."""
    messages: list[str] = []

    def elicit(question: Any) -> Any:
        messages.append(question.message)
        return None if answer is None else answer(question)

    async def call() -> str:
        server = Server("files", toolsets=[toolset([root], limits=FileLimits(unasked_bytes=10))], **settings)
        async with Client(server, elicit=None if answer is None else elicit) as client:
            return (await client.call_tool("delete_file", arguments)).text

    return messages, asyncio.run(call())


def test_a_person_is_asked_once_and_told_how_much_it_is(root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "a").write_text("x" * 20)
    messages, _ = asked_of(root, lambda _: True, {"path": "d", "recursive": True})
    assert len(messages) == 1
    assert messages[0].endswith("Deletes a directory with 1 entries, 20 bytes in all. This cannot be undone.")
    assert tree(root) == []


@pytest.mark.parametrize("name", ["d", "large"])
def test_without_approval_of_each_call_deleting_a_folder_or_large_file_still_asks(root: Path, name: str) -> None:
    (root / "d").mkdir()
    (root / "large").write_text("x" * 20)
    arguments = {"path": name}
    messages, text = asked_of(root, lambda _: False, arguments, confirm=Confirm.never())
    assert len(messages) == 1
    assert messages[0].startswith("Delete a ")
    assert "TT6080" in text
    _, text = asked_of(root, None, arguments, confirm=Confirm.never())
    assert "TT2470" in text
    assert tree(root) == ["d", "large"]
    asked_of(root, lambda _: True, arguments, confirm=Confirm.never())
    assert name not in tree(root)


def test_without_approval_of_each_call_a_small_file_is_deleted_without_a_question(root: Path) -> None:
    (root / "small").write_text("x")
    messages, _ = asked_of(root, lambda _: False, {"path": "small"}, confirm=Confirm.never())
    assert (messages, tree(root)) == ([], [])


def test_a_session_approval_does_not_cover_a_folder_with_other_contents(root: Path) -> None:
    messages: list[str] = []

    def elicit(question: Any) -> Any:
        messages.append(question.message)
        return {"answer": "session"} if len(messages) == 1 else False

    async def twice() -> str:
        async with Client(Server("files", toolsets=[toolset([root])]), elicit=elicit) as client:
            for name in ("old", "new"):
                (root / "d").mkdir()
                (root / "d" / name).touch()
                result = await client.call_tool("delete_file", {"path": "d", "recursive": True})
        return result.text

    assert "TT6080" in asyncio.run(twice())
    assert messages[1].startswith("Delete a directory with 1 entries, 0 bytes in all")
    assert tree(root) == ["d", "d/new"]


# Read-only mode, and how much may be added


def test_in_read_only_mode_there_is_nothing_that_writes(root: Path) -> None:
    (root / "a").write_text("1")

    async def names() -> list[str]:
        async with Client(Server("files", toolsets=[toolset([root], read_only=True)])) as client:
            return [tool.name for tool in await client.list_tools()]

    assert asyncio.run(names()) == [
        "file_info", "list_directory", "list_roots", "read_file", "read_media", "search_files",
    ]  # fmt: skip
    files = Files([root], read_only=True)
    with refused("TT6081"):
        files.write_file("b", "x")
    with refused("TT6081"):
        files.delete_file("a", AGREED)
    with refused("TT6081"):
        files.move_file("a", "b")
    assert files.list_roots()["read_only"] is True
    assert tree(root) == ["a"]


def test_d25_many_small_writes_end_as_well(root: Path) -> None:
    files = Files([root], limits=FileLimits(added_bytes=10, added_entries=3))
    files.write_file("a", "123456")
    with refused("TT6065"):
        files.write_file("b", "12345")
    with refused("TT6065"):
        files.write_file("a", "12345", mode="append")
    files.write_file("b", "1234")
    files.create_directory("c")
    with refused("TT6066"):
        files.create_directory("d")
    with refused("TT6066"):
        files.write_file("d", "")
    assert files.create_directory("c")["created"] is False
    assert tree(root) == ["a", "b", "c"]


def test_d25_directories_that_are_made_on_the_way_count_as_well(root: Path) -> None:
    files = Files([root], limits=FileLimits(added_bytes=10, added_entries=4))
    (root / "old").touch()
    with refused("TT6065"):
        files.write_file("x/y/z", "more than ten bytes", create_parents=True)
    assert tree(root) == ["old"]
    files.write_file("a/b/c", "1", create_parents=True)
    assert files.list_roots()["entries_left"] == 1
    with refused("TT6066"):
        files.create_directory("d/e/f")
    with refused("TT6066"):
        files.write_file("g/h", "", create_parents=True)
    with refused("TT6066"):
        files.move_file("old", "i/j", create_parents=True)
    assert tree(root) == ["a", "a/b", "a/b/c", "d", "old"]


def test_d25_twin_a_deleted_file_frees_its_space(root: Path) -> None:
    files = Files([root], limits=FileLimits(added_bytes=10, added_entries=1))
    files.write_file("a", "1234567890")
    files.write_file("a", "12345", mode="overwrite")
    assert (files.list_roots()["bytes_left"], files.list_roots()["entries_left"]) == (5, 0)
    files.delete_file("a", AGREED)
    files.write_file("b", "1234567890")
    assert files.list_roots()["bytes_left"] == 0


# Metadata


def test_properties_are_told_without_the_content(files: Files, root: Path) -> None:
    (root / "a.csv").write_bytes(b"a;b\r\n1;2\r\n")
    (root / "a.csv").chmod(0o444)
    os.utime(root / "a.csv", ns=(0, 1_700_000_000_500_000_000))
    assert files.file_info("a.csv") == {
        "path": "a.csv",
        "type": "file",
        "size": 10,
        "modified": "2023-11-14T22:13:20.500+00:00",
        "permissions": "-r--r--r--",
        "version": files.read_file("a.csv")["version"],
        "media_type": "text/csv",
        "text": True,
        "encoding": "utf-8",
        "line_endings": "\\r\\n",
    }
    (root / "image.txt").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    info = files.file_info("image.txt")
    assert (info.get("media_type"), info.get("text"), "line_endings" in info) == ("image/png", False, False)
    assert files.file_info(".")["type"] == "directory"
    for path, code in ((".env", "TT6030"), ("none", "TT6020")):
        with refused(code):
            files.file_info(path)


def test_the_folders_are_listed_by_label_and_not_by_place(tmp_path: Path) -> None:
    for name in ("two", "one"):
        (tmp_path / name).mkdir()
    files = Files([tmp_path / "two", tmp_path / "one"])
    told = files.list_roots()
    assert told["roots"] == ["one", "two"]
    assert str(tmp_path) not in str(told)
    with refused("TT6074"):
        files.file_info(".")


PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 50


def shown(root: Path, path: str, **limits: Any) -> Any:
    async def call() -> Any:
        async with Client(Server("files", toolsets=[toolset([root], limits=FileLimits(**limits))])) as client:
            result = await client.call_tool("read_media", {"path": path})
            linked = [block for block in result.content if hasattr(block, "uri")]
            return result, (await client.read_resource(linked[0].uri)) if linked else None

    return asyncio.run(call())


def test_an_image_and_an_audio_file_have_their_own_media_type_under_any_name(root: Path) -> None:
    (root / "a.txt").write_bytes(PNG)
    (root / "b").write_bytes(b"RIFF....WAVE")
    result, _ = shown(root, "a.txt")
    text, picture = result.content
    assert text.text == "a.txt: image/png, 58 bytes"
    assert result.value == {"path": "a.txt", "media_type": "image/png", "size": 58, "linked": False}
    assert (picture.mimeType, base64.b64decode(picture.data)) == ("image/png", PNG)
    assert shown(root, "b")[0].content[1].mimeType == "audio/wav"


def test_a_large_media_file_is_returned_as_a_link_and_a_huge_one_is_refused(root: Path) -> None:
    (root / "a.png").write_bytes(PNG)
    (root / "b.pdf").write_bytes(b"%PDF-1.7")
    result, read = shown(root, "a.png", media_bytes=10)
    assert (result.content[1].mimeType, base64.b64decode(read[0].blob)) == ("image/png", PNG)
    assert shown(root, "b.pdf")[0].content[1].mimeType == "application/pdf"
    assert "TT6076" in shown(root, "a.png", kept_bytes=10)[0].text


@pytest.mark.parametrize("data", [b"<svg xmlns='http://www.w3.org/2000/svg'/>", b"text", b"", b"\0\1\2"])
def test_d23_a_file_that_is_not_an_image_is_not_shown_as_one(root: Path, data: bytes) -> None:
    (root / "a.png").write_bytes(data)
    assert "TT6075" in shown(root, "a.png")[0].text


# Crashes

CRASH = """
import os, signal, sys
from pathlib import Path
from tooltrue_toolbox.files import Edit, Files
from tooltrue_toolbox.platform import posix_calls
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
place, tool, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
calls = when = 0

def until(event, arguments):
    global calls
    if event.startswith(("os.", "open", "shutil.")):
        calls += 1
        if calls == when:
            os.kill(os.getpid(), signal.SIGKILL)

big = "new" * 400_000
CALLS = {
    "write_file": lambda files: files.write_file("a", big, mode="overwrite"),
    "append": lambda files: files.write_file("a", big, mode="append"),
    "create": lambda files: files.write_file("b", big),
    "edit_file": lambda files: files.edit_file("a", [Edit("old", "new", count=1000)]),
    "create_directory": lambda files: files.create_directory("e"),
    "move_file": lambda files: files.move_file("d", "e"),
    "delete_file": lambda files: files.delete_file("d", RequestContext(LOCAL, SILENT, agreed=True), recursive=True),
}
def announced(*names, call=posix_calls.rename_without_replacing):  # Python does not announce it
    until("os.rename", names)
    call(*names)

posix_calls.rename_without_replacing = announced
for when in range(1, times + 1):
    process = os.fork()  # what has been imported once
    if process == 0:
        files = Files([place / str(when)])
        sys.addaudithook(until)
        CALLS[tool](files)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    print(status, flush=True)
    if status != -signal.SIGKILL:
        break
"""

OLD, BIG = "old" * 1000, "new" * 400_000
NEW: dict[str, dict[str, str]] = {
    "write_file": {"a": BIG, "d": "directory", "d/x": "1", "d/y": "2"},
    "append": {"a": OLD + BIG, "d": "directory", "d/x": "1", "d/y": "2"},
    "create": {"a": OLD, "b": BIG, "d": "directory", "d/x": "1", "d/y": "2"},
    "edit_file": {"a": "new" * 1000, "d": "directory", "d/x": "1", "d/y": "2"},
    "create_directory": {"a": OLD, "d": "directory", "d/x": "1", "d/y": "2", "e": "directory"},
    "move_file": {"a": OLD, "e": "directory", "e/x": "1", "e/y": "2"},
    "delete_file": {"a": OLD},
}


def state(root: Path) -> dict[str, str]:
    """All entries except temporary files and entries marked for deletion, which no tool mistakes for others."""
    kept = [path for path in root.rglob("*") if not path.relative_to(root).parts[0].endswith(LEFT)]
    found = {path.relative_to(root).as_posix(): path for path in kept}
    return {name: path.read_text() if path.is_file() else "directory" for name, path in found.items()}


LEFT = (".tmp", ".deleted")


@pytest.mark.needs("descriptors")
@pytest.mark.process
@pytest.mark.parametrize("tool", sorted(NEW))
def test_a_kill_leaves_the_old_or_the_new_state(tmp_path: Path, tool: str) -> None:
    """The process is killed before each step that Python announces in turn, until it comes to its end."""
    before, times = {"a": OLD, "d": "directory", "d/x": "1", "d/y": "2"}, 60
    for when in range(1, times + 1):
        (tmp_path / str(when) / "d").mkdir(parents=True)
        for name, text in before.items():
            if text != "directory":
                (tmp_path / str(when) / name).write_text(text)
    command = [sys.executable, "-c", CRASH, str(tmp_path), tool, str(times)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    *killed, ended = map(int, done.stdout.split())
    assert (ended, {*killed}) == (0, {-signal.SIGKILL}), done.stderr
    seen: set[str] = set()
    for when in range(1, len(killed) + 2):
        now = state(tmp_path / str(when))
        assert now in (before, NEW[tool]), when
        seen.add("new" if now == NEW[tool] else "old")
    assert seen == {"old", "new"}


# Rules of the operator's


def test_rules_that_the_operator_opens_are_open_here_as_well(root: Path) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "x").touch()
    files = Files([root], rules=PathRules(protected=()))
    assert files.delete_file(".git", AGREED, recursive=True)["entries"] == 2
