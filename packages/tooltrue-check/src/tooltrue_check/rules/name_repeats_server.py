"""A name that begins with that of its server, which hosts prepend anyway."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.language import words
from tooltrue_check.lexicon.verbs import VERBS
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Shelf, Subject

__all__ = ["problems"]

_COMMON: Final = frozenset(word_list("of_servers"))


def problems(tool: Subject) -> Iterator[Problem]:
    label = tool.shelf.once(_labels).get(tool.server)
    if label and len(tool.name_words) > len(label) and tool.name_words[: len(label)] == label:
        yield Problem(("name",), {"name": tool.name, "server": tool.server})


def _labels(shelf: Shelf) -> Mapping[str, tuple[str, ...]]:
    """The words in the name of each server. Names with a verb are left out, since the verb states the action:
    ``fetch_page`` of ``fetch``."""
    labels = {server: tuple(word for word in words(server) if word not in _COMMON) for server in shelf.by_server}
    return {server: label if VERBS.isdisjoint(label) else () for server, label in labels.items()}
