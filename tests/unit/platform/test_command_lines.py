"""Command lines of each system, and the two parts of a target."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tooltrue._internal.platform.command_lines import joined, windows_words, words_of
from tooltrue._internal.platform.system import HAS_POSIX
from tooltrue._internal.target_places import divided_target

WORDS = st.lists(st.text(st.sampled_from("ab \t\\\"'%^/:é\n"), max_size=6), max_size=5)


@given(WORDS)
def test_a_line_of_windows_has_the_words_that_it_was_made_of(words: list[str]) -> None:
    assert windows_words(subprocess.list2cmdline([word.replace("\n", "") for word in words])) == [
        word.replace("\n", "") for word in words
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (r"C:\tools\server.exe --root C:\data", [r"C:\tools\server.exe", "--root", r"C:\data"]),
        (r'"C:\Program Files\uv\uvx.exe" notes', [r"C:\Program Files\uv\uvx.exe", "notes"]),
        (r'server --root "C:\my data\\" --x', ["server", "--root", "C:\\my data\\", "--x"]),
        (r"server \\host\share it's", ["server", r"\\host\share", "it's"]),
        ('  a   ""  b ', ["a", "", "b"]),
        ('a "open end', ["a", "open end"]),
        ("", []),
    ],
)
def test_backslashes_of_a_windows_path_are_characters(line: str, words: list[str]) -> None:
    assert windows_words(line) == words


@pytest.mark.skipif(not HAS_POSIX, reason="the line of Windows is another one")
@given(WORDS)
def test_on_posix_a_line_is_that_of_a_shell(words: list[str]) -> None:
    assert joined(words) == shlex.join(words)
    assert words_of(shlex.join(words)) == words


@pytest.mark.parametrize(
    ("target", "parts"),
    [
        ("notes.py", ("notes.py", "", "")),
        ("notes.py:app", ("notes.py", ":", "app")),
        ("package.module:app", ("package.module", ":", "app")),
        (r"C:\work\notes.py", (r"C:\work\notes.py", "", "")),
        (r"C:\work\notes.py:app", (r"C:\work\notes.py", ":", "app")),
        ("d:/code/notes.py:app", ("d:/code/notes.py", ":", "app")),
        ("m:app", ("m", ":", "app")),
    ],
)
def test_the_colon_of_a_drive_parts_no_target(target: str, parts: tuple[str, str, str]) -> None:
    assert divided_target(target) == parts
