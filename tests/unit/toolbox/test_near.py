"""Error texts for missing paths: similar names, in every family, and no tool that the family lacks."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from support.sources import codes_in
from tooltrue import Client, Server
from tooltrue.wording import SENTENCES, load_catalogues
from tooltrue_toolbox import rooted_paths as confined
from tooltrue_toolbox.files import toolset as files
from tooltrue_toolbox.tables import layout
from tooltrue_toolbox.tables.table_tools import toolset as tables

load_catalogues()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "served"
    (folder / "data").mkdir(parents=True)
    for name in ("README.md", "sales.csv", ".env", ".git-credentials", "id_rsa", "data/sales.csv", "data/.mcp.json"):
        (folder / name).write_text("a,b\n1,2\n")
    return folder


def text_of(toolset: Any, tool: str, **arguments: Any) -> str:
    async def once() -> str:
        async with Client(Server("near", toolsets=[toolset], audit=False)) as client:
            return (await client.call_tool(tool, arguments)).text

    return asyncio.run(once())


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("README.MDX", "In '.', nearest first: 'README.md', 'data/', 'sales.csv'."),
        ("Sale.CSV", "In '.', nearest first: 'sales.csv', 'README.md', 'data/'."),
        ("data/sale.csv", "In 'data', nearest first: 'sales.csv'."),
        ("no/such/sales.csv", "In '.', nearest first: 'README.md', 'data/', 'sales.csv'."),
        ("~/sales.csv", "In '.', nearest first: 'README.md', 'data/', 'sales.csv'."),
        ("data", "In it: 'sales.csv'."),
        (".", "In it: 'README.md', 'data/', 'sales.csv'."),
        ("/home/ann/sales.csv", "Nearest: 'sales.csv', 'README.md', 'data/'."),
    ],
)
def test_each_file_family_suggests_similar_paths(root: Path, path: str, near: str) -> None:
    for text in (
        text_of(files([root]), "read_file", path=path),
        text_of(tables([root]), "describe_csv", path=path),
    ):
        assert near in text, text
        assert "list_directory" not in text


@pytest.mark.parametrize("path", [".en", "id_rs", ".git-credential", "data/.mcp.jso", "ENV", "x/.env.", "..env"])
def test_closed_names_are_not_told(root: Path, path: str) -> None:
    text = text_of(files([root]), "read_file", path=path)
    assert not re.search(r"'(?:\.env|id_rsa|\.git-credentials|\.mcp\.json)'", text), text


def test_of_several_folders_the_names_are_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    served = tables([root, tmp_path / "other"])
    assert "In it: 'other/', 'served/'." in text_of(served, "describe_csv", path=".")
    assert "In 'served/data', nearest first: 'sales.csv'" in text_of(served, "describe_csv", path="served/data/x.csv")
    assert "In 'other', nearest first: (none)." in text_of(served, "describe_csv", path="other/x.csv")


def test_a_few_of_many_names_are_told(root: Path) -> None:
    for n in range(50):
        (root / "data" / f"part-{n:02}.csv").touch()
    text = text_of(tables([root]), "describe_csv", path="data/sales.cvs")
    assert text.startswith("'data/sales.cvs' does not exist. In 'data', nearest first: 'sales.csv', 'part-00.csv', ")
    assert text.count("part-") == 9
    assert "'part-08.csv', …." in text


def test_sentences_about_paths_name_no_tool(tmp_path: Path) -> None:
    names = set(files([tmp_path]).names)
    codes = sorted(codes_in(Path(confined.__file__ or "")))
    words = {code: set(re.findall(r"[a-z_]+", " ".join(SENTENCES[code]))) for code in codes}
    assert len(codes) > 10
    assert {code: names & found for code, found in words.items() if names & found} == {}


def test_sentences_about_tables_name_tools_of_tables_alone() -> None:
    modules = Path(layout.__file__ or "").parent.glob("*.py")
    codes = sorted({code for module in modules for code in codes_in(module)})
    assert len(codes) > 30
    for code in codes:
        words = set(re.findall(r"[a-z]+(?:_[a-z]+)+", " ".join(SENTENCES[code])))
        assert words <= {"analyze_csv", "chart_csv", "describe_csv", "query_csv", *FIELDS}, code


FIELDS = {"read_as", "next_start_column", "next_start_group", "start_column", "start_group"}
