"""The toolbox follows our own rules for tools: ``tooltrue check`` has no findings for it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tooltrue_toolbox as toolbox
from support.sources import codes_in
from support.toolbox.commands import python
from tooltrue.cli.families import FamilyOptions, families_of
from tooltrue.cli.plugins import FAMILIES, names_of
from tooltrue.wording import SENTENCES, load_catalogues
from tooltrue_check.cli.check_sources import sources_of
from tooltrue_check.report import judge
from tooltrue_check.source import ToolSource

load_catalogues()

SETTINGS = {
    "command": {"--commands": "commands.toml", "--confinement": "available"},
    "github": {"--repo": "example/tea"},
    "language": {"--translate-url": "http://127.0.0.1:9"},
    "mail": {"--smtp": "smtp://127.0.0.1:9", "--mail-from": "ann@example.com", "--mail-to": "@example.com"},
    "settings": {"--store": "store.db"},
    "sql": {"--database": "sqlite:///shop.db", "--access": "write"},
}


KNOWN = """
add_log analyze_csv calculate_sum create_issue create_record database_query delete_file execute_command file_write
get_weather github_create_issue list_dir list_directory list_repos read_file run_sql_query search_files search_github
search_products send_email set_config translate update_record upsert_record write_file
"""
"""What tools are called in the texts from which people learn about them."""

PAGES = Path(__file__).parents[3] / "docs" / "toolbox"

TOOLBOX = [name for name in names_of(FAMILIES) if name != "openapi"]
"""The families whose tools we wrote; those of openapi are written by whoever describes an API."""


def listed(families: str, folder: Path, monkeypatch: pytest.MonkeyPatch, access: str | None = None) -> list[ToolSource]:
    """The listed tools of these families, set up in an empty folder."""
    monkeypatch.chdir(folder)
    (folder / "served").mkdir()
    (folder / "commands.toml").write_text(python("status", "print('ready')"), "utf-8")
    with closing(sqlite3.connect("shop.db")) as database:
        database.execute("CREATE TABLE tea (name TEXT)")
    said: dict[str, tuple[str, ...]] = {}
    for family in families.split(","):
        rooted = {"--root": "served"} if "--root" in {one.name for one in families_of(family)[family].options} else {}
        said |= {option: (value,) for option, value in {**rooted, **SETTINGS.get(family, {})}.items()}
    if access is not None:
        said["--access"] = (access,)
    sources, unjudged = sources_of([families], FamilyOptions(said), timeout=30.0)
    assert not unjudged
    return list(sources)


@pytest.mark.parametrize("families", [*sorted(TOOLBOX), ",".join(TOOLBOX)])
def test_check_finds_nothing(families: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    report = judge(listed(families, tmp_path, monkeypatch))
    assert [(one.tool, one.code, one.say()) for one in report.findings] == []
    assert not report.notes


def test_each_tool_has_a_title_examples_hints_and_a_schema_of_its_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    [source] = listed(",".join(TOOLBOX), tmp_path, monkeypatch)
    tools: Mapping[str, Any] = source.contract.tools
    for name, tool in tools.items():
        hints = tool["annotations"]
        assert tool["title"], name
        assert {"readOnlyHint", "openWorldHint"} <= hints.keys(), name
        assert hints["readOnlyHint"] or {"destructiveHint", "idempotentHint"} <= hints.keys(), name
        assert tool["inputSchema"]["examples"], name
        assert tool["outputSchema"]["type"] == "object", name
        assert re.search(r"[\u4e00-\u9fff]", tool["description"]), name


SHOWN = {"files": 8_140, "tables": 5_302}
"""Characters of what a model reads of all tools of a family: their names, descriptions and input schemas."""


@pytest.mark.parametrize("family", SHOWN)
def test_the_tool_definitions_of_a_family_stay_below_their_size_limit(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    [source] = listed(family, tmp_path, monkeypatch)
    shown = [{key: tool[key] for key in ("description", "inputSchema")} for tool in source.contract.tools.values()]
    names = sum(map(len, source.contract.tools))
    assert (
        names + sum(len(json.dumps(each, ensure_ascii=False, separators=(",", ":"))) for each in shown) <= SHOWN[family]
    )


@pytest.mark.parametrize("name", KNOWN.split())
def test_a_name_that_people_know_leads_to_a_tool(name: str):
    rows = [line for page in PAGES.glob("*.md") for line in page.read_text("utf-8").splitlines() if line[:1] == "|"]
    assert any(f"`{name}`" in row for row in rows)


TOOLBOX_SOURCE = Path(toolbox.__file__).parent

# Sentences that only tools of families with write access say.
OF_WRITERS = {
    "files": {"text_edits.py", "file_writer.py", "entry_changes.py"},
    "sql": {"TT6230", "TT6237"},
}


def modules_of(family: str) -> set[Path]:
    """The modules of the toolbox that a family is made of, imported or loaded by name."""
    found, waiting = set[Path](), [f"tooltrue_toolbox.{family}"]
    while waiting:
        path = TOOLBOX_SOURCE.parent.joinpath(*waiting.pop().split("."))
        for module in (path.with_suffix(".py"), *path.glob("*.py")):
            if module.exists() and module not in found:
                found.add(module)
                waiting += re.findall(r"\b(tooltrue_toolbox(?:\.\w+)+)", module.read_text())
    return found


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The names of all tools of all families."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        sources = listed(",".join(TOOLBOX), tmp_path_factory.mktemp("all"), monkeypatch)
    return {name for one in sources for name in one.contract.tools}


@pytest.mark.parametrize(
    ("family", "access"), [*((family, None) for family in sorted(TOOLBOX)), ("files", "read"), ("sql", "read")]
)
def test_an_error_names_no_tool_that_is_not_served(
    family: str, access: str | None, every: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    served = {name for one in listed(family, tmp_path, monkeypatch, access) for name in one.contract.tools}
    unsaid = OF_WRITERS[family] if access == "read" else set[str]()
    modules = {module for module in modules_of(family) if module.name not in unsaid}
    codes = (set[str]().union(*map(codes_in, modules)) - unsaid) & SENTENCES.keys()
    named = {code: every & set(re.findall(r"[a-z]+(?:_[a-z]+)+", " ".join(SENTENCES[code]))) for code in codes}
    assert {code: names - served for code, names in named.items() if names - served} == {}


def test_the_sources_of_a_tool_family_are_scanned_for_error_codes():
    assert {"rooted_paths.py", "text_edits.py", "re2.py", "encodings.py"} <= {one.name for one in modules_of("files")}
    assert {"rooted_paths.py", "layout.py", "decompression.py"} <= {one.name for one in modules_of("tables")}
    assert "rooted_paths.py" in {one.name for one in modules_of("command")}
    assert "TT6048" in codes_in(TOOLBOX_SOURCE / "files" / "text_edits.py")
