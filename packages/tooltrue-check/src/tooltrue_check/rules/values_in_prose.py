"""Values that a text lists and the schema does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject
from tooltrue_check.text_statements import stated_values

__all__ = ["problems"]

_VALUE_KEYWORDS: Final = frozenset({"enum", "const", "pattern", "anyOf", "oneOf", "allOf", "$ref", "items", "format"})


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.described:
        if (
            "string" in one.kinds
            and _VALUE_KEYWORDS.isdisjoint(one.schema)
            and len(values := stated_values(one.text.raw)) > 1
        ):
            yield Problem(one.path, {"name": one.name, "values": ", ".join(values)})
