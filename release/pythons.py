"""The Python interpreters of this machine, by version: those of pyenv and uv, and those on the path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["PYTHONS", "find", "here"]

PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
"""The versions that the distributions are made for; `t` is the free-threaded build."""

_TELL = """
import sys, sysconfig
print("%d.%d" % sys.version_info[:2] + ("t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""))
"""


def find(versions: Sequence[str] = PYTHONS) -> dict[str, Path]:
    """Version → an interpreter of it, for each version that is here."""
    return {version: path for version in versions if (path := here(version)) is not None}


def here(version: str) -> Path | None:
    """An interpreter of this version, or nothing."""
    return next((path for path in _candidates(version) if _version(path) == version), None)


def _candidates(version: str) -> Iterator[Path]:
    yield Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from sorted(pyenv.glob(f"versions/{version.rstrip('t')}.*/bin/python"), reverse=True)
    if found := shutil.which(f"python{version}"):
        yield Path(found)


def _version(path: Path) -> str:
    done = subprocess.run([path, "-c", _TELL], capture_output=True, text=True)
    return done.stdout.strip()
