"""Chinese text as words, by a dictionary. It takes longer to read than most checks take, so that it is loaded with the
first Chinese text."""

from __future__ import annotations

import rjieba

from toolwright.caching import cache_short_texts

__all__ = ["cut", "cut_finely"]


@cache_short_texts(4096)
def cut(text: str) -> tuple[str, ...]:
    """Its words in their order."""
    return tuple(rjieba.cut(text))


@cache_short_texts(4096)
def cut_finely(text: str) -> tuple[str, ...]:
    """Its words, and those within them."""
    return tuple(rjieba.cut_for_search(text))
