"""The process that reads one document: its job, its limits, and its answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tooltrue._internal.platform.child_limits import limit_cpu, limit_memory

__all__ = ["TEXT", "ReaderJob", "Unreadable", "answer", "cpu_seconds"]

TEXT = 5_000_000
"""The most characters of a document that are read."""

_MEMORY = 1 << 30
_CPU_SECONDS = 20
_MIB = 1 << 20


class Unreadable(Exception):
    """A document that is not read, for the reason that ``code`` of the wording gives."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def cpu_seconds(size: int) -> int:
    """The CPU time that a document of ``size`` bytes may take. Ordinary pages need a tenth of it; parsing time is
    quadratic in the nesting depth and in the number of attributes of an element, so that a page made to exhaust it is
    stopped here."""
    return min(3 + 2 * (size // _MIB), _CPU_SECONDS)


@dataclass(frozen=True, slots=True)
class ReaderJob:
    """The job on standard input: a line of JSON with ``url`` and ``part``, followed by the document."""

    url: str
    part: str
    data: bytes


def answer(read: Callable[[ReaderJob], dict[str, Any]]) -> None:
    """Write the result of ``read`` to standard output as JSON: ``title``, ``text``, ``hidden`` and, where there are
    any, ``pages``; or a ``problem``, or the ``code`` of one. The system limits memory and time."""
    limit_memory(_MEMORY)
    job = ReaderJob(**json.loads(sys.stdin.buffer.readline()), data=sys.stdin.buffer.read())
    limit_cpu(cpu_seconds(len(job.data)))
    try:
        result = read(job)
    except Unreadable as error:
        result = {"code": error.code}
    except Exception as error:  # noqa: BLE001 - a stranger's document: whatever is wrong with it, it cannot be read
        result = {"problem": f"it is broken ({type(error).__name__})"}
    # lone surrogates, which occur in PDFs, cannot be encoded
    sys.stdout.buffer.write(json.dumps(result, ensure_ascii=False).encode(errors="replace"))
