"""The readers of ``word_lists.toml`` and ``lexicon.toml``: words for a search among tools.

The lexicon is long, and is read by the first search.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

__all__ = ["STOP_WORDS", "WEAK_WORDS", "rows"]


def _lists(name: str) -> dict[str, list[str]]:
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


_WORD_LISTS: Final = _lists("word_lists.toml")

STOP_WORDS: Final = frozenset(_WORD_LISTS["stop_words"])
"""Words that do not show the subject of a query."""

WEAK_WORDS: Final = frozenset(_WORD_LISTS["weak"])
"""Words that tell little of the subject."""


def rows() -> tuple[list[str], list[str]]:
    """Return the rows of words that have one meaning, and those of words of users with, after ``>``, the words of tools
    that they lead to."""
    lists = _lists("lexicon.toml")
    return lists["meanings"], lists["everyday"]
