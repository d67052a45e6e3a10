"""The command that adds an extra to this installation.

An installer records where a package came from (``direct_url.json``, PEP 610) and its own name (``INSTALLER``). The
command names that place, never the bare name of the project: an index may hold another project of the same name.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

__all__ = ["command_for", "install_command", "required"]

PROJECT = "tooltrue"
UNKNOWN_SOURCE = "SOURCE"
"""Placeholder in the command for the source of this copy, where no installer has recorded it."""


@contextlib.contextmanager
def required(package: str, extra: str, fail: Callable[[str], Exception]) -> Generator[None]:
    """Import a module that needs ``package``. If that is missing, raise ``fail`` of the command that installs
    ``extra``; any other missing module is a fault of the installation, and its error passes."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise fail(install_command(extra)) from None


def install_command(extras: str) -> str:
    """Return the shell command that installs ``extras`` (names, separated by commas) where this process runs."""
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415 - only an error needs it

    try:
        installed = distribution(PROJECT)
    except PackageNotFoundError:  # run from its sources, without an installation
        return command_for(extras, None, "pip", Path(sys.prefix))
    recorded = installed.read_text("direct_url.json")
    installer = (installed.read_text("INSTALLER") or "pip").strip()
    return command_for(extras, json.loads(recorded) if recorded else None, installer, Path(sys.prefix))


def command_for(extras: str, origin: Mapping[str, Any] | None, installer: str, prefix: Path) -> str:
    """Return the command for an installation from ``origin`` (PEP 610) by ``installer`` into ``prefix``."""
    editable = origin is not None and bool(origin.get("dir_info", {}).get("editable"))
    return f"{_tool(installer, prefix)} {'-e ' if editable else ''}{shlex.quote(_requirement(extras, origin))}"


def _tool(installer: str, prefix: Path) -> str:
    """The install command of the tool that owns the environment; each tool marks its environments with its own file."""
    if (prefix / "uv-receipt.toml").exists():
        return "uv tool install"
    if (prefix / "pipx_metadata.json").exists():
        return "pipx install --force"
    return "uv pip install" if installer == "uv" else "pip install"


def _requirement(extras: str, origin: Mapping[str, Any] | None) -> str:
    if origin is None:
        return f"{UNKNOWN_SOURCE}[{extras}]"
    url = str(origin["url"])
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"{PROJECT}[{extras}] @ {vcs['vcs']}+{url}@{vcs['commit_id']}"
    parts = urlsplit(url)
    return f"{unquote(parts.path)}[{extras}]" if parts.scheme == "file" else f"{PROJECT}[{extras}] @ {url}"
