"""The modules of the toolbox as a process on Windows or macOS has them, beside those of this process.

They are loaded a second time: for Windows while the switch between the systems says that POSIX is not there, with the
system calls of :mod:`support.windows.handles`, and for macOS without the calls of Linux alone.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from collections.abc import Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest

from support.windows import CTYPES, msvcrt
from tooltrue._internal.platform import system

_MODULES = (
    "tooltrue_toolbox.platform.handles",
    "tooltrue_toolbox.platform.windows_handles",
    "tooltrue_toolbox.platform.windows_calls",
    "tooltrue_toolbox.rooted_paths",
    "tooltrue_toolbox.files",
)


@cache
def on_windows() -> dict[str, Any]:
    """The modules, by the last part of their names."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(system, "HAS_POSIX", False)
        monkeypatch.setattr(ctypes, "WinDLL", CTYPES["WinDLL"], raising=False)
        monkeypatch.setitem(sys.modules, "msvcrt", msvcrt)
        return loaded_again(_MODULES)


def loaded_again(names: Sequence[str]) -> dict[str, Any]:
    """Modules of the toolbox, loaded once more; the messages stay, since a code is registered once."""
    importlib.import_module("tooltrue_toolbox.files")
    mine = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "tooltrue_toolbox"}
    anew = [name for name in mine if not name.endswith("wording")]
    for name in anew:
        del sys.modules[name]
    try:
        return {name.rpartition(".")[2]: importlib.import_module(name) for name in names}
    finally:
        for name in [name for name in sys.modules if name.split(".")[0] == "tooltrue_toolbox"]:
            del sys.modules[name]
        sys.modules.update(mine)


def namespace() -> SimpleNamespace:
    return SimpleNamespace(**on_windows())


@cache
def without_o_path() -> SimpleNamespace:
    """The modules as on a system that has ``openat`` and not the calls of Linux alone, such as macOS."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.delattr(os, "O_PATH", raising=False)
        return SimpleNamespace(**loaded_again([name for name in _MODULES if "windows" not in name]))
