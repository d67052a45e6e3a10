"""A schema that is invalid in the dialect that it declares."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Fix, Problem
from tooltrue_check.plain import Node
from tooltrue_check.runtime_checks import refusals
from tooltrue_check.subject import Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for problem in refusals(tool, "invalid_schema"):
        yield Problem(problem.path, problem.facts, fix=_old_limits(tool), sentence_code=problem.sentence_code)


def _old_limits(tool: Subject) -> Fix | None:
    """Rewrite ``exclusiveMinimum: true`` beside ``minimum: 0``, of a dialect of 2013, as numbers. As it was, the schema
    accepted no value."""
    for keyword in ("exclusiveMinimum", "exclusiveMaximum"):
        for node in tool.having.get(keyword, ()):
            if isinstance(node.schema[keyword], bool):
                return Fix(node.path, _with_numbers(node))
    return None


def _with_numbers(node: Node) -> dict[str, object]:
    schema = dict(node.schema)
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if schema.get(exclusive) is True and plain in schema:
            schema[exclusive] = schema.pop(plain)
        elif isinstance(schema.get(exclusive), bool):
            del schema[exclusive]
    return schema
