"""The command that adds an extra, or a companion distribution, to this installation.

An installer records where a package came from (``direct_url.json``, PEP 610) and its own name (``INSTALLER``). The
command names that place. Where none is recorded, as for an installation by name, the command names a folder of wheels,
or the index once the distributions are there (``PUBLISHED``).
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tooltrue.version import PUBLISHED

__all__ = ["command_beside", "command_for", "companion_command", "install_command", "required"]

PROJECT = "tooltrue"
WHEELS = "WHEELS"
"""Placeholder in a command for the folder of wheels from which this copy was installed: no installer records it."""


@contextlib.contextmanager
def required(
    package: str, extra: str, fail: Callable[[str], Exception], distribution: str = PROJECT
) -> Generator[None]:
    """Import a module that needs ``package``. If that is missing, raise ``fail`` of the command that installs
    ``extra`` of ``distribution``; any other missing module is a fault of the installation, and its error passes."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise fail(install_command(extra, distribution)) from None


def install_command(extras: str, distribution: str = PROJECT) -> str:
    """Return the shell command that installs ``extras`` (names, separated by commas) where this process runs."""
    origin, installer = _record_of(distribution)
    return command_for(extras, origin, installer, Path(sys.prefix), distribution)


def companion_command(distribution: str) -> str:
    """Return the shell command that installs another distribution of this project, from the source of this one."""
    origin, installer = _record_of(PROJECT)
    return command_beside(distribution, origin, installer, Path(sys.prefix))


def command_beside(
    distribution: str, origin: Mapping[str, Any] | None, installer: str, prefix: Path, published: bool = PUBLISHED
) -> str:
    """Return the command that adds ``distribution`` to an installation of ``tooltrue`` from ``origin`` (PEP 610)."""
    beside, tool = _beside(origin, distribution), _tool(installer, prefix)
    place, other = _place(beside, tool, published), _argument("", beside, distribution)
    match tool:
        case "uv tool install":  # one environment for both
            return f"{tool} {place}{_argument('', origin, PROJECT)} --with {other}"
        case "pipx install --force":
            return f"pipx inject {place}{PROJECT} {other}"
        case _:
            return f"{tool} {place}{other}"


def _record_of(distribution: str) -> tuple[Mapping[str, Any] | None, str]:
    """The origin of an installed distribution (PEP 610), if it was recorded, and the installer."""
    from importlib import metadata  # noqa: PLC0415 - only an error needs it

    try:
        installed = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:  # run from its sources, without an installation
        return None, "pip"
    origin = installed.read_text("direct_url.json")
    return json.loads(origin) if origin else None, (installed.read_text("INSTALLER") or "pip").strip()


def _beside(origin: Mapping[str, Any] | None, distribution: str) -> Mapping[str, Any] | None:
    """The origin of a distribution in the repository from which ``tooltrue`` was installed. An archive has no other."""
    if origin is None or "archive_info" in origin:
        return None
    if "vcs_info" in origin:
        return {**origin, "subdirectory": f"packages/{distribution}"}
    return {**origin, "url": f"{str(origin['url']).rstrip('/').rpartition('/')[0]}/{distribution}"}


def command_for(
    extras: str,
    origin: Mapping[str, Any] | None,
    installer: str,
    prefix: Path,
    distribution: str = PROJECT,
    published: bool = PUBLISHED,
) -> str:
    """Return the command for an installation from ``origin`` (PEP 610) by ``installer`` into ``prefix``; ``extras`` may
    be empty."""
    tool = _tool(installer, prefix)
    return f"{tool} {_place(origin, tool, published)}{_argument(extras, origin, distribution)}"


def _place(origin: Mapping[str, Any] | None, tool: str, published: bool) -> str:
    """The options that name a folder of wheels for a requirement that names no place itself."""
    if origin is not None or published:
        return ""
    options = f"--no-index --find-links {WHEELS}"
    return f'--pip-args="{options}" ' if tool.startswith("pipx") else f"{options} "


def _argument(extras: str, origin: Mapping[str, Any] | None, distribution: str) -> str:
    """The requirement as a shell word, with ``-e`` before it if the origin is editable."""
    import shlex  # noqa: PLC0415 - most extras are installed

    editable = origin is not None and bool(origin.get("dir_info", {}).get("editable"))
    requirement = shlex.quote(_requirement(f"[{extras}]" if extras else "", origin, distribution))
    return f"{'-e ' if editable else ''}{requirement}"


def _tool(installer: str, prefix: Path) -> str:
    """The install command of the tool that owns the environment; each tool marks its environments with its own file."""
    if (prefix / "uv-receipt.toml").exists():
        return "uv tool install"
    if (prefix / "pipx_metadata.json").exists():
        return "pipx install --force"
    return "uv pip install" if installer == "uv" else "pip install"


def _requirement(extras: str, origin: Mapping[str, Any] | None, distribution: str) -> str:
    if origin is None:
        return f"{distribution}{extras}"
    url = str(origin["url"])
    if "vcs_info" in origin:
        vcs, folder = origin["vcs_info"], origin.get("subdirectory", "")
        at = f"{vcs['vcs']}+{url}@{vcs['commit_id']}{f'#subdirectory={folder}' if folder else ''}"
        return f"{distribution}{extras} @ {at}"
    parts = urlsplit(url)
    return f"{unquote(parts.path)}{extras}" if parts.scheme == "file" else f"{distribution}{extras} @ {url}"
