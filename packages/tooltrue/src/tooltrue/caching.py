"""Caches of values that threads make once, and caches keyed by untrusted text, bounded by the length of the keys as
well as the number of entries.

A host or a gateway runs for weeks and receives texts of any length. A cache that only counts entries would keep
thousands of the longest ones.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import TypeVar

__all__ = ["LONGEST", "cache_short_texts", "made_once"]

R = TypeVar("R")

LONGEST = 100
"""The default maximum length of a cached text, in characters: names and words are shorter."""


def made_once(function: Callable[[], R]) -> Callable[[], R]:
    """Cache the result of a function. Threads that call it at the same time get the same object, while
    ``functools.cache`` lets each make one of its own."""
    lock = threading.Lock()
    memoized = functools.cache(function)

    @functools.wraps(function)
    def one() -> R:
        with lock:
            return memoized()

    return one


def cache_short_texts(maxsize: int, longest: int = LONGEST) -> Callable[[Callable[[str], R]], Callable[[str], R]]:
    """Cache the results of a function of one text, for the ``maxsize`` most recently used texts.

    A text of more than ``longest`` characters bypasses the cache: neither it nor its result is kept.
    """

    def cached(function: Callable[[str], R]) -> Callable[[str], R]:
        memoized = functools.lru_cache(maxsize=maxsize)(function)

        @functools.wraps(function)
        def looked_up(text: str) -> R:
            return memoized(text) if len(text) <= longest else function(text)

        return looked_up

    return cached
