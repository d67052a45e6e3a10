"""Builds the static site, `site/`, from the pages in `docs/`: `make site`.

Zensical makes it: the successor of Material for MkDocs, by the same authors, who ended the support of the latter in
November 2026. The navigation is the list of `docs/README.md`. A link that leaves `docs/` leads to a copy of its file,
as a page, since the repository is not a part of the site. A broken link or anchor, and an address of a script, a style
or a font elsewhere, end the build with exit code 1.
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = ["external_assets", "navigation", "stage"]

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WORK = ROOT / ".site"
SITE = ROOT / "site"

ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\)", re.MULTILINE)
LINK = re.compile(r"(\]\()((?:\.\./)*[\w./-]+)((?:#[\w-]*)?\))")
ROW = re.compile(r"^\|.*$", re.MULTILINE)
CODE = re.compile(r"`[^`\n]+`")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
ELSEWHERE = "repository"
"""The folder of the site with copies of files that are not in `docs/`."""


def navigation() -> dict[str, dict[str, str]]:
    """Section → title → page, as `docs/README.md` lists them."""
    _, *sections = re.split(r"^## ", (DOCS / "README.md").read_text("utf-8"), flags=re.MULTILINE)
    return {section.partition("\n")[0]: dict(ENTRY.findall(section)) for section in sections}


def stage(target: Path) -> None:
    """Write the pages to `target`, and the files beyond `docs/` that they link to, as pages."""
    waiting = [path for path in sorted(DOCS.rglob("*")) if path.suffix in (".md", ".png", ".svg")]
    staged: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in staged:
            continue
        staged.add(path)
        place = target / _place(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            text, linked = _with_links(path)
            waiting += linked
            place.write_text(text, "utf-8")
        elif path.suffix in (".png", ".svg"):
            shutil.copyfile(path, place)
        else:
            name = path.relative_to(ROOT).as_posix()
            place.write_text(f"# {name}\n\n```{_language(path)}\n{path.read_text('utf-8')}```\n", "utf-8")


def _place(path: Path) -> Path:
    """The place of a file of the repository among the staged pages."""
    if path.is_relative_to(DOCS):
        return path.relative_to(DOCS)
    own = path.relative_to(ROOT)
    return ELSEWHERE / (own if own.suffix == ".md" else own.with_name(f"{own.name}.md"))


def _language(path: Path) -> str:
    return {".py": "py", ".toml": "toml", ".json": "json"}.get(path.suffix, "text")


def _with_links(page: Path) -> tuple[str, list[Path]]:
    """The page with its links to files as places on the site, and these files."""
    linked: list[Path] = []

    def led(found: re.Match[str]) -> str:
        target = (page.parent / found[2]).resolve()
        if not target.is_file():
            target = next(iter(sorted(target.glob("README.md"))), target)
        if not target.is_file():
            return found[0]  # Zensical reports it
        linked.append(target)
        up = "../" * (len(_place(page).parts) - 1)
        return f"{found[1]}{up}{_place(target).as_posix()}{found[3]}"

    parts = FENCE.split(page.read_text("utf-8"))
    texts = [part if number % 2 else _with_pipes(LINK.sub(led, part)) for number, part in enumerate(parts)]
    return "".join(texts), linked


def _with_pipes(text: str) -> str:
    """Rows of tables as Python-Markdown reads them: a pipe within code has no backslash, in contrast to GitHub."""
    return ROW.sub(lambda row: CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text)


CONFIGURATION = """\
[project]
site_name = "tooltrue"
site_description = "The tool layer of the Model Context Protocol for Python"
docs_dir = "docs"
site_dir = "built"
nav = {nav}

[project.theme]
language = "en"
font = false
features = ["content.code.copy", "navigation.indexes", "navigation.path", "navigation.sections", "navigation.top",
    "navigation.tracking", "search.highlight", "toc.follow"]

[[project.theme.palette]]
media = "(prefers-color-scheme: light)"
scheme = "default"
toggle.icon = "lucide/sun"
toggle.name = "Dark mode"

[[project.theme.palette]]
media = "(prefers-color-scheme: dark)"
scheme = "slate"
toggle.icon = "lucide/moon"
toggle.name = "Light mode"

[project.markdown_extensions]
attr_list = {{}}
md_in_html = {{}}
tables = {{}}
sane_lists = {{}}
toc.permalink = true
toc.slugify = {{ object = "pymdownx.slugs.slugify", kwds = {{ case = "lower" }} }}
pymdownx.highlight.pygments_lang_class = true
pymdownx.superfences = {{}}
"""


def configuration() -> str:
    """The settings of Zensical, with the navigation."""
    sections = (_entry(section, ", ".join(_titles(pages))) for section, pages in navigation().items())
    return CONFIGURATION.format(nav=f"[{', '.join(sections)}]")


def _entry(section: str, pages: str) -> str:
    return f"{{ {json.dumps(section)} = [{pages}] }}"


def _titles(pages: Mapping[str, str]) -> Iterator[str]:
    for title, page in pages.items():
        yield f"{{ {json.dumps(title)} = {json.dumps(page)} }}"


# --- what a built page may load ---------------------------------------------------------------------------------------

TAG = re.compile(r"<(script|link|img|iframe|source|video|audio)\b([^>]*)>", re.IGNORECASE)
ADDRESS = re.compile(r"""\b(?:src|href|srcset)\s*=\s*["']?((?:https?:)?//[^\s"'>]+)""", re.IGNORECASE)
STYLE = re.compile(r"""(?:@import\s+|url\()\s*["']?((?:https?:)?//[^\s"')]+)""", re.IGNORECASE)


def external_assets(site: Path) -> Iterator[str]:
    """The addresses of other sites that a page or a style loads: scripts, styles, fonts, pictures."""
    for path in sorted(site.rglob("*")):
        if path.suffix not in (".html", ".css", ".svg"):
            continue
        text = path.read_text("utf-8")
        found = STYLE.findall(text)
        found += [address for _, attributes in TAG.findall(text) for address in ADDRESS.findall(attributes)]
        yield from (f"{path.relative_to(site)}: {address}" for address in found)


def main() -> int:
    shutil.rmtree(WORK / "docs", ignore_errors=True)
    stage(WORK / "docs")
    (WORK / "zensical.toml").write_text(configuration(), "utf-8")
    command = [Path(sys.executable).with_name("zensical"), "build", "--clean", "--strict"]
    if subprocess.run(command, cwd=WORK, check=False).returncode:
        return 1
    if found := [*external_assets(WORK / "built")]:
        print("loaded from elsewhere:", *found, sep="\n  ", file=sys.stderr)
        return 1
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.move(WORK / "built", SITE)
    print(f"{sum(1 for _ in SITE.rglob('*.html'))} pages in {SITE.relative_to(ROOT)}/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
