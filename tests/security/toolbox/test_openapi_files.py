"""Group L: files in the requests of tools that are made of the description of an API."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from services.calling import calls
from services.openapi import api_tools
from support.variants import tried
from support.website import Asked, Said, running
from tooltrue import Client
from tooltrue_toolbox.openapi.file_references import FileReferences

UPLOADS = Path(__file__).parents[2] / "data" / "openapi" / "uploads.yaml"
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "in").mkdir(parents=True)
    (tmp_path / "outside.txt").write_text("of the operator")
    (tmp_path / "root-other").mkdir()
    (tmp_path / "root-other" / "a.txt").write_text("of the operator")
    (root / "to-outside").symlink_to(tmp_path / "outside.txt")
    (root / "to-above").symlink_to(tmp_path)
    os.link(tmp_path / "outside.txt", root / "hard.txt")
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe")
    for name in (".env", "id_rsa", "server.pem", ".git-credentials"):
        (root / name).write_text("secret")
    (root / "token.txt").write_text(f"the token is {TOKEN}")
    (root / "split.txt").write_text(f"a\n{TOKEN}\nb")
    (root / "report.txt").write_text("the token is not here")
    (root / "résumé 1.txt").write_text("mine")
    return root


def answers(roots: list[Path], references: list[str]) -> tuple[list[str], list[Asked]]:
    async def each(client: Client) -> list[str]:
        texts = list[str]()
        for one in references:
            bodies: tuple[tuple[str, Any], ...] = (
                ("set_content", one),
                ("add_document", {"title": "x", "file": one}),
                ("add_document", {"title": "x", "file": "report.txt", "attachments": [one]}),
            )
            for tool, body in bodies[: 3 if roots else 2]:
                arguments = {"body": body} if tool == "add_document" else {"id": "1", "body": body}
                texts.append((await client.call_tool(tool, arguments)).text)
        return texts

    with running(lambda asked: Said(204)) as site:
        texts = calls(api_tools(site, UPLOADS, files=FileReferences(roots)), each)
    return texts, site.asked


def outside(root: Path) -> list[str]:
    above = root.parent
    return [
        "../outside.txt",
        "in/../../outside.txt",
        "..\\outside.txt",
        f"{above}/outside.txt",
        f"{above}/root-other/a.txt",
        f"{root}/../outside.txt",
        "/etc/passwd",
        "/proc/self/environ",
        "/dev/zero",
        "to-outside",
        "to-above/outside.txt",
        "hard.txt",
        "pipe",
        "in",
        ".",
        ".env",
        "id_rsa",
        "server.pem",
        ".git-credentials",
        "token.txt",
        "split.txt",
        "~/.ssh/id_rsa",
        "report.txt\x00.png",
        "%2e%2e/outside.txt",
    ]


ADDRESSES = [
    "http://169.254.169.254/latest/meta-data/",
    "https://evil.example/x",
    "file:///etc/passwd",
    "file:report.txt",
    "data:text/plain,hello",
    "ftp://evil.example/x",
    "\\\\evil.example\\share",
    "kept:",
    "kept:../outside.txt",
    "kept:AAAAAAAAAAAAAAAAAAAAAA",
    "kept:AAAAAAAAAAAAAAAAAAAAAA/2",
    "KEPT:AAAAAAAAAAAAAAAAAAAAAA",
    "report://2026/1",
]


@pytest.mark.variants(37)
def test_l06_no_file_is_sent_that_was_not_named(root: Path):
    references = [*outside(root), *ADDRESSES]
    for one in references:
        tried(one.replace(str(root.parent), ""))
    texts, asked = answers([root], references)
    assert asked == []
    assert all("[TT" in text for text in texts)
    assert not [text for text in texts if "of the operator" in text or TOKEN in text]
    texts, asked = answers([], [*references, "report.txt"])  # without a folder of the operator, no path is opened
    assert asked == []
    assert all("[TT" in text for text in texts)


def test_l06_twin_a_file_of_a_folder_of_the_operator_is_sent(root: Path):
    texts, asked = answers([root], ["report.txt", "résumé 1.txt", f"{root}/report.txt", "./report.txt"])
    assert [text for text in texts if not text.startswith("Done")] == []
    assert [one.body for one in asked[::3]] == [b"the token is not here", b"mine", *[b"the token is not here"] * 2]
