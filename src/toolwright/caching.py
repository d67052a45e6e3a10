"""Caches whose keys are texts of others: bounded by the length of a key as well as by the number of entries.

A host or a gateway runs for weeks and meets texts of any length. A cache that counts entries alone would keep thousands
of the longest ones.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

__all__ = ["LONGEST", "cache_short_texts"]

R = TypeVar("R")

LONGEST = 100
"""Characters of a text that is kept, unless a cache says otherwise: names and words are shorter."""


def cache_short_texts(maxsize: int, longest: int = LONGEST) -> Callable[[Callable[[str], R]], Callable[[str], R]]:
    """Cache the results of a function of one text, for the ``maxsize`` texts that were asked for last.

    A text of more than ``longest`` characters goes round the cache: neither it nor its result is kept.
    """

    def cached(function: Callable[[str], R]) -> Callable[[str], R]:
        kept = functools.lru_cache(maxsize=maxsize)(function)

        @functools.wraps(function)
        def looked_up(text: str) -> R:
            return kept(text) if len(text) <= longest else function(text)

        return looked_up

    return cached
