"""Helpers for tests of the command tools: an allowlist for a folder, and calls through a client."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import psutil

from tooltrue import Client, Server
from tooltrue.client.call_results import Result
from tooltrue.policy.layers.confirm import Confirm
from tooltrue_toolbox.command import confined, read_text, toolset
from tooltrue_toolbox.platform.sandbox.programs import what_holds

__all__ = [
    "ANYTHING",
    "FILES",
    "HOLDS",
    "OURS",
    "PYTHON_PLACES",
    "SECRET",
    "call",
    "entry",
    "left",
    "python",
    "script",
    "served",
    "served_folder",
]

HOLDS = what_holds()
"""What there is to hold a program with, where the tests run."""

ANYTHING = [{"name": "text", "many": True}]
FILES = [{"name": "file", "type": "path", "many": True}]
"""Arguments of a command, as the list has them."""

SECRET = "outside-secret"

PYTHON_PLACES = tuple({sys.prefix, sys.base_prefix, sys.exec_prefix})
"""The folders that a program in Python reads."""


def served_folder(place: Path) -> Path:
    """A folder in ``place`` in which commands work, and beside it a file with the secret, which they must not reach."""
    (place / "outside").write_text(SECRET)
    (place / "data" / "sub").mkdir(parents=True)
    (place / "data" / "a.txt").write_text("one\ntwo\n")
    return place / "data"


def entry(name: str, *run: str, **more: Any) -> str:
    """An entry of the list, as TOML: JSON values are TOML, but for objects."""
    said = {"run": list(run), "description": f"Runs {name}", "effect": "read", **more}
    return f"[commands.{json.dumps(name)}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in said.items())


def _toml(value: object) -> str:
    match value:
        case Mapping():
            pairs = cast(Mapping[str, object], value).items()
            return "{" + ", ".join(f"{json.dumps(key)} = {_toml(each)}" for key, each in pairs) + "}"
        case list():
            return "[" + ", ".join(map(_toml, cast(list[object], value))) + "]"
        case _:
            return json.dumps(value)


def script(name: str, text: str, **more: Any) -> str:
    """An entry that runs a line of shell, which the operator has written: a program that does just that."""
    return entry(name, "/bin/sh", "-c", text, name, interpreter=True, **more)


def python(name: str, text: str, **more: Any) -> str:
    """The same in Python, which every system has."""
    places = [*PYTHON_PLACES]
    return entry(name, sys.executable, "-I", "-S", "-c", text, interpreter=True, readable=places, **more)


def served(root: Path, *entries: str) -> Server:
    """A server with these commands and without approvals, on a system that confines no program as well."""
    server = Server("commands", toolsets=[toolset(confined(read_text("\n".join(entries)), "available"), [root])])
    return server.with_guard(confirm=Confirm.never())


def call(server: Server, command: str, *args: str, **more: Any) -> Result[Any]:
    """One call of ``execute_command``."""

    async def once() -> Result[Any]:
        async with Client(server) as client:
            return await client.call_tool("execute_command", {"command": command, "args": list(args), **more})

    return asyncio.run(once())


OURS = f"{os.getpid():08}"
"""A part of the words by which processes are known again: another run of the tests may go on beside this one."""


def left(word: str) -> list[int]:
    """The processes of this machine that have ``word`` in their command line."""
    return [each.pid for each in psutil.process_iter(["cmdline"]) if word in " ".join(each.info["cmdline"] or ())]
