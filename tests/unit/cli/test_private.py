"""The files tools cannot reach the private files of a server: its shared state and its keys."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tooltrue import Client
from tooltrue.cli.families import FamilyOptions
from tooltrue.cli.targets import Spec, files_of, load_server

PRIVATE = ("shared.db", "shared.db-wal", "callers.txt", "sealing.txt", "agreed.db")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    for name in (*PRIVATE, "notes.txt"):
        (root / name).write_text("of the server")
    (root / "link").symlink_to(root / "sealing.txt")
    monkeypatch.setenv("TOOLTRUE_APPROVALS", f"sqlite://{root}/agreed.db")
    return root


def codes(root: Path, *paths: str, **arguments: Any) -> list[str]:
    """For each path, the code of the refusal to read and to write it; empty if the call is allowed."""
    keys = [str(root / "callers.txt"), os.path.relpath(root / "sealing.txt")]
    withheld = [*keys, *files_of(f"sqlite://{root}/shared.db")]
    spec = Spec.of("files", FamilyOptions({"--root": (str(root),)}), confirm=False, withheld=withheld)
    found: list[str] = []

    async def once() -> None:
        async with Client(load_server(spec)) as client:
            for path in paths:
                for tool, more in (("read_file", {}), ("write_file", {"content": "x"})):
                    result = await client.call_tool(tool, {"path": path, **more})
                    found.append(result.text.rsplit("[", 1)[1].rstrip("]") if result.is_error else "")

    asyncio.run(once())
    return found


@pytest.mark.attack("B25", "D17")
@pytest.mark.parametrize("name", PRIVATE)
def test_b25_no_file_of_the_server_is_read_or_written_in_any_spelling(root: Path, name: str):
    spellings = (name, f"./{name}", f"sub/../{name}", name.upper(), f"{root}/{name}")
    assert "" not in codes(root, *spellings)
    assert (root / name).read_text() == "of the server"


@pytest.mark.attack("B25", "D17")
def test_b25_a_link_to_a_key_leads_nowhere(root: Path):
    assert "" not in codes(root, "link")
    assert (root / "sealing.txt").read_text() == "of the server"


@pytest.mark.twin("B25", "D17")
def test_b25_twin_other_files_beside_them_are_read(root: Path):
    assert codes(root, "notes.txt")[0] == ""
    assert codes(root, "shared.txt")[1] == ""
