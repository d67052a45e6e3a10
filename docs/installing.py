"""Writes what pages say about installing: the tables of `installation.md`, from `uv.lock`, and the place that commands
install from, by `tooltrue.version.PUBLISHED`: a checkout or a folder of wheels, or the index by name.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache

from release.wheels_offered import PYTHONS, SYSTEMS, Package, compiled, extras, lacking, needed

__all__ = ["installation_page", "with_install"]

# --- the place to install from ----------------------------------------------------------------------------------------

CHECKOUT = """
```bash
pip install ./packages/tooltrue ./packages/tooltrue-toolbox ./packages/tooltrue-check
uv tool install './packages/tooltrue[all]'    # or the command alone, with everything
```
"""
INDEX = """
```bash
pip install tooltrue tooltrue-toolbox tooltrue-check
uv tool install 'tooltrue[all]'    # or the command alone, with everything
```
"""
PROJECT = """
```bash
pip install ./packages/tooltrue ./packages/tooltrue-toolbox ./packages/tooltrue-check
```
"""
WHEELS = """
```bash
pip install --no-index --find-links dist/wheelhouse tooltrue tooltrue-toolbox tooltrue-check
```
"""
BY_NAME = """
```bash
pip install tooltrue tooltrue-toolbox tooltrue-check
```
"""
TEXTS: dict[str, tuple[str, str]] = {
    "readme": (
        f"From a checkout ([installation](docs/installation.md) has folders of wheels, pipx and uvx):\n{CHECKOUT}",
        f"From the index ([installation](docs/installation.md) has folders of wheels, pipx and uvx):\n{INDEX}",
    ),
    "readme-zh": (
        f"从代码仓库安装（[安装说明](docs/installation.md)介绍 wheel 文件夹、pipx 和 uvx）：\n{CHECKOUT}",
        f"从软件包索引安装（[安装说明](docs/installation.md)介绍 wheel 文件夹、pipx 和 uvx）：\n{INDEX}",
    ),
    "quickstart": (
        f"tooltrue needs Python 3.11 or newer. Install it from a checkout, into the environment of your project:\n"
        f"{PROJECT}\n"
        f"From a folder of wheels, as `make wheelhouse` fills it ([installation](installation.md)):\n{WHEELS}",
        f"tooltrue needs Python 3.11 or newer. Install it into the environment of your project:\n{BY_NAME}\n"
        f"From a folder of wheels, as `make wheelhouse` fills it ([installation](installation.md)):\n{WHEELS}",
    ),
    "quickstart-zh": (
        f"tooltrue 需要 Python 3.11 或更高版本。从代码仓库安装到您的项目环境中：\n{PROJECT}\n"
        f"也可以从 `make wheelhouse` 准备好的 wheel 文件夹安装（[安装说明](../installation.md)，英文）：\n{WHEELS}",
        f"tooltrue 需要 Python 3.11 或更高版本。安装到您的项目环境中：\n{BY_NAME}\n"
        f"也可以从 `make wheelhouse` 准备好的 wheel 文件夹安装（[安装说明](../installation.md)，英文）：\n{WHEELS}",
    ),
    "index": (
        "The distributions are not on a package index yet. Do not install them by name from one: an index may hold\n"
        "another project of the same name. `--no-index` below keeps an installer from asking an index.\n",
        "The distributions are on the package index: `pip install tooltrue`, `pipx install tooltrue`,\n"
        "`uv tool install tooltrue` and `uvx tooltrue` find them by name, and need no folder of wheels.\n",
    ),
}
"""Mark of a page → its text before the distributions are published, and from then on."""

MARKED = re.compile(r"(<!-- install: ([\w-]+) -->\n).*?(<!-- end of install -->)", re.DOTALL)
COMMAND = re.compile(r"(\b(?:pip|uv tool) install )('?)(?:\./packages/)?(tooltrue[\w-]*\[)")


def with_install(text: str, published: bool) -> str:
    """The page is written by hand, but for the texts between its marks, and the place of an extra in a command."""
    text = COMMAND.sub(rf"\1\2{'' if published else './packages/'}\3", text)
    return MARKED.sub(lambda found: f"{found[1]}\n{TEXTS[found[2]][published]}\n{found[3]}", text)


# --- the tables of installation.md ------------------------------------------------------------------------------------

TABLES = re.compile(r"(<!-- wheels: (\w+) -->\n).*?(<!-- end of wheels -->)", re.DOTALL)


def installation_page(text: str) -> str:
    """The page is written by hand, but for the tables between their marks."""
    tables = {"systems": _systems, "packages": _packages}
    return TABLES.sub(lambda found: f"{found[1]}\n{tables[found[2]]()}\n{found[3]}", text)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _systems() -> str:
    return _table(
        ["Python", *SYSTEMS], ([python, *(_complete(system, python) for system in SYSTEMS)] for python in PYTHONS)
    )


def _complete(system: str, python: str) -> str:
    """The packages that can be installed from wheels alone."""
    if lacking(system, python, needed(system, python)):
        return "builds " + ", ".join(f"`{name}`" for name in lacking(system, python, needed(system, python)))
    missing = lacking(system, python, needed(system, python, ("all",)))
    return f"core; {len(missing)} of `[all]` build" if missing else "core, `[all]`"


def _packages() -> str:
    rows = ([f"`{name}`", _needed_by(name), *(_offered(name, system) for system in SYSTEMS)] for name in _compiled())
    return _table(["package", "needed by", *SYSTEMS], rows)


@cache
def _of(system: str, python: str, asked: tuple[str, ...]) -> dict[str, Package]:
    return {package["name"]: package for package in needed(system, python, asked)}


def _compiled() -> list[str]:
    """The packages whose wheels are made for one system, on any of the systems and Pythons."""
    every = (package for system in SYSTEMS for python in PYTHONS for package in _of(system, python, ("all",)).values())
    return sorted({package["name"] for package in every if compiled(package)})


def _needed_by(name: str) -> str:
    def by(*asked: str) -> bool:
        return any(name in _of(system, python, asked) for system in SYSTEMS for python in PYTHONS)

    return "core" if by() else ", ".join(f"`{extra}`" for extra in extras() if extra != "all" and by(extra))


def _offered(name: str, system: str) -> str:
    """The Pythons for which there is a wheel; a hyphen where the package is not needed."""
    asked = [python for python in PYTHONS if name in _of(system, python, ("all",))]
    offered = [python for python in asked if not lacking(system, python, [_of(system, python, ("all",))[name]])]
    if not asked:
        return "-"
    if offered == list(PYTHONS):
        return "all"
    return ", ".join(offered) or "none"
