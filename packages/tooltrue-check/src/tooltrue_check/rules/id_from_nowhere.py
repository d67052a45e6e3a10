"""A required id of unknown origin: no text says where the model gets it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tooltrue.tools.search.words import stem
from tooltrue_check.findings import Problem
from tooltrue_check.lexicon.cues import cue
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Shelf, Subject, ToolParameter

__all__ = ["problems"]

_SOURCE: Final = cue("source")
_IDS: Final = frozenset(("id", "ids", "编号"))
_VALUE_KEYWORDS: Final = frozenset(("enum", "const", "format", "pattern", "examples", "default"))
_FINDS: Final = frozenset(word_list("finding"))
_MORE: Final = 2
"""Further words in the name of such a tool: the verb, and a word with which all tools of the server begin."""


def problems(tool: Subject) -> Iterator[Problem]:
    for one in tool.arguments:
        if (
            one.required
            and _is_id(one)
            and not _SOURCE.match_in(one.text)
            and one.name.casefold() not in tool.text.plain
        ):
            yield Problem(one.path, {"name": one.name, "finder": _finder(one, tool)})


def _is_id(one: ToolParameter) -> bool:
    return not _IDS.isdisjoint(one.name_words[-1:]) and _VALUE_KEYWORDS.isdisjoint(one.schema)


def _finder(one: ToolParameter, tool: Subject) -> str:
    """The tool of the same server that seems to list such ids, or a made-up name."""
    things = {stem(word) for word in one.name_words if word not in _IDS} or {stem(word) for word in tool.name_words[1:]}
    finders = tool.shelf.once(_finders).get(tool.server, {})
    # Each finder must have all the words, so only those with the rarest word have to be searched.
    rarest = min((finders.get(thing, ()) for thing in things or {_ANY}), key=len)
    names = [other.name for other in rarest if len(other.name_words) <= len(things) + _MORE and things <= _stems(other)]
    return min(names, key=len, default="list_…")


_ANY: Final = ""


def _finders(shelf: Shelf) -> Mapping[str, Mapping[str, list[Subject]]]:
    """Server → stem of a word → its tools with that word and a verb of finding in their names."""
    by_server: dict[str, dict[str, list[Subject]]] = {}
    for one in shelf.subjects:
        if not _FINDS.isdisjoint(one.name_words):
            of_server = by_server.setdefault(one.server, {})
            for word in {_ANY, *_stems(one)}:
                of_server.setdefault(word, []).append(one)
    return by_server


def _stems(tool: Subject) -> frozenset[str]:
    return frozenset(map(stem, tool.name_words))
