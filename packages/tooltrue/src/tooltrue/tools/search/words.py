"""Text as search words: the tokens of a definition, and the terms of a query.

Names are split at ``_``, ``-``, ``.`` and where a capital begins a word. English words lose their endings, by a rule of
one line. Chinese, Japanese and Korean have no spaces that a search could rely on: there, each pair of neighbouring
characters is a token.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from tooltrue.caching import cache_short_texts

__all__ = [
    "HAN",
    "apart",
    "is_unspaced",
    "joined_names",
    "stem",
    "term_tokens",
    "text_tokens",
    "without_possessives",
]

HAN: Final = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
"""The ranges of Chinese characters, for a regular expression."""

_UNSPACED: Final = rf"{HAN}\u3040-\u30ff\uac00-\ud7af"
_PIECE: Final = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+")
_LATIN: Final = re.compile(r"[a-z0-9]+")
_IS_UNSPACED: Final = re.compile(rf"[{_UNSPACED}]")
# A capital where a word begins: after a small letter, or before one, ``HTTPServer``; not the last one of ``URLs``.
_HUMP: Final = re.compile(r"[A-Z](?:(?<=[a-z0-9].)|(?<=[A-Z].)(?=[a-z])(?!s(?![a-z])))")
_JOINED: Final = re.compile(r"[A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*")
_POSSESSIVE: Final = re.compile(r"(?<=\w)['’]s?\b")
_STEM: Final = re.compile(r"(?<=[a-z]{3})(?:ies|ings?|ed|es|s|e|y)$")


def apart(text: str) -> str:
    """Return a text with the words of its names apart: ``readFile`` and ``read_file`` have two words."""
    return _HUMP.sub(r" \g<0>", text).replace("_", " ")


def joined_names(text: str) -> list[str]:
    """Return the names such as ``GitHub`` that :func:`apart` splits and that are also written as one word."""
    return [word.casefold() for word in _JOINED.findall(text)]


def without_possessives(text: str) -> str:
    """Return a text without the endings of possessives, such as that of ``GitHub's``."""
    return _POSSESSIVE.sub("", text) if "'" in text or "’" in text else text


@cache_short_texts(4096)
def stem(word: str) -> str:
    """Strip the ending of an English word, roughly: plural and singular, or the forms of a verb, have one stem."""
    return _STEM.sub("", word)


def text_tokens(text: str) -> Iterator[str]:
    """Yield the tokens of a text in order; a name such as ``GitHub`` is there both split and whole."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    for piece in _pieces(plain):
        if piece.isascii() or not is_unspaced(piece):
            yield stem(piece)
            continue
        yield from _pairs(piece)
        if len(piece) > 1:
            yield piece[-1]  # so that each character begins a token
    yield from map(stem, joined_names(plain))


def term_tokens(term: str) -> tuple[str, ...]:
    """Return the tokens of a word or phrase that is searched for, as :func:`text_tokens` has them in its texts. The
    single token of one Chinese character is the beginning of tokens.
    """
    return tuple(
        token
        for piece in _pieces(unicodedata.normalize("NFKC", term))
        for token in (_pairs(piece) if is_unspaced(piece) else (stem(piece),))
    )


def is_unspaced(term: str) -> bool:
    """Return whether a term begins with a character of a language without spaces."""
    return _IS_UNSPACED.match(term) is not None


def _pieces(text: str) -> list[str]:
    split = apart(without_possessives(text)).casefold()
    return _LATIN.findall(split) if split.isascii() else _PIECE.findall(split)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
