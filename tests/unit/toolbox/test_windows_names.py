"""The rules of Windows for names: a list of paths with what Windows opens, and the wall of names against it."""

from __future__ import annotations

import ntpath
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.toolbox import modules_of_systems
from support.toolbox.win32_paths import opened_by_windows
from support.toolbox.windows_paths import PathRow, path_rows
from support.windows.handles import short_names
from tooltrue.errors import ToolError
from tooltrue_toolbox.platform import windows_names as names

CURRENT = "C:\\served"
ROWS = path_rows()


@pytest.fixture(scope="module")
def windows() -> SimpleNamespace:
    return modules_of_systems.namespace()


def outcome(windows: SimpleNamespace, path: str) -> str:
    """The names below ``C:\\served`` that the tools of a process on Windows open for ``path``, or the refusal."""
    folder = object.__new__(windows.rooted_paths.Folder)  # no such folder is here to be opened
    folder.label, folder.bases = "served", frozenset({("C:\\", "SERVED")})
    folders = object.__new__(windows.rooted_paths.Folders)
    folders.rules, folders._folders = windows.rooted_paths.PathRules(), {"served": folder}
    folder.open_names = lambda names: []
    try:
        return "/".join(folders.target(path).names) or "."
    except ToolError as error:
        return error.code


def test_the_list_is_long_enough_and_has_each_path_once() -> None:
    assert len(ROWS) >= 150
    assert len({row.path for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row.path))
def test_the_reference_opens_what_the_documentation_says(row: PathRow) -> None:
    assert opened_by_windows(row.path, CURRENT) == row.opens


@pytest.mark.parametrize("row", ROWS, ids=lambda row: ascii(row.path))
def test_each_path_of_the_list_is_refused_or_means_what_it_says(windows: SimpleNamespace, row: PathRow) -> None:
    assert outcome(windows, row.path) == row.ours


PIECES = st.sampled_from(
    [
        *(
            "\\",
            "/",
            "\\\\",
            "//",
            ".",
            "..",
            ":",
            "::$DATA",
            "\\\\?\\",
            "\\\\.\\",
            "\\??\\",
            "C:",
            "c:\\",
            "D:",
            "~",
            "~1",
        ),
        *(
            "served",
            "SERVED",
            "src",
            "a",
            "a.txt",
            "con",
            "NUL",
            "COM1",
            "com\u00b9",
            "lpt9",
            "CONIN$",
            " ",
            ".",
            "...",
            "\t",
        ),
        *(
            "\u017f",
            "\u0131",
            "\u00e9",
            "e\u0301",
            "\U0001f600",
            "\ud800",
            "<",
            ">",
            '"',
            "|",
            "?",
            "*",
            "x" * 255,
            "\0",
        ),
        *("UNC", "server", "share", "pipe", ".env", ".git", "$INDEX_ALLOCATION", "$I30"),
    ]
)
PATHS = st.lists(PIECES, min_size=1, max_size=8).map("".join) | st.text(max_size=12)


@given(PATHS)
@example("C:\\served\\a:s")
@example("src\\.. \\..\\x")
def test_an_accepted_path_is_the_one_that_windows_opens(windows: SimpleNamespace, path: str) -> None:
    found = outcome(windows, path)
    if found.startswith("TT"):
        return
    below = "" if found == "." else "\\" + found.replace("/", "\\")
    opened = opened_by_windows(path, CURRENT)
    if opened == "invalid":  # a name that is too long is left to the file system
        assert max(map(names.utf16_length, found.split("/"))) > 255
    else:
        assert names.comparable(opened) == names.comparable(CURRENT + below)


@given(PATHS)
def test_an_accepted_path_is_normal_to_python_as_well(windows: SimpleNamespace, path: str) -> None:
    found = outcome(windows, path)
    if not found.startswith("TT") and found != ".":
        below = found.replace("/", "\\")
        assert ntpath.normpath(below) == below
        assert not ntpath.isabs(below)
        assert ntpath.splitdrive(below)[0] == ""


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "empty"),
        (".", "dots"),
        ("..", "dots"),
        ("a\\b", "separator"),
        ("a/b", "separator"),
        ("nul.txt", "device"),
        ("COM\u00b3", "device"),
        ("NUL:s", "device"),
        ("a:b", "stream"),
        ("a*", "character"),
        ("a\x1f", "character"),
        ("\ud800", "surrogate"),
        ("a.", "ending"),
        ("a ", "ending"),
        ("\U0001f600" * 128, "length"),
        ("\U0001f600" * 127 + "a", None),
        ("x" * 255, None),
        ("com0", None),
        ("a.b", None),
    ],
)
def test_a_name_has_one_fault_or_none(name: str, fault: str | None) -> None:
    assert names.fault_of(name) == fault


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("README", "readme", True),
        ("\u00e9", "\u00c9", True),
        ("\u03c3", "\u03a3", True),
        ("stra\u00dfe", "STRASSE", False),
        ("\u0131", "I", False),
        ("\u017f", "S", False),
        ("e\u0301", "\u00e9", False),
        ("\U00010428", "\U00010400", False),
    ],
)
def test_case_does_not_count_letter_by_letter(one: str, other: str, same: bool) -> None:
    assert (names.comparable(one) == names.comparable(other)) is same


def test_the_short_names_of_the_fake_have_the_form_that_is_known() -> None:
    stored = [".env", ".git", "Environment file.txt", "Environment other.txt", "a.b.c", "id_rsa.backup", "x+y.json"]
    short = short_names([*stored, "README.md", "main.py"])
    assert short == {
        "ENV~1": ".env",
        "GIT~1": ".git",
        "ENVIRO~1.TXT": "Environment file.txt",
        "ENVIRO~2.TXT": "Environment other.txt",
        "AB~1.C": "a.b.c",
        "ID_RSA~1.BAC": "id_rsa.backup",
        "X_Y~1.JSO": "x+y.json",
    }
    assert all(map(names.may_be_short, short))
    assert not any(map(names.may_be_short, ["a~b", "README.md", "~1", "longname~1", "a~1.json"]))
