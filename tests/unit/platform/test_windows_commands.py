"""Command lines for Windows: where a program is found, and which arguments a batch file may be given."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tooltrue._internal.platform.windows_commands import UnsafeArgument, command_line

Folders = Callable[..., dict[str, str]]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Make a ``PATH`` of folders with these files in them."""

    def make(*contents: str) -> dict[str, str]:
        for number, names in enumerate(contents):
            folder = tmp_path / str(number)
            folder.mkdir()
            for name in names.split():
                (folder / name).touch()
        path = os.pathsep.join(str(tmp_path / str(number)) for number in range(len(contents)))
        return {"Path": path, "SystemRoot": "C:\\Windows"}

    return make


@pytest.mark.parametrize(
    ("contents", "name", "found"),
    [
        (("npx npx.CMD",), "npx", "0/npx.CMD"),
        (("npx", "npx.EXE"), "npx", "1/npx.EXE"),
        (("node.EXE", "node.EXE"), "node", "0/node.EXE"),
        (("node.exe",), "node.exe", "0/node.exe"),
        (("tool",), "tool", "0/tool"),
    ],
)
def test_a_program_is_found_by_the_endings_of_the_system(
    contents: tuple[str, ...], name: str, found: str, folders: Folders, tmp_path: Path
):
    line = command_line([name], folders(*contents))
    assert str(tmp_path / found) in line if isinstance(line, str) else line == [str(tmp_path / found)]


def test_the_working_folder_is_not_searched(folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "npx.EXE").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        command_line(["npx"], folders("other.EXE"))


def test_the_endings_are_those_of_the_environment(folders: Folders, tmp_path: Path):
    variables = {**folders("tool.EXE tool.XYZ"), "PathExt": ".XYZ;.EXE"}
    assert command_line(["tool"], variables) == [str(tmp_path / "0" / "tool.XYZ")]


def test_a_program_that_is_no_batch_file_gets_every_argument(folders: Folders, tmp_path: Path):
    wild = ['"', "a&b", "%PATH%", "line\nline", "^|<>!"]
    assert command_line(["node", *wild], folders("node.EXE"))[1:] == wild


def test_a_batch_file_is_run_by_the_interpreter_of_the_system_with_quoted_words(folders: Folders, tmp_path: Path):
    line = command_line(["npx", "-y", "server (old)", "C:\\data\\", ""], folders("npx.CMD"))
    program = tmp_path / "0" / "npx.CMD"
    assert line == (
        f'"C:\\Windows\\System32\\cmd.exe" /d /s /v:off /c ""{program}" "-y" "server (old)" "C:\\data\\\\" """'
    )


@pytest.mark.parametrize("ending", ["CMD", "bat", "cmd"])
@pytest.mark.parametrize("character", '"%!^&|<>\r\n\0')
def test_a_batch_file_gets_no_argument_that_its_interpreter_would_read(character: str, ending: str, folders: Folders):
    variables = {**folders(f"npx.{ending}"), "PATHEXT": f".{ending}"}
    for argument in (character, f"a{character}calc", f"https://example.com/?a=1{character}"):
        with pytest.raises(UnsafeArgument) as refused:
            command_line(["npx", "-y", argument], variables)
        assert refused.value.argument == argument
        assert refused.value.character == character


@pytest.mark.parametrize("name", ["npx.cmd.", "npx.cmd ", "npx.CMD . "])
def test_a_name_with_dots_and_spaces_at_its_end_is_still_a_batch_file(name: str, tmp_path: Path):
    (tmp_path / name).touch()  # Windows removes them from the name
    with pytest.raises(UnsafeArgument):
        command_line([str(tmp_path / name), "a&b"], {})
