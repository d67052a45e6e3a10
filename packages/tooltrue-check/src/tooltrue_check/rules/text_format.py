"""A date, an address or an identifier without a format in the schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject, ToolParameter

__all__ = ["problems"]

_FORMATS: Final = {
    "email": "email",
    "邮箱": "email",
    "url": "uri",
    "uri": "uri",
    "网址": "uri",
    "uuid": "uuid",
    "date": "date",
    "日期": "date",
    "datetime": "date-time",
    "timestamp": "date-time",
}
_TEXT: Final = frozenset({"string"})
_SAYS_MORE: Final = frozenset({"format", "pattern", "enum", "const", "contentEncoding"})


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.parameters:
        if one.kinds == _TEXT and _SAYS_MORE.isdisjoint(one.schema) and (format := _FORMATS.get(_last_word(one))):
            yield Problem(one.path, {"name": one.name, "format": format})


def _last_word(one: ToolParameter) -> str:
    return one.name_words[-1] if one.name_words else ""
