"""Two texts side by side, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, Literal, NamedTuple

__all__ = ["PairedLine", "side_by_side"]

MAX_MATCHED: Final = 1_000
"""Untrusted texts of more lines are not matched line by line, which takes quadratic time."""


class PairedLine(NamedTuple):
    """A line of each text, or ``None`` where one has none."""

    kind: Literal["same", "changed"]
    before: str | None
    after: str | None


def side_by_side(before: str, after: str) -> list[PairedLine]:
    """Pair the lines of two texts. An empty text has no lines."""
    old, new = (text.split("\n") if text else [] for text in (before, after))
    if len(old) + len(new) > MAX_MATCHED:
        return [PairedLine("same" if one == other else "changed", one, other) for one, other in zip_longest(old, new)]
    return [
        pair
        for code in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        for pair in _pairs(code, old, new)
    ]


def _pairs(code: tuple[str, int, int, int, int], old: Sequence[str], new: Sequence[str]) -> list[PairedLine]:
    tag, begin, end, other_begin, other_end = code
    kind: Literal["same", "changed"] = "same" if tag == "equal" else "changed"
    return [PairedLine(kind, *pair) for pair in zip_longest(old[begin:end], new[other_begin:other_end])]
