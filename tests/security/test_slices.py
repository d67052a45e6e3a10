"""Parts of files: what of a secret lies in the part that was asked for is masked, wherever the part begins and ends."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from security.fakes import FAKES
from toolwright import Client, Server
from toolwright.toolbox.files import toolset

TOKEN = next(text for kind, text in FAKES if kind == "github-token" and "pat" not in text)
PEM = next(text for kind, text in FAKES if kind == "private-key")


def read(folder: Path, **arguments: Any) -> str:
    async def once() -> str:
        async with Client(Server("files", toolsets=[toolset([folder])])) as client:
            return (await client.call_tool("read_file", arguments)).structured["content"]

    return asyncio.run(once())


@pytest.mark.attack("C08")
@pytest.mark.parametrize("offset", [5, 6, 7, 9, 12, 16, 20, 25, 30, 34])
@pytest.mark.parametrize("encoding", ["utf-8", "base64"])
def test_c08_a_part_of_a_token_is_masked(tmp_path: Path, offset: int, encoding: str):
    (tmp_path / "a.txt").write_text(f"key {TOKEN}\nmore é\n")
    content = read(tmp_path, path="a.txt", offset=offset, encoding=encoding)
    text = base64.b64decode(content).decode() if encoding == "base64" else content
    assert TOKEN[-6:] not in text
    assert "[secret masked: github-token" in text
    assert text.endswith("more é\n")


@pytest.mark.attack("C08", "C09")
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
@pytest.mark.parametrize("offset", [0, 8, 12, 15, 22])
def test_c09_bytes_of_text_are_looked_into(tmp_path: Path, encoding: str, offset: int):
    (tmp_path / "a.txt").write_bytes(f"é {TOKEN} and more".encode(encoding))
    data = base64.b64decode(read(tmp_path, path="a.txt", offset=offset, encoding="base64"))
    assert TOKEN[-6:].encode(encoding.removesuffix("-le") if encoding == "latin-1" else "utf-16-le") not in data


CODECS = ["gbk", "gb18030", "utf-16", "utf-16-le", "utf-16-be", "latin-1"]
WORDS = {"gbk": "密钥在此，请勿外传。", "gb18030": "密钥在此，请勿外传。", "utf-16": "密钥在此，请勿外传。"}


@pytest.mark.attack("C08", "C09")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("start", [2, 3, 4, 6])
def test_c08_lines_of_a_private_key_in_another_encoding_are_masked(tmp_path: Path, codec: str, start: int):
    words = WORDS.get(codec, "Schlüssel, für später ")
    (tmp_path / "a.txt").write_bytes(f"{words}\n{PEM}\n{words}\n".encode(codec))
    content = read(tmp_path, path="a.txt", start_line=start, end_line=start + 1)
    assert PEM.splitlines()[start - 1][:10] not in content
    assert "[secret masked: private-key" in content


@pytest.mark.attack("C08", "C09")
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("cut", [3, 6, 12, 20, 34])
def test_c08_a_part_of_a_token_in_another_encoding_is_masked(tmp_path: Path, codec: str, cut: int):
    # More words than are looked at before a part, so that what is looked at begins within one of them.
    words = (WORDS.get(codec, "Schlüssel für später ") * 1_001)[:-1]
    before = f"{words}{TOKEN[:cut]}".encode(codec)
    data = f"{words}{TOKEN} {words}".encode(codec)
    (tmp_path / "a.txt").write_bytes(data)
    content = read(tmp_path, path="a.txt", offset=len(before), limit=400)
    assert TOKEN[-3:] not in content
    assert content.startswith("[secret masked: github-token")
    assert words[:20] in content


@pytest.mark.twin("C08", "C09")
@pytest.mark.parametrize("codec", CODECS)
def test_c08_twin_words_in_another_encoding_are_read(tmp_path: Path, codec: str):
    words = WORDS.get(codec, "Schlüssel, für später ")
    (tmp_path / "a.txt").write_bytes(f"{words}\n{words} 2\n{words} 3\n".encode(codec))
    assert read(tmp_path, path="a.txt", start_line=2, end_line=2) == f"{words} 2\n"


@pytest.mark.attack("C08")
@pytest.mark.parametrize("start", range(2, 10))
def test_c08_lines_within_a_private_key_are_masked(tmp_path: Path, start: int):
    (tmp_path / "a.txt").write_text(f"{PEM}\nnext\n")
    content = read(tmp_path, path="a.txt", start_line=start, end_line=start + 1)
    assert PEM.splitlines()[start - 1][:10] not in content
    assert "[secret masked: private-key" in content


@pytest.mark.twin("C08")
@pytest.mark.parametrize("offset", [0, 3, 44, 46])
def test_c08_twin_what_stands_beside_a_secret_is_read(tmp_path: Path, offset: int):
    (tmp_path / "a.txt").write_text("x" * 50 + "\nall of it is plain\n")
    assert read(tmp_path, path="a.txt", offset=offset) == ("x" * 50 + "\nall of it is plain\n")[offset:]


@pytest.mark.twin("C08")
def test_c08_twin_lines_behind_a_private_key_are_read(tmp_path: Path):
    (tmp_path / "a.txt").write_text(f"{PEM}\nnext\n")
    assert read(tmp_path, path="a.txt", start_line=len(PEM.splitlines()) + 1) == "next\n"
