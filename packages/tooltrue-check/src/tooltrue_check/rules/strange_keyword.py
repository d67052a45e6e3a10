"""A keyword that JSON Schema does not have and therefore ignores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue.protocol.schema.dialects import APPLICATORS
from tooltrue.protocol.schema.words import ASSERTIONS
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_KEYWORDS: Final = (
    APPLICATORS
    | ASSERTIONS.keys()
    | {"title", "description", "default", "examples", "required", "$schema", "$ref", "$id"}
)
_CORRECTIONS: Final = {name.casefold(): name for name in _KEYWORDS} | {
    "requried": "required",
    "desc": "description",
    "discription": "description",
    "decription": "description",
    "propertys": "properties",
    "min": "minimum",
    "max": "maximum",
    "values": "enum",
    "regex": "pattern",
    "optional": "required",
    "nullable": "type",
    "example": "examples",
}


def problems(tool: Subject) -> Iterator[Problem]:
    for keyword, nodes in tool.having.items():
        correction = None if keyword in _KEYWORDS else _CORRECTIONS.get(keyword.replace("_", "").casefold())
        for node in nodes if correction else ():
            yield Problem((*node.path, keyword), {"keyword": keyword, "meant": correction})
