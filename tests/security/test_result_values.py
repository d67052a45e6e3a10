"""Files, pictures, tables and iterators do not get around the guards of results, and benign look-alikes pass."""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas
import PIL.Image
import polars
import pyarrow
import pytest
from matplotlib.figure import Figure

from tooltrue import Audio, Client, File, Image, Server, Table, TextResource
from tooltrue.client.client import Result
from tooltrue.errors import InvalidResult

TOKEN = "ghp" + "_" + "8Kd" * 12
FRAMES: list[Callable[[dict[str, list[Any]]], Any]] = [pandas.DataFrame, polars.DataFrame, pyarrow.table]


def call(value: Callable[[], Any], returns: Any = None, **settings: Any) -> tuple[Result, list[str]]:
    """The result of a tool that returns this value, and the texts behind its links."""

    def tool() -> Any:
        return value()

    if returns is not None:
        tool.__annotations__["return"] = returns

    async def ask() -> Any:
        server = Server("t", version="1")
        server.add_tool(tool, name="tool", effect="read", **settings)
        async with Client(server) as client:
            result = await client.call_tool("tool")
            uris = [block.uri for block in result.content if block.type == "resource_link"]
            parts = [part for uri in uris for part in await client.read_resource(uri)]
            return result, [part.text for part in parts if isinstance(part, TextResource)]

    return asyncio.run(ask())


def everything(result: Result, behind: list[str]) -> str:
    return json.dumps(result.raw) + "\n".join(behind)


HIDING: list[Any] = [
    *(lambda frame=frame: frame({"key": [TOKEN, "b"]}) for frame in FRAMES),
    lambda: pandas.DataFrame({TOKEN[:4]: [f"use {TOKEN}, please"]}),
    lambda: pandas.DataFrame({"a": [[TOKEN]]}),
    lambda: pandas.DataFrame({"a": [{"key": TOKEN}]}),
    lambda: pandas.DataFrame({"a": [TOKEN.encode()]}),
    lambda: Table(pandas.DataFrame({"a": ["x"] * 50 + [TOKEN]}), max_rows=1),
    lambda: pandas.Series([TOKEN]),
    lambda: pandas.Series([TOKEN]).to_frame().set_index(0).rename_axis("key"),
    lambda: File(data=f"key = {TOKEN}", name="a.env"),
    lambda: File(data=f"key = {TOKEN}".encode(), name="a.txt"),
    lambda: File(data=f"key = {TOKEN}".encode(), name="a.bin"),
    lambda: File(data="x\n" * 100_000 + TOKEN, name="large.txt"),
    lambda: ["text", File(data=TOKEN)],
    lambda: iter([TOKEN]),
    lambda: (word for word in ("a", {"key": TOKEN})),
    lambda: TOKEN.encode(),
    lambda: [Image(data=b"\x89PNG\r\n\x1a\n"), TOKEN],
]


@pytest.mark.parametrize("value", HIDING)
def test_c08_a_secret_in_a_table_or_a_file_is_masked(value: Any) -> None:
    result, behind = call(value)
    sent = everything(result, behind)
    assert not result.is_error
    assert TOKEN not in sent
    assert base64.b64encode(TOKEN.encode()).decode()[:-4] not in sent
    assert "github-token" in sent


@pytest.mark.parametrize("frame", FRAMES)
def test_c08_twin_a_table_without_a_secret_stays_as_it_is(frame: Any) -> None:
    result, _ = call(lambda: frame({"commit": ["8Kd8Kd8Kd8Kd"], "path": ["C:\\a"]}))
    assert result.structured["rows"] == [["8Kd8Kd8Kd8Kd", "C:\\a"]]
    assert "tooltrue/cleaned" not in str(result.raw)


DIRTY = "All\u200b is\x1b[8m well"
CLEAN = "All is well"


@pytest.mark.parametrize(
    "value",
    [
        *(lambda frame=frame: frame({"a": [DIRTY]}) for frame in FRAMES),
        lambda: Table(pandas.DataFrame({"a": ["x"] * 50 + [DIRTY]}), max_rows=1),
        lambda: File(data=DIRTY),
        lambda: File(data=DIRTY * 20_000),
        lambda: iter([DIRTY]),
    ],
)
def test_c06_hidden_characters_in_a_table_or_a_file_are_removed(value: Any) -> None:
    result, behind = call(value)
    sent = json.dumps(result.raw, ensure_ascii=False) + "\n".join(behind)
    assert CLEAN in sent
    assert "\u200b" not in sent
    assert "\x1b" not in sent
    assert "\\u001b" not in sent


@pytest.mark.parametrize("frame", FRAMES)
def test_c06_a_column_whose_name_hides_something_is_cleaned(frame: Any) -> None:
    result, _ = call(lambda: frame({DIRTY: [1]}))
    assert result.structured["columns"] == [CLEAN]


@pytest.mark.parametrize(
    "value",
    [
        lambda: File(data=b"\xff" * 100_000),
        lambda: Image(data=b"\x89PNG\r\n\x1a\n" + b"\0" * 10_000),
        lambda: Audio(data=b"OggS" + b"\0" * 10_000),
        lambda: b"\xff" * 10_000,
        lambda: Figure((20, 20)),
    ],
)
def test_c13_bytes_beyond_the_limit_are_not_sent(value: Any) -> None:
    result, _ = call(value, max_bytes=2000)
    assert result.is_error or "tooltrue/cut" in str(result.raw)
    assert len(json.dumps(result.raw)) < 5000


@pytest.mark.parametrize("value", [lambda: itertools.repeat("x"), lambda: itertools.repeat("x" * 1_000_000)])
@pytest.mark.parametrize("returns", [None, Iterator[str], list[str]])
def test_c13_an_endless_iterator_is_stopped(value: Any, returns: Any) -> None:
    result, _ = call(value, returns)
    assert result.is_error


class CountingFrame(pandas.DataFrame):
    """A data frame that counts the parts that are read of it."""

    parts = 0

    @property
    def iloc(self) -> Any:
        CountingFrame.parts += 1
        return super().iloc


def test_c13_a_table_beyond_the_limit_is_not_read_to_its_end() -> None:
    result, _ = call(lambda: CountingFrame({"a": ["x" * 1000] * 100_000}))
    assert result.structured["truncated"]
    assert 16_700_000 < result.content[-1].size < 16_800_000
    assert CountingFrame.parts < 60  # of 200


def bomb() -> PIL.Image.Image:
    """A picture that is opened, but not unpacked: some kilobytes, and 100 million pixels."""
    file = io.BytesIO()
    PIL.Image.new("1", (10_000, 10_000)).save(file, "PNG")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PIL.Image.DecompressionBombWarning)
        return PIL.Image.open(file)


@pytest.mark.parametrize("value", [bomb, lambda: Image(bomb()), lambda: [bomb()], lambda: Figure((1000, 1000))])
def test_c13_a_picture_of_too_many_pixels_is_not_unpacked(value: Any) -> None:
    result, _ = call(value)
    assert result.is_error
    assert not [block for block in result.content if block.type == "image"]


def test_c13_twin_a_large_picture_is_sent() -> None:
    result, _ = call(lambda: PIL.Image.new("1", (6000, 6000)))
    assert result.content[0].type == "image"


def test_g01_a_formula_is_a_value_of_a_table_and_stays_one() -> None:
    """A table is for programs, which do not run cells; a changed cell would be a wrong one."""
    result, _ = call(lambda: pandas.DataFrame({"=a": ["=1+1", "-5", "@x"]}))
    assert result.structured["rows"] == [["=1+1"], ["-5"], ["@x"]]
    assert result.structured["columns"] == ["=a"]


def test_c13_twin_a_table_of_the_size_of_the_limit_leaves() -> None:
    result, _ = call(lambda: pandas.DataFrame({"a": ["x" * 100] * 100}))
    assert result.structured["total_rows"] == 100
    assert not result.structured["truncated"]


PAGES = [
    b"<html>",
    b"<!DOCTYPE html>",
    b"<svg onload='x'/>",
    b"\xef\xbb\xbf <svg>",
    b"<?xml version='1.0'?><svg/>",
    b"%PDF-1.7",
]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("kind", [Image, Audio])
def test_c19_a_page_is_no_picture(page: bytes, kind: Any, tmp_path: Path) -> None:
    (tmp_path / "page.png").write_bytes(page)
    for make in (lambda: kind(tmp_path / "page.png"), lambda: kind(data=page, format="png")):
        result, _ = call(make)
        assert result.is_error


@pytest.mark.parametrize("page", PAGES)
def test_c19_a_file_with_the_type_of_a_picture_is_no_page(page: bytes) -> None:
    result, _ = call(lambda: File(data=page, name="page.png"))
    assert [block.type for block in result.content] == ["text"]


def test_c19_twin_a_page_is_a_file() -> None:
    result, _ = call(lambda: File(data=b"<html>", name="page.html"))
    assert result.content[0].resource["text"] == "<html>"


ESCAPES = [
    "../secret",
    "a/../../secret",
    "/etc/passwd",
    "out",
    "up/secret",
    "a/up/secret",
    "..",
    "up",
    "a/out",
    "//etc/passwd",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_c21_a_path_does_not_leave_its_root(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    for folder in (root, root / "a"):
        (folder / "out").symlink_to(tmp_path / "secret")
        (folder / "up").symlink_to(tmp_path)
    with pytest.raises(InvalidResult):
        File(path, root=root).to_resource_content()
    result, _ = call(lambda: File(path, root=root))
    assert result.is_error
    assert "hidden" not in str(result.raw)
    assert str(tmp_path) not in str(result.raw)


def test_c21_a_folder_that_becomes_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("hidden")
    root = tmp_path / "root"
    (root / "a").mkdir(parents=True)
    (root / "a" / "secret.txt").write_text("public")
    file = File("a/secret.txt", root=root)
    assert file.to_resource_content().resource.text == "public"
    os.rename(root / "a", root / "b")
    (root / "a").symlink_to(tmp_path)
    with pytest.raises(InvalidResult):
        file.to_resource_content()


def test_c21_twin_a_path_within_its_root_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_text("hello")
    result, _ = call(lambda: File("a/b.txt", root=tmp_path))
    assert result.content[0].resource["text"] == "hello"
    assert str(tmp_path) not in str(result.raw)
