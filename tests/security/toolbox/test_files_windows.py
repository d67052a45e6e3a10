"""Rows D in the forms of Windows: the files tools as a process on Windows runs them, over a fake that is NTFS.

Each has a benign twin. The fake tells the real path of all that was opened: no attack opens anything outside.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from support.toolbox import modules_of_systems
from support.windows.handles import FILES
from tooltrue.errors import ToolError
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext

SECRET = "outside-secret"
CONTEXT = RequestContext(LOCAL, SILENT, agreed=True)


@pytest.fixture(scope="module")
def windows() -> SimpleNamespace:
    return modules_of_systems.namespace()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "data").mkdir()
    (tmp_path / "data-evil").mkdir()
    for folder in ("outside", "data-evil"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "x").write_text(SECRET)
    return tmp_path / "data"


@pytest.fixture
def files(windows: SimpleNamespace, root: Path) -> Generator[Any]:
    with windows.files.Files([root]) as opened:
        FILES.opened.clear()
        yield opened
    locks = root.parent / "state"
    outside = [path for path in FILES.opened if not Path(path).is_relative_to(root)]
    assert [path for path in outside if not Path(path).is_relative_to(locks)] == []
    assert (root.parent / "outside" / "x").read_text() == SECRET
    assert sorted(os.listdir(root.parent / "outside")) == ["x"]


@contextmanager
def refused(code: str, root: Path) -> Generator[None]:
    """The block ends with a refusal of this code, in words that tell neither the secret nor the place of the folder."""
    with pytest.raises(ToolError) as caught:
        yield
    assert caught.value.code == code
    for language in ("en", "zh"):
        assert SECRET not in caught.value.say(language)
        assert str(root.parent) not in caught.value.say(language)


USES: dict[str, Callable[[Any, str], object]] = {
    "read": lambda files, path: files.read_file(path),
    "look": lambda files, path: files.file_info(path),
    "list": lambda files, path: files.list_directory(path),
    "search": lambda files, path: asyncio.run(files.search_files(CONTEXT, path=path, content=SECRET)),
    "create": lambda files, path: files.write_file(path, "evil", create_parents=True),
    "overwrite": lambda files, path: files.write_file(path, "evil", mode="overwrite"),
    "make": lambda files, path: files.create_directory(path),
    "move": lambda files, path: files.move_file(path, "stolen"),
    "move to": lambda files, path: files.move_file("mine", path),
    "delete": lambda files, path: files.delete_file(path, CONTEXT, recursive=True),
}

HOSTILE = {
    "..\\outside\\x": "TT6011",
    "a\\..\\..\\outside\\x": "TT6011",
    "C:\\data\\..\\outside\\x": "TT6011",
    "C:\\Windows\\win.ini": "TT6014",
    "\\\\evil\\share\\x": "TT6014",
    "//evil/share/x": "TT6014",
    "\\Windows\\win.ini": "TT6014",
    "C:x": "TT6013",
    "C:..\\outside\\x": "TT6013",
    "\\\\?\\C:\\Windows\\win.ini": "TT6013",
    "\\\\.\\PhysicalDrive0": "TT6013",
    "\\??\\C:\\Windows": "TT6013",
    "mine:hidden": "TT6013",
    "mine::$DATA": "TT6013",
    ".git::$INDEX_ALLOCATION": "TT6013",
    "NUL": "TT6013",
    "sub\\con.txt": "TT6013",
    "COM\u00b9": "TT4730",
    "CONIN$": "TT4730",
    "mine.": "TT4730",
    "mine ": "TT4730",
    ".. \\outside": "TT4730",
    "min?": "TT4730",
    "out\\x": "TT6026",
    "junction\\x": "TT6026",
}


@pytest.mark.attack("D01", "D03", "D07", "D09", "D10")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("path", HOSTILE)
def test_d10_no_tool_takes_a_windows_path_that_leads_elsewhere(files: Any, root: Path, use: str, path: str) -> None:
    (root / "mine").write_text("mine")
    (root / ".git").mkdir()
    (root / "out").symlink_to("../outside")
    (root / "junction").symlink_to(root.parent / "outside")
    before = sorted(os.listdir(root))
    with refused(HOSTILE[path], root):
        USES[use](files, path)
    assert sorted(os.listdir(root)) == before
    assert (root / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    "path",
    ["sub\\new.txt", "console.txt", "sub\\com10", "nullable.py", "a.b.c", " leading", "e\u0301", "\u00e9", "a;b,c=d"],
)
def test_d10_twin_ordinary_names_and_backslashes_are_taken(files: Any, root: Path, path: str) -> None:
    files.write_file(path, "fine", create_parents=True)
    assert files.read_file(path)["content"] == "fine"
    assert (root / path.replace("\\", "/")).read_text() == "fine"


@pytest.mark.attack("D02")
def test_d02_a_neighbour_whose_name_begins_alike(files: Any, root: Path) -> None:
    for path in (f"{root}-evil/x", f"{root}-EVIL\\x".replace("/", "\\"), f"{root}/../data-evil/x"):
        with refused("TT6011" if ".." in path else "TT6014", root):
            files.read_file(path)


def test_d02_twin_an_absolute_path_inside_in_another_case(files: Any, root: Path) -> None:
    (root / "x").write_text("fine")
    path = str(root).replace("/", "\\")
    assert files.read_file(f"{path}\\x")["content"] == "fine"
    assert files.read_file(f"{path.upper()}\\X")["content"] == "fine"


@pytest.mark.attack("D04")
def test_d04_a_write_through_a_dangling_link(files: Any, root: Path) -> None:
    (root / "link").symlink_to("../outside/new")
    for mode in ("create", "overwrite", "append"):
        with refused("TT6032", root):
            files.write_file("LINK", "evil", mode=mode)


def test_d04_twin_a_file_of_that_name(files: Any, root: Path) -> None:
    files.write_file("link", "fine")
    assert (root / "link").read_text() == "fine"


@pytest.mark.attack("D05")
@pytest.mark.parametrize("use", ["read", "create", "overwrite", "delete", "move"])
def test_d05_a_folder_exchanged_for_a_junction_during_the_call(
    files: Any, root: Path, monkeypatch: pytest.MonkeyPatch, use: str
) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "x").write_text("mine")
    swapped = False

    def swap(name: str) -> None:
        nonlocal swapped
        if name == "x" and not swapped:
            swapped = True
            (root / "sub").rename(root / "old")
            (root / "sub").symlink_to(root.parent / "outside")

    monkeypatch.setattr(FILES, "before", swap)
    with suppress(ToolError):
        assert SECRET not in str(USES[use](files, "sub\\x"))
    assert swapped
    assert (root.parent / "outside" / "x").read_text() == SECRET


def test_d05_twin_a_folder_renamed_before_the_call(files: Any, root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub" / "x").write_text("fine")
    (root / "sub").rename(root / "new")
    assert files.read_file("new\\x")["content"] == "fine"


@pytest.mark.attack("D06")
def test_d06_a_hard_link_to_outside(files: Any, root: Path) -> None:
    os.link(root.parent / "outside" / "x", root / "second")
    with refused("TT6025", root):
        files.read_file("SECOND")


def test_d06_twin_a_copy(files: Any, root: Path) -> None:
    (root / "second").write_text("fine")
    assert files.read_file("SECOND")["content"] == "fine"


CLOSED = {".env": "ENV~1", ".git": "GIT~1", "id_rsa.backup": "ID_RSA~1.BAC", "credentials.json": "CREDEN~1.JSO"}


@pytest.mark.attack("D17", "D27")
@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("spelling", ["upper", "short", "short in small letters"])
def test_d17_a_closed_name_is_closed_by_every_name_that_ntfs_opens_it_by(
    files: Any, root: Path, name: str, spelling: str
) -> None:
    if name == ".git":
        (root / name).mkdir()
        (root / name / "config").write_text(SECRET)
    else:
        (root / name).write_text(SECRET)
    path = {"upper": name.upper(), "short": CLOSED[name], "short in small letters": CLOSED[name].lower()}[spelling]
    inside = f"{path}\\config" if name == ".git" else path
    for mode in ("create", "overwrite", "append"):
        with refused("TT6031" if name == ".git" else "TT6030", root):
            files.write_file(inside, "evil", mode=mode)
    for call in (lambda: files.move_file(path, "open"), lambda: files.delete_file(path, CONTEXT, recursive=True)):
        with refused("TT6031" if name == ".git" else "TT6030", root):
            call()
    if name != ".git":
        for use in ("read", "look"):
            with refused("TT6030", root):
                USES[use](files, path)
    assert (root / name).exists()


def test_d17_twin_a_long_name_is_known_by_its_short_one(files: Any, root: Path) -> None:
    (root / "environment notes.txt").write_text("fine")
    assert files.read_file("ENVIRO~1.TXT")["content"] == "fine"
    files.write_file("env~1.txt", "a name of its own")
    assert sorted(os.listdir(root)) == ["environment notes.txt", "env~1.txt"]


@pytest.mark.attack("D26")
@pytest.mark.parametrize("name", [".\uff45nv", ".en\u200bv", ".e\u0301nv", ".\u017fsh"])
def test_d26_a_closed_name_in_another_normal_form(files: Any, root: Path, name: str) -> None:
    (root / name).write_text(SECRET)
    if name == ".e\u0301nv":  # another letter: the twin
        assert files.read_file(name)["content"] == SECRET
    else:
        with refused("TT6030", root):
            files.read_file(name)


def test_d26_twin_two_normal_forms_are_two_files(files: Any, root: Path) -> None:
    files.write_file("e\u0301", "one")
    files.write_file("\u00e9", "two")
    assert files.read_file("e\u0301")["content"] == "one"


def test_d27_twin_case_does_not_count_and_is_kept(files: Any, root: Path) -> None:
    files.write_file("Notes.txt", "one")
    with refused("TT6050", root):
        files.write_file("NOTES.TXT", "two")
    files.write_file("notes.TXT", "two", mode="overwrite")
    assert files.read_file("nOtEs.txt")["content"] == "two"
    assert os.listdir(root) == ["Notes.txt"]


@pytest.mark.attack("D28")
@pytest.mark.parametrize("path", ["C:\\Users\\ann\\x", "\\\\server\\ann\\x", "\\\\?\\C:\\ann\\x", "C:ann"])
def test_d28_an_error_does_not_repeat_a_place_on_the_machine(files: Any, root: Path, path: str) -> None:
    with pytest.raises(ToolError) as caught:
        files.read_file(path)
    assert "ann" not in caught.value.say("en") + caught.value.say("zh")
