"""A description that refers the model to a tool that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tooltrue_check.findings import Problem
from tooltrue_check.language import words
from tooltrue_check.lexicon.verbs import BASE_VERBS
from tooltrue_check.lexicon.word_lists import word_list
from tooltrue_check.subject import Shelf, Subject, ToolText

__all__ = ["problems"]

_NAME: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:[a-z][a-z0-9]*(?:_[a-z0-9]+)+|[a-z][a-z0-9]*(?:-[a-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+)"
)
_SENDING: Final = frozenset(word_list("sending"))
_CHINESE: Final = tuple(word for word in word_list("sending") if not word.isascii())
_VALUES: Final = frozenset(word_list("values"))


def problems(tool: Subject) -> Iterator[Problem]:
    for name in _named(tool.text, tool):
        yield Problem(("description",), {"name": name})
    for one in tool.described:
        for name in _named(one.text, tool):
            yield Problem((*one.path, "description"), {"name": name})


def _named(text: ToolText, tool: Subject) -> Iterator[str]:
    """Names that a text uses for a tool, in the style of this tool's name, that do not exist."""
    sign = "_" if "_" in tool.name else "-" if "-" in tool.name else ""
    if sign not in text.raw or not tool.name_words:
        return
    pieces = text.raw.split()
    for at, piece in enumerate(pieces):
        if sign in piece if sign else not piece.islower():
            match = _NAME.search(piece)
            if match and _is_sent(pieces, at, piece[: match.start()]) and _is_unknown(match[0], tool):
                yield match[0]


def _is_sent(pieces: Sequence[str], at: int, before: str) -> bool:
    """Whether the text refers the reader to the name: ``use x``, ``the x tool``, ``使用x``."""
    if before.strip("`'\"(") and not before.isascii():
        return before.strip("`'\" ").endswith(_CHINESE)
    last = pieces[at - 1].casefold() if at else ""
    following = pieces[at + 1].casefold().strip(".,;:)") if at + 1 < len(pieces) else ""
    return last in _SENDING or following in ("tool", "工具") or last.endswith(_CHINESE)


def _is_unknown(name: str, tool: Subject) -> bool:
    """Whether a name is neither a tool, with any prefix, nor a parameter of this definition."""
    parts = words(name)
    is_like_one = parts[0] in BASE_VERBS or parts[0] == tool.name_words[0]
    if not is_like_one or parts[-1] in _VALUES or parts in tool.shelf.once(_ends):
        return False
    return all(name != one.name for one in tool.parameters)


def _ends(shelf: Shelf) -> frozenset[tuple[str, ...]]:
    return frozenset(one.name_words[at:] for one in shelf.subjects for at in range(len(one.name_words)))
