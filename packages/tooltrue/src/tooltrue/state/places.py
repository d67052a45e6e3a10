"""The location of this user's state, by the XDG base directory specification."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from urllib.parse import unquote

__all__ = ["audit_file", "beside", "state_folder", "without_password"]


def state_folder() -> Path:
    """``$XDG_STATE_HOME/tooltrue``, by default below ``~/.local/state``. It need not exist."""
    # The specification requires a relative path to be ignored.
    home = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (home if home.is_absolute() else Path("~/.local/state").expanduser()) / "tooltrue"


def audit_file(server: str) -> Path:
    """The audit log of a server with this name."""
    return state_folder() / "audit" / f"{_file_name(server)}.db"


def _file_name(name: str) -> str:
    """The name itself if it is a valid file name; otherwise its valid characters and a digest unique to it."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[:80]
    return (
        plain
        if plain == name and plain
        else f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:12]}"
    )


def beside(url: str, ending: str) -> str:
    """The path of an ``sqlite:`` URL's file with another ending appended; an empty string for other URLs."""
    scheme, _, path = url.partition(":")
    return f"{Path(unquote(path.removeprefix('//'))).expanduser()}{ending}" if scheme == "sqlite" else ""


def without_password(url: str) -> str:
    """``url`` in a form that may be displayed: the part before the @ is left out."""
    return re.sub("//.*@", "//…@", url)
