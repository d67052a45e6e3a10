"""Numbers and lists without a limit, and limits stated only in the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject, ToolParameter
from tooltrue_check.text_statements import stated_limit

__all__ = ["problems"]

_LIMITS: Final = {
    "integer": frozenset({"maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"}),
    "number": frozenset({"maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum"}),
    "array": frozenset({"maxItems"}),
}
_SAYS_MORE: Final = frozenset({"enum", "const", "$ref", "allOf", "anyOf", "oneOf"})


def problems(tool: Subject) -> Iterator[Problem]:
    endless = [one for one in tool.parameters if _is_endless(one)]
    limits = [(one, limit) for one in endless if (limit := stated_limit(one.text.raw))]
    for one, limit in limits:
        facts = {"what": f"{one.name} ({limit})", "limit": limit}
        yield Problem(one.path, facts, Level.WARNING)
    if endless and not limits:
        yield Problem(("inputSchema",), {"what": ", ".join(one.name for one in endless), "limit": "-"})


def _is_endless(one: ToolParameter) -> bool:
    limits = [_LIMITS[kind] for kind in one.kinds if kind in _LIMITS]
    return bool(limits) and _SAYS_MORE.isdisjoint(one.schema) and all(limit.isdisjoint(one.schema) for limit in limits)
