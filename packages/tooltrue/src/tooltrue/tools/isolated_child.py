"""The process of one call: reads the job from standard input, and writes the result to its original standard output.
Output of the function itself goes to standard error.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from tooltrue._internal.platform.processes import adopt_orphans, close_in_forks, kill_descendants
from tooltrue.crashes import trace_text
from tooltrue.errors import InvalidResult, ToolError
from tooltrue.jsonrpc.messages import decode, encode
from tooltrue.protocol.types import ToolOutcome, replaced
from tooltrue.tools.binding.bind import Run, bind
from tooltrue.tools.binding.tool_options import ToolOptions
from tooltrue.tools.threads import ThreadPool
from tooltrue.tools.vocabulary import LOCAL, RequestContext, ToolCall
from tooltrue.wording import Worded

__all__ = ["main"]


def main() -> None:
    """Run the call, write its result, and end together with everything that it has started."""
    adopt_orphans()
    job: dict[str, Any] = decode(sys.stdin.buffer.read())
    words = os.dup(1)
    os.dup2(2, 1)
    # A forked copy of this process writes no result; if it held the pipe, the parent would wait for it.
    close_in_forks(words)
    answer = encode(_answer(job))
    with os.fdopen(words, "wb") as pipe:
        pipe.write(answer)
    sys.stdout.flush()
    sys.stderr.flush()
    kill_descendants()
    os._exit(0)  # even if threads of the tool still run


def _answer(job: dict[str, Any]) -> dict[str, Any]:
    try:
        sys.path[:] = job["path"]
        function = getattr(_module(job["module"], job["file"]), job["function"])
        bound = bind(function, ToolOptions(name=job["tool"], blocking=False), ThreadPool(1))
        call = ToolCall(job["tool"], job["arguments"], RequestContext(LOCAL, _Nobody()))
        outcome: Any = asyncio.run(_run(bound.run, call))
        return {"result": replaced(outcome, encoded=None), "stored": call.context.stored}
    except InvalidResult as error:
        return {"broken": str(error)}
    except ToolError as error:
        return {"code": error.code, "facts": _plain(error.facts), "text": str(error)}
    except BaseException as error:  # noqa: BLE001 - any crash is reported, for the log of the server
        return {"crash": trace_text(error)}


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of an error for JSON; a message among them becomes an object, which ``isolated_calls`` reads."""
    return {name: _plain_message(fact) if isinstance(fact, Worded) else fact for name, fact in facts.items()}


def _plain_message(message: Worded) -> dict[str, Any]:
    return {"code": message.code, "facts": _plain(message.facts), "is_clause": message.is_clause}


async def _run(run: Run, call: ToolCall) -> ToolOutcome:
    return await run(call)


def _module(name: str, file: str | None) -> ModuleType:
    """Import the module again, from its file if its name cannot be imported: a script, or a module loaded by path."""
    if file is None or (name != "__main__" and importlib.util.find_spec(name) is not None):
        return importlib.import_module(name)
    name = "__isolated__" if name == "__main__" else name
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # type annotations are looked up there
    spec.loader.exec_module(module)
    return module


class _Nobody:
    """The channel of a function without a context: it sends no messages."""

    def progress(self, progress: float, total: float | None, message: str | None) -> None: ...

    def log(self, level: str, data: Any, logger: str | None) -> None: ...

    def detach(self) -> None: ...
