"""``isolation="process"``: each call runs in a process of its own, which can be killed at any time.

The process imports the function's module again, calls the function once, and returns the result as JSON. So it needs a
module-level function without context and dependencies; changes that the function makes in memory are lost. It leads a
family of its own, and is killed with everything that it has started. ``isolated_child.py`` is the other end.
"""

from __future__ import annotations

import asyncio
import inspect
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tooltrue._internal.platform.processes import kill_tree, start_program
from tooltrue.crashes import RemoteCrash
from tooltrue.errors import DefinitionError, InvalidResult, ToolError
from tooltrue.jsonrpc.messages import Json, decode, encode, is_object
from tooltrue.protocol.types import ToolOutcome
from tooltrue.tools.content import unpacked
from tooltrue.tools.stored_results import StoredResult
from tooltrue.tools.threads import Lane
from tooltrue.tools.wording import DEFINITION_SETTING_INVALID, LABEL_LEFT_OUT_NO_FUNCTION
from tooltrue.wording import Worded

__all__ = ["AT_ONCE", "check_isolated", "isolated"]

AT_ONCE = 4
_CHILD = "from tooltrue.tools.isolated_child import main; main()"


def check_isolated(function: Callable[..., Any]) -> None:
    """Raise ``DefinitionError`` for a function that another process could not find by its name."""
    if not inspect.isfunction(function) or "." in function.__qualname__ or "<" in function.__qualname__:
        raise DefinitionError.of(
            DEFINITION_SETTING_INVALID, name="isolation", wanted=Worded(LABEL_LEFT_OUT_NO_FUNCTION, {})
        )


def isolated(
    function: Callable[..., Any], name: str, lane: Lane
) -> Callable[[Mapping[str, Json], list[StoredResult]], Awaitable[ToolOutcome]]:
    """Wrap the function as one that takes checked arguments, and the list for results that are stored. The threads of
    ``lane`` wait for the processes.
    """

    async def call(arguments: Mapping[str, Json], stored: list[StoredResult]) -> ToolOutcome:
        child = _ChildProcess(encode({**_place(function), "tool": name, "arguments": arguments, "path": sys.path}))
        answer = lane.run(child.run)
        try:
            return _outcome_of(await asyncio.shield(answer), child, stored)
        except asyncio.CancelledError:
            child.kill()
            raise

    return call


def _place(function: Callable[..., Any]) -> dict[str, Json]:
    module = sys.modules[function.__module__]
    return {"module": function.__module__, "file": getattr(module, "__file__", None), "function": function.__qualname__}


class _ChildProcess:
    """One process. ``run`` waits for it on a thread; ``kill`` may be called from any other, at any time."""

    def __init__(self, job: bytes) -> None:
        self._job = job
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self.status = 0

    def run(self) -> bytes:
        """Return its output; empty if it was killed or crashed."""
        with self._lock:
            if self._killed:
                return b""
            self._process = process = start_program(
                [sys.executable, "-c", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        output, _ = process.communicate(self._job)
        self.status = process.returncode
        return output

    def kill(self) -> None:
        with self._lock:
            self._killed = True
            if self._process is not None and self._process.returncode is None:
                kill_tree(self._process.pid)


def _outcome_of(output: bytes, child: _ChildProcess, stored: list[StoredResult]) -> ToolOutcome:
    if not output:
        how = signal.Signals(-child.status).name if child.status < 0 else f"status {child.status}"
        raise RuntimeError(f"the process of the tool ended without a word: {how}")
    answer: dict[str, Any] = decode(output)
    if "result" in answer:
        stored.extend(map(StoredResult.unpacked, answer["stored"]))
        return unpacked(encode(answer["result"]))
    if "crash" in answer:
        raise RemoteCrash(f"the tool failed in its process:\n{answer['crash']}")
    if "broken" in answer:
        raise InvalidResult(answer["broken"])
    if not answer["code"]:
        raise ToolError(answer["text"])
    raise ToolError.of(answer["code"], **{name: _fact(fact) for name, fact in answer["facts"].items()})


def _fact(value: Json) -> Any:
    """A fact of an error, which JSON has turned into an object if it was a message."""
    if not is_object(value) or value.keys() != {"code", "facts", "is_clause"}:
        return value
    facts = {name: _fact(fact) for name, fact in value["facts"].items()}
    return Worded(value["code"], facts, is_clause=value["is_clause"])
