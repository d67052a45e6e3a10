"""Edits: the places that they match, the text that they leave unchanged, and a diff that other programs can apply."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.toolbox.refusals import refused
from tooltrue_toolbox.files import Edit, FileLimits, Files
from tooltrue_toolbox.files.text_edits import TextChange, apply_changes, unified_diff


def test_an_edit_replaces_the_text_and_returns_a_diff(files: Files, root: Path) -> None:
    (root / "a").write_text("1\n2\n3\n4\n5\n6\n7\n8\n")
    result = files.edit_file("a", [Edit("5\n", "five\nfive and a half\n")])
    assert (root / "a").read_text() == "1\n2\n3\n4\nfive\nfive and a half\n6\n7\n8\n"
    assert result == {
        "path": "a",
        "dry_run": False,
        "replaced": 1,
        "diff": "--- a\n+++ a\n@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+five and a half\n 6\n 7\n 8\n",
        "size": 35,
        "version": files.read_file("a")["version"],
    }


def test_a_dry_run_changes_nothing_and_shows_the_same(files: Files, root: Path) -> None:
    (root / "a").write_text("old\n")
    version = files.read_file("a")["version"]
    dry = files.edit_file("a", [Edit("old", "new")], dry_run=True)
    assert ((root / "a").read_text(), dry["version"]) == ("old\n", version)
    real = files.edit_file("a", [Edit("old", "new")], if_version=dry["version"])
    assert (dry["diff"], dry["size"]) == (real["diff"], real["size"])


def test_of_several_edits_all_are_made_or_none(files: Files, root: Path) -> None:
    (root / "a").write_text("one two three")
    with refused("TT6048", number=2):
        files.edit_file("a", [Edit("one", "1"), Edit("absent entirely", "2")])
    assert (root / "a").read_text() == "one two three"
    files.edit_file("a", [Edit("three", "3"), Edit("one", "1")])
    assert (root / "a").read_text() == "1 two 3"


def test_edits_look_at_the_file_as_it_was(files: Files, root: Path) -> None:
    (root / "a").write_text("a b")
    files.edit_file("a", [Edit("a", "b"), Edit("b", "a")])
    assert (root / "a").read_text() == "b a"


def test_edits_that_overlap_are_refused(files: Files, root: Path) -> None:
    (root / "a").write_text("\nabc")
    with refused("TT6059", line=2):
        files.edit_file("a", [Edit("ab", "x"), Edit("bc", "y")])


def test_an_edit_that_counts_replaces_all(files: Files, root: Path) -> None:
    (root / "a").write_text("x y x z x")
    assert files.edit_file("a", [Edit("x", "w", count=3)])["replaced"] == 3
    assert (root / "a").read_text() == "w y w z w"


def test_an_error_names_the_line_that_is_most_alike(files: Files, root: Path) -> None:
    (root / "a").write_text("def f():\n\treturn retries\n")
    with refused("TT6049", alike="line 2 is '\\treturn retries'"):
        files.edit_file("a", [Edit("    return retries", "    return 1")])
    with refused("TT6049", alike="line 1 is 'def f():'"):
        files.edit_file("a", [Edit("def g():", "def h():")])


def test_a_missing_file_is_not_made(files: Files, root: Path) -> None:
    with refused("TT6020"):
        files.edit_file("a", [Edit("x", "y")])
    assert list(root.iterdir()) == []


def test_a_binary_or_too_large_file_is_refused_by_an_edit(root: Path) -> None:
    (root / "a").write_bytes(b"x\0y")
    (root / "b").write_bytes(b"x" * 20)
    files = Files([root], limits=FileLimits(write_bytes=16))
    with refused("TT6046"):
        files.edit_file("a", [Edit("x", "y")])
    with refused("TT6078", size=20, limit=16):
        files.edit_file("b", [Edit("x", "y")])
    (root / "c").write_text("x")
    with refused("TT6054"):
        files.edit_file("c", [Edit("x", "y" * 17)])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
def test_an_encoding_is_kept(files: Files, root: Path, encoding: str) -> None:
    mark = "\ufeff" if encoding.startswith("utf-16") else ""
    (root / "a").write_bytes(f"{mark}één\r\ntwo 二\r\n".encode(encoding))
    files.edit_file("a", [Edit("two 二\n", "三\nfour\n")])
    assert (root / "a").read_bytes() == f"{mark}één\r\n三\r\nfour\r\n".encode(encoding)


def test_bytes_that_are_no_text_are_kept(files: Files, root: Path) -> None:
    (root / "a").write_bytes(b"caf\xe9\x01 = 1\n")
    result = files.edit_file("a", [Edit("= 1", "= 2")])
    assert (root / "a").read_bytes() == b"caf\xe9\x01 = 2\n"
    assert "caf\ufffd\x01 = 2" in result["diff"]
    with refused("TT6047"):
        files.edit_file("a", [Edit("= 2", "= ü")])


def test_a_long_diff_is_cut_and_says_so(root: Path) -> None:
    (root / "a").write_text("x\n" * 100)
    files = Files([root], limits=FileLimits(diff_chars=50))
    result = files.edit_file("a", [Edit("x\n", "y\n", count=100)])
    assert len(result["diff"]) <= 50
    assert result["diff"].count("\n") + result.get("diff_cut", 0) == 203


@pytest.mark.needs("modes")
def test_an_edit_preserves_the_file_mode(files: Files, root: Path) -> None:
    (root / "run").write_text("exit 1\n")
    (root / "run").chmod(0o755)
    files.edit_file("run", [Edit("1", "0")])
    assert (root / "run").stat().st_mode & 0o777 == 0o755


def test_an_edit_refuses_the_paths_that_a_write_refuses(files: Files, root: Path) -> None:
    (root / "run").write_text("exit 0\n")
    (root / "link").symlink_to("run")
    with refused("TT6032"):
        files.edit_file("link", [Edit("0", "1")])
    for name, code in ((".env", "TT6030"), (".mcp.json", "TT6031")):
        (root / name).write_text("0")
        with refused(code):
            files.edit_file(name, [Edit("0", "1")])


# The diff

TEXT = st.text(st.sampled_from("ab\n\r"), max_size=30)


@st.composite
def changed(draw: st.DrawFn) -> tuple[str, list[TextChange]]:
    text = draw(TEXT.filter(bool))
    at, found = 0, list[TextChange]()
    while at < len(text) and len(found) < 4:
        start = draw(st.integers(at, len(text) - 1))
        end = draw(st.integers(start + 1, len(text)))
        new = draw(TEXT.filter(lambda new, old=text[start:end]: new != old))
        found.append(TextChange(start, end, new))
        at = end
    return text, found


def applied(text: str, diff: list[str]) -> str:
    """The text after a strict application of a diff: every removed line and context line must be present."""
    lines, at, made = text.split("\n"), 0, list[str]()
    old = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    body = "".join(diff[2:]).replace("\n\\ No newline at end of file\n", "\0").split("\n")
    body = [part + "\n" for part in body if part]
    pieces = [piece for line in body for piece in line.replace("\0", "\0\1").split("\1")]
    for piece in pieces:
        if piece == "\n" or not piece:
            continue
        if piece.startswith("@@"):
            begin, _, count = piece.split(" ")[1][1:].partition(",")
            start = int(begin) - (count != "0")
            made += old[at:start]
            at = start
            continue
        line = piece[1:].replace("\0", "")
        if piece[0] in " -":
            assert old[at] == line
            at += 1
        if piece[0] in " +":
            made.append(line)
    return "".join(made + old[at:])


@given(changed())
def test_a_diff_applied_to_the_old_text_gives_the_new_text(case: tuple[str, list[TextChange]]) -> None:
    text, found = case
    assert applied(text, unified_diff(text, found, "a")) == apply_changes(text, found)


@pytest.mark.process
@settings(max_examples=25, deadline=None)
@given(changed())
def test_git_applies_the_diff(tmp_path_factory: pytest.TempPathFactory, case: tuple[str, list[TextChange]]) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    text, found = case
    wanted = apply_changes(text, found)
    if text == wanted:
        return
    place = tmp_path_factory.mktemp("apply")
    (place / "a").write_bytes(text.encode())
    diff = "".join(unified_diff(text, found, "a"))
    done = subprocess.run(
        ["git", "apply", "-p0", "--unidiff-zero", "--whitespace=nowarn", "-"],
        input=diff.encode(),
        cwd=place,
        env={"GIT_CEILING_DIRECTORIES": str(place.parent), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, (text, diff, done.stderr)
    assert (place / "a").read_bytes() == wanted.encode() if wanted else True
