"""Suggestions for misspelt words, for error messages."""

from __future__ import annotations

from collections.abc import Collection

__all__ = ["closest"]

_MOST_COMPARED = 2000


def closest(word: str, options: Collection[str], count: int = 5) -> str:
    """List the options closest to ``word``, best first; if there is no close one, the first ``count``."""
    import difflib  # noqa: PLC0415 - most words are spelt right

    likely = difflib.get_close_matches(word, sorted(options)[:_MOST_COMPARED], n=count, cutoff=0.6)
    suggestions = likely or sorted(options)[:count]
    rest = "" if likely or len(options) <= count else ", …"
    return ", ".join(suggestions) + rest if suggestions else "-"
