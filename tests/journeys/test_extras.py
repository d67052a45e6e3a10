"""The errors of a missing extra: its name, the command that adds it to this installation, and no crash."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

import tooltrue
import tooltrue_check.version
import tooltrue_console.version
import tooltrue_toolbox.version
from tooltrue.cli.plugins import FAMILIES, names_of
from tooltrue.extras import command_beside, command_for, install_command
from tooltrue.version import PUBLISHED

PACKAGES = Path(__file__).parents[2] / "packages"
TOOLBOX = "tooltrue-toolbox"

# These name no command: it would tell the model of a remote caller a path of the server's machine.
FOR_A_MODEL = ("TT6064", "TT6302")

MAIL = ("--smtp", "smtp://localhost", "--mail-from", "bot@acme.example", "--mail-to", "@acme.example")

BY_NAME = re.compile(r"(?:(?:\b(?:pip|uv|pipx)[a-z ]* install|pipx run)|uvx) (?:-\S+ )*['\"]?tooltrue", re.IGNORECASE)

# Missing packages, the command, its exit code, the code of its error, and the extra that installs the packages.
MISSING: tuple[tuple[tuple[str, ...], tuple[str, ...], int, str, str], ...] = (
    (("aiosmtplib",), ("list", "mail", *MAIL), 2, "TT6700", "mail"),
    (("sqlglot",), ("list", "sql", "--database", "sqlite:shop.db"), 2, "TT6204", "sql"),
    (("duckdb",), ("list", "sql", "--database", "duckdb:shop.db"), 2, "TT6200", "sql"),
    (("psycopg",), ("list", "sql", "--database", "postgresql://localhost/shop"), 2, "TT6200", "sql,postgres"),
    (("pymysql",), ("list", "sql", "--database", "mysql://localhost/shop"), 2, "TT6200", "sql,mysql"),
    (("duckdb",), ("list", "tables", "--root", "."), 2, "TT6301", "data"),
    (("matplotlib",), ("call", "tables", "chart_csv", "path=a.csv", "by=city", "--root", "."), 1, "TT6302", "charts"),
    (("openpyxl",), ("call", "tables", "describe_csv", "path=a.xlsx", "--root", "."), 1, "TT6302", "xlsx"),
    (("defusedxml",), ("call", "tables", "describe_csv", "path=a.xlsx", "--root", "."), 1, "TT6302", "xlsx"),
    (
        ("backports.zstd", "compression.zstd"),
        ("call", "tables", "describe_csv", "path=a.csv.zst", "--root", "."),
        1,
        "TT6302",
        "data",
    ),
    (("pypdf",), ("list", "web"), 2, "TT6400", "web"),
    (("html_to_markdown", "protego", "pypdf", "selectolax"), ("list", "web"), 2, "TT6400", "web"),
    (("re2",), ("call", "files", "search_files", "content=x", "regex=true", "--root", "."), 1, "TT6064", "files"),
)

# Loaded once, and forked for each command: a package missing in one command is available in the next.
COMMANDS = """
import json, os, sys
from tooltrue.cli import call_verb, list_verb, targets  # most of what they load is the same
from tooltrue.cli.main import main

for packages, words in json.loads(sys.argv[1]):
    if not os.fork():
        sys.modules.update(dict.fromkeys(packages))
        os.dup2(1, 2)
        sys.argv = ["tooltrue", *words]
        main()
    print("\\0", os.waitstatus_to_exitcode(os.wait()[1]), "\\0", sep="", end="", flush=True)
"""


@pytest.mark.process
def test_without_its_packages_a_tool_names_the_command_that_installs_them(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("city,price\nBern,1\n")
    (tmp_path / "a.csv.zst").write_bytes(bytes.fromhex("28b52ffd"))
    (tmp_path / "a.xlsx").write_bytes(b"PK\x03\x04 [Content_Types].xml")
    commands = json.dumps([case[:2] for case in MISSING])
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, commands], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    said = done.stdout.split("\0")
    for (packages, _, status, code, extra), words, ended in zip(MISSING, said[::2], said[1::2], strict=False):
        told = f"extra '{extra}'" if code in FOR_A_MODEL else f"Run: {install_command(extra, TOOLBOX)}"
        assert (int(ended), told in words, f"[{code}]" in words) == (status, True, True), (packages, words)
        assert "Traceback" not in words
    assert len(said) == 2 * len(MISSING) + 1, done.stderr


def test_each_family_is_an_extra_and_so_is_each_that_is_named() -> None:
    project = tomllib.loads((PACKAGES / TOOLBOX / "pyproject.toml").read_text("utf-8"))["project"]
    named = {extra for *_, extras in MISSING for extra in extras.split(",")}
    assert {*names_of(FAMILIES), *named} - {*project["optional-dependencies"]} == set()


def test_the_distributions_have_one_version_and_require_each_other_in_it() -> None:
    versions = {tooltrue.__version__, tooltrue_check.version.__version__, tooltrue_toolbox.version.__version__}
    versions.add(tooltrue_console.version.__version__)
    texts = [path.read_text("utf-8") for path in PACKAGES.glob("*/pyproject.toml")]
    required = {match for text in texts for match in re.findall(r'"tooltrue(?:-\w+)?(?:\[all\])?==([\d.]+)"', text)}
    assert (len(texts), required) == (4, versions)


FOLDER: dict[str, Any] = {"url": "file:///src/tool%20wright", "dir_info": {}}


@pytest.mark.parametrize(
    ("origin", "installer", "marker", "command"),
    [
        (FOLDER, "pip", "", "pip install '/src/tool wright[files]'"),
        (FOLDER | {"dir_info": {"editable": True}}, "uv", "", "uv pip install -e '/src/tool wright[files]'"),
        (FOLDER, "uv", "uv-receipt.toml", "uv tool install '/src/tool wright[files]'"),
        (FOLDER, "pip", "pipx_metadata.json", "pipx install --force '/src/tool wright[files]'"),
        (
            {"url": "https://x.example/r", "vcs_info": {"vcs": "git", "commit_id": "abc"}},
            "pip",
            "",
            "pip install 'tooltrue[files] @ git+https://x.example/r@abc'",
        ),
        (
            {"url": "https://x.example/t.whl", "archive_info": {}},
            "pip",
            "",
            "pip install 'tooltrue[files] @ https://x.example/t.whl'",
        ),
        (
            {"url": "https://x.example/r", "vcs_info": {"vcs": "git", "commit_id": "abc"}, "subdirectory": "a/b"},
            "pip",
            "",
            "pip install 'tooltrue[files] @ git+https://x.example/r@abc#subdirectory=a/b'",
        ),
        (None, "pip", "", "pip install --no-index --find-links WHEELS 'tooltrue[files]'"),
        (None, "uv", "", "uv pip install --no-index --find-links WHEELS 'tooltrue[files]'"),
        (None, "uv", "uv-receipt.toml", "uv tool install --no-index --find-links WHEELS 'tooltrue[files]'"),
        (
            None,
            "pip",
            "pipx_metadata.json",
            "pipx install --force --pip-args=\"--no-index --find-links WHEELS\" 'tooltrue[files]'",
        ),
    ],
)
def test_the_command_fits_how_this_copy_was_installed(
    tmp_path: Path, origin: dict[str, Any] | None, installer: str, marker: str, command: str
) -> None:
    if marker:
        (tmp_path / marker).touch()
    assert command_for("files", origin, installer, tmp_path, published=False) == command
    if origin is not None:  # a copy of a known origin stays one, wherever else it is offered
        assert command_for("files", origin, installer, tmp_path, published=True) == command


CORE: dict[str, Any] = {"url": "file:///src/packages/tooltrue", "dir_info": {}}
WHEEL: dict[str, Any] = {"url": "https://x.example/t.whl", "archive_info": {}}


@pytest.mark.parametrize(
    ("origin", "installer", "marker", "command"),
    [
        (CORE, "pip", "", "pip install /src/packages/tooltrue-check"),
        (CORE | {"dir_info": {"editable": True}}, "uv", "", "uv pip install -e /src/packages/tooltrue-check"),
        (
            CORE,
            "uv",
            "uv-receipt.toml",
            "uv tool install /src/packages/tooltrue --with /src/packages/tooltrue-check",
        ),
        (CORE, "pip", "pipx_metadata.json", "pipx inject tooltrue /src/packages/tooltrue-check"),
        (
            {"url": "https://x.example/r", "vcs_info": {"vcs": "git", "commit_id": "abc"}, "subdirectory": "a/b"},
            "pip",
            "",
            "pip install 'tooltrue-check @ git+https://x.example/r@abc#subdirectory=packages/tooltrue-check'",
        ),
        (WHEEL, "pip", "", "pip install --no-index --find-links WHEELS tooltrue-check"),
        (None, "pip", "", "pip install --no-index --find-links WHEELS tooltrue-check"),
        (
            None,
            "uv",
            "uv-receipt.toml",
            "uv tool install --no-index --find-links WHEELS tooltrue --with tooltrue-check",
        ),
        (
            None,
            "pip",
            "pipx_metadata.json",
            'pipx inject --pip-args="--no-index --find-links WHEELS" tooltrue tooltrue-check',
        ),
    ],
)
def test_the_command_for_another_distribution_takes_it_from_the_same_source(
    tmp_path: Path, origin: dict[str, Any] | None, installer: str, marker: str, command: str
) -> None:
    if marker:
        (tmp_path / marker).touch()
    assert command_beside("tooltrue-check", origin, installer, tmp_path, published=False) == command


@pytest.mark.parametrize(
    ("installer", "marker", "extra", "other"),
    [
        ("pip", "", "pip install 'tooltrue[files]'", "pip install tooltrue-check"),
        ("uv", "", "uv pip install 'tooltrue[files]'", "uv pip install tooltrue-check"),
        (
            "uv",
            "uv-receipt.toml",
            "uv tool install 'tooltrue[files]'",
            "uv tool install tooltrue --with tooltrue-check",
        ),
        (
            "pip",
            "pipx_metadata.json",
            "pipx install --force 'tooltrue[files]'",
            "pipx inject tooltrue tooltrue-check",
        ),
    ],
)
def test_once_it_is_published_a_copy_of_unknown_origin_is_completed_from_the_index(
    tmp_path: Path, installer: str, marker: str, extra: str, other: str
) -> None:
    if marker:
        (tmp_path / marker).touch()
    assert command_for("files", None, installer, tmp_path, published=True) == extra
    assert command_beside("tooltrue-check", None, installer, tmp_path, published=True) == other
    for command in (extra, other):
        assert BY_NAME.search(command) or "inject" in command


@pytest.mark.skipif(PUBLISHED, reason="the index offers the distributions")
def test_no_text_sends_a_reader_to_an_index_for_a_package_of_this_name() -> None:
    root = Path(__file__).parents[2]
    texts = [
        *root.glob("README*.md"),
        *root.glob("docs/**/*.md"),
        *root.glob("packages/**/*.py"),
        *root.glob("examples/**/*.py"),
    ]
    assert [str(path) for path in texts if BY_NAME.search(path.read_text("utf-8"))] == []
