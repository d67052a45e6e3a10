"""The entry of a tooltrue server in a client's file: a command line that starts it from any folder."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tooltrue._internal.target_places import divided_target
from tooltrue.host.client_files.clients import ClientProfile
from tooltrue.jsonrpc.messages import Json, is_array, is_object

__all__ = ["NO_CONFIRM", "command_line", "entry_of", "is_gateway", "is_ours", "server_name", "temporary_environment"]

NO_CONFIRM: Final = "--no-confirm"
_PROGRAM: Final = "tooltrue"
_MAIN: Final = f"from {_PROGRAM}.cli.main import main; main()"
_VERBS: Final = ("serve", "wrap", "gateway")


def command_line(words: Sequence[str], python: str = sys.executable) -> tuple[str, ...]:
    """The command line of ``tooltrue WORDS`` in the environment that runs now: its script, or its interpreter if it has
    no script. The folder in which a client starts the interpreter is no source of modules."""
    script = Path(python).absolute().with_name(_PROGRAM)
    if script.is_file() and os.access(script, os.X_OK):
        return (str(script), *words)
    return (os.path.abspath(python), "-P", "-c", _MAIN, *words)


def entry_of(profile: ClientProfile, command: Sequence[str], env: Mapping[str, str]) -> dict[str, Json]:
    """The entry as this client wants it."""
    variables: dict[str, Json] = {"env": dict(env)} if env else {}
    return {**profile.entry, "command": command[0], "args": list(command[1:]), **variables}


def is_ours(entry: Json) -> bool:
    """Whether an entry starts tooltrue: another entry is not replaced without being told to."""
    return bool(_words(entry))


def is_gateway(entry: Json) -> bool:
    """Whether an entry starts a gateway."""
    return _words(entry)[:1] == ["gateway"]


def _words(entry: Json) -> list[Json]:
    """The words behind the name of the program, if an entry starts tooltrue."""
    if not is_object(entry):
        return []
    command, args = entry.get("command"), entry.get("args")
    if not isinstance(command, str) or not is_array(args):
        return []
    name = re.split(r"[\\/]", command)[-1].removesuffix(".exe")
    if name == _PROGRAM and args and args[0] in _VERBS:
        return args
    return args[3:] if args[1:3] == ["-c", _MAIN] else []


def server_name(target: str) -> str:
    """A name for the server of this target, made of characters that every client accepts."""
    place, _, attribute = divided_target(target)
    stem = Path(place).stem if place.endswith(".py") else attribute or place.replace(",", "-")
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-")[:60] or "server"


# The folders in which uv and pipx keep the environments of commands that they run without installing them.
_TEMPORARY: Final = re.compile(
    r"[\\/](?:archive-v\d+|environments-v\d+|builds-v\d+|pipx[\\/](?:\.cache|venvs-tmp))[\\/]"
)


def temporary_environment(prefix: str = sys.prefix) -> bool:
    """Whether the environment in this folder is one that a tool made for a single run, and removes again."""
    return _TEMPORARY.search(f"{prefix}/") is not None
