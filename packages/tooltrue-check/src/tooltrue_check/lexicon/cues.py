"""Phrases by which descriptions state a fact: when to use a tool, its limits, its result, and so on, in both languages.

The phrases are data, in ``cues.toml``. They are matched by whole words, never by letters within a word.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tooltrue_check.subject import ToolText

__all__ = ["Cue", "cue"]

_CUES: Final = tomllib.loads(Path(__file__).with_name("cues.toml").read_text("utf-8"))


@dataclass(frozen=True, slots=True)
class Cue:
    """The phrases for one fact. ``phrases`` are indexed by their first word; ``firsts`` are these words and the single
    words."""

    words: frozenset[str]
    phrases: Mapping[str, tuple[str, ...]]
    firsts: frozenset[str]
    chinese: re.Pattern[str]

    def match_in(self, text: ToolText) -> str | None:
        """Return the first matching words of the text, or None. The result is deterministic."""
        if not self.firsts.isdisjoint(text.word_set) and (phrase := self._phrase_in(text)):
            return phrase
        match = None if text.raw.isascii() else self.chinese.search(text.plain)
        return match[0] if match else None

    def _phrase_in(self, text: ToolText) -> str | None:
        if common := self.words & text.word_set:
            return min(common, key=text.words.index)
        firsts = self.phrases.keys() & text.word_set
        present = [phrase for first in firsts for phrase in self.phrases[first] if phrase in text.spaced_words]
        return min(present, key=lambda phrase: (text.spaced_words.index(phrase), phrase)).strip() if present else None


def cue(name: str) -> Cue:
    entry = _CUES[name]
    phrases: dict[str, tuple[str, ...]] = {}
    for phrase in entry["phrases"]:
        first = phrase.split()[0]
        phrases[first] = (*phrases.get(first, ()), f" {phrase} ")
    words = frozenset(entry["words"])
    return Cue(words, phrases, words.union(phrases), re.compile("|".join(entry["chinese"])))
