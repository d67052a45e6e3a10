"""Values that a text lists and the schema does not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.check.checking import Problem
from tooltrue.check.saying import stated_values
from tooltrue.check.subject import Subject

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
