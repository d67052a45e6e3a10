"""A text that states another default than the schema."""

from __future__ import annotations

from collections.abc import Iterator

from tooltrue.check.checking import Problem
from tooltrue.check.saying import default_said
from tooltrue.check.subject import Subject
from tooltrue.jsonrpc.messages import Json, encode

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.described:
        declared = one.schema.get("default")
        if not isinstance(declared, str | int | float):
            continue
        said = default_said(one.text.raw, one.kinds)
        if said is not None and isinstance(said, str) is isinstance(declared, str) and not _same(said, declared):
            facts = {"name": one.name, "said": encode(said).decode(), "declared": encode(declared).decode()}
            yield Problem((*one.path, "default"), facts)


def _same(said: Json, declared: Json) -> bool:
    if isinstance(said, str):
        return said.strip().casefold() == declared.strip().casefold()
    return said == declared
