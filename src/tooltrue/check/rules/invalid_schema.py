"""A schema that is invalid in the dialect that it declares."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.check.checking import Fix, Problem
from tooltrue.check.judged import refusals
from tooltrue.check.plain import Node
from tooltrue.check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for found in refusals(tool, "invalid_schema"):
        yield Problem(found.path, found.facts, fix=_old_limits(tool), said=found.said)


def _old_limits(tool: Subject) -> Fix | None:
    """Rewrite ``exclusiveMinimum: true`` beside ``minimum: 0``, of a dialect of 2013, as numbers. As it was, the schema
    accepted no value."""
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        for node in tool.having.get(keyword, ()):
            if isinstance(node.schema[keyword], bool):
                return Fix(node.path, _with_numbers(node))
    return None


def _with_numbers(node: Node) -> dict[str, object]:
    said = dict(node.schema)
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if said.get(exclusive) is True and plain in said:
            said[exclusive] = said.pop(plain)
        elif isinstance(said.get(exclusive), bool):
            del said[exclusive]
    return said
