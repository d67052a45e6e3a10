"""A name in another style than those of the same server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Shelf, Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    style = _style(tool.name)
    common = tool.shelf.once(_styles).get(tool.server)
    if style and common and style != common:
        yield Problem(("name",), {"name": tool.name, "style": style, "common": common})


def _styles(shelf: Shelf) -> Mapping[str, str]:
    """The main style of the names of each server, if there are several and one is more common."""
    styles: dict[str, str] = {}
    for server, tools in shelf.by_server.items():
        counts = Counter(style for tool in tools if (style := _style(tool.name)))
        most = counts.most_common(2)
        if len(most) == 2 and most[0][1] > most[1][1]:
            styles[server] = most[0][0]
    return styles


def _style(name: str) -> str:
    """The style of a name; empty for a name of one word, which is the same in every style."""
    letters = name.strip("_-")
    if "_" in letters:
        return "snake_case" if "-" not in letters else ""
    if "-" in letters:
        return "kebab-case"
    is_camel = letters.isalnum() and letters.isascii() and not letters.islower() and not letters.isupper()
    return "camelCase" if is_camel else ""
