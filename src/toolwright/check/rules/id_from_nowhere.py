"""An id that the model has to give, and nobody says where it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from toolwright.check.checking import Problem
from toolwright.check.cues import cue
from toolwright.check.language import stem
from toolwright.check.lists import listed
from toolwright.check.subject import Parameter, Subject

__all__ = ["problems"]

_SOURCE: Final = cue("source")
_IDS: Final = frozenset(("id", "ids", "编号"))
_TELLING: Final = frozenset(("enum", "const", "format", "pattern", "examples", "default"))
_FINDS: Final = frozenset(listed("finding"))
_MORE: Final = 2
"""Words that the name of such a tool has besides: the verb, and a word that all tools there begin with."""


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.arguments:
        if one.required and _is_id(one) and not _SOURCE.found(one.text) and one.name.casefold() not in tool.text.plain:
            yield Problem(one.path, {"name": one.name, "finder": _finder(one, tool)})


def _is_id(one: Parameter) -> bool:
    return not _IDS.isdisjoint(one.name_words[-1:]) and _TELLING.isdisjoint(one.schema)


def _finder(one: Parameter, tool: Subject) -> str:
    """The tool beside it that looks as if it listed what has such an id; a made-up name where there is none."""
    things = {stem(word) for word in one.name_words if word not in _IDS} or {stem(word) for word in tool.name_words[1:]}
    found = [
        other.name
        for other in tool.shelf.by_server.get(tool.server, ())
        if len(other.name_words) <= len(things) + _MORE
        and not _FINDS.isdisjoint(other.name_words)
        and things <= {stem(word) for word in other.name_words}
    ]
    return min(found, key=len, default="list_…")
