"""The location of this user's state, and the URLs of its files."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tooltrue._internal.platform.file_names import stays_itself
from tooltrue._internal.platform.file_urls import path_from_url, path_in_url
from tooltrue._internal.platform.folders import state_folder_of

__all__ = [
    "audit_file",
    "audit_files",
    "beside",
    "signing_key_file",
    "sqlite_url",
    "state_folder",
    "tasks_file",
    "without_password",
]


def state_folder() -> Path:
    """``$XDG_STATE_HOME/tooltrue``, by default in the folder that the system has for state. It need not exist."""
    return state_folder_of("tooltrue")


def audit_file(server: str) -> Path:
    """The audit log of a server with this name."""
    return state_folder() / "audit" / f"{_file_name(server)}.db"


def audit_files() -> list[Path]:
    """The audit logs that this user's servers have at their default places, by name."""
    return sorted((state_folder() / "audit").glob("*.db"))


def signing_key_file() -> Path:
    """The key of this user that signs when an audit log is pruned."""
    return state_folder() / "audit" / "key"


def tasks_file(server: str) -> Path:
    """The database of the tasks of a server with this name."""
    return state_folder() / "tasks" / f"{_file_name(server)}.db"


def _file_name(name: str) -> str:
    """The name itself if it is a valid file name; otherwise its valid characters and a digest unique to it."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name).lstrip(".")[:80]
    return (
        plain
        if plain == name and plain and stays_itself(plain)
        else f"{plain}-{hashlib.sha256(name.encode(errors='replace')).hexdigest()[:12]}"
    )


def sqlite_url(path: Path) -> str:
    """The URL of a store in this file."""
    return f"sqlite://{path_in_url(path)}"


def beside(url: str, ending: str) -> str:
    """The path of an ``sqlite:`` URL's file with another ending appended; an empty string for other URLs."""
    scheme, _, path = url.partition(":")
    return f"{path_from_url(path.removeprefix('//'))}{ending}" if scheme == "sqlite" else ""


def without_password(url: str) -> str:
    """``url`` in a form that may be displayed: the part before the @ is left out."""
    return re.sub("//.*@", "//…@", url)
