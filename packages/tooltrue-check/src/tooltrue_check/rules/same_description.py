"""Two tools with one description."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tooltrue_check.findings import Problem
from tooltrue_check.subject import Shelf, Subject

__all__ = ["problems"]


def problems(tool: Subject) -> Iterator[Problem]:
    if not tool.text.words:
        return
    others = [one.name for one in tool.shelf.once(_by_words).get(tool.text.words, ()) if one.name != tool.name]
    if others:
        yield Problem(("description",), {"name": tool.name, "others": ", ".join(others[:5])})


def _by_words(shelf: Shelf) -> Mapping[tuple[str, ...], list[Subject]]:
    """The tools by the words of their descriptions. Punctuation and capitals make no difference."""
    by_words: dict[tuple[str, ...], list[Subject]] = {}
    for one in shelf.subjects:
        by_words.setdefault(one.text.words, []).append(one)
    return by_words
