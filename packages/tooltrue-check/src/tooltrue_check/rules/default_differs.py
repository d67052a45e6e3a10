"""A text that states another default than the schema."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.jsonrpc.messages import Json, encode
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject
from tooltrue_check.text_statements import stated_default

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.described:
        declared = one.schema.get("default")
        if not isinstance(declared, str | int | float):
            continue
        text_default = stated_default(one.text.raw, one.kinds)
        if (
            text_default is not None
            and isinstance(text_default, str) is isinstance(declared, str)
            and not _same(text_default, declared)
        ):
            facts = {"name": one.name, "said": encode(text_default).decode(), "declared": encode(declared).decode()}
            yield Problem((*one.path, "default"), facts)


def _same(text_default: Json, declared: Json) -> bool:
    if isinstance(text_default, str):
        return text_default.strip().casefold() == declared.strip().casefold()
    return text_default == declared
