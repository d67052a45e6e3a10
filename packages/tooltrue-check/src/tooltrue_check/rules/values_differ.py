"""A text that lists values that the schema refuses."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import is_array
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject
from tooltrue_check.text_statements import stated_values

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.described:
        options = one.schema.get("enum")
        if not is_array(options) or not all(isinstance(value, str) for value in options):
            continue
        text_values = stated_values(one.text.raw)
        strange = [value for value in text_values if value not in options]
        # If all values are different, the text lists something else.
        if strange and len(strange) < len(text_values):
            facts = {"name": one.name, "strange": ", ".join(strange), "options": ", ".join(options)}
            yield Problem((*one.path, "enum"), facts)
