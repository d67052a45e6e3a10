"""Excel workbooks: one sheet as CSV, read by a process of its own, which ends with the call."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from tooltrue.errors import ToolError
from tooltrue.jsonrpc.messages import decode
from tooltrue.wording import Worded
from tooltrue_toolbox.tables.decompression import UnpackingBounds
from tooltrue_toolbox.tables.extras import missing
from tooltrue_toolbox.tables.wording import REASON_WORKBOOK_BEYOND_LIMITS, WORKBOOK_UNREADABLE

__all__ = ["Sheet", "sheet_of"]

CHUNK = 1 << 18
_LINE = 1 << 20
_READER = "tooltrue_toolbox.tables.workbook_reader"
_PASSED_ON = ("PATH", "PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "SYSTEMROOT", "LANG")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet that is being read. ``typed`` are the columns, from 0, that contain numbers in the workbook itself."""

    name: str
    names: list[str]
    typed: list[int]
    display_path: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """Kill the process, which ends a read in another thread."""
        self.process.kill()

    def parts(self) -> Iterator[bytes]:
        """The rows as CSV. ``ToolError`` where the process ended before the sheet did."""
        assert self.process.stdout is not None
        while part := self.process.stdout.read(CHUNK):
            yield part
        if self.process.wait():
            raise _beyond(self.display_path)


@contextmanager
def sheet_of(
    fd: int, name: str | None, display_path: str, bounds: UnpackingBounds, memory_mib: int
) -> Generator[Sheet]:
    """The sheet ``name`` of the workbook ``fd``, or its first one, read within four times ``memory_mib``: the texts of
    all sheets are held at once. ``ToolError`` where it cannot be read."""
    if find_spec("openpyxl") is None or find_spec("defusedxml") is None:
        raise missing("xlsx", "xlsx")
    os.lseek(fd, 0, os.SEEK_SET)
    job = {
        "sheet": name,
        "memory": 4 * memory_mib << 20,
        "size": bounds.size,
        "free": bounds.free,
        "ratio": bounds.ratio,
    }
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", _READER, json.dumps(job)],
        stdin=fd,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        cwd="/",
    )
    with process:
        try:
            assert process.stdout is not None
            yield _sheet_in(process.stdout.readline(_LINE), display_path, process)
        finally:
            process.kill()


def _sheet_in(line: bytes, display_path: str, process: subprocess.Popen[bytes]) -> Sheet:
    if not line.endswith(b"\n"):
        raise _beyond(display_path)
    reply: dict[str, Any] = decode(line)
    if "code" in reply:
        raise ToolError.of(reply["code"], path=display_path, **reply["facts"])
    return Sheet(reply["sheet"], reply["sheets"], reply["typed"], display_path, process)


def _beyond(display_path: str) -> ToolError:
    return ToolError.of(WORKBOOK_UNREADABLE, path=display_path, problem=Worded(REASON_WORKBOOK_BEYOND_LIMITS, {}))
