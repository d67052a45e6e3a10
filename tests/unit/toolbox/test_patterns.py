"""Glob patterns over paths: the paths that they match, agreement with git, and bounded matching time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tooltrue.errors import ToolError
from tooltrue_toolbox.files.patterns import Glob, Ignores


def fits(pattern: str, path: str) -> bool:
    return Glob.of(pattern).fits(tuple(path.split("/")))


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "src/deep/main.py"),
        ("main.*", "main.py"),
        ("m??n.py", "main.py"),
        ("[a-m]ain.py", "main.py"),
        ("[!x]ain.py", "main.py"),
        ("*.{yml,yaml}", "a/b.yaml"),
        ("src/**/*.py", "src/main.py"),
        ("src/**/*.py", "src/a/b/main.py"),
        ("**/b/*.py", "a/b/main.py"),
        ("src/**", "src/a/b"),
        ("/src/*.py", "src/main.py"),
        ("a*b*c", "aXbXbXc"),
        ("*a*", "a"),
        ("文*", "文件.txt"),
        (".*", ".gitignore"),
        ("a\\*b", "a*b"),
        ("**/a*/**/b*/c", "x/ab/y/z/b1/c"),
    ],
)
def test_a_glob_pattern_matches_its_paths(pattern: str, path: str) -> None:
    assert fits(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*.py", "main.pyc"),
        ("src/*.py", "src/a/main.py"),
        ("src/*.py", "lib/src/main.py"),
        ("[a-c].py", "d.py"),
        ("?", ""),
        ("a\\*b", "aXb"),
        ("src/**", "src"),
        ("*.PY", "main.py"),
        ("a?b", "a/b"),
        ("a[!x]b/c", "a/b/c"),
    ],
)
def test_a_pattern_does_not_fit_more(pattern: str, path: str) -> None:
    assert not fits(pattern, path)


@pytest.mark.parametrize("pattern", ["{a", "a}", "{a,{b,c}}", "[a-", "a\\", "{,}"])
def test_an_invalid_glob_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ToolError) as caught:
        Glob.of(pattern)
    assert caught.value.code == "TT6061"


def test_d16_patterns_that_explode() -> None:
    """Each of these is exponential in an engine that goes back: it would not end within the time limit of the test."""
    name = "a" * 255
    assert not Glob.of("*a" * 100 + "b").fits((name,))
    assert not Glob.of("**/" * 100 + "x").fits((name,) * 100)
    assert not Glob.of("**/a*/" * 80 + "x").fits((name,) * 100)
    assert not Glob.of("[a]*" * 100 + "b").fits((name,))
    assert Ignores("\n".join("*a" * 50 + str(n) for n in range(200))).verdict((name,), False) is None
    with pytest.raises(ToolError) as caught:
        Glob.of("{a,b}" * 20)
    assert caught.value.code == "TT6062"


def test_d16_twin_patterns_with_many_stars_that_people_write() -> None:
    assert fits("**/test_*_*.{py,pyi}", "a/b/test_one_two.pyi")
    assert fits("{a,b}{c,d}/**/*.txt", "ad/x/y/z.txt")


# .gitignore

LINES = st.lists(
    st.text(st.sampled_from("ab*?/![]-\\ #."), max_size=8).filter(lambda line: "\\" not in line[-1:]),
    min_size=1,
    max_size=4,
)
NAME = st.text(st.sampled_from("ab!#-] ."), min_size=1, max_size=3).filter(lambda name: name.strip(". ") == name)
PATHS = st.lists(NAME, min_size=1, max_size=3)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    place = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "-q", str(place)], check=True, timeout=120)
    return place


def ignored_by_us(text: str, path: list[str]) -> bool:
    """Whether ``path``, a file, is left out, or a directory above it."""
    ignores = Ignores(text)
    for depth in range(1, len(path) + 1):
        said = ignores.verdict(tuple(path[:depth]), depth < len(path))
        if said:
            return True
    return False


@pytest.mark.process
@settings(max_examples=60, deadline=None)
@given(LINES, st.lists(PATHS, min_size=1, max_size=12))
def test_git_leaves_out_the_same(repository: Path, lines: list[str], paths: list[list[str]]) -> None:
    text = "\n".join(lines) + "\n"
    (repository / ".gitignore").write_text(text)
    asked = "\0".join("/".join(path) for path in paths)
    done = subprocess.run(
        ["git", "-c", "core.excludesFile=/dev/null", "check-ignore", "--no-index", "--stdin", "-z"],
        input=asked.encode(),
        cwd=repository,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode in (0, 1), done.stderr
    by_git = set(filter(None, done.stdout.decode().split("\0")))
    by_us = {"/".join(path) for path in paths if ignored_by_us(text, path)}
    assert by_us == by_git


@pytest.mark.parametrize(
    ("text", "path", "out"),
    [
        ("*.log\n", "a/b.log", True),
        ("*.log\n!keep.log\n", "keep.log", False),
        ("/build\n", "src/build", False),
        ("build/\n", "build/x", True),
        ("build/\n", "build", False),
        ("a/**/b\n", "a/b", True),
        ("a/**/b\n", "a/x/y/b", True),
        ("# comment\n\\#x\n", "#x", True),
        ("x \n", "x", True),
        ("x\\ \n", "x ", True),
        ("x\r\n", "x", True),
        ("[[:digit:]]*\n", "7up", True),
        ("dir/*\n!dir/keep\n", "dir/keep", False),
    ],
)
def test_a_gitignore_matches_like_git(text: str, path: str, out: bool) -> None:
    assert ignored_by_us(text, path.split("/")) is out
