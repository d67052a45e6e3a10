"""A pattern that cannot be run, or takes exponential time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.runtime_checks import refusals
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_ATOM: Final = r"(?:\[(?:\\.|[^\]\\])+\]|\\.|[^\\()\[\]{}?*+|^$])"
# An atom repeated without a limit, within a group repeated without a limit: (a+)+, (\w+\s?)*
_TWICE: Final = re.compile(rf"\((?:\?:)?{_ATOM}(?:[+*]|\{{\d+,\}})(?:{_ATOM}[?*])?\)(?:[+*]|\{{\d+,\}})")


def problems(tool: Subject) -> Iterator[Problem]:
    yield from refusals(tool, "unsafe_pattern")
    for node in tool.having.get("pattern", ()):
        pattern = node.schema["pattern"]
        if isinstance(pattern, str) and _TWICE.search(pattern):
            yield Problem((*node.path, "pattern"), {"pattern": pattern[:80]})
