"""A required id of unknown origin: no text says where the model gets it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tooltrue.check.checking import Problem
from tooltrue.check.cues import cue
from tooltrue.check.language import stem
from tooltrue.check.lists import listed
from tooltrue.check.subject import Parameter, Shelf, Subject

__all__ = ["problems"]

_SOURCE: Final = cue("source")
_IDS: Final = frozenset(("id", "ids", "编号"))
_TELLING: Final = frozenset(("enum", "const", "format", "pattern", "examples", "default"))
_FINDS: Final = frozenset(listed("finding"))
_MORE: Final = 2
"""Further words in the name of such a tool: the verb, and a word with which all tools of the server begin."""


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.arguments:
        if one.required and _is_id(one) and not _SOURCE.found(one.text) and one.name.casefold() not in tool.text.plain:
            yield Problem(one.path, {"name": one.name, "finder": _finder(one, tool)})


def _is_id(one: Parameter) -> bool:
    return not _IDS.isdisjoint(one.name_words[-1:]) and _TELLING.isdisjoint(one.schema)


def _finder(one: Parameter, tool: Subject) -> str:
    """The tool of the same server that seems to list such ids, or a made-up name."""
    things = {stem(word) for word in one.name_words if word not in _IDS} or {stem(word) for word in tool.name_words[1:]}
    finders = tool.shelf.once(_finders).get(tool.server, {})
    # Each finder must have all the words, so only those with the rarest word have to be searched.
    rarest = min((finders.get(thing, ()) for thing in things or {_ANY}), key=len)
    found = [other.name for other in rarest if len(other.name_words) <= len(things) + _MORE and things <= _stems(other)]
    return min(found, key=len, default="list_…")


_ANY: Final = ""


def _finders(shelf: Shelf) -> Mapping[str, Mapping[str, list[Subject]]]:
    """Server → stem of a word → its tools with that word and a verb of finding in their names."""
    found: dict[str, dict[str, list[Subject]]] = {}
    for one in shelf.subjects:
        if not _FINDS.isdisjoint(one.name_words):
            of_server = found.setdefault(one.server, {})
            for word in {_ANY, *_stems(one)}:
                of_server.setdefault(word, []).append(one)
    return found


def _stems(tool: Subject) -> frozenset[str]:
    return frozenset(map(stem, tool.name_words))
