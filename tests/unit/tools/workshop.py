"""Functions for processes of their own, which load this module anew."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from pydantic import BaseModel

from tooltrue import ToolError

calls: list[int] = []


class Part(BaseModel):
    name: str
    count: int = 1


def measure(part: Part, times: int = 2) -> Part:
    """What is printed is no answer."""
    print("measuring")
    calls.append(1)
    return Part(name=part.name * len(calls), count=part.count * times)


async def later(word: str) -> str:
    return f"{word} of {os.getppid()}"


def fails() -> str:
    raise ToolError("no more wood")


def crashes() -> str:
    raise RuntimeError("hunter2")


def falls() -> str:
    os.abort()


def spins(note: str) -> str:
    """Starts others, one of which leaves the group, says who they are, and never ends."""
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
    """Is copied, as multiprocessing does by default, and ended as the kernel ends what takes all memory."""
    if not os.fork():
        os.setsid()
        os.close(os.open(pipe, os.O_RDONLY))  # returns when somebody opens the other end
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"
