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
