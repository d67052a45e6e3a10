"""Facts on clients: the place of each file, the form of a server in it, and the behaviour of the client before a
call. The facts are data, with their sources, in ``clients.toml``.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Any, Final, Literal, TypeAlias

from tooltrue.contract.profile import Fact
from tooltrue.jsonrpc.messages import Json

__all__ = ["SYSTEMS", "Asks", "ClientProfile", "Elicitation", "System", "client_profiles", "location", "system_of"]

System: TypeAlias = Literal["linux", "macos", "windows"]
Asks: TypeAlias = Literal["yes", "no", "setting", "unknown"]
Elicitation: TypeAlias = Literal["form", "none", "unknown"]

SYSTEMS: Final[tuple[System, ...]] = ("linux", "macos", "windows")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientProfile:
    """One client. ``files`` are templates of the user's file for each system, ``project`` is the file in a project's
    folder, and ``also`` are further files in which servers may stand."""

    name: str
    title: str
    form: Literal["json", "toml"]
    table: tuple[str, ...]
    installs: Literal["file", "import", "block"]
    """How a server gets there: in its file, by an import in the application, or by a person who edits the file."""
    facts: tuple[Fact, ...]
    files: Mapping[str, str]
    project: str | None = None
    also: tuple[str, ...] = ()
    entry: Mapping[str, Json]
    """The keys that each server on stdio needs besides its command."""
    writes_while_running: bool = False
    """Whether the running client writes this file again and again."""
    asks_before_calls: Asks = "unknown"
    elicitation: Elicitation = "unknown"


@functools.cache
def client_profiles() -> Mapping[str, ClientProfile]:
    """All clients by name, in the order of the file."""
    data = tomllib.loads(Path(__file__).with_name("clients.toml").read_text("utf-8"))
    return {row["name"]: _profile(row) for row in data["client"]}


def _profile(row: dict[str, Any]) -> ClientProfile:
    facts = tuple(Fact(tuple(one.pop("of")), **one) for one in row.pop("fact", ()))
    table, also = tuple(row.pop("table")), tuple(row.pop("also", ()))
    return ClientProfile(
        facts=facts, table=table, also=also, files=row.pop("file", {}), entry=row.pop("entry", {}), **row
    )


def system_of(platform: str) -> System:
    """The system that ``sys.platform`` names."""
    return "macos" if platform == "darwin" else "windows" if platform == "win32" else "linux"


def location(template: str, system: System, environ: Mapping[str, str], home: str) -> PurePath:
    """The path that a template of ``clients.toml`` means. The function reads its arguments only. A relative path in the
    environment is ignored, as the specification of base directories demands."""
    path: Any = PureWindowsPath if system == "windows" else PurePosixPath
    root: PurePath = path(home)

    def folder(variable: str, default: PurePath) -> PurePath:
        named: PurePath = path(environ.get(variable, ""))
        return named if named.is_absolute() else default

    folders: Mapping[str, PurePath] = {
        "home": root,
        "config": folder("XDG_CONFIG_HOME", root / ".config"),
        "appdata": folder("APPDATA", root / "AppData" / "Roaming"),
        "codex": folder("CODEX_HOME", root / ".codex"),
        "claude": folder("CLAUDE_CONFIG_DIR", root),
    }
    first, *rest = template.split("/")
    return folders[first.strip("{}")].joinpath(*rest)
