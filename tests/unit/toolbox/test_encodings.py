"""Files that are not UTF-8: read, searched and edited in the encoding that tables find in them."""

from __future__ import annotations

import asyncio
import base64
import bz2
import gzip
import lzma
import os
import random
import sqlite3
import sys
import zlib
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.toolbox.refusals import refused
from tooltrue.tools.null import SILENT
from tooltrue.tools.vocabulary import LOCAL, RequestContext
from tooltrue_toolbox.encodings import HEAD, encoding_of, text_encoding_of
from tooltrue_toolbox.files import Edit, FileContent, FileLimits, Files, SearchResult

CHINESE = "城市，名称\r\n北京市的数据分析\r\n上海 main 表格\r\n第四行\r\n"
WESTERN = "Größe und Maß\r\nCafé Zoë für Åse\r\nmain déjà vu\r\nEnde\r\n"

# Bytes, the encoding that is found, and how that is known.
TEXTS = [
    pytest.param(CHINESE, "gb18030", "gb18030", "guess", id="gb18030"),
    pytest.param(CHINESE, "gbk", "gb18030", "guess", id="gbk"),
    pytest.param(WESTERN, "latin-1", "windows-1252", "guess", id="latin-1"),
    pytest.param(WESTERN + "12 € – “ja”\r\n", "windows-1252", "windows-1252", "guess", id="windows-1252"),
    pytest.param("\ufeff" + CHINESE, "utf-16-le", "utf-16", "byte order mark", id="utf-16-le marked"),
    pytest.param("\ufeff" + CHINESE, "utf-16-be", "utf-16", "byte order mark", id="utf-16-be marked"),
    pytest.param(WESTERN, "utf-16-le", "utf-16-le", "guess", id="utf-16-le"),
    pytest.param(WESTERN, "utf-16-be", "utf-16-be", "guess", id="utf-16-be"),
]


def find(files: Files, **arguments: Any) -> SearchResult:
    return asyncio.run(files.search_files(RequestContext(LOCAL, SILENT), **arguments))


def parts(files: Files, result: FileContent) -> Generator[FileContent]:
    while True:
        yield result
        if line := result.get("next_start_line"):
            result = files.read_file("a", start_line=line)
        elif offset := result.get("next_offset"):
            result = files.read_file("a", offset=offset)
        else:
            return


# Reading


@pytest.mark.parametrize(("text", "codec", "encoding", "how"), TEXTS)
def test_a_file_is_read_in_the_encoding_that_it_has(
    files: Files, root: Path, text: str, codec: str, encoding: str, how: str
) -> None:
    (root / "a").write_bytes(text.encode(codec))
    result = files.read_file("a")
    assert result["content"] == text.removeprefix("\ufeff")
    assert (result["encoding"], result.get("encoding_from")) == (encoding, how)
    assert (result.get("start_line"), result.get("end_line")) == (1, text.count("\n"))
    info = files.file_info("a")
    assert (info.get("text"), info.get("encoding"), info.get("line_endings")) == (True, encoding, "\\r\\n")


@pytest.mark.parametrize(("text", "codec", "encoding", "how"), TEXTS)
def test_a_line_has_its_number_in_every_encoding(
    files: Files, root: Path, text: str, codec: str, encoding: str, how: str
) -> None:
    (root / "a").write_bytes(text.encode(codec))
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n")[:-1], 1):
        assert files.read_file("a", start_line=number, end_line=number)["content"] == line + "\n"


@pytest.mark.parametrize(("text", "codec", "encoding", "how"), TEXTS)
@pytest.mark.parametrize("limit", [6, 9, 14, 40])
def test_the_parts_of_a_file_make_the_whole_in_every_encoding(
    files: Files, root: Path, text: str, codec: str, encoding: str, how: str, limit: int
) -> None:
    (root / "a").write_bytes(text.encode(codec))
    small = Files([root], limits=FileLimits(read_bytes=limit))
    made = "".join(part["content"] for part in parts(small, small.read_file("a")))
    assert made == text.removeprefix("\ufeff")
    made = "".join(part["content"] for part in parts(small, small.read_file("a", offset=0)))
    assert made == text.removeprefix("\ufeff")


def test_a_line_feed_counts_in_utf_16_only_where_a_character_begins(files: Files, root: Path) -> None:
    text = "one ਊĀ 上ਅ\nĀ\u0a0a\ntwo\n" + "plain words " * 20
    for codec in ("utf-16-le", "utf-16-be"):
        assert b"\n\0" in text.encode(codec).replace("\n".encode(codec), b"")
        (root / "a").write_bytes(text.encode(codec))
        assert files.read_file("a", start_line=3, end_line=3)["content"] == "two\n"
        assert find(files, content="two")["matches"][0].get("line") == 3


def test_an_offset_within_a_character_is_refused_with_the_nearest(files: Files, root: Path) -> None:
    for codec, offset, near in (("gb18030", 5, 4), ("utf-8", 7, 6), ("utf-16", 7, 6)):
        (root / "a").write_bytes(CHINESE.encode(codec))
        with refused("TT6037", offset=offset, near=near):
            files.read_file("a", offset=offset)
        assert CHINESE.endswith(files.read_file("a", offset=near)["content"])


def test_an_encoding_that_cannot_be_found_can_be_named(files: Files, root: Path) -> None:
    text = "かなとカナ、漢字。\n二行目\n"
    (root / "a").write_bytes(text.encode("shift_jis"))
    with refused("TT6036"):
        files.read_file("a")
    result = files.read_file("a", "shift_jis", start_line=2)
    assert (result["content"], result["encoding"], result.get("encoding_from")) == ("二行目\n", "shift_jis", "argument")


def test_an_encoding_that_was_named_and_does_not_fit_is_refused(files: Files, root: Path) -> None:
    (root / "a").write_bytes(CHINESE.encode("gbk"))
    with refused("TT6040", encoding="utf-8"):
        files.read_file("a", "utf-8")


def test_utf_8_with_broken_bytes_is_not_guessed_to_be_something_else(files: Files, root: Path) -> None:
    (root / "a").write_bytes("wörter und größen, überall\n".encode() * 5 + b"\xff\n")
    with refused("TT6036"):
        files.read_file("a")
    assert find(files, content="größen", limit=1)["matches"][0].get("text") == "wörter und größen, überall"


# Searching


@pytest.mark.parametrize(("text", "codec", "encoding", "how"), TEXTS)
@pytest.mark.parametrize("regex", [False, True])
def test_a_file_is_searched_in_the_encoding_that_it_has(
    files: Files, root: Path, text: str, codec: str, encoding: str, how: str, regex: bool
) -> None:
    (root / "a").write_bytes(text.encode(codec))
    lines = text.removeprefix("\ufeff").split("\r\n")
    wanted = "数据" if text.endswith(CHINESE) else "Zoë"
    assert find(files, content=wanted, regex=regex, context_lines=1) == {
        "path": ".",
        "matches": [
            {
                "path": "a",
                "line": 2,
                "text": lines[1],
                "before": [lines[0]],
                "after": [lines[2]],
                "encoding": encoding,
            }
        ],
        "looked_at": 1,
    }
    first = find(files, content=f"^{lines[0][:2]}" if regex else lines[0][:2], regex=regex)
    assert [match.get("line") for match in first["matches"]] == [1]


@pytest.mark.parametrize(("text", "codec", "encoding", "how"), TEXTS)
def test_the_pages_of_a_search_make_the_whole_in_every_encoding(
    files: Files, root: Path, text: str, codec: str, encoding: str, how: str
) -> None:
    body = text.removeprefix("\ufeff") * 5
    (root / "a").write_bytes((text + body).encode(codec))
    every = [number for number, line in enumerate((text + body).split("\n"), 1) if "main" in line]
    seen: list[int | None] = []
    cursor: str | None = None
    while True:
        page = find(files, content="main", limit=2, cursor=cursor)
        seen += [match.get("line") for match in page["matches"]]
        if (cursor := page.get("next_cursor")) is None:
            break
    assert seen == every


@pytest.mark.parametrize(("text", "codec", "encoding", "how"), TEXTS)
def test_a_line_behind_the_first_part_of_a_file_is_found(
    files: Files, root: Path, text: str, codec: str, encoding: str, how: str
) -> None:
    body = text.removeprefix("\ufeff")
    again = 3 * HEAD // len(text.encode(codec))
    mark = "\ufeff" if text != body else ""
    (root / "a").write_bytes((mark + body * again + "needle 1\n" + body + "needle 2\n").encode(codec))
    lines = body.count("\n")
    found = find(files, content="needle", context_lines=1)["matches"]
    assert [match.get("line") for match in found] == [lines * again + 1, lines * again + lines + 2]
    assert found[0].get("before") == [body.split("\r\n")[-2]]
    assert found[0].get("after") == [body.split("\r\n")[0]]
    assert found[1].get("encoding") == encoding


def test_a_broken_character_far_inside_hides_no_line(files: Files, root: Path) -> None:
    data = CHINESE.encode("gbk") * (2 * HEAD // len(CHINESE.encode("gbk")))
    (root / "a").write_bytes(data + b"\x81\x32\nmain \x81\nneedle\n")
    assert find(files, content="needle")["matches"][0].get("line") == data.count(b"\n") + 3


# Editing


@pytest.mark.parametrize(("text", "codec", "encoding", "how"), TEXTS)
def test_an_edit_keeps_the_encoding_the_mark_and_the_line_ends(
    files: Files, root: Path, text: str, codec: str, encoding: str, how: str
) -> None:
    (root / "a").write_bytes(text.encode(codec))
    line = text.removeprefix("\ufeff").split("\r\n")[1]
    new = "数据\n两行" if text.endswith(CHINESE) else "für\nzwei Straßen"
    result = files.edit_file("a", [Edit(line, new)])
    assert (root / "a").read_bytes() == text.replace(line, new.replace("\n", "\r\n")).encode(codec)
    assert f"-{line}\r\n" in result["diff"]
    assert result.get("encoding") == encoding


def test_a_character_that_the_encoding_does_not_have_is_refused(files: Files, root: Path) -> None:
    (root / "a").write_bytes(WESTERN.encode("latin-1"))
    with refused("TT6038", number=2, character="中", encoding="windows-1252"):
        files.edit_file("a", [Edit("Ende", "Fin"), Edit("main", "中")])
    assert (root / "a").read_bytes() == WESTERN.encode("latin-1")


@pytest.mark.parametrize("old", ["ö", "öße", "Gr", "rö", "fé"])
def test_an_edit_that_may_split_a_multibyte_character_is_refused(files: Files, root: Path, old: str) -> None:
    (root / "a").write_bytes("Größe Café\n".encode("latin-1"))
    ends_within = {"ö": True, "öße": False, "Gr": False, "rö": True, "fé": False}[old]
    if ends_within:
        with refused("TT6083", number=1):
            files.edit_file("a", [Edit(old, "x")])
    else:
        files.edit_file("a", [Edit(old, "x")])
        assert (root / "a").read_bytes() == "Größe Café\n".replace(old, "x").encode("latin-1")


def test_a_file_that_does_not_round_trip_accepts_only_ascii_edits(files: Files, root: Path) -> None:
    data = CHINESE.encode("gbk") + b"\x81\x32\n"
    (root / "a").write_bytes(data)
    files.edit_file("a", [Edit("main ", "name ")])
    assert (root / "a").read_bytes() == data.replace(b"main ", b"name ")
    with refused("TT6047"):
        files.edit_file("a", [Edit("name ", "数据")])


@given(st.text(st.sampled_from("中文数据ａ，。 ab\r\n€é"), min_size=1, max_size=40), st.sampled_from(["gbk", "utf-16"]))
@settings(max_examples=60)
def test_an_edit_changes_no_other_byte(tmp_path_factory: pytest.TempPathFactory, text: str, codec: str) -> None:
    root = tmp_path_factory.mktemp("edit")
    data = text.encode("gb18030" if codec == "gbk" else codec)
    (root / "a").write_bytes(data + "\n中中中 old 中中中".encode("gb18030" if codec == "gbk" else "utf-16-le"))
    before = (root / "a").read_bytes()
    with Files([root]) as files:
        files.edit_file("a", [Edit("中中中 old 中中中", "新新新")])
    new, old = (each.encode("gb18030" if codec == "gbk" else "utf-16-le") for each in ("新新新", "中中中 old 中中中"))
    assert (root / "a").read_bytes() == before.replace(old, new)


# Appending


def test_an_append_in_another_encoding_than_the_file_has_is_refused(files: Files, root: Path) -> None:
    for codec, text in (("gbk", CHINESE), ("latin-1", WESTERN), ("utf-16", CHINESE)):
        data = text.encode(codec)
        (root / "a").write_bytes(data)
        with refused("TT6039"):
            files.write_file("a", "é", mode="append")
        assert (root / "a").read_bytes() == data
    with refused("TT6039"):
        files.write_file("a", "ascii", mode="append")


def test_an_append_that_fits_the_encoding_is_made(files: Files, root: Path) -> None:
    (root / "a").write_bytes(CHINESE.encode("gbk"))
    files.write_file("a", "ascii", mode="append")
    files.write_file("a", base64.b64encode("中".encode("gbk")).decode(), "base64", mode="append")
    assert (root / "a").read_bytes() == (CHINESE + "ascii中").encode("gbk")


# Files that are no text


def database(folder: Path) -> bytes:
    with closing(sqlite3.connect(folder / "shop.db")) as opened:
        opened.execute("CREATE TABLE tea (name TEXT)")
    return (folder / "shop.db").read_bytes()


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\6\0\0\0\x1f\x15\xc4\x89"
BINARIES: dict[str, Callable[[Path], bytes]] = {
    "png": lambda _: PNG,
    "elf": lambda _: Path(sys.executable).read_bytes()[: 3 * HEAD],
    "gzip": lambda _: gzip.compress(CHINESE.encode() * 50),
    "small gzip": lambda _: gzip.compress(b"a"),
    "bzip2": lambda _: bz2.compress(WESTERN.encode() * 50),
    "xz": lambda _: lzma.compress(WESTERN.encode() * 50),
    "zlib": lambda _: zlib.compress(WESTERN.encode() * 500),
    "random": lambda _: random.Random(1).randbytes(4096),
    "random without NUL": lambda _: random.Random(2).randbytes(600).replace(b"\0", b""),
    "sqlite": database,
    "samples": lambda _: b"".join(n.to_bytes(2, "little") for n in random.Random(3).choices(range(1, 255), k=2000)),
    "utf-32": lambda _: CHINESE.encode("utf-32"),
    "pyc": lambda _: b"\x6f\r\r\n" + bytes(12) + b"\xe3" + bytes(30),
}


@pytest.mark.parametrize("kind", BINARIES)
def test_a_binary_file_is_not_read_as_text(files: Files, root: Path, tmp_path: Path, kind: str) -> None:
    data = BINARIES[kind](tmp_path)
    (root / "a").write_bytes(data)
    assert text_encoding_of(data[:HEAD]) is None
    with refused("TT6036"):
        files.read_file("a", end_line=1)
    assert files.file_info("a").get("text") is False
    assert "encoding" not in files.file_info("a")
    assert find(files, content="IHDR")["matches"] == []
    size = len(data)
    assert base64.b64decode(files.read_file("a", "base64", limit=1 << 19)["content"]) == data[: min(size, 393_216)]


@pytest.mark.parametrize("kind", [kind for kind in BINARIES if "NUL" not in kind and "small" not in kind])
def test_a_search_counts_binary_files(files: Files, root: Path, tmp_path: Path, kind: str) -> None:
    data = BINARIES[kind](tmp_path)
    (root / "a").write_bytes(data)
    assert find(files, content="zzz").get("binary", 0) == (b"\0" in data[:8192])


# Where it is found


@pytest.mark.parametrize(("text", "codec", "encoding", "how"), TEXTS)
def test_files_and_tables_find_the_same(text: str, codec: str, encoding: str, how: str) -> None:
    data = text.encode(codec)
    assert encoding_of(data) == text_encoding_of(data)


def test_only_so_much_of_a_file_decides(root: Path) -> None:
    read: list[int] = []
    real = os.pread

    def counted(fd: int, size: int, offset: int) -> bytes:
        read.append(size)
        return real(fd, size, offset)

    (root / "a").write_bytes(CHINESE.encode("gbk") * 200_000)
    with Files([root]) as files, pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", counted)
        files.read_file("a", offset=len(CHINESE.encode("gbk")) * 150_000, limit=100)
    assert sum(read) < 2 * HEAD
