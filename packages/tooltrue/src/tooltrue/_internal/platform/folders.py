"""The folders in which a program of this user keeps its files, by the convention of the system."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tooltrue._internal.platform.system import HAS_POSIX

__all__ = ["configuration_folder_of", "state_folder_of"]

_IS_MACOS = sys.platform == "darwin"


def state_folder_of(program: str) -> Path:
    """The folder for the state of ``program``. It need not exist.

    ``$XDG_STATE_HOME`` counts on every system. Without it the folder is below ``~/.local/state`` on Linux,
    ``~/Library/Application Support`` on macOS and ``%LOCALAPPDATA%`` on Windows.
    """
    # The specification requires a relative path to be ignored.
    home = Path(os.environ.get("XDG_STATE_HOME", ""))
    if home.is_absolute():
        return home / program
    if not HAS_POSIX:
        return _local_data(os.environ) / program
    earlier = Path("~/.local/state").expanduser() / program
    return _of_macos(earlier, Path("~/Library/Application Support").expanduser() / program) if _IS_MACOS else earlier


def configuration_folder_of(program: str) -> Path:
    """The folder for the settings of ``program`` that belong to this user. It need not exist.

    ``$XDG_CONFIG_HOME`` counts on every system. Without it the folder is below ``~/.config`` on Linux,
    ``~/Library/Application Support`` on macOS and ``%APPDATA%`` on Windows.
    """
    home = Path(os.environ.get("XDG_CONFIG_HOME", ""))
    if home.is_absolute():
        return home / program
    if not HAS_POSIX:
        roaming = Path(os.environ.get("APPDATA", ""))
        return (roaming if roaming.is_absolute() else Path("~/AppData/Roaming").expanduser()) / program
    return Path("~/Library/Application Support" if _IS_MACOS else "~/.config").expanduser() / program


def _local_data(environ: Mapping[str, str]) -> Path:
    """The folder for the data of programs on this machine; Windows sets the variable for each session."""
    local = Path(environ.get("LOCALAPPDATA", ""))
    return local if local.is_absolute() else Path("~/AppData/Local").expanduser()


def _of_macos(earlier: Path, folder: Path) -> Path:
    """The folder of the convention, unless there is none and the one of earlier releases has the user's files."""
    return earlier if earlier.is_dir() and not folder.is_dir() else folder
