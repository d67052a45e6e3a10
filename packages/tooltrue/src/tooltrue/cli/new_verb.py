"""``tooltrue new``: a project with a server, its tests, and the file of its contract."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import secrets
import shutil
from collections.abc import Generator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from tooltrue.cli.language import current_language
from tooltrue.cli.live_contract import fetch_lock
from tooltrue.cli.printing import tell
from tooltrue.cli.targets import Spec, load_server
from tooltrue.cli.usage import Verb
from tooltrue.cli.wording import (
    HINT_NEXT_STEPS,
    PROJECT_FOLDER_NOT_EMPTY,
    PROJECT_FOLDER_NOT_WRITABLE,
    PROJECT_NAME_INVALID,
    PROJECT_NAME_OF_MODULE,
)
from tooltrue.contract import lock as locks
from tooltrue.errors import ConfigurationError
from tooltrue.version import PUBLISHED
from tooltrue.wording import sentence

__all__ = ["command", "project_files"]

_FILES: Final[Mapping[str, str]] = {
    "project_name.py": "server.py",
    "tests/test_project_name.py": "test_server.py",
    "pyproject.toml": "pyproject.toml",
    ".github/workflows/ci.yml": "ci.yml",
    ".gitignore": "gitignore",
}
"""Files of a project → their templates in the folder ``project``. README.md has one per language."""

_INSTALL = re.compile(r"^@@ unpublished\n(.*?)^@@ published\n(.*?)^@@ end\n", re.MULTILINE | re.DOTALL)
"""Lines of a template that say how tooltrue is installed: before it can be had from an index, and from then on."""

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_MOST = 64


@click.command("new", cls=Verb, example="tooltrue new weather", short_help="Make a project for a server.")
@click.argument("name")
def command(name: str) -> None:
    """Make a project in the new folder NAME: a server, its tests, pyproject.toml, a CI file and tooltrue.lock.

    The last part of NAME, a path, becomes the name of the server. The folder is made whole, or not at all.
    """
    folder = Path(name)
    _check(folder)
    module = folder.name.replace("-", "_")
    try:
        with _draft(folder) as draft:
            _write(draft, folder.name, module, current_language())
            _move(draft, folder)
    except OSError as error:
        raise ConfigurationError.of(PROJECT_FOLDER_NOT_WRITABLE, folder=name, problem=error.strerror) from None
    facts = {"name": folder.name, "folder": name, "file": f"{module}.py"}
    tell(sentence(HINT_NEXT_STEPS, current_language(), facts))


@contextlib.contextmanager
def _draft(folder: Path) -> Generator[Path]:
    """A new folder beside ``folder``, which is deleted at the end unless it was moved."""
    draft = folder.with_name(f".{folder.name}-{secrets.token_hex(8)}")
    draft.mkdir()
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _move(draft: Path, folder: Path) -> None:
    """Replace an empty folder. ``ConfigurationError`` for one that was filled meanwhile, or a file."""
    try:
        try:
            os.rename(draft, folder)
        except FileExistsError:  # Windows replaces no folder, not even an empty one
            folder.rmdir()
            os.rename(draft, folder)
    except (FileExistsError, NotADirectoryError):
        raise ConfigurationError.of(PROJECT_FOLDER_NOT_EMPTY, folder=str(folder)) from None
    except OSError as error:
        if error.errno != errno.ENOTEMPTY:
            raise
        raise ConfigurationError.of(PROJECT_FOLDER_NOT_EMPTY, folder=str(folder)) from None


def _check(folder: Path) -> None:
    """``ConfigurationError`` unless a project can have this name, and its folder is free."""
    if not _NAME.fullmatch(folder.name) or len(folder.name) > _MOST:
        raise ConfigurationError.of(PROJECT_NAME_INVALID, name=str(folder))
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise ConfigurationError.of(PROJECT_FOLDER_NOT_EMPTY, folder=str(folder))
    module = folder.name.replace("-", "_")
    spec = None if folder.exists() else find_spec(module)
    if spec is not None:
        raise ConfigurationError.of(PROJECT_NAME_OF_MODULE, name=folder.name, module=module)


def project_files(name: str, language: str, published: bool = PUBLISHED) -> dict[str, str]:
    """Path → text of each file of a new project, but for its lock file. ``published``: its pages and its pipeline
    install tooltrue from an index."""
    readme = "README.zh.md" if language == "zh" else "README.md"
    module = name.replace("-", "_")
    return {
        path.replace("project_name", module): _text(template, name, module, published)
        for path, template in (*_FILES.items(), ("README.md", readme))
    }


def _write(folder: Path, name: str, module: str, language: str) -> None:
    texts = project_files(name, language)
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8", newline="\n")
    server = load_server(Spec(str(folder / f"{module}.py")), texts[f"{module}.py"])  # leaves no compiled file behind
    locks.write(folder / "tooltrue.lock", asyncio.run(fetch_lock(server, timeout=30.0)))


def _text(template: str, name: str, module: str, published: bool) -> str:
    text = (Path(__file__).with_name("project") / f"{template}.template").read_text("utf-8")
    return (
        _INSTALL.sub(r"\2" if published else r"\1", text).replace("project-name", name).replace("project_name", module)
    )
