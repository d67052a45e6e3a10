"""A header that mirrors an argument, and cannot or should not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.card import Level
from tooltrue_check.findings import Problem
from tooltrue_check.language import words
from tooltrue_check.runtime_checks import suspicions
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_SECRET: Final = frozenset(
    {"password", "secret", "token", "key", "apikey", "credential", "credentials", "ssn", "密码", "密钥", "令牌", "口令"}
)


def problems(tool: Subject) -> Iterator[Problem]:
    yield from suspicions(tool, "header")
    for node in tool.having.get("x-mcp-header", ()):
        name = str(node.path[-1])
        if not _SECRET.isdisjoint(words(name)):
            yield Problem((*node.path, "x-mcp-header"), {"name": name}, Level.WARNING)
