"""The pages for contributors: each module or its folder has its place in the tour, and no path is stale."""

from __future__ import annotations

import re
from pathlib import Path

from support.sources import FILES, ROOT, SOURCES

PAGES = sorted((ROOT / "docs" / "contributing").glob("*.md"))
QUOTED = re.compile(r"`([^`\n]+)`")
TREE = re.compile(r"```text\n(.*?)```", re.DOTALL)


def names(page: Path) -> set[str]:
    """The words in code quotes, without a final slash or the name of a function after a colon."""
    text = page.read_text("utf-8")
    quoted = {word.rstrip("/").partition(":")[0] for word in QUOTED.findall(text)}
    return quoted | {word for tree in TREE.findall(text) for word in tree.split()}


def modules() -> list[str]:
    return [name for name in FILES if not name.endswith(("__init__.py", "__main__.py"))]


def is_named(module: str, named: set[str]) -> bool:
    """Whether the tour names the module, or the folder that holds it."""
    path = Path(module)
    own = {module, module.removesuffix(".py"), path.name, path.parent.as_posix()}
    return not named.isdisjoint(own)


def test_the_tour_names_every_module_or_its_folder():
    named = names(ROOT / "docs" / "contributing" / "tour.md")
    assert len(modules()) > 400
    assert [module for module in modules() if not is_named(module, named)] == []


ROOTS = (*SOURCES, *(source.parent for source in SOURCES), ROOT)


MADE = ("dist/",)
"""Folders that a command of ours makes, and git does not track."""


def test_every_path_on_a_page_for_contributors_exists():
    everything = {path.name for source in SOURCES for path in source.rglob("*")}
    gone = [
        (page.name, name)
        for page in PAGES
        for name in sorted(names(page))
        if re.fullmatch(r"[\w./-]+", name) and "NAME" not in name
        if (name.endswith((".py", ".md", ".toml")) or "/" in name) and not name.startswith(MADE)
        if not any((root / name).exists() for root in (*ROOTS, page.parent)) and name not in everything
    ]
    assert gone == []
