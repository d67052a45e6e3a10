"""Functions for processes of their own, which load this module anew."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from tooltrue import File, ToolError
from tooltrue.tools.wording import DEFINITION_SETTING_INVALID
from tooltrue.wording import alternatives

calls: list[int] = []


class Part(BaseModel):
    name: str
    count: int = 1


def measure(part: Part, times: int = 2) -> Part:
    """Prints a line, which must not become part of the result."""
    print("measuring")
    calls.append(1)
    return Part(name=part.name * len(calls), count=part.count * times)


async def later(word: str) -> str:
    return f"{word} of {os.getppid()}"


def misplaced() -> str:
    raise ToolError.of(DEFINITION_SETTING_INVALID, name="part", wanted=alternatives(["leg", "top"]))


def fails() -> str:
    raise ToolError("no more wood")


def crashes() -> str:
    raise RuntimeError("hunter2")


def falls() -> str:
    os.abort()


def spins(note: str) -> str:
    """Starts two subprocesses, one outside the process group, writes all process ids to a file, and never ends."""
    sleeper = [sys.executable, "-c", "import time; time.sleep(600)"]
    one, other = subprocess.Popen(sleeper), subprocess.Popen(sleeper, start_new_session=True)
    Path(note + ".part").write_text(f"{os.getpid()} {one.pid} {other.pid}")
    os.rename(note + ".part", note)
    while True:
        time.sleep(600)


def leaves(note: str) -> str:
    """Ends, and leaves somebody behind."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path(note).write_text(str(process.pid))
    return "done"


def falls_beside_its_copy(pipe: str) -> str:
    """Forks a copy, as multiprocessing does by default, and dies by SIGKILL, as from the out-of-memory killer."""
    if not os.fork():
        os.setsid()
        os.close(os.open(pipe, os.O_RDONLY))  # returns when somebody opens the other end
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def large_file() -> File:
    """Is stored, and linked."""
    return File(data="x" * 200_000, name="large.txt")


def numbers() -> Iterator[int]:
    """Is collected."""
    yield from range(3)
