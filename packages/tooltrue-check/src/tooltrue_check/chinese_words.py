"""Chinese word segmentation by a dictionary, which is slow to load and therefore loaded with the first Chinese text."""

from __future__ import annotations

import rjieba

from tooltrue.caching import cache_short_texts

__all__ = ["cut", "cut_finely"]


@cache_short_texts(4096)
def cut(text: str) -> tuple[str, ...]:
    """The words of a text in order."""
    return tuple(rjieba.cut(text))


@cache_short_texts(4096)
def cut_finely(text: str) -> tuple[str, ...]:
    """The words of a text, and the words within them."""
    return tuple(rjieba.cut_for_search(text))
