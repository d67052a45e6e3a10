"""A description that mentions a missing argument."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Subject

__all__ = ["problems"]

_QUOTED_NAME: Final = re.compile(
    r"[`'\"]([a-z][a-z0-9]*(?:[_-][a-z0-9]+|[A-Z][a-z0-9]*)*)[`'\"] (?:parameter|argument|param)\b"
    r"|\b(?:parameter|argument|param) [`'\"]([a-z][A-Za-z0-9_-]{1,40})[`'\"]"
    r"|参数\s?[`'\"“]([A-Za-z][A-Za-z0-9_-]{1,40})[`'\"”]"
    r"|[`'\"“]([A-Za-z][A-Za-z0-9_-]{1,40})[`'\"”]\s?参数"
)
_SECTION: Final = re.compile(r"^[ \t]{0,12}(?:Args|Arguments|Parameters|Params|参数)[:：][ \t]*\n", re.MULTILINE)
_SECTION_ENTRY: Final = re.compile(
    r"^([ \t]{0,16})[-*]?[ \t]?[`'*]{0,2}([A-Za-z_]\w{0,40})[`'*]{0,2}[ ]?(?:\([^)\n]{0,60}\))?[:：]", re.MULTILINE
)


def problems(tool: Subject) -> Iterator[Problem]:
    text = tool.text.raw
    if "aram" not in text and "rg" not in text and "参数" not in text:
        return
    parameters = {_plain(one.name) for one in tool.parameters}
    for name in dict.fromkeys([*_quoted_names(text), *_section_names(text)]):
        if _plain(name) not in parameters and _plain(name) not in _plain(tool.name):
            names = ", ".join(one.name for one in tool.arguments)
            yield Problem(("description",), {"name": name, "known": names or "-"})


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def _quoted_names(text: str) -> Iterator[str]:
    for match in _QUOTED_NAME.finditer(text):
        yield next(filter(None, match.groups()))


def _section_names(text: str) -> Iterator[str]:
    """The names in the list of arguments of a docstring. Lines indented deeper continue the text on an argument."""
    section = _SECTION.search(text)
    if section is None:
        return
    body = text[section.end() :].partition("\n\n")[0]
    depth = None
    for match in _SECTION_ENTRY.finditer(body):
        depth = match[1] if depth is None else depth
        if len(match[1]) < len(depth) or match[2].casefold() in _OTHER_SECTIONS:
            return
        if match[1] == depth and match[2] not in _REST:
            yield match[2]


_OTHER_SECTIONS: Final = frozenset(
    {
        "return",
        "returns",
        "raise",
        "raises",
        "yields",
        "note",
        "notes",
        "example",
        "examples",
        "important",
        "warning",
        "usage",
    }
    | {"tip", "tips", "output", "result", "response", "see", "side_effects", "limits", "errors", "default", "defaults"}
)
_REST: Final = frozenset({"args", "kwargs", "self"})
