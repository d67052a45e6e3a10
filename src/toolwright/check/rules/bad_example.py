"""An example that its own schema refuses."""

from __future__ import annotations

from collections.abc import Iterator

from toolwright.check.checking import Problem
from toolwright.check.fitting import fits
from toolwright.check.subject import Subject
from toolwright.jsonrpc.messages import encode, is_array

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for node in tool.having.get("examples", ()):
        said = node.schema["examples"]
        for index, value in enumerate(said if is_array(said) else ()):
            if not fits(tool, node, value):
                yield Problem((*node.path, "examples", index), {"value": encode(value).decode()[:80]})
