"""Glob patterns for names: ``*`` matches any text, even the empty one; every other character matches itself.

No other character is special, so that URIs, which are full of ``?`` and ``[``, match literally, and so that it is
decidable whether one pattern covers another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from tooltrue.protocol.types import Value

__all__ = ["Globs", "globs"]

_ANYTHING: Final = "\0"  # stands for a ``*`` in a pattern that is itself matched: only a ``*`` matches it


class Globs(Value, frozen=True):
    """One or more patterns; a text matches when one of them does."""

    patterns: tuple[str, ...]
    pattern: re.Pattern[str]

    def match(self, text: str) -> bool:
        return self.pattern.fullmatch(text) is not None

    def cover(self, others: Iterable[str]) -> bool:
        """Return whether each of the ``others`` matches only texts that one of these matches as well."""
        return all(self.match(other.replace("*", _ANYTHING)) for other in others)

    def meet(self, other: str) -> bool:
        """Return whether there is a text that ``other`` and one of these match."""
        return any(_meet(pattern, other) for pattern in self.patterns)


def globs(patterns: str | Iterable[str]) -> Globs:
    """Compile one pattern, or several."""
    ordered = (patterns,) if isinstance(patterns, str) else tuple(patterns)
    return Globs(ordered, re.compile("|".join(map(_regex, ordered)), re.DOTALL))


def _regex(pattern: str) -> str:
    """Build an expression without backtracking: the text between two ``*`` matches at its first occurrence, which is
    final."""
    first, *rest = map(re.escape, re.split(r"\*+", pattern))
    if not rest:
        return first
    *between, last = rest
    return first + "".join(f"(?>.*?{piece})" for piece in between) + f".*{last}"


def _meet(one: str, other: str) -> bool:
    """Walk both patterns at once; ``places`` are the pairs of positions that some text leads to."""
    places, visited = {(0, 0)}, set[tuple[int, int]]()
    while places:
        i, j = place = places.pop()
        if place in visited:
            continue
        visited.add(place)
        if (i, j) == (len(one), len(other)):
            return True
        a, b = one[i : i + 1], other[j : j + 1]
        if a == "*":
            places |= {(i + 1, j), (i, j + 1)} if b else {(i + 1, j)}
        if b == "*":
            places |= {(i, j + 1), (i + 1, j)} if a else {(i, j + 1)}
        if a and a == b:
            places.add((i + 1, j + 1))
    return False
