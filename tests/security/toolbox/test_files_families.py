"""Rows D as families: each tool against each kind of thing that a path may lead to, at each moment."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.variants import tried
from tooltrue.errors import ToolError
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue_toolbox.files import Edit, FileLimits, Files
from tooltrue_toolbox.files.patterns import Glob

SECRET = "outside-secret"
CONTEXT = RequestContext(LOCAL, SILENT, agreed=True)

pytestmark = pytest.mark.usefixtures("way")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A served folder ``data``, beside files that the tools must not reach."""
    (tmp_path / "data").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text(SECRET)
    return tmp_path / "data"


def code_of(call: Callable[[], object]) -> str:
    """The code of the refusal, or the result of a call that was not refused."""
    try:
        return f"no refusal: {call()!r}"
    except ToolError as error:
        return error.code or str(error)


def untouched(root: Path) -> None:
    assert (root.parent / "outside" / "x").read_text() == SECRET
    assert sorted(os.listdir(root.parent / "outside")) == ["x"]


USES: dict[str, Callable[[Files, str], object]] = {
    "read": lambda files, path: files.read_file(path),
    "read as base64": lambda files, path: files.read_file(path, "base64"),
    "read from a line": lambda files, path: files.read_file(path, start_line=1),
    "read from an offset": lambda files, path: files.read_file(path, offset=1),
    "read as a picture": lambda files, path: files.read_media(path, CONTEXT),
    "search": lambda files, path: _searched(files, path),
    "edit": lambda files, path: files.edit_file(path, [Edit(SECRET, "evil")]),
    "create": lambda files, path: files.write_file(path, "evil"),
    "overwrite": lambda files, path: files.write_file(path, "evil", mode="overwrite"),
    "append": lambda files, path: files.write_file(path, "evil", mode="append"),
    "move": lambda files, path: files.move_file(path, "stolen"),
}


def _searched(files: Files, path: str) -> object:
    found = asyncio.run(files.search_files(CONTEXT, path=path, content=SECRET))
    if found["matches"]:
        return found
    raise ToolError("nothing was found")


PLACES = {"in the folder": "{}", "in a folder below": "sub/{}", "by way of a link": "way/{}"}


def laid(root: Path) -> None:
    (root / "sub").mkdir()
    (root / "way").symlink_to("sub")


# -- D04, D06, D11: links and pipes ------------------------------------------------------------------------------------


@pytest.mark.variants(33)
def test_d06_no_tool_uses_a_second_name_of_a_file_outside(files: Files, root: Path) -> None:
    laid(root)
    for folder in (root, root / "sub"):
        os.link(root.parent / "outside" / "x", folder / "second")
    for (use, act), (place, path) in itertools.product(USES.items(), PLACES.items()):
        tried((use, place))
        said = code_of(lambda act=act, path=path: act(files, path.format("second")))
        assert not said.startswith("no refusal"), (use, place, said)
        assert SECRET not in said
    untouched(root)


@pytest.mark.variants(60)
def test_d11_no_tool_blocks_on_a_pipe_or_a_socket(files: Files, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    laid(root)
    monkeypatch.chdir(root)  # the name of a socket is short
    with contextlib.ExitStack() as stack:
        for folder in (".", "sub"):
            os.mkfifo(f"{folder}/pipe")
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(f"{folder}/socket")
        for (use, act), place, kind in itertools.product(USES.items(), PLACES, ("pipe", "socket")):
            tried((use, place, kind))
            path = PLACES[place].format(kind)
            said = code_of(lambda act=act, path=path: act(files, path))
            assert not said.startswith("no refusal"), (use, place, kind, said)
        for kind in ("pipe", "socket"):
            assert stat.S_IFMT((root / kind).stat().st_mode) in (stat.S_IFIFO, stat.S_IFSOCK)


@pytest.mark.variants(30)
def test_d04_no_write_goes_through_a_link_wherever_the_link_leads(files: Files, root: Path) -> None:
    laid(root)
    (root / "chain").symlink_to("link")
    targets = (
        "../outside/new",
        "../outside/x",
        "inside",
        "sub/new",
        "..",
        "sub",
        str(root / "new"),
        str(root.parent / "new"),
    )
    for target, use in itertools.product(targets, ("create", "overwrite", "append", "edit")):
        tried((target, use))
        (root / "link").unlink(missing_ok=True)
        (root / "link").symlink_to(target)
        for path in ("link", "chain"):
            said = code_of(lambda use=use, path=path: USES[use](files, path))
            assert not said.startswith("no refusal"), (target, use, path, said)
        assert sorted(os.listdir(root)) == ["chain", "link", "sub", "way"]
    untouched(root)
    assert sorted(os.listdir(root.parent)) == ["data", "outside"]


# -- D05: a folder exchanged between check and use ---------------------------------------------------------------------

MOMENTS = (
    "open",
    "stat",
    "fstat",
    "fsync",
    "rename",
    "replace",
    "link",
    "unlink",
    "mkdir",
    "scandir",
    "listdir",
    "readlink",
    "write",
)


@pytest.mark.variants(60)
def test_d05_a_folder_that_is_exchanged_at_any_moment_leads_nowhere(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each call of the system in turn that a tool makes, its folder becomes a link outward."""
    acts: dict[str, Callable[[Files], object]] = {
        **{use: lambda files, act=act: act(files, "dir/x") for use, act in USES.items()},
        "list": lambda files: files.list_directory("dir", depth=3),
        "list all": lambda files: files.list_directory(depth=5),
        "search all": lambda files: _searched(files, "."),
        "tell": lambda files: files.file_info("dir/x"),
        "make": lambda files: files.create_directory("dir/new/er"),
        "move into": lambda files: files.move_file("mine", "dir/mine"),
        "delete": lambda files: files.delete_file("dir/x", CONTEXT),
        "delete all": lambda files: files.delete_file("dir", CONTEXT, recursive=True),
    }
    for name, act in acts.items():
        for moment in itertools.count(1):
            _again(root)
            with Files([root]) as files, monkeypatch.context() as patch:
                calls = _exchanging(patch, root, moment)
                try:
                    said = repr(act(files))
                except (ToolError, OSError) as error:
                    said = str(error)
            untouched(root)
            assert SECRET not in said, (name, moment)
            assert not (root / "stolen").exists() or (root / "stolen").read_text() != SECRET, (name, moment)
            if calls() < moment:
                break
            tried((name, moment))


def _again(root: Path) -> None:
    shutil.rmtree(root)
    (root / "dir").mkdir(parents=True)
    (root / "dir" / "x").write_text("mine")
    (root / "mine").write_text("mine")


def _exchanging(monkeypatch: pytest.MonkeyPatch, root: Path, moment: int) -> Callable[[], int]:
    """Exchange the folder before the call with number ``moment``. Returns a function that gives the number of calls."""
    count = 0

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            nonlocal count
            count += 1
            if count == moment:
                with contextlib.suppress(OSError):
                    rename(root / "dir", root / "old")
                    symlink("../outside", root / "dir")
            return real(*args, **more)

        return call

    rename, symlink = os.rename, os.symlink
    for name in MOMENTS:
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    return lambda: count


# -- D07: trailing spaces and dots -------------------------------------------------------------------------------------

TAILS = [
    " ",
    ".",
    "  ",
    "\u00a0",
    "%20",
    "\u3000",
    "..",
    ". ",
    " .",
    "\u2003",
    "~",
    "-",
    "_",
    "%2e",
    "x",
    "\u200b",
    ";",
    "'",
]


@pytest.mark.variants(36)
def test_d07_a_neighbour_whose_name_is_this_one_with_a_tail_is_not_reached(files: Files, root: Path) -> None:
    for tail in TAILS:
        neighbour = Path(f"{root}{tail}")
        neighbour.mkdir()
        (neighbour / "x").write_text(SECRET)
        for path in (f"{root}{tail}/x", f"{root}{tail}"):
            tried((tail, path.endswith("/x")))
            for use in ("read", "overwrite", "append", "search"):
                said = code_of(lambda use=use, path=path: USES[use](files, path))
                assert not said.startswith("no refusal"), (tail, use, said)
        assert (neighbour / "x").read_text() == SECRET


# -- D13, D14: large files and trees -----------------------------------------------------------------------------------


@pytest.mark.variants(30)
def test_d13_no_large_file_is_taken_in_whole(files: Files, root: Path) -> None:
    for size in (11 << 20, 101 << 20, 1 << 30, 50 << 30, 1 << 40):
        with (root / "huge").open("wb") as file:
            file.truncate(size)
        for use in (
            "read",
            "read as base64",
            "read from a line",
            "read from an offset",
            "read as a picture",
            "search",
            "edit",
        ):
            tried((size, use))
            said = code_of(lambda use=use: USES[use](files, "huge"))
            assert len(said) < 1_000_000, (size, use)
        assert (root / "huge").stat().st_size == size
    said = code_of(lambda: files.write_file("huge", "x", mode="append"))
    assert said == "TT6054"


@pytest.mark.variants(24)
def test_d14_no_shape_of_a_tree_makes_a_listing_without_end(root: Path) -> None:
    shapes: dict[str, Callable[[Path], object]] = {
        "wide": lambda at: [(at / f"{number:04}").touch() for number in range(1_500)],
        "wide with long names": lambda at: (
            [(at / (f"{number:04}" + "n" * 240)).touch() for number in range(600)] and None
        ),
        "deep": lambda at: (at / "/".join("d" * 90)).mkdir(parents=True),
        "deep with long names": lambda at: (at / "/".join(["d" * 200] * 15)).mkdir(parents=True),
        "a comb": lambda at: (
            [(at / f"{number:03}" / "in" / "side").mkdir(parents=True) for number in range(400)] and None
        ),
        "links in a circle": lambda at: [(at / f"l{number:03}").symlink_to(".") for number in range(600)],
    }
    for name, make in shapes.items():
        place = root / name.replace(" ", "-")
        place.mkdir()
        make(place)
        with Files([place], limits=FileLimits(entries=500, entry_bytes=20_000)) as files:
            for depth, limit in itertools.product((1, 10), (500, 200)):
                tried((name, depth, limit))
                listed = files.list_directory(depth=depth, limit=limit)["entries"]
                assert len(listed) <= limit
                assert sum(len(entry["path"].encode()) for entry in listed) <= 20_000 + 5_000


# -- D16: patterns that explode ----------------------------------------------------------------------------------------

EXPRESSIONS = [
    "(a+)+$x", "(a*)*$x", "(a|a)*x", "(a|aa)+$x", "(.*a){20}x", "([a-z]+)*x", "(a+){10}x", "(?:a?){50}a{50}x",
    "^(([a-z])+.)+x",
    "(a*a*a*a*)*x", "(\\w+\\s?)*x", "((a+)+)+x",
]  # fmt: skip
GLOBS = ["*a" * 100 + "b", "**/" * 100 + "x", "**/a*/" * 80 + "x", "[a]*" * 100 + "b", "?*" * 100 + "b",
"*" * 250 + "b",
         "**/*a*/**/" * 20 + "x", "[!b]*" * 100 + "b", "*?*" * 80 + "b", "a*" * 120 + "b"]  # fmt: skip


@pytest.mark.variants(len(EXPRESSIONS) + len(GLOBS))
def test_d16_no_pattern_explodes(files: Files, root: Path) -> None:
    """Each is exponential in an engine that goes back: it would not end within the time limit of the test."""
    (root / "a").write_text("a" * 20_000)
    for expression in EXPRESSIONS:
        tried(expression)
        with contextlib.suppress(ToolError):  # some are refused
            assert asyncio.run(files.search_files(CONTEXT, content=expression, regex=True, name="a"))["matches"] == []
    for pattern in GLOBS:
        tried(pattern)
        assert not Glob.of(pattern).fits(("a" * 255,) * 60)


# -- D18, D19: edits that match several places, or no place ------------------------------------------------------------

TWICE = [
    ("x = 1\ny = 2\nx = 1\n", "x = 1"), ("a a", "a"), ("\n\n", "\n"), ("  \n  \n", "  \n"), ("ab\r\nab\r\n", "ab"),
    ("ab\r\nab\r\n", "ab\n"), ("中文中文", "中"), ("é é", "é"), ("😀😀", "😀"), ("\t\t", "\t"), ("tab\ttab\t", "tab\t"),
    ("}}}", "}"),
    ("}\n}\n}\n", "}\n}\n"), ("aaa", "aa"), ("x\r\n\r\n\r\n", "\n\n"), ("abababa", "aba"), ("--- ---", "---"),
    ("((()))", "("),
    ("# a\n# a\n# a\n", "# a\n# a"), ("1.1.1", "1.1"), ("  a\n    a\n", "a\n"), ("A a A", "A"), ("$x$x", "$x"),
    ("\\n\\n", "\\n"),
]  # fmt: skip


@pytest.mark.variants(len(TWICE))
def test_d18_no_edit_chooses_one_of_several_places(files: Files, root: Path) -> None:
    for text, old in TWICE:
        tried((text, old))
        (root / "a").write_bytes(text.encode())
        said = code_of(lambda old=old: files.edit_file("a", [Edit(old, "new")]))
        assert said in ("TT6058", "TT6082"), (text, old, said)
        # Edits are atomic: a preceding edit that matches once is not applied either.
        (root / "b").write_bytes(f"first{text}".encode())
        said = code_of(lambda old=old: files.edit_file("b", [Edit("first", "second"), Edit(old, "new")]))
        assert said in ("TT6058", "TT6082"), (text, old, said)
        assert (root / "a").read_bytes() == text.encode()
        assert (root / "b").read_bytes() == f"first{text}".encode()


SAME = ["text", "t", "te", "more text", " ", "\n", "more text\n", "中", "é", "line\r\n"]


@pytest.mark.variants(20)
def test_d19_no_edit_changes_nothing(files: Files, root: Path) -> None:
    data = "more text\nline\r\n中 é".encode()
    (root / "a").write_bytes(data)
    edits = {f"{old!r} for itself": [Edit(old, old)] for old in SAME}
    edits |= {
        f"{old!r} for itself behind another": [Edit("more", "less"), Edit(old, old)]
        for old in SAME
        if "more" not in old
    }
    edits |= {"there and back": [Edit("more", "less"), Edit("less", "more")], "twice there": [Edit("more", "less")] * 2}
    edits |= {"what is not there": [Edit("nothing", "x")], "in another case": [Edit("TEXT", "x")]}
    for name, each in edits.items():
        tried(name)
        said = code_of(lambda each=each: files.edit_file("a", each))
        assert not said.startswith("no refusal"), (name, said)
        assert (root / "a").read_bytes() == data


# -- D20 to D23: data that a careless tool loses -----------------------------------------------------------------------

ENDINGS = [
    b"a\r\nb\nc\rd", b"\xef\xbb\xbfa\r\n", b"no newline", b"\n\n\n", b"\r\r", b"\r\n", b"a\n\r\nb", b"\x0ba\x0cb",
    b"a\xe2\x80\xa8b",
    b"a\xc2\x85b\n", b"\ta\t\r\n", b" \n \r\n", b"a\r\r\nb",
]  # fmt: skip


@pytest.mark.variants(3 * len(ENDINGS))
def test_d20_no_way_of_writing_changes_a_line_ending(files: Files, root: Path) -> None:
    for data in ENDINGS:
        (root / "a").write_bytes(data)
        files.write_file("b", files.read_file("a")["content"], mode="overwrite")
        tried(("copied", data))
        assert (root / "b").read_bytes() == data
        files.write_file("a", "more", mode="append")
        tried(("appended", data))
        assert (root / "a").read_bytes() == data + b"more"
        files.edit_file("a", [Edit("more", "less")])
        tried(("edited", data))
        assert (root / "a").read_bytes() == data + b"less"


def _changes() -> dict[str, Callable[[Path], object]]:
    def back(path: Path, write: Callable[[], object]) -> None:
        found = path.stat()
        write()
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    def in_place(path: Path) -> None:
        with path.open("r+b") as file:
            file.write(b"O")

    def replaced(path: Path, text: str) -> None:
        other = path.with_name("other")
        other.write_text(text)
        other.rename(path)

    return {
        "another text": lambda path: path.write_text("theirs"),
        "a longer one": lambda path: path.write_text("old and more"),
        "none": lambda path: path.write_text(""),
        "one of the same length": lambda path: path.write_text("new"),
        "one of the same length and time": lambda path: back(path, lambda: path.write_text("new")),
        "in place": lambda path: back(path, lambda: in_place(path)),
        "another file": lambda path: replaced(path, "theirs"),
        "another file of the same text": lambda path: replaced(path, "old"),
        "another file of the same time": lambda path: back(path, lambda: replaced(path, "new")),
        "more at its end": lambda path: path.write_text(path.read_text() + "x"),
    }  # fmt: skip


def _ticked(path: Path) -> None:
    """Until the clock of the file system shows a later time than that of the last change: so long two are one."""
    probe = path.with_name("probe")
    probe.write_text("")
    while probe.stat().st_ctime_ns <= path.stat().st_ctime_ns:
        probe.write_text("")


@pytest.mark.variants(36)
def test_d21_no_change_of_others_is_written_over(files: Files, root: Path) -> None:
    acts: dict[str, Callable[[str], object]] = {
        "overwrite": lambda version: files.write_file("a", "mine", mode="overwrite", if_version=version),
        "append": lambda version: files.write_file("a", "mine", mode="append", if_version=version),
        "edit": lambda version: files.edit_file("a", [Edit("o", "0")], if_version=version),
        "delete": lambda version: files.delete_file("a", CONTEXT, if_version=version),
    }
    for (name, change), (tool, act) in itertools.product(_changes().items(), acts.items()):
        tried((name, tool))
        (root / "a").unlink(missing_ok=True)
        (root / "a").write_text("old")
        version = files.read_file("a")["version"]
        _ticked(root / "a")
        change(root / "a")
        theirs = (root / "a").read_bytes()
        said = code_of(lambda act=act, version=version: act(version))
        assert said == "TT6055", (name, tool, said)
        assert (root / "a").read_bytes() == theirs


@pytest.mark.variants(30)
def test_d22_each_way_of_writing_keeps_the_mode(files: Files, root: Path) -> None:
    for mode, use in itertools.product(
        (0o755, 0o700, 0o711, 0o600, 0o640, 0o644, 0o444, 0o550, 0o775, 0o666), ("overwrite", "append", "edit")
    ):
        tried((mode, use))
        (root / "run").unlink(missing_ok=True)
        (root / "run").write_text(SECRET)
        (root / "run").chmod(mode)
        with contextlib.suppress(ToolError):
            USES[use](files, "run")
        assert stat.S_IMODE((root / "run").stat().st_mode) == mode, (oct(mode), use)


MAGIC = {
    "png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "jpeg": b"\xff\xd8\xff\xe0\0\x10JFIF\0", "gif": b"GIF89a\1\0\1\0\0\0\0",
    "webp": b"RIFF\0\0\0\0WEBPVP8 ",
    "pdf": b"%PDF-1.7\n\xb5\xb5\xb5\xb5\0", "zip": b"PK\3\4\0\0\0\0", "gzip": b"\x1f\x8b\x08\0\0\0\0\0",
    "elf": b"\x7fELF\2\1\1\0", "exe": b"MZ\x90\0\3\0\0\0",
    "sqlite": b"SQLite format 3\0\x10\0", "class": b"\xca\xfe\xba\xbe\0\0\0\x34", "wasm": b"\0asm\1\0\0\0",
    "mp3": b"ID3\3\0\0\0\0\0\0", "ogg": b"OggS\0\2\0\0",
    "flac": b"fLaC\0\0\0\x22", "mp4": b"\0\0\0\x18ftypmp42", "tiff": b"II*\0\x08\0\0\0", "bmp": b"BM\x36\0\0\0\0\0",
    "ico": b"\0\0\1\0\1\0",
    "tar": b"x" + b"\0" * 256 + b"ustar\0", "pyc": b"\xa7\r\r\n\0\0\0\0", "utf-32": "text\n".encode("utf-32"),
    "pickle": b"\x80\4\x95\0\0\0\0\0\0",
}  # fmt: skip


@pytest.mark.variants(2 * len(MAGIC))
def test_d23_no_binary_file_is_read_or_edited_as_text(files: Files, root: Path) -> None:
    for kind, head in MAGIC.items():
        data = head + bytes(range(256)) if kind != "utf-32" else head
        (root / "a").write_bytes(data)
        for use in (lambda: files.read_file("a"), lambda: files.edit_file("a", [Edit("a", "b")])):
            said = code_of(use)
            assert said.startswith("TT60"), (kind, said)
        tried((kind, "read"))
        tried((kind, "edited"))
        assert (root / "a").read_bytes() == data


# -- D24: moves --------------------------------------------------------------------------------------------------------


@pytest.mark.variants(30)
def test_d24_no_move_replaces_anything_or_goes_into_itself(files: Files, root: Path) -> None:
    def kinds(folder: Path) -> None:
        folder.mkdir()
        (folder / "file").write_text("text")
        (folder / "empty").mkdir()
        (folder / "full" / "in").mkdir(parents=True)
        (folder / "link").symlink_to("file")
        (folder / "dangling").symlink_to("nowhere")
        os.mkfifo(folder / "pipe")

    kinds(root / "one")
    kinds(root / "two")
    before = sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))
    names = ("file", "empty", "full", "link", "dangling", "pipe")
    pairs = [(f"one/{source}", f"two/{target}") for source in names[:3] for target in names]
    pairs += [(f"one/{source}", f"one/{target}") for source in names[:3] for target in names]
    pairs += [
        ("one/full", "one/full/x"),
        ("one/full", "one/full/in/x"),
        ("one", "one/x"),
        ("one", "one/full/in/y"),
        ("one", "two"),
    ]
    for source, target in pairs:
        tried((source, target))
        said = code_of(lambda source=source, target=target: files.move_file(source, target))
        assert not said.startswith("no refusal"), (source, target)
    assert sorted(path.relative_to(root).as_posix() for path in root.rglob("*")) == before


# -- D25: quotas -------------------------------------------------------------------------------------------------------


@pytest.mark.variants(24)
def test_d25_no_sequence_of_writes_goes_beyond_the_quota(root: Path) -> None:
    def steps(files: Files, number: int) -> dict[str, Callable[[], object]]:
        return {
            "create": lambda: files.write_file(f"new{number}", "x" * 7),
            "append": lambda: files.write_file("a", "x" * 7, mode="append"),
            "overwrite": lambda: files.write_file("a", "x" * 7 * (number + 1), mode="overwrite"),
            "edit": lambda: files.edit_file("a", [Edit("y", "y" + "x" * 7)]),
            "make": lambda: files.create_directory(f"dir{number}"),
            "with parents": lambda: files.write_file(f"d{number}/e/f", "x" * 7, create_parents=True),
        }

    orders = list(itertools.permutations(("create", "append", "overwrite", "edit", "make", "with parents"), 2))
    for order in orders:
        tried(order)
        folder = root / "-".join(order).replace(" ", "-")
        folder.mkdir()
        (folder / "a").write_text("y")
        with Files([folder], limits=FileLimits(added_bytes=30, added_entries=6)) as files:
            for number in range(12):
                for step in order:
                    with contextlib.suppress(ToolError):
                        steps(files, number)[step]()
        found = [path for path in folder.rglob("*") if path.name != "a"]
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) - 1
        assert len(found) <= 6, order
        assert size <= 30, (order, size)


# -- D26: names in other normal forms ----------------------------------------------------------------------------------

SPELLED = [
    ".\uff47it/config", ".g\u200cit/config", ".g\u200dit/config", ".\u200bgit/config", ".git\u200b/config",
    ".gi\ufe0ft/config",
    ".g\u00adit/config", ".g\u2060it/config", ".\ufeffgit/config", ".\U0001d420it/config", "\uff0egit/config",
    ".\u24d6it/config",
    ".mcp.json\u200b", ".mcp.j\u017fon", ".mcp.jso\uff4e", ".\uff4dcp.json", ".MCP.J\u017fON", ".mcp\uff0ejson",
    ".bash\u200brc",
    ".ba\u017fhrc", ".\uff42ashrc", ".v\u017fcode/tasks.json", ".vscode\u200d/tasks.json",
]  # fmt: skip


@pytest.mark.variants(len(SPELLED))
def test_d26_no_spelling_of_a_protected_name_is_written(files: Files, root: Path) -> None:
    for path in SPELLED:
        tried(path)
        said = code_of(lambda path=path: files.write_file(path, "evil", create_parents=True))
        assert said in ("TT6031", "TT6012", "TT6013"), (ascii(path), said)
    assert os.listdir(root) == []
