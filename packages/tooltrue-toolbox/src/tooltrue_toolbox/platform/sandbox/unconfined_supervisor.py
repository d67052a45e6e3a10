"""The process between us and a program that nothing confines: it ends the program with what it has started.

::

    us ──control──▶ supervisor ── program ── its descendants
       ◀──report──

Control is the supervisor's standard input: the job as a line of JSON, then nothing. When it is closed, because the call
was cancelled or because our process is gone for any reason, the supervisor ends the enclosure that it shares with the
program: a process group, or a job object. Report is a file for lines of JSON with the outcome.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import Any

from tooltrue_toolbox.platform.sandbox.enclosure import Enclosure

__all__ = ["main"]

Job = dict[str, Any]


def main() -> None:
    """Run the one program of the job, and end with all that is left of it."""
    job = _job()
    enclosure = Enclosure(job["limits"], job["processes"])
    try:
        program = subprocess.Popen(
            job["argv"],
            executable=job["program"],
            env=job["environment"],
            stdin=subprocess.DEVNULL,
            **enclosure.start_options(job["folder"]),
        )
    except (OSError, subprocess.SubprocessError) as error:
        _say(job, holds=[], failed=(error.errno or 0) if isinstance(error, OSError) else 0)
    else:
        # Begun after the program: a process with one thread alone is safe to fork.
        threading.Thread(target=_end_with_control, args=(enclosure,), daemon=True).start()
        _say(job, holds=[])
        code = program.wait()
        _say(job, **enclosure.outcome(code))
    enclosure.end()


def _job() -> Job:
    line = b""
    while not line.endswith(b"\n"):
        if not (part := os.read(0, 65536)):
            sys.exit(1)  # given up before it began
        line += part
    return json.loads(line)


def _end_with_control(enclosure: Enclosure) -> None:
    while os.read(0, 65536):
        pass
    enclosure.end()


def _say(job: Job, **facts: Any) -> None:
    with open(job["report"], "ab") as file:
        file.write(json.dumps(facts).encode() + b"\n")
