"""An example that its own schema refuses."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import encode, is_array
from tooltrue_check.findings import Problem
from tooltrue_check.schema_values import fits
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for node in tool.having.get("examples", ()):
        examples = node.schema["examples"]
        for index, value in enumerate(examples if is_array(examples) else ()):
            if not fits(tool, node, value):
                yield Problem((*node.path, "examples", index), {"value": encode(value).decode()[:80]})
