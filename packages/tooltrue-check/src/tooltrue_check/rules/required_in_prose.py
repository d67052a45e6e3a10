"""A text and a schema that disagree on whether an argument is required."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject
from tooltrue_check.text_statements import states_optional, states_required

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.described:
        text = one.text.raw
        if one.required and "default" not in one.schema and states_optional(text):
            yield Problem(one.path, {"name": one.name, "text": "optional", "schema": "required"})
        elif not one.required and states_required(text):
            yield Problem(one.path, {"name": one.name, "text": "required", "schema": "optional"})
