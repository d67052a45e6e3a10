"""Ten servers as people have them: the nine by others of `tests/hosts`, and one of ours. Each is started at once."""

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from harness import sides
from harness.process import Command, running
from harness.sides import ROOT, NotHere
from harness.wire import HANDSHAKE

sys.path += [str(ROOT / "tests" / folder) for folder in ("interop", "hosts")]

from environments import NoNode
from other_servers import prepared
from processes import Failure

__all__ = ["Entries", "seconds_of_all", "ten_servers"]

Entries = Mapping[str, Mapping[str, Any]]


def ten_servers(folder: Path) -> Entries:
    """The entries of a client's file, by label. Raises ``NotHere`` where a server cannot be installed."""
    try:
        others = prepared(folder)
    except (NoNode, Failure, OSError, subprocess.CalledProcessError) as reason:
        raise NotHere(f"{reason} {getattr(reason, 'detail', '')}".strip()) from None
    command, *arguments = sides.ours().script("seven")
    return {**others, "ours": {"command": command, "args": arguments}}


def seconds_of_all(entries: Entries) -> float:
    """Start all of them at once, as a plain client does, and return the seconds until each has listed its tools."""
    begun = time.perf_counter()
    with contextlib.ExitStack() as stack, ThreadPoolExecutor(len(entries)) as threads:
        processes = [stack.enter_context(running(_command(one), own_session=True)) for one in entries.values()]
        for _ in threads.map(_list_tools, processes):
            pass
        return time.perf_counter() - begun


def _command(entry: Mapping[str, Any]) -> Command:
    """The command of a server with the variables that clients pass on, as our gateway starts it."""
    variables = {name: os.environ[name] for name in _VARIABLES if name in os.environ} | entry.get("env", {})
    return "env", "-i", *(f"{name}={value}" for name, value in variables.items()), entry["command"], *entry["args"]


_VARIABLES = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")


def _list_tools(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert isinstance(process.stdout, io.RawIOBase)
    initialize, initialized = HANDSHAKE
    lines = io.BufferedReader(process.stdout)
    for request, answer in (
        (initialize, "protocolVersion"),
        ({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}, "tools"),
    ):
        process.stdin.write(json.dumps(request).encode() + b"\n")
        if answer not in _answer(lines, request["id"]):
            raise NotHere(f"{process.args} does not answer {request['method']}")
        if request is initialize:
            process.stdin.write(json.dumps(initialized).encode() + b"\n")


def _answer(lines: io.BufferedReader, id: object) -> dict[str, Any]:
    """The result of a request, after whatever else the server says."""
    for line in lines:
        message = json.loads(line)
        if message.get("id") == id and "method" not in message:
            return message.get("result", {})
    raise EOFError("the server closed its output")
