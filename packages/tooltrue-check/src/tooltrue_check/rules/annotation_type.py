"""Annotations with values of a wrong type, or with a misspelt name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Fix, Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_KINDS: Final[dict[str, type]] = {
    "title": str,
    "readOnlyHint": bool,
    "destructiveHint": bool,
    "idempotentHint": bool,
    "openWorldHint": bool,
}
_CORRECT_NAMES: Final = {name.removesuffix("Hint").casefold(): name for name in _KINDS} | {
    n.casefold(): n for n in _KINDS
}


def problems(tool: Subject) -> Iterator[Problem]:
    annotations = tool.annotations
    for name, value in annotations.items():
        path, kind = ("annotations", name), _KINDS.get(name)
        if kind is not None and value is None:
            fix = Fix(("annotations",), {key: one for key, one in annotations.items() if one is not None})
            yield Problem(path, {"name": name, "what": "null"}, fix=fix)
        elif kind is not None and not isinstance(value, kind):
            yield Problem(path, {"name": name, "what": type(value).__name__}, Level.ERROR)
        elif kind is None and (correct_name := _CORRECT_NAMES.get(name.replace("_", "").casefold())):
            yield Problem(path, {"name": name, "what": correct_name})
