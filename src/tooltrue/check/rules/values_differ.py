"""A text that lists values that the schema refuses."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.check.checking import Problem
from tooltrue.check.saying import values_said
from tooltrue.check.subject import Subject
from tooltrue.jsonrpc.messages import is_array

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.described:
        options = one.schema.get("enum")
        if not is_array(options) or not all(isinstance(value, str) for value in options):
            continue
        said = values_said(one.text.raw)
        strange = [value for value in said if value not in options]
        # If all values are different, the text lists something else.
        if strange and len(strange) < len(said):
            facts = {"name": one.name, "strange": ", ".join(strange), "options": ", ".join(options)}
            yield Problem((*one.path, "enum"), facts)
