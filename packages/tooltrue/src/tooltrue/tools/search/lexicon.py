"""The reader of ``lexicon.toml``: lists of words for a search among tools."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

__all__ = ["EVERYDAY", "MEANINGS", "STOP_WORDS", "WEAK_WORDS"]

_LISTS: Final[dict[str, list[str]]] = tomllib.loads(Path(__file__).with_name("lexicon.toml").read_text("utf-8"))

STOP_WORDS: Final = frozenset(_LISTS["stop_words"])
"""Words that do not show the subject of a query."""

WEAK_WORDS: Final = frozenset(_LISTS["weak"])
"""Words that tell little of the subject."""

MEANINGS: Final = _LISTS["meanings"]
"""Rows of words that have one meaning."""

EVERYDAY: Final = _LISTS["everyday"]
"""Rows of words of users, and after ``>`` the words of tools that they lead to."""
