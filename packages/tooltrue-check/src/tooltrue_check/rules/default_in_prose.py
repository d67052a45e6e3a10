"""A default that the text states and the schema does not."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import encode
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject
from tooltrue_check.text_statements import stated_default

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.described:
        if one.schema.get("default") is None and "const" not in one.schema:
            default = stated_default(one.text.raw, one.kinds)
            if default is not None:
                yield Problem(one.path, {"name": one.name, "value": encode(default).decode()})
