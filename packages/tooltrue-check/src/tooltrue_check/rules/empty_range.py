"""A lower limit above the upper one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_PAIRS: Final = (
    ("minimum", "maximum", False),
    ("exclusiveMinimum", "maximum", True),
    ("minimum", "exclusiveMaximum", True),
    ("exclusiveMinimum", "exclusiveMaximum", True),
    ("minLength", "maxLength", False),
    ("minItems", "maxItems", False),
    ("minProperties", "maxProperties", False),
)


def problems(tool: Subject) -> Iterator[Problem]:
    for lower, upper, strict in _PAIRS:
        for node in tool.having.get(lower, ()) if upper in tool.having else ():
            low, high = node.schema[lower], node.schema.get(upper)
            if (
                isinstance(low, int | float)
                and isinstance(high, int | float)
                and (low > high or (strict and low == high))
            ):
                yield Problem((*node.path, lower), {"lower": lower, "low": low, "upper": upper, "high": high})
