"""The static site: its navigation has every page, its pages stay on the site, and it loads no file from elsewhere.

`make site` builds it, a stage of `.ci/run`; Zensical finds broken links and anchors there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.append(str(DOCS))

import build_site  # noqa: E402 - found by the line above


def test_the_navigation_has_each_page_once():
    listed = [page for pages in build_site.navigation().values() for page in pages.values()]
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    rules = {page for page in pages if page.startswith("rules/")} - {"rules/README.md"}
    assert sorted(listed) == sorted(pages - rules - {"README.md"})


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the staged pages."""
    folder = tmp_path_factory.mktemp("site")
    build_site.stage(folder)
    return folder


def test_no_staged_page_links_to_a_file_beyond_the_site(staged: Path):
    links = [
        (page, target)
        for page in staged.rglob("*.md")
        for _, target, _ in build_site.LINK.findall("".join(build_site.FENCE.split(page.read_text("utf-8"))[::2]))
    ]
    assert len(links) > 500
    assert [(page.name, target) for page, target in links if not (page.parent / target).is_file()] == []


def test_a_file_of_the_repository_that_a_page_links_to_is_a_page_of_the_site(staged: Path):
    shown = (staged / "repository/examples/tutorial/library.py.md").read_text("utf-8")
    assert f"```py\n{(ROOT / 'examples/tutorial/library.py').read_text('utf-8')}```" in shown


def test_a_pipe_within_code_in_a_table_has_no_backslash(staged: Path):
    assert "| `title` | `str | None` |" in (staged / "reference" / "server.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<script src="https://cdn.example.com/a.js"></script>'),
        ("a.html", '<link rel="stylesheet" href=//fonts.example.com/css?family=A>'),
        ("a.html", '<p><img alt="" src="http://example.com/a.png"></p>'),
        ("a.css", '@import "https://fonts.example.com/a.css";'),
        ("a.css", "@font-face { src: url(https://fonts.example.com/a.woff2) }"),
    ],
)
def test_a_file_from_elsewhere_fails_the_build(name: str, text: str, tmp_path: Path):
    (tmp_path / name).write_text(text)
    assert len([*build_site.external_assets(tmp_path)]) == 1


def test_a_link_that_a_reader_follows_and_a_file_of_the_site_are_allowed(tmp_path: Path):
    (tmp_path / "a.html").write_text('<script src="./a.js"></script><a href="https://example.com">elsewhere</a>')
    assert [*build_site.external_assets(tmp_path)] == []


def test_no_page_has_a_diagram_that_a_browser_would_draw_with_a_script_from_elsewhere():
    assert [page.name for page in DOCS.rglob("*.md") if re.search(r"^```mermaid", page.read_text("utf-8"), re.M)] == []
